/* page_classes.c - clusters against true classes: as a matrix if it is small enough to read,
 * else as a table with a row per class. */
#include "core/error.h"
#include "core/mem.h"
#include "data/fetch.h"
#include "report/page_parts.h"

#include <stdlib.h>

/* Limits of the matrix; beyond them the table is written. MAX_NUMBERS: rows and columns up to
 * which cells show their counts. */
enum { MAX_CELLS = 12000, MAX_CLUSTERS = 400, MAX_CLASSES = 200, MAX_NUMBERS = 14 };
enum { NAMES = 100, TOP = 26, MATRIX = 520 }; /* SVG units: margins and width */
/* Letters of a class name that fit beside the matrix; tool tips show the whole name. */
enum { NAME_LETTERS = 13, FINE_LETTERS = 24 };

/* A column of the matrix: a cluster and the class that it is sorted by. */
struct column {
    int64_t cluster, count; /* count: images of that class in the cluster */
    int32_t class;
    int matched; /* the class is the cluster's match, not only its most frequent one */
};

static int compare(const void *a, const void *b)
{
    const struct column *x = a, *y = b;
    if (x->class != y->class)
        return x->class < y->class ? -1 : 1;
    if (x->matched != y->matched)
        return y->matched - x->matched;
    if (x->count != y->count)
        return x->count > y->count ? -1 : 1;
    return x->cluster < y->cluster ? -1 : x->cluster > y->cluster;
}

/* Sorts the clusters by matched class, else by most frequent class; empty clusters are last.
 * *out belongs to the caller. */
static int order_columns(const struct ck_report *r, const struct ck_report_head *head,
                         struct column **out)
{
    struct column *c = ck_alloc_array((size_t)head->k, sizeof *c);
    *out = c;
    if (!c)
        return COKE_ENOMEM;
    for (int64_t i = 0; i < head->k; i++) {
        int matched = head->match[i] >= 0;
        int32_t class = matched ? head->match[i] : head->major[i];
        c[i] = (struct column){i, 0, class < 0 ? r->classes : class, matched};
        if (class >= 0)
            c[i].count = head->count[class * head->k + i];
    }
    qsort(c, (size_t)head->k, sizeof *c, compare);
    return COKE_OK;
}

/* Images of a class over all clusters. */
static int64_t class_size(const struct ck_report_head *head, int32_t class)
{
    int64_t n = 0;
    for (int64_t c = 0; c < head->k; c++)
        n += head->count[class * head->k + c];
    return n;
}

/* ---- the matrix ---- */

struct matrix {
    double width, height; /* of a cell */
    int numbers;          /* cells show their counts */
    double max;           /* the largest fraction of a class in a cluster */
};

/* A cell with its tool tip; data-c is the cluster that report.js opens on a click. */
static void write_cell(struct ck_html *h, const struct ck_report *r, const struct matrix *m,
                       int32_t class, int64_t column, const struct column *c, int64_t count,
                       int64_t size)
{
    double fraction = (double)count / (double)size, x = NAMES + (double)column * m->width;
    double y = TOP + class * m->height;
    ck_html_format(h,
                   "<g data-c=\"%lld\"><rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" "
                   "height=\"%.1f\" fill-opacity=\"%.3f\"><title>",
                   (long long)c->cluster, x, y, m->width, m->height,
                   0.06 + 0.94 * fraction / m->max);
    ck_html_text(h, ck_report_class_name(r, class));
    ck_html_format(h, " in cluster %lld: %lld (%.1f %%)</title></rect>", (long long)c->cluster,
                   (long long)count, 100 * fraction);
    if (m->numbers)
        ck_html_format(h, "<text x=\"%.1f\" y=\"%.1f\"%s>%lld</text>", x + m->width / 2,
                       y + m->height / 2 + 4, fraction > 0.5 * m->max ? " class=\"on\"" : "",
                       (long long)count);
    ck_html_put(h, "</g>");
}

/* Scales the colors; never 0. */
static double largest_fraction(const struct ck_report *r, const struct ck_report_head *head)
{
    double max = 1e-9;
    for (int32_t class = 0; class < r->classes; class ++) {
        int64_t size = class_size(head, class);
        for (int64_t c = 0; c < head->k && size > 0; c++) {
            double fraction = (double)head->count[class * head->k + c] / (double)size;
            max = fraction > max ? fraction : max;
        }
    }
    return max;
}

/* One row of the matrix: the class name and its non-empty cells. */
static void write_class(struct ck_html *h, const struct ck_report *r,
                        const struct ck_report_head *head, const struct column *order,
                        const struct matrix *m, int32_t class)
{
    int64_t size = class_size(head, class);
    ck_html_format(h, "<text class=\"y\" x=\"%d\" y=\"%.1f\">", NAMES - 8,
                   TOP + (class + 0.5) * m->height + 4);
    ck_html_short_text(h, ck_report_class_name(r, class),
                       m->height < 12 ? FINE_LETTERS : NAME_LETTERS);
    ck_html_put(h, "</text>");
    for (int64_t c = 0; c < head->k; c++) {
        int64_t count = head->count[class * head->k + order[c].cluster];
        if (count)
            write_cell(h, r, m, class, c, &order[c], count, size);
    }
}

