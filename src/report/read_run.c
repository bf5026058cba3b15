/* read_run.c - reads the run folder of a training, also of one that is still running.
 *
 * The checkpoint gives options, labels and centers, the encoder of the checkpoint the
 * projections of the sampled images, metrics.jsonl and timing.jsonl the curves. */
#include "report/report.h"
#include "core/callbacks.h"
#include "core/error.h"
#include "core/mem.h"
#include "core/text.h"
#include "eval/features.h"
#include "io/record.h"
#include "train/run_heads.h"
#include "train/run_use.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { BATCH = 64 }; /* images per call of the encoder */

/* ---- metrics.jsonl and timing.jsonl ---- */

/* Missing keys become NaN, which the page shows as unknown. */
static int take_head(struct ck_table *t, struct ck_record r, double epoch)
{
    double row[CK_HEAD_COLUMNS];
    row[CK_HEAD_EPOCH] = epoch;
    row[CK_HEAD_MIN] = ck_record_number(r, "size_min");
    row[CK_HEAD_MEDIAN] = ck_record_number(r, "size_median");
    row[CK_HEAD_MAX] = ck_record_number(r, "size_max");
    row[CK_HEAD_BOUND] = ck_record_number(r, "bound");
    row[CK_HEAD_CHANGED] = ck_record_number(r, "changed");
    row[CK_HEAD_DUAL_MIN] = ck_record_number(r, "dual_min");
    row[CK_HEAD_DUAL_MAX] = ck_record_number(r, "dual_max");
    return ck_table_add(t, row, CK_HEAD_COLUMNS);
}

static int take_warnings(struct ck_report *r, struct ck_record line)
{
    for (int64_t i = 0; i < ck_record_count(line, "warnings"); i++) {
        const char *text = ck_record_text(ck_record_item(line, "warnings", i), "text");
        CK_RETURN_IF(ck_names_add(&r->warnings, text, strlen(text)));
    }
    return COKE_OK;
}

static int take_epoch(struct ck_report *r, struct ck_record line)
{
    double row[CK_EPOCH_COLUMNS];
    row[CK_EPOCH_EPOCH] = ck_record_number(line, "epoch");
    row[CK_EPOCH_LOSS] = ck_record_number(line, "loss");
    row[CK_EPOCH_RATE] = ck_record_number(line, "rate");
    row[CK_EPOCH_KNN20] = ck_record_number(line, "knn20");
    row[CK_EPOCH_KNN200] = ck_record_number(line, "knn200");
    row[CK_EPOCH_ACC] = ck_record_number(line, "acc");
    row[CK_EPOCH_NMI] = ck_record_number(line, "nmi");
    row[CK_EPOCH_ARI] = ck_record_number(line, "ari");
    CK_RETURN_IF(ck_table_add(&r->history, row, CK_EPOCH_COLUMNS));
    CK_RETURN_IF(take_warnings(r, line));
    for (int h = 0; h < r->heads; h++)
        CK_RETURN_IF(take_head(&r->head[h].history, ck_record_item(line, "heads", h),
                               row[CK_EPOCH_EPOCH]));
    return COKE_OK;
}

/* Called per line of metrics.jsonl: lines with heads are epochs, the others single steps. */
static int take_metrics(void *arg, struct ck_record line)
{
    struct ck_report *r = arg;
    if (ck_record_has(line, "heads"))
        return take_epoch(r, line);
    double row[CK_STEP_COLUMNS];
    row[CK_STEP_EPOCH] = ck_record_number(line, "epoch");
    row[CK_STEP_STEP] = ck_record_number(line, "step");
    row[CK_STEP_LOSS] = ck_record_number(line, "loss");
    row[CK_STEP_RATE] = ck_record_number(line, "rate");
    return ck_table_add(&r->steps, row, CK_STEP_COLUMNS);
}

/* Sums the seconds of all epochs; the speed is that of the last one. */
static int take_timing(void *arg, struct ck_record line)
{
    struct ck_report *r = arg;
    double seconds = ck_record_number(line, "seconds");
    if (isfinite(seconds))
        r->seconds = (isfinite(r->seconds) ? r->seconds : 0) + seconds;
    r->speed = ck_record_number(line, "images_per_second");
    return COKE_OK;
}

