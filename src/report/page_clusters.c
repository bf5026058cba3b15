/* page_clusters.c - the cluster browser: one row per cluster with its numbers and members.
 *
 * Works without a script; report.js adds sorting, search and the detail view. */
#include "core/error.h"
#include "core/mem.h"
#include "data/fetch.h"
#include "report/page_parts.h"

#include <stdlib.h>

/* NAME: bytes of a row name. With more than MANY rows, CSS makes the browser render only
 * visible ones. */
enum { NAME = 300, MANY = 150, CHIP = 40 }; /* CHIP: columns of a name in the list */

const char *ck_page_cluster_name(const struct ck_report *r, const struct ck_report_head *head,
                                 int64_t c)
{
    if (!head->count || head->major[c] < 0)
        return "";
    return ck_report_class_name(r, head->major[c]);
}

/* A member: a tile of its sheet, or a number if there are no pictures. */
static void write_item(struct ck_html *h, const struct ck_report *r, int64_t image)
{
    char name[NAME];
    int64_t at = r->sheets.place[image];
    ck_report_row_name(r, image, name, sizeof name);
    if (r->sheets.side == 0) {
        if (r->names.n) {
            ck_html_put(h, "<span class=\"chip\" title=\"");
            ck_html_text(h, name);
            ck_html_put(h, "\">");
            ck_html_short_text(h, name, CHIP);
            ck_html_put(h, "</span>");
        } else
            ck_html_format(h, "<span class=\"chip\">%lld</span>", (long long)image);
        return;
    }
    int64_t tile = at % CK_SHEET_TILES;
    ck_html_format(h, "<i class=\"t s%lld\" style=\"--x:%lld;--y:%lld\" role=\"img\" title=\"",
                   (long long)(at / CK_SHEET_TILES), (long long)(tile % CK_SHEET_COLUMNS),
                   (long long)(tile / CK_SHEET_COLUMNS));
    ck_html_text(h, name);
    ck_html_put(h, "\"></i>");
}

/* The nearest members of cluster c, or random ones if there are no vectors. */
static void write_items(struct ck_html *h, const struct ck_report *r,
                        const struct ck_report_head *head, int64_t c)
{
    const struct ck_exemplar *list = r->sample.x ? head->look.nearest : head->look.random;
    int shown = r->sample.x ? r->sheets.nearest : r->sheets.random;
    ck_html_put(h, "<span role=\"cell\" class=\"items\">");
    for (int m = 0; m < shown; m++) {
        int64_t row = list[c * CK_REPORT_MEMBERS + m].row;
        if (row >= 0)
            write_item(h, r, r->sample.row[row]);
    }
    ck_html_put(h, "</span>");
}

static double percent(int64_t part, int64_t whole)
{
    return whole ? 100.0 * (double)part / (double)whole : 0;
}

/* A row; its bar is relative to the largest cluster, with a mark at the min size. */
static void write_row(struct ck_html *h, const struct ck_report *r, int index, int64_t c,
                      int64_t largest)
{
    const struct ck_report_head *head = &r->head[index];
    int small = head->size[c] < head->min_size[c];
    ck_html_format(h, "<div role=\"row\" class=\"row\" id=\"h%dc%lld\" tabindex=\"0\">", index,
                   (long long)c);
    ck_html_format(h, "<span role=\"rowheader\" class=\"name\"><b>%lld</b> ", (long long)c);
    ck_html_text(h, ck_page_cluster_name(r, head, c));
    ck_html_format(h,
                   "</span><span role=\"cell\" class=\"size%s\"><span>%lld</span><i "
                   "style=\"--w:%.1f%%;--b:%.1f%%\"></i></span>",
                   small ? " small" : "", (long long)head->size[c],
                   percent(head->size[c], largest), percent(head->min_size[c], largest));
    if (head->count) {
        ck_html_put(h, "<span role=\"cell\" class=\"num\">");
        ck_page_real(h, head->purity[c], 2);
        ck_html_put(h, "</span>");
    }
    if (r->sample.x) {
        ck_html_put(h, "<span role=\"cell\" class=\"num\">");
        ck_page_real(h, r->euclidean ? -head->look.tightness[c] : head->look.tightness[c], 3);
        ck_html_put(h, "</span>");
    }
    write_items(h, r, head, c);
    ck_html_put(h, "</div>\n");
}

/* data-sort names the key that report.js sorts by. */
static void write_header(struct ck_html *h, const struct ck_report *r,
                         const struct ck_report_head *head)
{
    ck_html_put(h,
                "<div role=\"row\" class=\"row head\">"
                "<span role=\"columnheader\" data-sort=\"name\" class=\"name\">cluster</span>"
                "<span role=\"columnheader\" data-sort=\"size\" class=\"size\" "
                "aria-sort=\"descending\">size</span>");
    if (head->count)
        ck_html_put(
            h,
            "<span role=\"columnheader\" data-sort=\"purity\" class=\"num\" title=\"fraction "
            "of the most frequent class\">purity</span>");
    if (r->sample.x)
        ck_html_format(
            h,
            "<span role=\"columnheader\" data-sort=\"tight\" class=\"num\" title=\"mean %s of "
            "the members to the center\">tightness</span>",
            r->euclidean ? "distance" : "cosine");
    ck_html_put(h, "<span role=\"columnheader\" class=\"items\">");
    ck_html_put(h, r->sample.x ? "nearest to the center" : "random members");
    ck_html_put(h, "</span></div>\n");
}

/* Sort key of a row: by size, largest first. */
struct place {
    int64_t size, cluster;
};

static int compare(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    if (x->size != y->size)
        return x->size > y->size ? -1 : 1;
    return x->cluster < y->cluster ? -1 : x->cluster > y->cluster;
}

/* Rows by size, largest first; classes of the table tell CSS which columns exist. */
int ck_page_clusters(struct ck_html *h, const struct ck_report *r, int index)
{
    const struct ck_report_head *head = &r->head[index];
    struct place *order = ck_alloc_array((size_t)head->k, sizeof *order);
    if (!order)
        return COKE_ENOMEM;
    for (int64_t c = 0; c < head->k; c++)
        order[c] = (struct place){head->size[c], c};
    qsort(order, (size_t)head->k, sizeof *order, compare);
    ck_html_put(h, "<div class=\"browser\"><h3>Clusters</h3><div class=\"tools js\"></div>");
    ck_html_format(h, "<div class=\"rows%s%s%s\" role=\"table\" aria-label=\"Clusters\">\n",
                   head->count ? " pure" : "", r->sample.x ? " tight" : "",
                   head->k > MANY ? " many" : "");
    write_header(h, r, head);
    for (int64_t i = 0; i < head->k; i++)
        write_row(h, r, index, order[i].cluster, order[0].size);
    ck_html_put(h, "</div></div>\n");
    ck_free(order);
    return COKE_OK;
}
