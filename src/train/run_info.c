/* run_info.c - describes a run folder, as text or JSON (`coke info`). */
#include "train/run_info.h"
#include "cluster/kmeans.h"
#include "core/error.h"
#include "core/mem.h"
#include "core/option.h"
#include "core/text.h"
#include "io/info.h"
#include "io/json.h"
#include "io/record.h"
#include "train/run_files.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>

enum { METRICS = 8, VALUE = 1024 };

static const char *const metric_names[METRICS] = {"epoch",  "loss", "rate", "knn20",
                                                  "knn200", "acc",  "nmi",  "ari"};

/* What the folder says beside its checkpoint. */
struct facts {
    const char *path;
    struct ck_run run;
    double images, classes;  /* of run.json; NaN = not known */
    char init[CK_RUN_PATH];  /* "" = random weights */
    double metrics[METRICS]; /* of the last epoch in metrics.jsonl; epoch NaN = none */
    int has_best, has_final;
};

int ck_run_info_is(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode) && ck_folder_kind(path) == CK_FOLDER_RUN;
}

/* ---- reading ---- */

static int take_source(void *arg, struct ck_record r)
{
    struct facts *f = arg;
    f->images = ck_record_number(r, "images");
    f->classes = ck_record_number(r, "classes");
    snprintf(f->init, sizeof f->init, "%s", ck_record_text(r, "init"));
    return COKE_OK;
}

/* Lines with heads are epochs, the others single steps. */
static int take_epoch(void *arg, struct ck_record r)
{
    struct facts *f = arg;
    for (int i = 0; i < METRICS && ck_record_has(r, "heads"); i++)
        f->metrics[i] = ck_record_number(r, metric_names[i]);
    return COKE_OK;
}

static int has_file(const struct facts *f, const char *name, char path[CK_RUN_PATH])
{
    struct stat st;
    snprintf(path, CK_RUN_PATH, "%s/%s", f->path, name);
    return stat(path, &st) == 0;
}

/* Opens f->run, which the caller closes if this succeeds. */
static int read_facts(struct facts *f)
{
    char path[CK_RUN_PATH];
    f->images = f->classes = NAN;
    for (int i = 0; i < METRICS; i++)
        f->metrics[i] = NAN;
    CK_RETURN_IF(ck_run_open(&f->run, f->path, 0));
    int rc = COKE_OK;
    if (has_file(f, "run.json", path))
        CK_TRY(ck_record_read(path, take_source, f));
    if (has_file(f, "metrics.jsonl", path))
        CK_TRY(ck_record_read_lines(path, take_epoch, f));
    f->has_best = has_file(f, "best.safetensors", path);
    f->has_final = has_file(f, "final.safetensors", path);
done:
    if (rc)
        ck_run_close(&f->run);
    return rc;
}

static int encoder_text(const struct ck_run *r, const char *name, char value[VALUE])
{
    return ck_options_get(ck_encoder_option_table(), &r->encoder.o, name, value, VALUE);
}

/* Calls put for every option that is not the default. */
static int each_option(const struct ck_train_options *o,
                       void (*put)(void *to, const char *name, const char *value), void *to)
{
    const struct ck_option_table *t = ck_train_option_table();
    const struct ck_train_options plain = ck_train_options_default();
    char is[VALUE], was[VALUE];
    for (int i = 0; i < t->n; i++) {
        CK_RETURN_IF(ck_options_get(t, o, t->row[i].name, is, sizeof is));
        CK_RETURN_IF(ck_options_get(t, &plain, t->row[i].name, was, sizeof was));
        if (strcmp(is, was) != 0)
            put(to, t->row[i].name, is);
    }
    return COKE_OK;
}

/* ---- text ---- */

static void print_data(const struct facts *f, FILE *to)
{
    fprintf(to, "  %-10s ", "data");
    ck_print_clean(to, f->run.data[0] ? f->run.data : "unknown", 0);
    if (isfinite(f->images))
        ck_print(to, ", %.0f images", f->images);
    if (f->classes > 0)
        ck_print(to, ", %.0f classes", f->classes);
    putc('\n', to);
    if (f->init[0]) {
        fprintf(to, "  %-10s ", "started");
        ck_print_clean(to, f->init, 0);
        putc('\n', to);
    }
}

static int print_encoder(const struct ck_run *r, FILE *to)
{
    char arch[VALUE], stem[VALUE], width[VALUE];
    CK_RETURN_IF(encoder_text(r, "arch", arch));
    CK_RETURN_IF(encoder_text(r, "stem", stem));
    CK_RETURN_IF(encoder_text(r, "width", width));
    fprintf(to, "  %-10s %s, stem %s, width %s, %lld channels, images of %lld pixels\n",
            "encoder", arch, stem, width, (long long)r->encoder.o.channels,
            (long long)r->view_size);
    return COKE_OK;
}

