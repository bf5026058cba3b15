/* clustering_scores.c - judges the clusterings in a folder of 'coke cluster': by known classes,
 * and by the silhouette. */
#include "eval/clustering_scores.h"
#include "core/error.h"
#include "core/mem.h"
#include "data/row_lists.h"
#include "eval/agreement.h"
#include "eval/row_sample.h"
#include "eval/silhouette.h"
#include "store/clustering_folder.h"

#include <math.h>

/* Cells of the table of classes and clusters (8 bytes each). */
static const double max_cells = 256e6;

static int compare_classes(const struct ck_clustering *c, const char *path,
                           struct coke_clustering_result *out)
{
    struct ck_row_classes known = {0};
    int rc = COKE_OK;
    CK_TRY(ck_row_classes_load(&known, path, c->n));
    out->classes = known.classes;
    for (int h = c->heads - 1; h >= 0; h--) {
        struct ck_agreement a;
        if ((double)c->head[h].k * (double)known.classes > max_cells)
            CK_FAIL(COKE_EUSAGE,
                    "%s: %d classes and %lld clusters are too many to compare; are they names "
                    "of the rows?",
                    path, known.classes, (long long)c->head[h].k);
        CK_TRY(ck_agreement(known.class, c->head[h].label, c->n, known.classes,
                            (int32_t)c->head[h].k, &a));
        out->head[h].accuracy = a.accuracy;
        out->head[h].many_to_one = a.many_to_one;
        out->head[h].nmi = a.nmi;
        out->head[h].ari = a.ari;
        if (c->head[h].k == known.classes)
            out->matched = h;
    }
done:
    ck_row_classes_release(&known);
    return rc;
}

/* Labels of the sampled rows, all heads after each other. */
static void pick_labels(const struct ck_clustering *c, const struct ck_row_sample *s,
                        int32_t *label, const int32_t *list[COKE_MAX_HEADS],
                        int64_t k[COKE_MAX_HEADS])
{
    for (int h = 0; h < c->heads; h++) {
        list[h] = label + h * s->n;
        k[h] = c->head[h].k;
        for (int64_t i = 0; i < s->n; i++)
            label[h * s->n + i] = c->head[h].label[s->row[i]];
    }
}

static int find_silhouettes(const struct ck_clustering *c,
                            const struct coke_clustering_input *in,
                            const struct ck_rows_options *rows,
                            struct coke_clustering_result *out)
{
    struct ck_row_sample s = {0};
    struct ck_row_files f = {in->vectors, in->nvectors,  c->source, c->n,
                             c->dim,      !c->euclidean, rows};
    const int32_t *list[COKE_MAX_HEADS];
    int64_t k[COKE_MAX_HEADS];
    double score[COKE_MAX_HEADS];
    int32_t *label = NULL;
    int rc = COKE_OK;
    CK_TRY(ck_row_sample_choose(&s, c->n, in->sample > 0 ? in->sample : CK_SILHOUETTE_ROWS));
    CK_TRY(ck_row_sample_read(&s, &f));
    label = ck_alloc_array((size_t)s.n * (size_t)c->heads, sizeof *label);
    if (!label)
        CK_LEAVE(COKE_ENOMEM);
    pick_labels(c, &s, label, list, k);
    struct ck_silhouette_job job = {.n = s.n,
                                    .dim = c->dim,
                                    .x = s.x,
                                    .euclidean = c->euclidean,
                                    .heads = c->heads,
                                    .label = list,
                                    .k = k,
                                    .callbacks = in->callbacks};
    CK_TRY(ck_silhouette(&job, score));
    for (int h = 0; h < c->heads; h++)
        out->head[h].silhouette = score[h];
    out->sample = s.n;
done:
    ck_free(label);
    ck_row_sample_release(&s);
    return rc;
}

int ck_clustering_scores(const struct coke_clustering_input *in,
                         const struct ck_rows_options *rows, struct coke_clustering_result *out)
{
    struct ck_clustering c = {0};
    int rc = COKE_OK;
    CK_TRY(ck_clustering_read(&c, in->folder, 0));
    out->n = c.n;
    out->heads = c.heads;
    out->matched = -1;
    for (int h = 0; h < c.heads; h++)
        out->head[h] = (struct coke_clustering_scores){.k = c.head[h].k,
                                                       .objective = c.head[h].labels_objective,
                                                       .silhouette = (double)NAN,
                                                       .accuracy = (double)NAN,
                                                       .many_to_one = (double)NAN,
                                                       .nmi = (double)NAN,
                                                       .ari = (double)NAN};
    if (in->classes)
        CK_TRY(compare_classes(&c, in->classes, out));
    if (in->nvectors > 0)
        CK_TRY(find_silhouettes(&c, in, rows, out));
done:
    ck_clustering_release(&c);
    return rc;
}
