/* compare_read.c - reads what a page about several trainings needs: options, metrics.jsonl and
 * timing.jsonl. */
#include "core/error.h"
#include "core/mem.h"
#include "core/text.h"
#include "io/record.h"
#include "report/compare.h"
#include "report/page_parts.h"
#include "train/run_files.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

void ck_compare_release(struct ck_compare *c)
{
    for (int i = 0; i < c->n; i++) {
        ck_names_release(&c->run[i].options);
        ck_table_release(&c->run[i].history);
    }
    c->n = 0;
}

/* ---- metrics.jsonl and timing.jsonl ---- */

struct clock {
    double total;         /* seconds so far */
    double speed;         /* images per second of the last epoch */
    struct ck_table when; /* epoch, minutes */
};

static int take_timing(void *arg, struct ck_record line)
{
    struct clock *k = arg;
    double seconds = ck_record_number(line, "seconds");
    k->total += isfinite(seconds) ? seconds : 0;
    k->speed = ck_record_number(line, "images_per_second");
    double row[2] = {ck_record_number(line, "epoch"), k->total / 60};
    return ck_table_add(&k->when, row, 2);
}

static int take_metrics(void *arg, struct ck_record line)
{
    double row[CK_COMPARE_COLUMNS];
    if (!ck_record_has(line, "heads"))
        return COKE_OK;
    row[CK_COMPARE_EPOCH] = ck_record_number(line, "epoch");
    row[CK_COMPARE_MINUTES] = (double)NAN;
    row[CK_COMPARE_LOSS] = ck_record_number(line, "loss");
    row[CK_COMPARE_KNN] = ck_record_number(line, "knn20");
    row[CK_COMPARE_ACC] = ck_record_number(line, "acc");
    row[CK_COMPARE_NMI] = ck_record_number(line, "nmi");
    row[CK_COMPARE_ARI] = ck_record_number(line, "ari");
    return ck_table_add(arg, row, CK_COMPARE_COLUMNS);
}

static int read_lines(const struct ck_compare_run *r, const char *name,
                      int (*take)(void *arg, struct ck_record line), void *arg)
{
    char path[CK_REPORT_PATH + 64];
    struct stat st;
    snprintf(path, sizeof path, "%s/%s", r->source, name);
    return stat(path, &st) == 0 ? ck_record_read_lines(path, take, arg) : COKE_OK;
}

/* An epoch that a resumed training repeated has the time of its last end. */
static void place_in_time(struct ck_table *history, const struct ck_table *when)
{
    for (int64_t i = 0; i < history->rows; i++)
        for (int64_t j = 0; j < when->rows; j++)
            if (when->column[0][j] == history->column[CK_COMPARE_EPOCH][i])
                history->column[CK_COMPARE_MINUTES][i] = when->column[1][j];
}

static int read_curves(struct ck_compare_run *r)
{
    struct clock k = {.speed = (double)NAN};
    int rc = COKE_OK;
    CK_TRY(read_lines(r, "metrics.jsonl", take_metrics, &r->history));
    CK_TRY(read_lines(r, "timing.jsonl", take_timing, &k));
    place_in_time(&r->history, &k.when);
    r->seconds = k.when.rows ? k.total : (double)NAN;
    r->speed = k.speed;
done:
    ck_table_release(&k.when);
    return rc;
}

/* ---- the checkpoint ---- */

static int take_options(struct ck_compare_run *r, const struct ck_train_options *o)
{
    const struct ck_option_table *t = ck_train_option_table();
    char value[1024];
    for (int i = 0; i < t->n; i++) {
        if (t->row[i].local)
            continue;
        CK_RETURN_IF(ck_options_get(t, o, t->row[i].name, value, sizeof value));
        CK_RETURN_IF(ck_names_add(&r->options, t->row[i].name, strlen(t->row[i].name)));
        CK_RETURN_IF(ck_names_add(&r->options, value, strlen(value)));
    }
    return ck_options_get(t, o, "method", r->method, sizeof r->method);
}

static void describe_encoder(struct ck_compare_run *r, const struct ck_run *run)
{
    char arch[64] = "";
    ck_options_get(ck_encoder_option_table(), &run->encoder.o, "arch", arch, sizeof arch);
    ck_format(r->about, sizeof r->about, "%s x %g", arch, run->encoder.o.width);
}

static int read_run(struct ck_compare_run *r, const char *source)
{
    struct ck_run run;
    int rc = COKE_OK;
    snprintf(r->source, sizeof r->source, "%s", source);
    if (ck_folder_kind(source) != CK_FOLDER_RUN)
        return ck_fail(COKE_EUSAGE,
                       "%s is not the folder of a training: several are compared on "
                       "one page, clusterings one at a time",
                       source);
    CK_RETURN_IF(ck_run_open(&run, source, 0));
    r->epoch = run.epoch;
    r->epochs = run.has_options ? run.o.epochs : -1;
    snprintf(r->data, sizeof r->data, "%s", run.data);
    describe_encoder(r, &run);
    CK_TRY(take_options(r, &run.o));
    CK_TRY(read_curves(r));
done:
    ck_run_close(&run);
    return rc;
}

/* ---- names ---- */

/* The last folder names of the path, from `slashes` before the last one. */
static const char *tail_of(const char *path, int slashes)
{
    const char *at = path + strlen(path);
    while (at > path && at[-1] == '/')
        at--;
    for (; at > path; at--)
        if (at[-1] == '/' && slashes-- == 0)
            break;
    return at;
}

static int has_twins(const struct ck_compare *c, int slashes)
{
    for (int i = 0; i < c->n; i++)
        for (int j = 0; j < i; j++)
            if (strcmp(tail_of(c->run[i].source, slashes),
                       tail_of(c->run[j].source, slashes)) == 0)
                return 1;
    return 0;
}

static void name_runs(struct ck_compare *c)
{
    int slashes = 0;
    while (slashes < 32 && has_twins(c, slashes))
        slashes++;
    for (int i = 0; i < c->n; i++) {
        const char *tail = tail_of(c->run[i].source, slashes);
        size_t n = strlen(tail);
        while (n > 1 && tail[n - 1] == '/')
            n--;
        snprintf(c->run[i].name, sizeof c->run[i].name, "%.*s", (int)n, tail);
    }
}

int ck_compare_read(struct ck_compare *c, const char *const *runs, int n)
{
    int rc = COKE_OK;
    memset(c, 0, sizeof *c);
    if (n < 1 || n > CK_COMPARE_RUNS)
        return ck_fail(COKE_EUSAGE, "%d runs: a page compares 1 to %d", n, CK_COMPARE_RUNS);
    for (int i = 0; i < n && !rc; i++)
        rc = read_run(&c->run[c->n++], runs[i]);
    if (rc)
        ck_compare_release(c);
    else
        name_runs(c);
    return rc;
}