static void print_progress(const struct facts *f, FILE *to)
{
    fprintf(to, "  %-10s %lld of %lld epochs%s\n", "progress", (long long)f->run.epoch,
            (long long)f->run.o.epochs, f->has_final ? ", complete" : "");
    fprintf(to, "  %-10s last%s%s\n", "weights", f->has_best ? ", best" : "",
            f->has_final ? ", final" : "");
}

static void print_heads(const struct ck_run *r, FILE *to)
{
    fprintf(to, "  %-10s %d, k", "heads", r->heads);
    for (int h = 0; h < r->heads; h++)
        fprintf(to, "%s %lld", h ? "," : "", (long long)ck_kmeans_k(r->head[h]));
    putc('\n', to);
}

static void print_metrics(const struct facts *f, FILE *to)
{
    if (!isfinite(f->metrics[0]))
        return;
    fprintf(to, "  %-10s", "metrics");
    for (int i = 0; i < METRICS; i++)
        if (isfinite(f->metrics[i]))
            ck_print(to, "%s %s %.4g", i ? "," : "", metric_names[i], f->metrics[i]);
    putc('\n', to);
}

static void print_option(void *to, const char *name, const char *value)
{
    fprintf(to, "    %-18s ", name);
    ck_print_clean(to, value, 0);
    putc('\n', to);
}

static int print_text(const struct facts *f, FILE *to)
{
    ck_print_clean(to, f->path, 0);
    fputs(": a training\n", to);
    print_data(f, to);
    print_progress(f, to);
    CK_RETURN_IF(print_encoder(&f->run, to));
    print_heads(&f->run, to);
    print_metrics(f, to);
    fprintf(to, "  %-10s that are not the defaults:\n", "options");
    CK_RETURN_IF(each_option(&f->run.o, print_option, to));
    if (fflush(to) || ferror(to))
        return ck_fail(COKE_EIO, "writing the description of %s: %s", f->path, strerror(errno));
    return COKE_OK;
}

/* ---- JSON ---- */

static void put_option(void *j, const char *name, const char *value)
{
    ck_json_put_text(j, name, value);
}

static int put_encoder(struct ck_json *j, const struct ck_run *r)
{
    static const char *const names[] = {"arch", "stem", "width", "channels", "dim"};
    char value[VALUE];
    ck_json_begin_object(j, "encoder");
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        CK_RETURN_IF(encoder_text(r, names[i], value));
        ck_json_put_text(j, names[i], value);
    }
    ck_json_put_int(j, "size", r->view_size);
    ck_json_end(j);
    return COKE_OK;
}

static void put_source(struct ck_json *j, const struct facts *f)
{
    ck_json_put_text(j, "path", f->path);
    ck_json_put_text(j, "format", "run");
    ck_json_put_text(j, "data", f->run.data);
    if (isfinite(f->images))
        ck_json_put_int(j, "images", (int64_t)f->images);
    if (isfinite(f->classes))
        ck_json_put_int(j, "classes", (int64_t)f->classes);
    if (f->init[0])
        ck_json_put_text(j, "init", f->init);
    ck_json_put_int(j, "epoch", f->run.epoch);
    ck_json_put_int(j, "epochs", f->run.o.epochs);
    ck_json_put_flag(j, "complete", f->has_final);
}

static int print_json(const struct facts *f, FILE *to)
{
    struct ck_json j;
    int rc = COKE_OK;
    ck_json_init(&j);
    put_source(&j, f);
    CK_TRY(put_encoder(&j, &f->run));
    ck_json_begin_array(&j, "heads");
    for (int h = 0; h < f->run.heads; h++)
        ck_json_put_int(&j, NULL, ck_kmeans_k(f->run.head[h]));
    ck_json_end(&j);
    ck_json_begin_object(&j, "metrics");
    for (int i = 0; i < METRICS; i++)
        if (isfinite(f->metrics[i]))
            ck_json_put_real(&j, metric_names[i], f->metrics[i]);
    ck_json_end(&j);
    ck_json_begin_object(&j, "options");
    CK_TRY(each_option(&f->run.o, put_option, &j));
    ck_json_end(&j);
    CK_TRY(ck_json_print(&j, to));
done:
    ck_json_release(&j);
    return rc;
}

int ck_run_info_print(const char *path, int json, FILE *to)
{
    int rc = COKE_OK;
    struct facts *f = ck_calloc_array(1, sizeof *f);
    if (!f)
        return COKE_ENOMEM;
    f->path = path;
    rc = read_facts(f);
    if (!rc) {
        rc = json ? print_json(f, to) : print_text(f, to);
        ck_run_close(&f->run);
    }
    ck_free(f);
    return rc;
}
