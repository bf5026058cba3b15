/* page_data.c - the data of report.js, as one JSON document in the page.
 *
 * Private to the page: keys may change together with report.js. Lists of pairs are flat arrays
 * to keep the page small. A place is an index into "names", and the tile number on the
 * sheets. */
#include "data/fetch.h"
#include "report/page_parts.h"

enum { NAME = 300, TOP_CLASSES = 6 }; /* bytes of a row name; classes listed per cluster */

/* ---- lists ---- */

static void put_reals(struct ck_json *j, const char *key, const double *v, int64_t n)
{
    ck_json_begin_array(j, key);
    for (int64_t i = 0; i < n; i++)
        ck_json_put_digits(j, NULL, v[i], 4);
    ck_json_end(j);
}

static void put_ints(struct ck_json *j, const char *key, const int64_t *v, int64_t n)
{
    ck_json_begin_array(j, key);
    for (int64_t i = 0; i < n; i++)
        ck_json_put_int(j, NULL, v[i]);
    ck_json_end(j);
}

static void put_duals(struct ck_json *j, const struct ck_report_head *head)
{
    ck_json_begin_array(j, "dual");
    for (int64_t c = 0; c < head->k; c++)
        ck_json_put_digits(j, NULL, (double)head->dual[c], 4);
    ck_json_end(j);
}

/* Similarities of a Euclidean report are distances with a minus sign. */
static double value(const struct ck_report *r, double similarity)
{
    return r->euclidean ? -similarity : similarity;
}

/* Per cluster [place, value, place, value, ...]: value is a similarity or a margin. */
static void put_members(struct ck_json *j, const struct ck_report *r, const char *key,
                        const struct ck_exemplar *list, int64_t k, int shown, int margin)
{
    ck_json_begin_array(j, key);
    for (int64_t c = 0; c < k; c++) {
        const struct ck_exemplar *e = &list[c * CK_REPORT_MEMBERS];
        ck_json_begin_array(j, NULL);
        for (int m = 0; m < shown && e[m].row >= 0; m++) {
            ck_json_put_int(j, NULL, r->sheets.place[r->sample.row[e[m].row]]);
            ck_json_put_digits(
                j, NULL, margin ? (double)e[m].margin : value(r, (double)e[m].similarity), 3);
        }
        ck_json_end(j);
    }
    ck_json_end(j);
}

/* Per cluster [neighbor, similarity, neighbor, similarity, ...], nearest first. */
static void put_near(struct ck_json *j, const struct ck_report *r, const struct ck_exemplars *e)
{
    ck_json_begin_array(j, "near");
    for (int64_t c = 0; c < e->k; c++) {
        const int64_t first = c * e->neighbours;
        ck_json_begin_array(j, NULL);
        for (int64_t m = first; m < first + e->neighbours && e->near[m] >= 0; m++) {
            ck_json_put_int(j, NULL, e->near[m]);
            ck_json_put_digits(j, NULL, value(r, (double)e->near_similarity[m]), 3);
        }
        ck_json_end(j);
    }
    ck_json_end(j);
}

/* ---- classes ---- */

/* The most frequent classes of cluster c: [class, images, class, images, ...]. Selects them one
 * by one: `bound` and `after` are count and number of the class chosen before. */
static void put_top(struct ck_json *j, const struct ck_report *r,
                    const struct ck_report_head *head, int64_t c)
{
    int64_t bound = INT64_MAX, after = -1;
    ck_json_begin_array(j, NULL);
    for (int t = 0; t < TOP_CLASSES; t++) {
        int64_t best = -1, max = 0;
        for (int32_t i = 0; i < r->classes; i++) {
            int64_t n = head->count[i * head->k + c];
            int later = n < bound || (n == bound && i > after);
            if (later && n > max) {
                max = n;
                best = i;
            }
        }
        if (best < 0)
            break;
        ck_json_put_int(j, NULL, best);
        ck_json_put_int(j, NULL, max);
        bound = max;
        after = best;
    }
    ck_json_end(j);
}

static void put_classes(struct ck_json *j, const struct ck_report *r,
                        const struct ck_report_head *head)
{
    put_reals(j, "purity", head->purity, head->k);
    ck_json_begin_array(j, "major");
    for (int64_t c = 0; c < head->k; c++)
        ck_json_put_int(j, NULL, head->major[c]);
    ck_json_end(j);
    ck_json_begin_array(j, "top");
    for (int64_t c = 0; c < head->k; c++)
        put_top(j, r, head, c);
    ck_json_end(j);
}

/* ---- heads ---- */

