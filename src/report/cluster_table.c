/* cluster_table.c - the table of a clustering: one line per cluster, as CSV or JSON.
 *
 * Closeness is a cosine, or a distance where the clustering is Euclidean. What needs the vectors
 * refers to the sample of the report and is empty (null) without them. */
#include "core/error.h"
#include "core/text.h"
#include "io/file.h"
#include "io/json.h"
#include "report/report.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { NAME = 300, NEAREST = 10 }; /* bytes of a name; nearest rows listed per cluster */

/* Similarities of Euclidean reports are distances with a minus sign. */
static double closeness(const struct ck_report *r, double similarity)
{
    return r->euclidean ? -similarity : similarity;
}

/* The nearest members of cluster c; their number is returned. */
static int nearest_of(const struct ck_report *r, const struct ck_report_head *h, int64_t c,
                      const struct ck_exemplar **list)
{
    int n = 0;
    *list = h->look.nearest + c * h->look.members;
    while (r->sample.x && n < NEAREST && n < h->look.members && (*list)[n].row >= 0)
        n++;
    return n;
}

/* ---- CSV ---- */

struct csv {
    struct ck_writer *w;
    int status; /* the first failure */
    int column; /* of the line */
};

static void put_bytes(struct csv *t, const char *bytes, size_t n)
{
    if (!t->status)
        t->status = ck_writer_write(t->w, bytes, n);
}

/* A field; with quotes where RFC 4180 needs them. */
static void put_text(struct csv *t, const char *text)
{
    int quoted = strpbrk(text, ",\"\r\n") != NULL;
    put_bytes(t, ",", t->column++ > 0);
    put_bytes(t, "\"", (size_t)quoted);
    for (const char *p = text; *p; p++) {
        put_bytes(t, "\"", *p == '"');
        put_bytes(t, p, 1);
    }
    put_bytes(t, "\"", (size_t)quoted);
}

static void put_int(struct csv *t, int64_t v)
{
    char text[32];
    snprintf(text, sizeof text, "%lld", (long long)v);
    put_text(t, text);
}

static void put_real(struct csv *t, double v)
{
    char text[40] = "";
    if (isfinite(v))
        ck_format(text, sizeof text, "%.7g", v);
    put_text(t, text);
}

static void end_line(struct csv *t)
{
    put_bytes(t, "\n", 1);
    t->column = 0;
}

static void put_header(struct csv *t, const struct ck_report *r)
{
    static const char *const name[] = {"head",      "k",       "cluster", "size",
                                       "lower",     "upper",   "price",   "measured",
                                       "tightness", "loosest", "nearest", "nearest_cluster"};
    for (size_t i = 0; i < sizeof name / sizeof *name; i++)
        put_text(t, name[i]);
    if (r->names.n || r->data)
        put_text(t, "name");
    if (r->truth) {
        put_text(t, "class");
        put_text(t, "purity");
    }
    end_line(t);
}

/* Row numbers separated by spaces, the closest first. */
static void put_nearest(struct csv *t, const struct ck_report *r,
                        const struct ck_exemplar *list, int n)
{
    char text[NEAREST * 24] = "";
    size_t used = 0;
    for (int i = 0; i < n; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%lld", i ? " " : "",
                                 (long long)r->sample.row[list[i].row]);
    put_text(t, text);
}

static void put_line(struct csv *t, const struct ck_report *r, int index, int64_t c)
{
    const struct ck_report_head *h = &r->head[index];
    const struct ck_exemplar *list;
    char name[NAME] = "";
    int n = nearest_of(r, h, c, &list);
    put_int(t, index);
    put_int(t, h->k);
    put_int(t, c);
    put_int(t, h->size[c]);
    put_int(t, h->min_size[c]);
    if (h->max_size)
        put_int(t, h->max_size[c]);
    else
        put_text(t, "");
    put_real(t, (double)h->dual[c]);
    put_int(t, r->sample.x ? h->look.size[c] : 0);
    put_real(t, closeness(r, h->look.tightness[c]));
    put_real(t, closeness(r, h->look.loosest[c]));
    put_nearest(t, r, list, n);
    if (h->k > 1)
        put_int(t, h->look.near[c * h->look.neighbours]);
    else
        put_text(t, "");
    if (r->names.n || r->data) {
        if (n)
            ck_report_row_name(r, r->sample.row[list[0].row], name, sizeof name);
        put_text(t, name);
    }
    if (r->truth) {
        int known = h->count && h->major[c] >= 0;
        put_text(t, known ? ck_report_class_name(r, h->major[c]) : "");
        put_real(t, known ? h->purity[c] : (double)NAN);
    }
    end_line(t);
}

