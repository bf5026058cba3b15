/* report.c - reads the files of a run or a clustering and computes the numbers of its page. */
#include "report/report.h"
#include "core/callbacks.h"
#include "core/error.h"
#include "core/mem.h"
#include "core/rng.h"
#include "data/fetch.h"
#include "data/images.h"
#include "eval/pca.h"
#include "eval/silhouette.h"
#include "train/run_files.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Cells of the table of classes and clusters (8 bytes each); larger ones are left out. */
static const double max_counts = 64e6;

static void release_head(struct ck_report_head *h)
{
    ck_free(h->label);
    ck_free(h->center);
    ck_free(h->dual);
    ck_free(h->min_size);
    ck_free(h->max_size);
    ck_free(h->size);
    ck_exemplars_release(&h->look);
    ck_table_release(&h->history);
    ck_free(h->spot);
    ck_free(h->count);
    ck_free(h->purity);
    ck_free(h->major);
    ck_free(h->match);
}

void ck_report_release(struct ck_report *r)
{
    for (int h = 0; h < COKE_MAX_HEADS; h++)
        release_head(&r->head[h]);
    ck_names_release(&r->facts);
    ck_names_release(&r->options);
    ck_names_release(&r->warnings);
    ck_table_release(&r->steps);
    ck_table_release(&r->history);
    ck_images_free(r->data);
    ck_row_sample_release(&r->sample);
    ck_names_release(&r->names);
    ck_row_classes_release(&r->known);
    ck_free(r->dot);
    ck_free(r->spot);
    ck_sheets_release(&r->sheets);
    memset(r, 0, sizeof *r);
}

void ck_report_row_name(const struct ck_report *r, int64_t i, char *text, size_t size)
{
    if (r->names.n)
        snprintf(text, size, "%s", ck_names_get(&r->names, i));
    else if (r->data)
        ck_dataset_name(r->data->set, i, text, size);
    else
        snprintf(text, size, "row %lld", (long long)i);
}

const char *ck_report_class_name(const struct ck_report *r, int32_t class)
{
    return r->known.classes ? ck_names_get(&r->known.name, class)
                            : r->data->set->class_name[class];
}

/* ---- images ---- */

/* Images that the user names must exist; those that the run names may have moved since. */
int ck_report_drop_images(struct ck_report *r, const struct ck_report_request *q, int status)
{
    if (status == COKE_OK || q->images || status == COKE_ENOMEM || status == COKE_ESTOPPED)
        return status;
    ck_warn(q->callbacks, "no pictures: %s; set images to where they are now", ck_last_error());
    ck_images_free(r->data);
    r->data = NULL;
    return COKE_OK;
}

/* The folder of the images that a run names. Whoever made the run may have put other files of
 * the reader into its list, or links to them. */
static void find_root(struct ck_report *r, const char *source)
{
    struct stat st;
    char *real = realpath(source, NULL);
    if (!real)
        return;
    char *slash = strrchr(real, '/');
    if (stat(real, &st) == 0 && !S_ISDIR(st.st_mode))
        *(slash == real ? slash + 1 : slash) = 0;
    snprintf(r->root, sizeof r->root, "%s", real);
    free(real);
    r->sheets.root = r->root;
}

int ck_report_open_images(struct ck_report *r, const struct ck_report_request *q,
                          const char *source, const struct ck_dataset_options *o)
{
    int rc = COKE_OK;
    CK_TRY(ck_images_new(&r->data, source, o));
    if (r->data->set->n != r->n)
        CK_FAIL(COKE_EUSAGE, "%s has %lld images, %s has labels of %lld", source,
                (long long)r->data->set->n, r->source, (long long)r->n);
    snprintf(r->images, sizeof r->images, "%s", source);
    if (!q->images)
        find_root(r, source);
done:
    return ck_report_drop_images(r, q, rc);
}

/* ---- classes ---- */

/* Compares the labels of a head with the true classes; leaves h->count NULL if there are
 * none. */