/* A missing file is not an error: runs that just started, or written by a library user, may
 * lack it. */
static int read_lines(struct ck_report *r, const char *name,
                      int (*take)(void *arg, struct ck_record line))
{
    char path[CK_REPORT_PATH + 64];
    struct stat st;
    snprintf(path, sizeof path, "%s/%s", r->source, name);
    return stat(path, &st) == 0 ? ck_record_read_lines(path, take, r) : COKE_OK;
}

/* Times are not worth failing for: earlier versions appended to half a line of a killed run. */
static int read_timing(struct ck_report *r, const struct ck_report_request *q)
{
    int rc = read_lines(r, "timing.jsonl", take_timing);
    if (rc != COKE_EFORMAT)
        return rc;
    ck_warn(q->callbacks, "%s; the times of the report are incomplete", ck_last_error());
    return COKE_OK;
}

/* Turns epoch and step into a position on the epoch axis, from epoch - 0.5 to epoch + 0.5. */
static void place_steps(struct ck_table *t)
{
    double max = 0;
    for (int64_t i = 0; i < t->rows; i++)
        max = fmax(max, t->column[CK_STEP_STEP][i]);
    for (int64_t i = 0; i < t->rows; i++)
        t->column[CK_STEP_EPOCH][i] += t->column[CK_STEP_STEP][i] / (max + 1) - 0.5;
}

/* ---- the checkpoint ---- */

/* All options, and those that differ from the defaults. */
static int take_options(struct ck_report *r, const struct ck_train_options *o)
{
    const struct ck_option_table *t = ck_train_option_table();
    struct ck_train_options plain = ck_train_options_default();
    char is[1024], was[1024];
    for (int i = 0; i < t->n; i++) {
        const char *name = t->row[i].name;
        CK_RETURN_IF(ck_options_get(t, o, name, is, sizeof is));
        CK_RETURN_IF(ck_options_get(t, &plain, name, was, sizeof was));
        CK_RETURN_IF(ck_names_add(&r->options, name, strlen(name)));
        CK_RETURN_IF(ck_names_add(&r->options, is, strlen(is)));
        if (strcmp(is, was) == 0)
            continue;
        CK_RETURN_IF(ck_names_add(&r->facts, name, strlen(name)));
        CK_RETURN_IF(ck_names_add(&r->facts, is, strlen(is)));
    }
    return COKE_OK;
}

/* Moves the arrays of a head from the run to the report, which frees them. */
static int take_head_arrays(struct ck_report *r, const struct ck_run *run, int index)
{
    struct ck_run_head from;
    struct ck_report_head *h = &r->head[index];
    int rc = ck_run_head_init(&from, run, index);
    if (rc) {
        ck_run_head_release(&from);
        return rc;
    }
    h->k = from.k;
    h->label = from.label;
    h->center = from.center;
    h->dual = from.dual;
    h->min_size = from.min_size;
    if (index == 0)
        r->n = from.n;
    if (from.n == r->n)
        return COKE_OK;
    return ck_fail(COKE_EFORMAT, "%s: head %d is of %lld images, head 0 of %lld", run->weights,
                   index, (long long)from.n, (long long)r->n);
}

/* One line about the encoder. */
static void describe_encoder(struct ck_report *r, const struct ck_run *run)
{
    char arch[64] = "", stem[64] = "";
    ck_options_get(ck_encoder_option_table(), &run->encoder.o, "arch", arch, sizeof arch);
    ck_options_get(ck_encoder_option_table(), &run->encoder.o, "stem", stem, sizeof stem);
    ck_format(r->about, sizeof r->about, "%s, %s stem, width %g, %lld dimensions", arch, stem,
              run->encoder.o.width, (long long)run->encoder.o.dim);
}

