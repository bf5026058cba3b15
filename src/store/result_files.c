/* result_files.c - the files of a clustering: labels, centers, model and summary, all or none. */
#include "store/result_files.h"
#include "cluster/job.h"
#include "core/error.h"
#include "core/mem.h"
#include "core/state.h"
#include "core/workers.h"
#include "dist/group.h"
#include "io/file.h"
#include "io/folders.h"
#include "io/json.h"
#include "io/npy.h"
#include "io/safetensors.h"
#include "io/sums.h"

#include <stdio.h>
#include <unistd.h>

/* A file that gets its name when it is committed. */
struct output {
    char path[4096];
    struct ck_writer w;
};

/* labels, centers, model per head; summary, checksums */
enum { FILES = 3 * COKE_MAX_HEADS + 2 };

/* Several heads get names like labels-h0-k10.npy; h -1: a file for all heads. */
static int open_output(struct output *o, const struct coke_cluster *c, const char *dir, int h,
                       const char *stem, const char *suffix, int force)
{
    char name[64];
    if (c->heads > 1 && h >= 0)
        snprintf(name, sizeof name, "%s-h%d-k%lld%s", stem, h,
                 (long long)ck_kmeans_k(c->head[h]), suffix);
    else
        snprintf(name, sizeof name, "%s%s", stem, suffix);
    if ((size_t)snprintf(o->path, sizeof o->path, "%s/%s", dir, name) >= sizeof o->path)
        return ck_fail(COKE_EUSAGE, "%s: the name is too long", dir);
    return ck_writer_open(&o->w, o->path, ck_force_inside(force));
}

/* In pieces: labels may be stored in 16 bits, and an int32 copy of all would be the largest
 * array in memory. */
static int write_labels(struct ck_writer *w, const struct coke_cluster *c, int h)
{
    enum { PIECE = 4096 };
    int32_t label[PIECE];
    int rc = ck_npy_write_to(w, CK_I32, 1, &c->n, NULL);
    for (int64_t at = 0; at < c->n && !rc; at += PIECE) {
        int64_t n = c->n - at < PIECE ? c->n - at : PIECE;
        for (int64_t i = 0; i < n; i++)
            label[i] = ck_kmeans_label(c->head[h], at + i);
        rc = ck_writer_write(w, label, (size_t)n * sizeof *label);
    }
    return rc;
}

/* 'duals' are the prices that prove the final labels; ck_model_from_state reads what this
 * adds to st, whose tensors belong to c. */
static int model_state(const struct coke_cluster *c, int h, struct ck_state *st)
{
    const struct coke_kmeans *km = c->head[h];
    const struct coke_head_summary *s = &c->summary[h];
    int64_t shape[2] = {ck_kmeans_k(km), c->dim};
    int rc, euclidean = ck_kmeans_metric(km) == COKE_METRIC_EUCLIDEAN;
    CK_TRY(ck_state_add(st, "centers", CK_F32, 2, shape, c->center[h]));
    CK_TRY(ck_state_add(st, "duals", CK_F32, 1, shape, c->price[h]));
    CK_TRY(ck_state_add(st, "sizes", CK_I64, 1, shape, c->size[h]));
    CK_TRY(ck_state_add(st, "min_sizes", CK_I64, 1, shape, ck_kmeans_min_sizes(km)));
    if (ck_kmeans_max_sizes(km))
        CK_TRY(ck_state_add(st, "max_sizes", CK_I64, 1, shape, ck_kmeans_max_sizes(km)));
    if (euclidean)
        CK_TRY(ck_state_add(st, "reference", CK_F32, 1, shape + 1, ck_kmeans_reference(km)));
    int64_t groups[2] = {s->groups, c->dim}, ends = s->groups + 1;
    if (c->group_center[h]) {
        CK_TRY(ck_state_add(st, "group_centers", CK_F32, 2, groups, c->group_center[h]));
        CK_TRY(ck_state_add(st, "group_first", CK_I64, 1, &ends, c->group_first[h]));
    }
    /* programs that know only the cosine refuse the second */
    CK_TRY(ck_state_add_meta(st, "format", euclidean ? "coke-kmeans-2" : "coke-kmeans"));
    CK_TRY(ck_state_add_meta(st, "metric", euclidean ? "euclidean" : "cosine"));
    CK_TRY(ck_state_add_meta(st, "version", COKE_VERSION));
    CK_TRY(ck_state_add_meta_number(st, "n", (double)s->n));
    CK_TRY(ck_state_add_meta_number(st, "k", (double)ck_kmeans_k(km)));
    CK_TRY(ck_state_add_meta_number(st, "dim", (double)c->dim));
    CK_TRY(ck_state_add_meta_number(st, "objective", s->objective));
    CK_TRY(ck_state_add_meta_number(st, "seed", (double)c->o.seed));
done:
    return rc;
}