static int compare_classes(struct ck_report *r, struct ck_report_head *h)
{
    size_t k = (size_t)h->k, classes = (size_t)r->classes;
    if (!r->truth || r->classes < 1 || (double)k * (double)classes > max_counts)
        return COKE_OK;
    h->count = ck_calloc_array(k * classes, sizeof *h->count);
    h->purity = ck_alloc_array(k, sizeof *h->purity);
    h->major = ck_alloc_array(k, sizeof *h->major);
    h->match = ck_alloc_array(k, sizeof *h->match);
    if (!h->count || !h->purity || !h->major || !h->match)
        return COKE_ENOMEM;
    CK_RETURN_IF(ck_confusion(r->truth, h->label, r->n, r->classes, (int32_t)h->k, h->count));
    CK_RETURN_IF(ck_agreement_of_counts(h->count, r->classes, (int32_t)h->k, &h->agreement));
    CK_RETURN_IF(ck_match(h->count, r->classes, (int32_t)h->k, h->match, NULL));
    ck_purity(h->count, r->classes, (int32_t)h->k, h->purity, h->major);
    return COKE_OK;
}

/* ---- clusters ---- */

/* Counts the members and validates the labels, which come from a file. */
static int count_sizes(struct ck_report *r, struct ck_report_head *h, int index)
{
    h->size = ck_calloc_array((size_t)h->k, sizeof *h->size);
    if (!h->size)
        return COKE_ENOMEM;
    for (int64_t i = 0; i < r->n; i++) {
        if (h->label[i] >= h->k)
            return ck_fail(COKE_EFORMAT, "%s: head %d: label %d of row %lld, of %lld clusters",
                           r->source, index, h->label[i], (long long)i, (long long)h->k);
        if (h->label[i] >= 0)
            h->size[h->label[i]]++;
    }
    return COKE_OK;
}

/* Unreadable images have zero vectors; they are neither members nor dots. */
static int is_zero(const float *x, int dim)
{
    for (int j = 0; j < dim; j++)
        if (x[j] < 0 || x[j] > 0)
            return 0;
    return 1;
}

/* Chooses the members to show and measures tightness on the sampled rows. If the files contain
 * no objective, the mean over the sample takes its place. */
static int describe_clusters(struct ck_report *r, struct ck_report_head *h)
{
    int32_t *label = ck_alloc_array((size_t)r->sample.n, sizeof *label);
    struct ck_exemplar_job job = {.n = r->sample.n,
                                  .k = h->k,
                                  .dim = r->dim,
                                  .center = h->center,
                                  .label = label,
                                  .x = r->sample.x,
                                  .euclidean = r->euclidean,
                                  .members = CK_REPORT_MEMBERS,
                                  .neighbours = CK_REPORT_NEIGHBOURS};
    if (!label)
        return COKE_ENOMEM;
    for (int64_t i = 0; i < r->sample.n; i++)
        label[i] = r->sample.x && !r->euclidean && is_zero(r->sample.x + i * r->dim, r->dim)
                       ? -1
                       : h->label[r->sample.row[i]];
    int rc = ck_exemplars(&h->look, &job);
    ck_free(label);
    if (rc || !r->sample.x || isfinite(h->objective))
        return rc;
    double sum = 0, n = 0;
    for (int64_t c = 0; c < h->k; c++)
        if (h->look.size[c]) {
            sum += h->look.tightness[c] * (double)h->look.size[c];
            n += (double)h->look.size[c];
        }
    h->objective = n > 0 ? sum / n : (double)NAN;
    return COKE_OK;
}

/* The silhouettes of all heads, of the first rows in a random order of the sample. */
static int find_silhouettes(struct ck_report *r, const struct ck_report_request *q)
{
    struct ck_silhouette_job job = {
        .dim = r->dim, .euclidean = r->euclidean, .heads = r->heads, .callbacks = q->callbacks};
    struct ck_row_sample few = {0};
    const int32_t *list[COKE_MAX_HEADS];
    int64_t k[COKE_MAX_HEADS];
    double score[COKE_MAX_HEADS];
    int rc = COKE_OK;
    CK_TRY(ck_row_sample_choose(&few, r->sample.n, CK_SILHOUETTE_ROWS));
    size_t n = (size_t)few.n, line = (size_t)r->dim * sizeof *few.x;
    int32_t *label = ck_alloc_array(n * (size_t)r->heads, sizeof *label);
    few.x = ck_alloc_array(n, line);
    if (!label || !few.x) {
        ck_free(label);
        CK_LEAVE(COKE_ENOMEM);
    }
    for (int64_t i = 0; i < few.n; i++) {
        memcpy(few.x + i * r->dim, r->sample.x + few.row[i] * r->dim, line);
        for (int h = 0; h < r->heads; h++)
            label[h * few.n + i] = r->head[h].label[r->sample.row[few.row[i]]];
    }
    for (int h = 0; h < r->heads; h++) {
        list[h] = label + h * few.n;
        k[h] = r->head[h].k;
    }
    job.n = few.n;
    job.x = few.x;
    job.label = list;
    job.k = k;
    rc = ck_silhouette(&job, score);
    ck_free(label);
    for (int h = 0; h < r->heads && !rc; h++)
        r->head[h].silhouette = score[h];
    r->silhouette_rows = few.n;
done:
    ck_row_sample_release(&few);
    return rc;
}