/* The cluster of each dot of the map, in the order of the page's "dots". */
static void put_dot_labels(struct ck_json *j, const struct ck_report *r,
                           const struct ck_report_head *head)
{
    ck_json_begin_array(j, "dots");
    for (int64_t i = 0; i < r->dots; i++)
        ck_json_put_int(j, NULL, head->label[r->sample.row[r->dot[i]]]);
    ck_json_end(j);
}

static void put_head(struct ck_json *j, const struct ck_report *r,
                     const struct ck_report_head *head)
{
    const struct ck_exemplars *e = &head->look;
    ck_json_begin_object(j, NULL);
    ck_json_put_int(j, "k", head->k);
    put_ints(j, "size", head->size, head->k);
    put_ints(j, "min", head->min_size, head->k);
    put_duals(j, head);
    if (r->sample.x) {
        ck_json_begin_array(j, "tight");
        for (int64_t c = 0; c < head->k; c++)
            ck_json_put_digits(j, NULL, value(r, e->tightness[c]), 4);
        ck_json_end(j);
        put_members(j, r, "nearest", e->nearest, head->k, r->sheets.nearest, 0);
        put_members(j, r, "borderline", e->borderline, head->k, r->sheets.borderline, 1);
    }
    put_members(j, r, "random", e->random, head->k, r->sheets.random, 0);
    put_near(j, r, e);
    if (head->count)
        put_classes(j, r, head);
    if (r->dots)
        put_dot_labels(j, r, head);
    ck_json_end(j);
}

/* ---- items ---- */

/* Names of all shown rows, by place. */
static void put_names(struct ck_json *j, const struct ck_report *r)
{
    char name[NAME];
    ck_json_begin_array(j, "names");
    for (int64_t i = 0; i < r->sheets.n; i++) {
        ck_report_row_name(r, r->sheets.image[i], name, sizeof name);
        ck_html_json_text(j, NULL, name);
    }
    ck_json_end(j);
}

/* True classes by place, and the class names. */
static void put_truth(struct ck_json *j, const struct ck_report *r)
{
    ck_json_begin_array(j, "truth");
    for (int64_t i = 0; i < r->sheets.n; i++)
        ck_json_put_int(j, NULL, r->truth[r->sheets.image[i]]);
    ck_json_end(j);
    ck_json_begin_array(j, "classes");
    for (int32_t c = 0; c < r->classes; c++)
        ck_html_json_text(j, NULL, ck_report_class_name(r, c));
    ck_json_end(j);
}

/* [x, y, place, row, ...] in SVG units; place -1 = without a picture. */
static void put_dots(struct ck_json *j, const struct ck_report *r)
{
    struct ck_map_frame f = ck_page_map_frame(r);
    ck_json_begin_array(j, "dots");
    for (int64_t i = 0; i < r->dots; i++) {
        ck_json_put_fixed(j, NULL, f.left + f.scale * (double)r->spot[2 * i], 1);
        ck_json_put_fixed(j, NULL, f.top - f.scale * (double)r->spot[2 * i + 1], 1);
        ck_json_put_int(j, NULL, r->sheets.place[r->sample.row[r->dot[i]]]);
        ck_json_put_int(j, NULL, r->sample.row[r->dot[i]]);
    }
    ck_json_end(j);
}

static void put_items(struct ck_html *h, struct ck_json *j, const struct ck_report *r)
{
    put_names(j, r);
    ck_html_put(h, "\n");
    if (r->truth) {
        put_truth(j, r);
        ck_html_put(h, "\n");
    }
    if (r->dots) {
        put_dots(j, r);
        ck_html_put(h, "\n");
    }
}

/* Puts line breaks between the parts, for readers of the page's source. */
void ck_page_data(struct ck_html *h, const struct ck_report *r)
{
    struct ck_json j;
    ck_html_put(h, "<script type=\"application/json\" id=\"data\">");
    ck_html_json_begin(h, &j);
    ck_json_begin_object(&j, NULL);
    ck_json_put_int(&j, "first", r->first);
    ck_json_put_int(&j, "pictures", r->sheets.side > 0);
    ck_json_put_text(&j, "closeness", r->euclidean ? "distance" : "cosine");
    ck_json_put_int(&j, "tiles", CK_SHEET_TILES);
    ck_json_put_int(&j, "columns", CK_SHEET_COLUMNS);
    put_items(h, &j, r);
    ck_json_begin_array(&j, "heads");
    for (int i = 0; i < r->heads; i++) {
        put_head(&j, r, &r->head[i]);
        ck_html_put(h, "\n");
    }
    ck_html_json_end(h, &j);
    ck_html_put(h, "</script>\n");
}