/* Cell size follows the number of clusters and classes; cluster numbers only if they fit. */
static void write_matrix(struct ck_html *h, const struct ck_report *r,
                         const struct ck_report_head *head, const struct column *order)
{
    struct matrix m = {.width = (double)MATRIX / (double)head->k,
                       .numbers = head->k <= MAX_NUMBERS && r->classes <= MAX_NUMBERS};
    m.width = m.width > 52 ? 52 : m.width;
    m.max = largest_fraction(r, head);
    m.height = r->classes <= 30 ? 24 : r->classes <= 100 ? 14 : 8;
    double width = NAMES + (double)head->k * m.width + 4;
    double height = TOP + r->classes * m.height + 4;
    ck_html_format(h,
                   "<div class=\"wide card\"><svg class=\"matrix%s\" viewBox=\"0 0 %.1f %.1f\" "
                   "style=\"max-width:%.0fpx\" role=\"img\" aria-label=\"Images of each class "
                   "(rows) in each cluster (columns)\">",
                   m.height < 12 ? " fine" : "", width, height, width);
    ck_html_format(h,
                   "<rect class=\"ground\" x=\"%d\" y=\"%d\" width=\"%.1f\" height=\"%.1f\"/>",
                   NAMES, TOP, (double)head->k * m.width, r->classes * m.height);
    for (int64_t c = 0; c < head->k && m.width >= 16; c++)
        ck_html_format(h, "<text class=\"x\" x=\"%.1f\" y=\"%d\">%lld</text>",
                       NAMES + ((double)c + 0.5) * m.width, TOP - 8,
                       (long long)order[c].cluster);
    for (int32_t c = 0; c < r->classes; c++)
        write_class(h, r, head, order, &m, c);
    ck_html_put(h, "</svg></div>");
}

/* ---- the table ---- */

/* A class: images, clusters that it is the most frequent class of, the fraction of its images
 * in them, and the class it is most confused with. other [classes] is scratch. */
static void write_class_line(struct ck_html *h, const struct ck_report *r,
                             const struct ck_report_head *head, int32_t class, int64_t *other)
{
    int64_t size = class_size(head, class), own = 0, clusters = 0;
    int32_t worst = -1;
    for (int32_t c = 0; c < r->classes; c++)
        other[c] = 0;
    for (int64_t c = 0; c < head->k; c++) {
        int64_t count = head->count[class * head->k + c];
        if (head->major[c] == class) {
            own += count;
            clusters++;
        } else if (count)
            other[head->major[c]] += count;
    }
    for (int32_t c = 0; c < r->classes; c++)
        if (other[c] > 0 && (worst < 0 || other[c] > other[worst]))
            worst = c;
    ck_html_put(h, "<tr><th scope=\"row\">");
    ck_html_text(h, ck_report_class_name(r, class));
    ck_html_format(h, "</th><td>%lld</td><td>%lld</td><td>", (long long)size,
                   (long long)clusters);
    ck_page_real(h, size ? 100.0 * (double)own / (double)size : 0, 1);
    ck_html_put(h, " %</td><td>");
    if (worst >= 0) {
        ck_html_text(h, ck_report_class_name(r, worst));
        ck_html_format(h, " (%.1f %%)", 100.0 * (double)other[worst] / (double)size);
    }
    ck_html_put(h, "</td></tr>");
}

static int write_table(struct ck_html *h, const struct ck_report *r,
                       const struct ck_report_head *head)
{
    int64_t *other = ck_alloc_array((size_t)r->classes, sizeof *other);
    if (!other)
        return COKE_ENOMEM;
    ck_html_put(h, "<div class=\"wide scroll\" tabindex=\"0\"><table><thead><tr><th>class</th>"
                   "<th>images</th><th>own clusters</th><th>images in them</th><th>most "
                   "confused with</th></tr></thead><tbody>");
    for (int32_t c = 0; c < r->classes; c++)
        write_class_line(h, r, head, c, other);
    ck_html_put(h, "</tbody></table></div>");
    ck_free(other);
    return COKE_OK;
}

/* Needs the table of classes; without it the page has no such part. */
int ck_page_classes(struct ck_html *h, const struct ck_report *r,
                    const struct ck_report_head *head)
{
    struct column *order = NULL;
    int64_t cells = 0;
    int rc = COKE_OK;
    if (!head->count)
        return COKE_OK;
    for (int64_t i = 0; i < head->k * r->classes; i++)
        cells += head->count[i] > 0;
    int small = cells <= MAX_CELLS && head->k <= MAX_CLUSTERS && r->classes <= MAX_CLASSES;
    ck_html_put(h, "<div><h3>Clusters and classes</h3><p class=\"about\">");
    ck_html_put(
        h, small ? "Rows are classes, columns are clusters, sorted by the class that they are "
                   "matched with. The stronger the color, the larger the fraction of the class."
                 : "A cluster belongs to its most frequent class.");
    ck_html_put(h, "</p>");
    if (small)
        CK_TRY(order_columns(r, head, &order));
    if (small)
        write_matrix(h, r, head, order);
    else
        CK_TRY(write_table(h, r, head));
    ck_html_put(h, "</div>");
done:
    ck_free(order);
    return rc;
}