/* ---- map ---- */

/* Draws the rows that become dots of the map; without vectors there are none. */
static int choose_dots(struct ck_report *r)
{
    struct ck_perm perm;
    if (!r->sample.x)
        return COKE_OK;
    int64_t wanted = r->sample.n < CK_REPORT_DOTS ? r->sample.n : CK_REPORT_DOTS;
    r->dot = ck_alloc_array((size_t)wanted, sizeof *r->dot);
    r->spot = ck_alloc_array((size_t)wanted, 2 * sizeof *r->spot);
    if (!r->dot || !r->spot)
        return COKE_ENOMEM;
    ck_perm_init(&perm, 0, CK_RNG_SAMPLE, 4, (uint64_t)r->sample.n);
    for (int64_t i = 0; i < wanted; i++) {
        int64_t at = (int64_t)ck_perm_at(&perm, (uint64_t)i);
        if (r->euclidean || !is_zero(r->sample.x + at * r->dim, r->dim))
            r->dot[r->dots++] = at;
    }
    return COKE_OK;
}

/* Projects the dots and the centers of all heads with one PCA, so that the heads share a
 * map. */
static int draw_map(struct ck_report *r)
{
    int rc = COKE_OK;
    struct ck_pca p = {0};
    int64_t n = 0, at = 0;
    size_t line = (size_t)r->dim * sizeof(float);
    CK_TRY(choose_dots(r));
    n = r->dots;
    for (int h = 0; h < r->heads; h++)
        n += r->head[h].k;
    float *x = ck_alloc_array((size_t)n, line);
    if (!x)
        return COKE_ENOMEM;
    for (int64_t i = 0; i < r->dots; i++, at++)
        memcpy(x + at * r->dim, r->sample.x + r->dot[i] * r->dim, line);
    for (int h = 0; h < r->heads; at += r->head[h++].k)
        memcpy(x + at * r->dim, r->head[h].center, (size_t)r->head[h].k * line);
    rc = ck_pca_fit(&p, x, n, r->dim, 2);
    ck_free(x);
    if (rc)
        return rc;
    for (int c = 0; c < 2; c++)
        r->shown[c] = p.total > 0 ? p.variance[c] / p.total : 0;
    for (int64_t i = 0; i < r->dots; i++)
        ck_pca_project(&p, r->sample.x + r->dot[i] * r->dim, 1, r->spot + 2 * i);
    for (int h = 0; h < r->heads; h++) {
        r->head[h].spot = ck_alloc_array((size_t)r->head[h].k, 2 * sizeof(float));
        if (!r->head[h].spot)
            CK_LEAVE(COKE_ENOMEM);
        ck_pca_project(&p, r->head[h].center, r->head[h].k, r->head[h].spot);
    }
done:
    ck_pca_release(&p);
    return rc;
}

/* ---- pictures ---- */

/* What is shown per cluster: thumbnail side, members of each kind, and whether dots have
 * pictures. From the richest plan to the poorest. */
static const struct plan {
    int side, nearest, borderline, random, dots;
} plans[] = {{64, 12, 12, 12, 1}, {64, 12, 8, 8, 1}, {48, 12, 8, 8, 1}, {48, 10, 6, 6, 0},
             {40, 10, 6, 6, 0},   {40, 8, 4, 4, 0},  {32, 8, 4, 4, 0},  {32, 6, 3, 3, 0},
             {32, 5, 2, 2, 0},    {24, 5, 2, 2, 0},  {24, 4, 1, 1, 0},  {24, 3, 0, 0, 0},
             {16, 2, 0, 0, 0},    {16, 1, 0, 0, 0},  {8, 1, 0, 0, 0}};
