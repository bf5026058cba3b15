/* read_cluster.c - reads the output folder of a clustering, and what the user knows of its rows:
 * vectors, names, classes, images. */
#include "core/error.h"
#include "report/report.h"
#include "store/clustering_folder.h"

#include <stdio.h>

/* Moves what c owns to the report. */
static void take(struct ck_report *r, struct ck_clustering *c)
{
    r->n = c->n;
    r->dim = c->dim;
    r->euclidean = c->euclidean;
    r->heads = c->heads;
    r->epoch = r->epochs = c->epochs;
    r->seconds = c->seconds;
    r->speed = c->speed;
    r->options = c->options;
    c->options = (struct ck_names){0};
    for (int h = 0; h < c->heads; h++) {
        struct ck_report_head *to = &r->head[h];
        struct ck_clustering_head *from = &c->head[h];
        to->k = from->k;
        to->objective = from->labels_objective;
        to->gap = from->gap;
        to->label = from->label;
        to->center = from->center;
        to->dual = from->price;
        to->min_size = from->min_size;
        to->max_size = from->max_size;
        *from = (struct ck_clustering_head){0};
    }
}

/* Members and map need the vectors, which the folder does not contain: the user may name
 * them. */
int ck_report_read_cluster(struct ck_report *r, const struct ck_report_request *q)
{
    struct ck_clustering c;
    struct ck_row_files files = {q->vectors, q->nvectors, r->source, 0, 0, 0, &q->rows};
    CK_RETURN_IF(ck_clustering_read(&c, r->source, 1));
    take(r, &c);
    ck_clustering_release(&c);
    r->complete = 1;
    snprintf(r->about, sizeof r->about, "vectors of %d dimensions%s", r->dim,
             r->euclidean ? ", Euclidean distance" : "");
    if (q->names)
        CK_RETURN_IF(ck_row_names_load(&r->names, q->names, r->n));
    if (q->classes)
        CK_RETURN_IF(ck_row_classes_load(&r->known, q->classes, r->n));
    if (q->images)
        CK_RETURN_IF(ck_report_open_images(r, q, q->images, &q->data));
    CK_RETURN_IF(ck_row_sample_choose(&r->sample, r->n, q->o.sample));
    files.rows = r->n;
    files.dim = r->dim;
    files.unit = !r->euclidean;
    return q->nvectors ? ck_row_sample_read(&r->sample, &files) : COKE_OK;
}