static int write_model(struct ck_writer *w, const struct coke_cluster *c, int h)
{
    struct ck_state st = {0};
    int rc = model_state(c, h, &st);
    if (!rc)
        rc = ck_safetensors_write_to(w, &st);
    ck_state_release(&st);
    return rc;
}

int ck_cluster_pack(const struct coke_cluster *c, int h, void **bytes, size_t *size)
{
    struct ck_state st = {0};
    int rc = model_state(c, h, &st);
    if (!rc)
        rc = ck_safetensors_pack(&st, bytes, size);
    ck_state_release(&st);
    return rc;
}

/* The keys are those of 'coke cluster --json' (cli/emit.c) and documented in
 * docs/formats.md. */
static void put_head(struct ck_json *j, const struct coke_cluster *c, int h)
{
    const struct coke_head_summary *s = &c->summary[h];
    ck_json_put_int(j, "k", s->k);
    ck_json_put_int(j, "fit_rows", s->fit_rows);
    ck_json_put_int(j, "epochs", s->epochs);
    ck_json_put_flag(j, "converged", s->converged);
    ck_json_put_int(j, "restarts", s->restarts);
    ck_json_put_int(j, "polish", s->polish);
    ck_json_put_flag(j, "settled", s->settled);
    ck_json_put_real(j, "passes", s->reads);
    ck_json_put_real(j, "eta", s->eta);
    ck_json_put_int(j, "levels", s->levels);
    if (s->levels == 2) {
        ck_json_put_int(j, "groups", s->groups);
        ck_json_put_int(j, "probes", s->probes);
    }
    ck_json_put_real(j, "objective", s->objective);
    ck_json_put_real(j, "labels_objective", s->labels_objective);
    if (s->metric == COKE_METRIC_EUCLIDEAN)
        ck_json_put_real(j, "inertia", s->inertia);
    ck_json_begin_object(j, "sizes");
    ck_json_put_int(j, "min", s->size_min);
    ck_json_put_int(j, "median", s->size_median);
    ck_json_put_int(j, "max", s->size_max);
    ck_json_put_int(j, "lower_bound_min", s->lower_bound_min);
    ck_json_put_int(j, "lower_bound_max", s->lower_bound_max);
    if (s->upper_bound_max >= 0) {
        ck_json_put_int(j, "upper_bound_min", s->upper_bound_min);
        ck_json_put_int(j, "upper_bound_max", s->upper_bound_max);
    }
    ck_json_put_int(j, "below_before_repair", s->below_before_repair);
    ck_json_put_int(j, "above_before_repair", s->above_before_repair);
    ck_json_put_int(j, "missing_before_repair", s->missing_before_repair);
    ck_json_end(j);
    if (s->not_nearest >= 0)
        ck_json_put_int(j, "not_nearest", s->not_nearest);
    ck_json_put_flag(j, "repaired", s->repaired);
    if (s->repaired) {
        ck_json_begin_object(j, "certificate");
        ck_json_put_real(j, "primal", s->primal);
        ck_json_put_real(j, "dual", s->dual);
        ck_json_put_real(j, "gap", s->gap);
        ck_json_put_int(j, "bytes", s->repair_bytes);
        ck_json_put_text(j, "covers", s->levels == 2 ? "candidates" : "all");
        if (s->levels == 2)
            ck_json_put_int(j, "beyond", s->beyond);
        ck_json_end(j);
    }
}