/* Everything but projections and pictures; run stays the caller's. */
static int take_run(struct ck_report *r, const struct ck_report_request *q,
                    const struct ck_run *run)
{
    if (run->heads == 0 && q->no_clusters)
        *q->no_clusters = run->has_options;
    if (run->heads == 0 && run->has_options)
        return ck_fail(COKE_EUSAGE, "%s: its method has no clusters to report", run->weights);
    if (run->heads == 0)
        return ck_fail(COKE_EFORMAT, "%s is an encoder alone: it has no clusters to report",
                       run->weights);
    r->is_run = 1;
    r->heads = run->heads;
    r->dim = (int)run->encoder.o.dim;
    r->epoch = run->epoch;
    r->epochs = run->has_options ? run->o.epochs : -1;
    r->complete = r->epoch >= 0 && r->epoch >= r->epochs;
    snprintf(r->weights, sizeof r->weights, "%s", run->weights);
    describe_encoder(r, run);
    CK_RETURN_IF(take_options(r, &run->o));
    for (int h = 0; h < run->heads; h++)
        CK_RETURN_IF(take_head_arrays(r, run, h));
    return COKE_OK;
}

/* ---- projections ---- */

/* Projections of rows at..at+n-1; unreadable images get zero vectors and count in *bad. */
static int get_projections(struct ck_report *r, struct ck_features *f, int64_t at, int64_t n,
                           int64_t *bad)
{
    uint8_t is_bad[BATCH];
    int rc = ck_features_try(f, r->sample.row + at, n, NULL, r->sample.x + at * r->dim, is_bad);
    for (int64_t i = 0; i < n && !rc; i++)
        *bad += is_bad[i];
    return rc;
}

static int fill_projections(struct ck_report *r, const struct ck_report_request *q,
                            struct ck_features *f)
{
    int64_t bad = 0;
    r->sample.x = ck_alloc_array((size_t)r->sample.n, (size_t)r->dim * sizeof *r->sample.x);
    if (!r->sample.x)
        return COKE_ENOMEM;
    for (int64_t at = 0; at < r->sample.n; at += BATCH) {
        CK_RETURN_IF(ck_progress_count(q->callbacks, "features", at, r->sample.n, "images"));
        int64_t n = r->sample.n - at < BATCH ? r->sample.n - at : BATCH;
        CK_RETURN_IF(get_projections(r, f, at, n, &bad));
    }
    if (bad == r->sample.n)
        return ck_fail(COKE_EIO, "%s: none of %lld images can be read", r->images,
                       (long long)bad);
    if (bad)
        ck_warn(q->callbacks, "%lld of %lld images could not be read, such as %s",
                (long long)bad, (long long)r->sample.n, ck_features_excused(f));
    return COKE_OK;
}

/* Computes r->sample.x of the sampled images with the run's encoder. */
static int make_projections(struct ck_report *r, const struct ck_report_request *q,
                            struct ck_run *run)
{
    struct ck_use_options as_trained = ck_use_options_default();
    struct ck_features *f = NULL;
    int rc = COKE_OK;
    CK_TRY(ck_use_features(run, r->data, &as_trained, &f));
    ck_features_excuse_files(f);
    CK_TRY(fill_projections(r, q, f));
done:
    ck_features_free(f);
    if (rc) {
        ck_free(r->sample.x);
        r->sample.x = NULL;
    }
    return ck_report_drop_images(r, q, rc);
}

/* The run is open only during the call; everything needed later is copied. */
int ck_report_read_run(struct ck_report *r, const struct ck_report_request *q)
{
    struct ck_run run;
    int rc = COKE_OK;
    if (q->nvectors)
        return ck_fail(COKE_EUSAGE,
                       "%s is a training, whose vectors its encoder computes: "
                       "vectors go with the folder of a clustering",
                       q->source);
    CK_TRY(ck_run_open(&run, q->source, q->o.best));
    rc = take_run(r, q, &run);
    if (!rc)
        rc = read_lines(r, "metrics.jsonl", take_metrics);
    if (!rc)
        rc = read_timing(r, q);
    if (!rc)
        rc = ck_row_sample_choose(&r->sample, r->n, q->o.sample);
    run.o.data.cache_dir = q->data.cache_dir;
    if (!rc && (q->images || run.data[0]))
        rc = ck_report_open_images(r, q, q->images ? q->images : run.data, &run.o.data);
    else if (!rc)
        ck_warn(q->callbacks,
                "no pictures: %s has no run.json that names its images; set images", q->source);
    if (!rc && r->data)
        rc = make_projections(r, q, &run);
    place_steps(&r->steps);
    ck_run_close(&run);
done:
    return rc;
}