static int write_csv(const struct ck_report *r, struct ck_writer *w)
{
    struct csv t = {.w = w};
    put_header(&t, r);
    for (int h = 0; h < r->heads; h++)
        for (int64_t c = 0; c < r->head[h].k; c++)
            put_line(&t, r, h, c);
    return t.status;
}

/* ---- JSON ---- */

static void put_members(struct ck_json *j, const struct ck_report *r,
                        const struct ck_exemplar *list, int n)
{
    char name[NAME];
    ck_json_begin_array(j, "nearest");
    for (int i = 0; i < n; i++) {
        ck_json_begin_object(j, NULL);
        ck_json_put_int(j, "row", r->sample.row[list[i].row]);
        if (r->names.n || r->data) {
            ck_report_row_name(r, r->sample.row[list[i].row], name, sizeof name);
            ck_json_put_text(j, "name", name);
        }
        ck_json_put_digits(j, "closeness", closeness(r, (double)list[i].similarity), 7);
        ck_json_end(j);
    }
    ck_json_end(j);
}

static void put_cluster(struct ck_json *j, const struct ck_report *r,
                        const struct ck_report_head *h, int64_t c)
{
    const struct ck_exemplar *list;
    int n = nearest_of(r, h, c, &list);
    ck_json_begin_object(j, NULL);
    ck_json_put_int(j, "cluster", c);
    ck_json_put_int(j, "size", h->size[c]);
    ck_json_put_int(j, "lower", h->min_size[c]);
    if (h->max_size)
        ck_json_put_int(j, "upper", h->max_size[c]);
    ck_json_put_digits(j, "price", (double)h->dual[c], 7);
    ck_json_put_int(j, "measured", r->sample.x ? h->look.size[c] : 0);
    ck_json_put_digits(j, "tightness", closeness(r, h->look.tightness[c]), 7);
    ck_json_put_digits(j, "loosest", closeness(r, h->look.loosest[c]), 7);
    put_members(j, r, list, n);
    if (h->k > 1)
        ck_json_put_int(j, "nearest_cluster", h->look.near[c * h->look.neighbours]);
    if (h->count && h->major[c] >= 0) {
        ck_json_put_text(j, "class", ck_report_class_name(r, h->major[c]));
        ck_json_put_digits(j, "purity", h->purity[c], 7);
    }
    ck_json_end(j);
}

static int write_json(const struct ck_report *r, struct ck_writer *w)
{
    struct ck_json j;
    ck_json_init(&j);
    ck_json_put_text(&j, "closeness", r->euclidean ? "distance" : "cosine");
    ck_json_put_int(&j, "silhouette_rows", r->silhouette_rows);
    ck_json_begin_array(&j, "heads");
    for (int h = 0; h < r->heads; h++) {
        ck_json_begin_object(&j, NULL);
        ck_json_put_int(&j, "k", r->head[h].k);
        ck_json_put_real(&j, "objective", r->head[h].objective);
        ck_json_put_real(&j, "silhouette", r->head[h].silhouette);
        ck_json_begin_array(&j, "clusters");
        for (int64_t c = 0; c < r->head[h].k; c++)
            put_cluster(&j, r, &r->head[h], c);
        ck_json_end(&j);
        ck_json_end(&j);
    }
    ck_json_end(&j);
    int rc = ck_json_write_to(&j, w);
    ck_json_release(&j);
    return rc;
}

/* ---- the file ---- */

static int is_json(const char *path)
{
    size_t n = strlen(path);
    return n >= 5 && strcmp(path + n - 5, ".json") == 0;
}

int ck_cluster_table_write(const struct ck_report *r, const char *path, int force)
{
    struct ck_writer w = {0};
    int rc = COKE_OK;
    CK_TRY(ck_writer_open(&w, path, force));
    CK_TRY(is_json(path) ? write_json(r, &w) : write_csv(r, &w));
    CK_TRY(ck_writer_commit(&w));
done:
    ck_writer_abort(&w);
    return rc;
}
