/* page_map.c - the map: centers and a sample of the rows, projected to two dimensions by PCA.
 *
 * All heads share the coordinates (report.c) and the frame, so that their maps are
 * comparable. */
#include "core/error.h"
#include "core/mem.h"
#include "data/fetch.h"
#include "report/page_parts.h"

#include <math.h>

enum { MARGIN = 26, MAX_NUMBERS = 120 }; /* SVG units; centers up to which they are numbered */

/* Extends box {x0, x1, y0, y1} to spot [n][2]. */
static void widen(const float *spot, int64_t n, double box[4])
{
    for (int64_t i = 0; i < n; i++) {
        double x = (double)spot[2 * i], y = (double)spot[2 * i + 1];
        if (!isfinite(x) || !isfinite(y))
            continue;
        box[0] = fmin(box[0], x);
        box[1] = fmax(box[1], x);
        box[2] = fmin(box[2], y);
        box[3] = fmax(box[3], y);
    }
}

/* One scale for both axes, so that distances are not distorted; y points up. */
struct ck_map_frame ck_page_map_frame(const struct ck_report *r)
{
    double box[4] = {INFINITY, -INFINITY, INFINITY, -INFINITY};
    widen(r->spot, r->dots, box);
    for (int h = 0; h < r->heads; h++)
        widen(r->head[h].spot, r->head[h].k, box);
    double width = fmax(box[1] - box[0], 1e-9), height = fmax(box[3] - box[2], 1e-9);
    double scale =
        fmin((CK_MAP_WIDTH - 2 * MARGIN) / width, (CK_MAP_HEIGHT - 2 * MARGIN) / height);
    if (!isfinite(scale) || !(box[0] <= box[1]))
        return (struct ck_map_frame){1, CK_MAP_WIDTH / 2, CK_MAP_HEIGHT / 2};
    scale = fmin(scale, 1e6); /* if all points coincide */
    return (struct ck_map_frame){scale, CK_MAP_WIDTH / 2.0 - scale * (box[0] + box[1]) / 2,
                                 CK_MAP_HEIGHT / 2.0 + scale * (box[2] + box[3]) / 2};
}

/* Hues by the golden angle, which keeps them apart for any number of groups. */
static int hue(int64_t group)
{
    return (int)fmod((double)group * 137.508 + 210, 360);
}

/* Opens an element in the color of a group; negative = no group. */
static void write_color(struct ck_html *h, const char *element, int64_t group)
{
    if (group < 0)
        ck_html_format(h, "<%s class=\"none\"", element);
    else
        ck_html_format(h, "<%s style=\"--hue:%d\"", element, hue(group));
}

/* The color of a dot: its class, or its cluster if classes are unknown. */
static int64_t group_of(const struct ck_report *r, const struct ck_report_head *head,
                        int64_t dot)
{
    int64_t i = r->sample.row[r->dot[dot]];
    return head->count ? r->truth[i] : head->label[i];
}

/* One path per group, made of zero-length lines whose round caps are the dots: much smaller
 * than an element per dot. */
static int write_dots(struct ck_html *h, const struct ck_report *r,
                      const struct ck_report_head *head, const struct ck_map_frame *f)
{
    uint8_t *done = ck_calloc_array((size_t)r->dots, 1);
    if (!done)
        return COKE_ENOMEM;
    ck_html_put(h, "<g class=\"dots\">");
    for (int64_t i = 0; i < r->dots; i++) {
        int64_t group = group_of(r, head, i);
        if (done[i])
            continue;
        write_color(h, "path", group);
        ck_html_put(h, " d=\"");
        for (int64_t j = i; j < r->dots; j++)
            if (!done[j] && group_of(r, head, j) == group) {
                done[j] = 1;
                ck_html_format(h, "M%.1f %.1fh0", f->left + f->scale * (double)r->spot[2 * j],
                               f->top - f->scale * (double)r->spot[2 * j + 1]);
            }
        ck_html_put(h, "\"/>");
    }
    ck_html_put(h, "</g>");
    ck_free(done);
    return COKE_OK;
}

/* Circles whose area follows the cluster size; report.js finds them by data-c. */
static void write_centers(struct ck_html *h, const struct ck_report *r,
                          const struct ck_report_head *head, const struct ck_map_frame *f)
{
    double mean = (double)r->n / (double)head->k, max = head->k > 1000  ? 3
                                                        : head->k > 200 ? 5
                                                                        : 9;
    ck_html_put(h, "<g class=\"centers\">");
    for (int64_t c = 0; c < head->k; c++) {
        int64_t group = head->count ? head->major[c] : c;
        double radius = max * sqrt(fmin((double)head->size[c] / mean, 4) / 2) + 1;
        write_color(h, "circle", group);
        ck_html_format(h, " data-c=\"%lld\" cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\"/>", (long long)c,
                       f->left + f->scale * (double)head->spot[2 * c],
                       f->top - f->scale * (double)head->spot[2 * c + 1], radius);
    }
    for (int64_t c = 0; c < head->k && head->k <= MAX_NUMBERS; c++)
        ck_html_format(h, "<text x=\"%.1f\" y=\"%.1f\">%lld</text>",
                       f->left + f->scale * (double)head->spot[2 * c],
                       f->top - f->scale * (double)head->spot[2 * c + 1] - max - 4,
                       (long long)c);
    ck_html_put(h, "</g>");
}

/* The colors of the classes, if they are few. */
static void write_legend(struct ck_html *h, const struct ck_report *r,
                         const struct ck_report_head *head)
{
    if (!head->count || r->classes > 20)
        return;
    ck_html_put(h, "<p class=\"legend\">");
    for (int32_t c = 0; c < r->classes; c++) {
        ck_html_format(h, "<span><i class=\"key dot\" style=\"--hue:%d\"></i>", hue(c));
        ck_html_text(h, ck_report_class_name(r, c));
        ck_html_put(h, "</span>");
    }
    ck_html_put(h, "</p>");
}

int ck_page_map(struct ck_html *h, const struct ck_report *r, const struct ck_report_head *head)
{
    struct ck_map_frame f = ck_page_map_frame(r);
    ck_html_put(
        h, "<div><h3>Map</h3><p class=\"about\">The two directions of largest variance (PCA: ");
    ck_html_format(h, "%.0f %% and %.0f %% of it). Circles are centers, by size",
                   100 * r->shown[0], 100 * r->shown[1]);
    if (r->dots) {
        ck_html_put(h, "; dots are ");
        ck_page_count(h, r->dots);
        ck_html_put(h, r->is_run || r->data ? " images" : " rows");
    }
    ck_html_put(h, head->count ? "; colors are classes." : "; colors are clusters.");
    ck_html_put(
        h, "<span class=\"js\"> Click a circle for its cluster; wheel or + and - zoom, drag "
           "or arrows move, 0 resets.</span></p>");
    ck_html_format(h,
                   "<div class=\"map\"><svg viewBox=\"0 0 %d %d\" role=\"img\" tabindex=\"0\" "
                   "aria-label=\"Map of %lld centers\">",
                   CK_MAP_WIDTH, CK_MAP_HEIGHT, (long long)head->k);
    if (r->dots)
        CK_RETURN_IF(write_dots(h, r, head, &f));
    write_centers(h, r, head, &f);
    ck_html_put(h, "</svg></div>");
    write_legend(h, r, head);
    ck_html_put(h, "</div>");
    return COKE_OK;
}