/* Reproducible fields first; only `timing` differs between two runs. */
static int write_summary(struct ck_writer *w, const struct coke_cluster *c)
{
    struct ck_json j;
    ck_json_init(&j);
    ck_json_put_text(&j, "program", "coke cluster");
    ck_json_put_text(&j, "version", COKE_VERSION);
    ck_json_put_int(&j, "n", c->n);
    ck_json_put_int(&j, "dim", c->dim);
    ck_json_put_int(&j, "skipped", c->scan.nbad);
    ck_json_begin_array(&j, "heads");
    for (int h = 0; h < c->heads; h++) {
        ck_json_begin_object(&j, NULL);
        put_head(&j, c, h);
        ck_json_end(&j);
    }
    ck_json_end(&j);
    ck_json_begin_object(&j, "options"); /* as --config takes them; a failure stays in j */
    ck_json_put_options(&j, ck_cluster_option_table(), &c->o);
    ck_json_end(&j);
    ck_json_begin_object(&j, "timing"); /* not reproducible, unlike all above */
    ck_json_put_int(&j, "threads", ck_threads());
    ck_json_put_text(&j, "isa", ck_isa());
    ck_json_put_real(&j, "init_seconds", c->timing.init);
    ck_json_put_real(&j, "epochs_seconds", c->timing.epochs);
    ck_json_put_real(&j, "final_seconds", c->timing.final);
    ck_json_put_real(&j, "total_seconds", c->timing.total);
    ck_json_put_real(&j, "vectors_per_second", c->timing.vectors_per_second);
    ck_json_end(&j);
    int rc = ck_json_write_to(&j, w);
    ck_json_release(&j);
    return rc;
}

/* Lists the others [n]. The models, every third file, have checksums of their own. */
static int write_sums(struct ck_writer *w, const struct output *o, int n)
{
    for (int i = 0; i < n; i++)
        if (i % 3 != 2)
            CK_RETURN_IF(ck_sums_add_writer(w, &o[i].w));
    return COKE_OK;
}

/* Writes all files without names, syncs them, and only then names them: a full disk or a crash
 * before that leaves no file. */
int ck_cluster_write(const struct coke_cluster *c, const char *dir, int force)
{
    int rc = COKE_OK, n = 0, published = 0, made = 0;
    if (ck_group_rank(ck_group()) > 0) /* all ranks hold the same result */
        return COKE_OK;
    struct output *o = ck_calloc_array(FILES, sizeof *o);
    if (!o)
        return COKE_ENOMEM;
    CK_TRY(ck_folders_make(dir, &made));
    for (int h = 0; h < c->heads; h++) {
        int64_t shape[2] = {ck_kmeans_k(c->head[h]), c->dim};
        CK_TRY(open_output(&o[n++], c, dir, h, "labels", ".npy", force));
        CK_TRY(write_labels(&o[n - 1].w, c, h));
        CK_TRY(open_output(&o[n++], c, dir, h, "centers", ".npy", force));
        CK_TRY(ck_npy_write_to(&o[n - 1].w, CK_F32, 2, shape, c->center[h]));
        CK_TRY(open_output(&o[n++], c, dir, h, "model", ".safetensors", force));
        CK_TRY(write_model(&o[n - 1].w, c, h));
    }
    CK_TRY(open_output(&o[n++], c, dir, -1, "summary", ".json", force));
    CK_TRY(write_summary(&o[n - 1].w, c));
    CK_TRY(open_output(&o[n++], c, dir, -1, CK_SUMS_LIST, "", force));
    CK_TRY(write_sums(&o[n - 1].w, o, n - 1));
    for (int i = 0; i < n; i++)
        CK_TRY(ck_writer_sync(&o[i].w));
    for (; published < n; published++)
        CK_TRY(ck_writer_commit(&o[published].w));
done:
    for (int i = 0; i < n; i++)
        ck_writer_abort(&o[i].w);
    /* Remove files named before another failed. With force they may have replaced older ones,
     * which are lost either way: keep them. */
    for (int i = 0; rc && !force && i < published; i++)
        unlink(o[i].path);
    if (rc)
        ck_folders_remove(dir, made);
    ck_free(o);
    return rc;
}