enum { PLANS = sizeof plans / sizeof plans[0] };

/* Adds the images of the first `shown` members of all k clusters. */
static int add_members(struct ck_report *r, const struct ck_exemplar *list, int64_t k,
                       int shown)
{
    int rc = COKE_OK;
    for (int64_t c = 0; c < k && !rc; c++)
        for (int m = 0; m < shown && !rc; m++) {
            int64_t row = list[c * CK_REPORT_MEMBERS + m].row;
            if (row >= 0)
                rc = ck_sheets_add(&r->sheets, r->sample.row[row]);
        }
    return rc;
}

/* Adds what plan p shows. The nearest members of a head are adjacent on the sheets, because
 * they are visible first and the browser then decodes few sheets. */
static int add_pictures(struct ck_report *r, const struct plan *p)
{
    int rc = COKE_OK;
    ck_sheets_clear(&r->sheets);
    for (int h = 0; h < r->heads && !rc; h++) {
        const struct ck_exemplars *e = &r->head[h].look;
        rc = add_members(r, e->nearest, e->k, p->nearest);
        if (!rc)
            rc = add_members(r, e->borderline, e->k, p->borderline);
        if (!rc)
            rc = add_members(r, e->random, e->k, r->sample.x ? p->random : p->nearest);
    }
    for (int64_t i = 0; i < r->dots && p->dots && !rc; i++)
        rc = ck_sheets_add(&r->sheets, r->sample.row[r->dot[i]]);
    r->sheets.side = p->side;
    r->sheets.nearest = p->nearest;
    r->sheets.borderline = p->borderline;
    r->sheets.random = r->sample.x ? p->random : p->nearest;
    r->sheets.dots = p->dots;
    return rc;
}

/* Never enlarges images. */
static int side_of(const struct plan *p, int32_t largest)
{
    return largest > 0 && largest < p->side ? largest : p->side;
}

/* The richest plan whose estimated size fits into `bytes`, with 5 % reserve; else the last. */
static int choose_plan(struct ck_report *r, double bytes, int *chosen, int32_t *largest)
{
    double each = 0;
    int rc = COKE_OK, known = 0;
    for (*chosen = 0; *chosen < PLANS; ++*chosen) {
        CK_TRY(add_pictures(r, &plans[*chosen]));
        if (*chosen == 0)
            *largest = ck_sheets_largest(&r->sheets, r->data);
        int side = side_of(&plans[*chosen], *largest);
        if (side != known)
            CK_TRY(ck_sheets_estimate(&r->sheets, r->data, side, &each));
        known = side;
        if (each * (double)r->sheets.n <= 0.95 * bytes)
            goto done;
    }
    *chosen = PLANS - 1;
done:
    return rc;
}

/* Frees the JPEGs but keeps the list of images. */
static void free_sheets(struct ck_sheets *s)
{
    for (int64_t i = 0; i < s->sheets; i++)
        ck_free(s->sheet[i].bytes);
    ck_free(s->sheet);
    s->sheet = NULL;
    s->sheets = s->bytes = 0;
}

/* Makes the sheets. If they exceed the budget after all, the next plan is tried. */
static int make_pictures(struct ck_report *r, const struct ck_report_request *q, double bytes)
{
    int32_t largest = 0;
    int plan;
    CK_RETURN_IF(choose_plan(r, bytes, &plan, &largest));
    for (;; plan++) {
        CK_RETURN_IF(add_pictures(r, &plans[plan]));
        r->sheets.side = side_of(&plans[plan], largest);
        CK_RETURN_IF(ck_sheets_make(&r->sheets, r->data, q->callbacks));
        if ((double)r->sheets.bytes <= bytes)
            break;
        free_sheets(&r->sheets);
        if (plan == PLANS - 1)
            return ck_fail(
                COKE_EUSAGE,
                "budget: %g MB cannot hold a picture of each cluster; images-dir puts them "
                "in a folder beside the page",
                q->o.budget);
    }
    if (r->sheets.outside)
        ck_warn(q->callbacks,
                "%lld of %lld pictures are not in %s, where the images of the run are, and "
                "stay gray; set images to %s to show them",
                (long long)r->sheets.outside, (long long)r->sheets.n, r->root, r->images);
    if (r->sheets.bad)
        ck_warn(q->callbacks,
                "%lld of %lld pictures could not be read and are gray, such as %s",
                (long long)r->sheets.bad, (long long)r->sheets.n, r->sheets.why);
    return COKE_OK;
}

