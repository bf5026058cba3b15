/* page_data.c - what the page's script works with, as JSON. */
#include "data/fetch.h"
#include "report/page_parts.h"

#include <math.h>

enum { NAME = 300, TOP_CLASSES = 6 };

/* ---- lists ---- */

#define EACH(h, i, n) for (int64_t i = 0; i < (n) && (ck_html_put(h, i ? "," : ""), 1); i++)

static void write_reals(struct ck_html *h, const char *key, const double *v, int64_t n)
{
    ck_html_format(h, ",\"%s\":[", key);
    EACH(h, i, n)
    ck_html_json_number(h, v[i], 4);
    ck_html_put(h, "]");
}

static void write_ints(struct ck_html *h, const char *key, const int64_t *v, int64_t n)
{
    ck_html_format(h, ",\"%s\":[", key);
    EACH(h, i, n)
    ck_html_format(h, "%lld", (long long)v[i]);
    ck_html_put(h, "]");
}

/* For each cluster [place, value, place, value, ...]: value is a similarity or a margin. */
static void write_members(struct ck_html *h, const struct ck_report *r, const char *key,
                          const struct ck_exemplar *list, int64_t k, int shown, int margin)
{
    ck_html_format(h, ",\"%s\":[", key);
    EACH(h, c, k)
    {
        ck_html_put(h, "[");
        for (int m = 0; m < shown; m++) {
            const struct ck_exemplar *e = &list[c * CK_REPORT_MEMBERS + m];
            if (e->row < 0)
                break;
            ck_html_format(h, "%s%d,", m ? "," : "", r->sheets.place[r->row[e->row]]);
            ck_html_json_number(h, (double)(margin ? e->margin : e->similarity), 3);
        }
        ck_html_put(h, "]");
    }
    ck_html_put(h, "]");
}

static void write_near(struct ck_html *h, const struct ck_exemplars *e)
{
    ck_html_put(h, ",\"near\":[");
    EACH(h, c, e->k)
    {
        ck_html_put(h, "[");
        for (int m = 0; m < e->neighbours && e->near[c * e->neighbours + m] >= 0; m++)
            ck_html_format(h, "%s%d,%.3g", m ? "," : "", e->near[c * e->neighbours + m],
                           (double)e->near_similarity[c * e->neighbours + m]);
        ck_html_put(h, "]");
    }
    ck_html_put(h, "]");
}

/* ---- classes ---- */

/* The most frequent classes of cluster c, [class, images, class, images, ...]. */
static void write_top(struct ck_html *h, const struct ck_report *r,
                      const struct ck_report_head *head, int64_t c)
{
    int64_t bound = INT64_MAX, after = -1;
    ck_html_put(h, "[");
    for (int t = 0; t < TOP_CLASSES; t++) {
        int64_t best = -1, most = 0;
        for (int32_t i = 0; i < r->classes; i++) {
            int64_t n = head->count[i * head->k + c];
            int later = n < bound || (n == bound && i > after);
            if (later && n > most) {
                most = n;
                best = i;
            }
        }
        if (best < 0)
            break;
        ck_html_format(h, "%s%lld,%lld", t ? "," : "", (long long)best, (long long)most);
        bound = most;
        after = best;
    }
    ck_html_put(h, "]");
}

static void write_classes(struct ck_html *h, const struct ck_report *r,
                          const struct ck_report_head *head)
{
    write_reals(h, "purity", head->purity, head->k);
    ck_html_put(h, ",\"major\":[");
    EACH(h, c, head->k)
    ck_html_format(h, "%d", head->major[c]);
    ck_html_put(h, "],\"top\":[");
    EACH(h, c, head->k)
    write_top(h, r, head, c);
    ck_html_put(h, "]");
}

/* ---- heads ---- */

static void write_head(struct ck_html *h, const struct ck_report *r,
                       const struct ck_report_head *head)
{
    const struct ck_exemplars *e = &head->look;
    ck_html_format(h, "{\"k\":%lld", (long long)head->k);
    write_ints(h, "size", head->size, head->k);
    write_ints(h, "least", head->min_size, head->k);
    ck_html_put(h, ",\"dual\":[");
    EACH(h, c, head->k)
    ck_html_json_number(h, (double)head->dual[c], 4);
    ck_html_put(h, "]");
    if (r->x) {
        write_reals(h, "tight", e->tightness, head->k);
        write_members(h, r, "nearest", e->nearest, head->k, r->sheets.nearest, 0);
        write_members(h, r, "borderline", e->borderline, head->k, r->sheets.borderline, 1);
    }
    write_members(h, r, "random", e->random, head->k, r->sheets.random, 0);
    write_near(h, e);
    if (head->count)
        write_classes(h, r, head);
    if (r->dots) {
        ck_html_put(h, ",\"dots\":[");
        EACH(h, i, r->dots)
        ck_html_format(h, "%d", head->label[r->row[r->dot[i]]]);
        ck_html_put(h, "]");
    }
    ck_html_put(h, "}\n");
}

/* ---- items ---- */

static void write_items(struct ck_html *h, const struct ck_report *r)
{
    char name[NAME];
    ck_html_put(h, ",\"names\":[");
    EACH(h, i, r->sheets.n)
    {
        ck_report_row_name(r, r->sheets.image[i], name, sizeof name);
        ck_html_json_text(h, name);
    }
    ck_html_put(h, "]\n");
    if (!r->truth)
        return;
    ck_html_put(h, ",\"truth\":[");
    EACH(h, i, r->sheets.n)
    ck_html_format(h, "%d", r->truth[r->sheets.image[i]]);
    ck_html_put(h, "],\"classes\":[");
    EACH(h, c, r->classes)
    ck_html_json_text(h, r->data->set->class_name[c]);
    ck_html_put(h, "]\n");
}

static void write_dots(struct ck_html *h, const struct ck_report *r)
{
    struct ck_map_frame f = ck_page_map_frame(r);
    ck_html_put(h, ",\"dots\":[");
    EACH(h, i, r->dots)
    ck_html_format(h, "%.1f,%.1f,%d,%lld", f.left + f.scale * (double)r->spot[2 * i],
                   f.top - f.scale * (double)r->spot[2 * i + 1],
                   r->sheets.place[r->row[r->dot[i]]], (long long)r->row[r->dot[i]]);
    ck_html_put(h, "]\n");
}

void ck_page_data(struct ck_html *h, const struct ck_report *r)
{
    ck_html_put(h, "<script type=\"application/json\" id=\"data\">");
    ck_html_format(h, "{\"first\":%d,\"pictures\":%d,\"tiles\":%d,\"columns\":%d", r->first,
                   r->sheets.side > 0, CK_SHEET_TILES, CK_SHEET_COLUMNS);
    write_items(h, r);
    if (r->dots)
        write_dots(h, r);
    ck_html_put(h, ",\"heads\":[");
    EACH(h, i, r->heads)
    write_head(h, r, &r->head[i]);
    ck_html_put(h, "]}</script>\n");
}
