/* page_classes.c - clusters against true classes: a matrix where it can be seen, else a table.
 */
#include "core/error.h"
#include "core/mem.h"
#include "data/fetch.h"
#include "report/page_parts.h"

#include <stdlib.h>

/* A matrix beyond these is a table of classes. */
enum { MOST_CELLS = 12000, MOST_CLUSTERS = 400, MOST_CLASSES = 200, MOST_NUMBERS = 14 };
enum { NAMES = 100, TOP = 26, MATRIX = 520 };
/* Letters of a class name that fit beside the matrix; its cells tell the whole name. */
enum { NAME_LETTERS = 13, FINE_LETTERS = 24 };

struct column {
    int64_t cluster, count;
    int32_t class;
    int matched;
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

/* Every cluster beside the class that it is matched with, or else that it has most of. */
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
    int numbers;          /* cells say their counts */
    double most;          /* the largest share of a class in a cluster */
};

static void write_cell(struct ck_html *h, const struct ck_report *r, const struct matrix *m,
                       int32_t class, int64_t column, const struct column *c, int64_t count,
                       int64_t size)
{
    double share = (double)count / (double)size, x = NAMES + (double)column * m->width;
    double y = TOP + class * m->height;
    ck_html_format(h,
                   "<g data-c=\"%lld\"><rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" "
                   "height=\"%.1f\" fill-opacity=\"%.3f\"><title>",
                   (long long)c->cluster, x, y, m->width, m->height,
                   0.06 + 0.94 * share / m->most);
    ck_html_text(h, r->data->set->class_name[class]);
    ck_html_format(h, " in cluster %lld: %lld (%.1f %%)</title></rect>", (long long)c->cluster,
                   (long long)count, 100 * share);
    if (m->numbers)
        ck_html_format(h, "<text x=\"%.1f\" y=\"%.1f\"%s>%lld</text>", x + m->width / 2,
                       y + m->height / 2 + 4, share > 0.5 * m->most ? " class=\"on\"" : "",
                       (long long)count);
    ck_html_put(h, "</g>");
}

static double largest_share(const struct ck_report *r, const struct ck_report_head *head)
{
    double most = 1e-9;
    for (int32_t class = 0; class < r->classes; class ++) {
        int64_t size = class_size(head, class);
        for (int64_t c = 0; c < head->k && size > 0; c++) {
            double share = (double)head->count[class * head->k + c] / (double)size;
            most = share > most ? share : most;
        }
    }
    return most;
}

static void write_class(struct ck_html *h, const struct ck_report *r,
                        const struct ck_report_head *head, const struct column *order,
                        const struct matrix *m, int32_t class)
{
    int64_t size = class_size(head, class);
    ck_html_format(h, "<text class=\"y\" x=\"%d\" y=\"%.1f\">", NAMES - 8,
                   TOP + (class + 0.5) * m->height + 4);
    ck_html_short_text(h, r->data->set->class_name[class],
                       m->height < 12 ? FINE_LETTERS : NAME_LETTERS);
    ck_html_put(h, "</text>");
    for (int64_t c = 0; c < head->k; c++) {
        int64_t count = head->count[class * head->k + order[c].cluster];
        if (count)
            write_cell(h, r, m, class, c, &order[c], count, size);
    }
}

static void write_matrix(struct ck_html *h, const struct ck_report *r,
                         const struct ck_report_head *head, const struct column *order)
{
    struct matrix m = {.width = (double)MATRIX / (double)head->k,
                       .numbers = head->k <= MOST_NUMBERS && r->classes <= MOST_NUMBERS};
    m.width = m.width > 52 ? 52 : m.width;
    m.most = largest_share(r, head);
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

/* Images of a class in clusters whose most frequent class is another one: which most? */
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
    ck_html_text(h, r->data->set->class_name[class]);
    ck_html_format(h, "</th><td>%lld</td><td>%lld</td><td>", (long long)size,
                   (long long)clusters);
    ck_page_real(h, size ? 100.0 * (double)own / (double)size : 0, 1);
    ck_html_put(h, " %</td><td>");
    if (worst >= 0) {
        ck_html_text(h, r->data->set->class_name[worst]);
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
    ck_html_put(h,
                "<div class=\"wide scroll\" tabindex=\"0\"><table><thead><tr><th>class</th>"
                "<th>images</th><th>clusters of its own</th><th>images in them</th><th>most of "
                "the others with</th></tr></thead><tbody>");
    for (int32_t c = 0; c < r->classes; c++)
        write_class_line(h, r, head, c, other);
    ck_html_put(h, "</tbody></table></div>");
    ck_free(other);
    return COKE_OK;
}

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
    int small = cells <= MOST_CELLS && head->k <= MOST_CLUSTERS && r->classes <= MOST_CLASSES;
    ck_html_put(h, "<div><h3>Clusters and classes</h3><p class=\"about\">");
    ck_html_put(
        h, small ? "Rows are classes, columns clusters, each beside the class that it is "
                   "matched with. The stronger a colour, the larger the share of the class."
                 : "A cluster belongs to the class that it has most of.");
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