/* Chooses which members appear on the page; without images they appear by number. */
static int choose_items(struct ck_report *r, const struct ck_report_request *q)
{
    /* base64 encodes 3 bytes as 4 */
    double bytes = q->o.budget * 1e6 * (q->embed ? 0.75 : 1);
    int rc = ck_sheets_begin(&r->sheets, r->n);
    if (rc)
        return rc;
    if (r->data)
        return make_pictures(r, q, bytes);
    rc = add_pictures(r, &plans[r->sample.n > 20000 ? 5 : 1]);
    r->sheets.side = 0;
    return rc;
}

/* ---- the whole report ---- */

/* Prefers the first head with as many clusters as classes, else the one with the fewest. */
static void choose_first(struct ck_report *r)
{
    for (int h = 1; h < r->heads; h++)
        if (r->head[h].k < r->head[r->first].k)
            r->first = h;
    for (int h = r->heads - 1; h >= 0; h--)
        if (r->head[h].k == r->classes)
            r->first = h;
}

/* Copies the source and reads the folder by its kind. */
static int read_files(struct ck_report *r, const struct ck_report_request *q)
{
    struct stat st;
    if (strlen(q->source) >= CK_REPORT_PATH)
        return ck_fail(COKE_EUSAGE, "a path of %zu bytes is too long", strlen(q->source));
    snprintf(r->source, sizeof r->source, "%s", q->source);
    if (stat(q->source, &st) != 0)
        return ck_fail(COKE_EIO, "%s: %s", q->source, strerror(errno));
    if (!S_ISDIR(st.st_mode))
        return ck_fail(COKE_EUSAGE,
                       "%s is a file; a report is made of the folder of a training or of a "
                       "clustering",
                       q->source);
    enum ck_folder kind = ck_folder_kind(q->source);
    if (kind == CK_FOLDER_RUN && (q->names || q->classes))
        return ck_fail(
            COKE_EUSAGE,
            "%s is a training, whose images have names and classes; a file of %s goes "
            "with a clustering of vectors",
            q->source, q->names ? "names" : "classes");
    if (kind == CK_FOLDER_RUN)
        return ck_report_read_run(r, q);
    if (kind == CK_FOLDER_CLUSTERING)
        return ck_report_read_cluster(r, q);
    return ck_fail(COKE_EFORMAT,
                   "%s has neither last.safetensors of a training nor summary.json of a "
                   "clustering",
                   q->source);
}

int ck_report_read(struct ck_report *r, const struct ck_report_request *q)
{
    int rc = COKE_OK;
    memset(r, 0, sizeof *r);
    r->seconds = r->speed = (double)NAN;
    for (int h = 0; h < COKE_MAX_HEADS; h++)
        r->head[h].objective = r->head[h].gap = r->head[h].silhouette = (double)NAN;
    CK_TRY(read_files(r, q));
    if (r->known.classes) {
        r->classes = r->known.classes;
        r->truth = r->known.class;
    } else if (r->data && r->data->set->label) {
        r->classes = r->data->set->classes;
        r->truth = r->data->set->label;
    }
    for (int h = 0; h < r->heads; h++) {
        CK_TRY(ck_progress_count(q->callbacks, "clusters", h, r->heads, "heads"));
        CK_TRY(count_sizes(r, &r->head[h], h));
        CK_TRY(compare_classes(r, &r->head[h]));
        CK_TRY(describe_clusters(r, &r->head[h]));
    }
    if (r->sample.x && !r->is_run)
        CK_TRY(find_silhouettes(r, q));
    choose_first(r);
    CK_TRY(draw_map(r));
    CK_TRY(choose_items(r, q));
done:
    if (rc)
        ck_report_release(r);
    return rc;
}
