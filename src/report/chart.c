/* chart.c - line charts and histograms as SVG. */
#include "report/chart.h"

#include <math.h>
#include <stdio.h>

/* The drawing in SVG units: size, and margins for the axes. A curve has at most MAX_POINTS. */
enum {
    WIDTH = 360,
    HEIGHT = 214,
    LEFT = 48,
    RIGHT = 8,
    TOP = 8,
    BOTTOM = 38,
    MAX_POINTS = 1500
};

/* Ranges of the data that the drawing shows. */
struct frame {
    double x0, x1, y0, y1;
    double y_step; /* between ticks; y0 and y1 are multiples of it */
};

/* Data to SVG units. */
static double px(const struct frame *f, double x)
{
    return LEFT + (x - f->x0) / (f->x1 - f->x0) * (WIDTH - LEFT - RIGHT);
}

static double py(const struct frame *f, double y)
{
    return HEIGHT - BOTTOM - (y - f->y0) / (f->y1 - f->y0) * (HEIGHT - TOP - BOTTOM);
}

/* ---- axes ---- */

/* A tick distance of 1, 2 or 5 times a power of ten that divides range into about `wanted`. */
static double nice_step(double range, int wanted)
{
    double raw = range / wanted, power = pow(10, floor(log10(raw))), fraction = raw / power;
    return power * (fraction <= 1 ? 1 : fraction <= 2 ? 2 : fraction <= 5 ? 5 : 10);
}

/* Extends the frame to a point; unknown ones are ignored. */
static void widen(struct frame *f, double x, double y)
{
    if (!isfinite(x) || !isfinite(y))
        return;
    f->x0 = fmin(f->x0, x);
    f->x1 = fmax(f->x1, x);
    f->y0 = fmin(f->y0, y);
    f->y1 = fmax(f->y1, y);
}

/* A curve that varies by less than this fraction is flat: the numbers beside the axis have no
 * room for more digits. */
#define FLAT 1e-4

/* Makes both ranges non-empty and rounds the y range to whole ticks. */
static void settle(struct frame *f)
{
    if (!(f->x0 <= f->x1))
        *f = (struct frame){0, 1, 0, 1, 0};
    if (f->x1 - f->x0 <= 0)
        f->x1 = f->x0 + 1;
    if (f->y1 - f->y0 <= FLAT * (fabs(f->y0) + fabs(f->y1)) || f->y1 <= f->y0) {
        double room = f->y1 != 0 ? fabs(f->y1) / 2 : 1;
        f->y0 = f->y0 < 0 || f->y0 > 0 ? f->y0 - room : 0;
        f->y1 += room;
    }
    double step = f->y_step = nice_step(f->y1 - f->y0, 4);
    f->y0 = floor(f->y0 / step + 1e-9) * step;
    f->y1 = ceil(f->y1 / step - 1e-9) * step;
}

/* With as many digits as two ticks need to differ. max: the largest number on the axis. */
static void write_tick_text(struct ck_html *h, double v, double step, double max)
{
    int digits = 1 + (int)ceil(log10(fmax(max / step, 1)));
    if (fabs(v) < step * 1e-6)
        v = 0;
    if (step >= 1e6 || (step < 1e-4 && step > 0))
        ck_html_format(h, "%.*g", digits < 3 ? 3 : digits, v);
    else
        ck_html_format(h, "%.*f", step >= 1 ? 0 : (int)ceil(-log10(step) - 1e-9), v);
}

/* whole_x, whole_y: the axis counts something, so ticks are integers. */
static void write_axes(struct ck_html *h, const struct frame *f, const char *x_name,
                       int whole_x, int whole_y)
{
    double step = whole_y && f->y_step < 1 ? 1 : f->y_step;
    ck_html_put(h, "<g class=\"axis\">");
    for (double v = f->y0; v <= f->y1 + step / 2; v += step) {
        ck_html_format(h, "<path d=\"M%d %.1fH%d\"/><text class=\"y\" x=\"%d\" y=\"%.1f\">",
                       LEFT, py(f, v), WIDTH - RIGHT, LEFT - 7, py(f, v) + 4.5);
        write_tick_text(h, v, step, fmax(fabs(f->y0), fabs(f->y1)));
        ck_html_put(h, "</text>");
    }
    step = nice_step(f->x1 - f->x0, 6);
    step = whole_x && step < 1 ? 1 : step;
    for (double v = ceil(f->x0 / step) * step; v <= f->x1 + step * 1e-6; v += step) {
        ck_html_format(h, "<text class=\"x\" x=\"%.1f\" y=\"%d\">", px(f, v),
                       HEIGHT - BOTTOM + 17);
        write_tick_text(h, v, step, fmax(fabs(f->x0), fabs(f->x1)));
        ck_html_put(h, "</text>");
    }
    ck_html_format(h, "<text class=\"name\" x=\"%d\" y=\"%d\">", WIDTH - RIGHT, HEIGHT - 3);
    ck_html_text(h, x_name);
    ck_html_put(h, "</text></g>");
}

/* ---- curves ---- */

/* Only every stride-th point of a long curve is drawn. */
static int64_t stride_of(const struct ck_curve *c)
{
    return (c->n + MAX_POINTS - 1) / MAX_POINTS > 1 ? (c->n + MAX_POINTS - 1) / MAX_POINTS : 1;
}

/* A path over gaps: unknown points are skipped. */
static void write_points(struct ck_html *h, const struct frame *f, const struct ck_curve *c)
{
    int64_t stride = stride_of(c);
    int known = 0;
    for (int64_t i = 0; i < c->n; i += stride)
        if (isfinite(c->y[i]))
            ck_html_format(h, "%c%.1f %.1f", known++ ? 'L' : 'M', px(f, c->x[i]),
                           py(f, c->y[i]));
}

/* Marks the points of a line if they are few, so that single ones and gaps are visible. */
static void write_marks(struct ck_html *h, const struct frame *f, const struct ck_curve *c)
{
    int64_t known = 0;
    for (int64_t i = 0; i < c->n; i++)
        known += isfinite(c->y[i]) != 0;
    if (known > 40 || c->look != CK_CURVE_LINE)
        return;
    for (int64_t i = 0; i < c->n; i++)
        if (isfinite(c->y[i]))
            ck_html_format(h, "<circle class=\"f%d\" r=\"2.4\" cx=\"%.1f\" cy=\"%.1f\"/>",
                           c->color, px(f, c->x[i]), py(f, c->y[i]));
}

/* Along the upper edge, then back along the lower one. */
static void write_band(struct ck_html *h, const struct frame *f, const struct ck_curve *c)
{
    int64_t stride = stride_of(c);
    int known = 0;
    ck_html_format(h, "<path class=\"band f%d\" d=\"", c->color);
    for (int64_t i = 0; i < c->n; i += stride)
        if (isfinite(c->y[i]) && isfinite(c->low[i]))
            ck_html_format(h, "%c%.1f %.1f", known++ ? 'L' : 'M', px(f, c->x[i]),
                           py(f, c->y[i]));
    for (int64_t i = c->n ? (c->n - 1) / stride * stride : -1; i >= 0; i -= stride)
        if (isfinite(c->y[i]) && isfinite(c->low[i]))
            ck_html_format(h, "L%.1f %.1f", px(f, c->x[i]), py(f, c->low[i]));
    ck_html_put(h, known ? "Z\"/>" : "\"/>");
}

static void write_curve(struct ck_html *h, const struct frame *f, const struct ck_curve *c)
{
    static const char *const look[] = {"line", "faint", "dashed", "band"};
    if (c->look == CK_CURVE_BAND) {
        write_band(h, f, c);
        return;
    }
    ck_html_format(h, "<path class=\"%s s%d\" d=\"", look[c->look], c->color);
    write_points(h, f, c);
    ck_html_put(h, "\"/>");
    write_marks(h, f, c);
}

/* Indexes of the first and the last known value; 0 if there is none. */
static int find_ends(const struct ck_curve *c, int64_t *first, int64_t *last)
{
    *first = *last = -1;
    for (int64_t i = 0; i < c->n; i++)
        if (isfinite(c->y[i])) {
            *first = *first < 0 ? i : *first;
            *last = i;
        }
    return *first >= 0;
}

int ck_chart_has_data(const struct ck_chart *c)
{
    int64_t first, last;
    for (int i = 0; i < c->curves; i++)
        if (find_ends(&c->curve[i], &first, &last))
            return 1;
    return 0;
}

/* The chart as a sentence, for screen readers. */
static void write_summary(struct ck_html *h, const struct ck_chart *c)
{
    int64_t first, last;
    ck_html_text(h, c->title);
    for (int i = 0; i < c->curves; i++) {
        const struct ck_curve *v = &c->curve[i];
        if (v->look == CK_CURVE_FAINT || !find_ends(v, &first, &last))
            continue;
        ck_html_put(h, i ? "; " : ". ");
        ck_html_text(h, v->name);
        ck_html_format(h, ": %.4g at ", v->y[first]);
        ck_html_text(h, c->x_name);
        ck_html_format(h, " %.4g, %.4g at %.4g", v->x[first], v->y[last], v->x[last]);
    }
}

static void write_legend(struct ck_html *h, const struct ck_chart *c)
{
    ck_html_put(h, "<span class=\"legend\">");
    for (int i = 0; i < c->curves; i++) {
        static const char *const look[] = {"line", "faint", "dashed", "band"};
        const struct ck_curve *v = &c->curve[i];
        ck_html_format(h, "<span><i class=\"key %s k%d\"></i>", look[v->look], v->color);
        ck_html_text(h, v->name);
        ck_html_put(h, "</span>");
    }
    ck_html_put(h, "</span>");
}

/* Every stride-th of v [n]; NaN becomes null. */
static void put_numbers(struct ck_json *j, const char *key, const double *v, int64_t n,
                        int64_t stride, int digits)
{
    ck_json_begin_array(j, key);
    for (int64_t i = 0; i < n; i += stride)
        ck_json_put_digits(j, NULL, v[i], digits);
    ck_json_end(j);
}

/* The points that are drawn, not the whole curve. */
static void put_curve(struct ck_json *j, const struct ck_curve *c)
{
    int64_t stride = stride_of(c);
    ck_json_begin_object(j, NULL);
    ck_html_json_text(j, "name", c->name);
    ck_json_put_int(j, "color", c->color);
    ck_json_put_int(j, "faint", c->look == CK_CURVE_FAINT);
    put_numbers(j, "x", c->x, c->n, stride, 8);
    put_numbers(j, "y", c->y, c->n, stride, 6);
    if (c->low)
        put_numbers(j, "low", c->low, c->n, stride, 6);
    ck_json_end(j);
}

/* JSON for makeChart in report.js: the frame, the drawing area, and the points. */
static void write_data(struct ck_html *h, const struct ck_chart *c, const struct frame *f)
{
    const double frame[] = {f->x0, f->x1, f->y0, f->y1};
    const double box[] = {LEFT, TOP, WIDTH - RIGHT, HEIGHT - BOTTOM};
    struct ck_json j;
    ck_html_put(h, "<script type=\"application/json\">");
    ck_html_json_begin(h, &j);
    ck_json_begin_object(&j, NULL);
    ck_html_json_text(&j, "x", c->x_name);
    put_numbers(&j, "frame", frame, 4, 1, 12);
    put_numbers(&j, "box", box, 4, 1, 12);
    ck_json_begin_array(&j, "curves");
    for (int i = 0; i < c->curves; i++)
        put_curve(&j, &c->curve[i]);
    ck_html_json_end(h, &j);
    ck_html_put(h, "</script>");
}

/* The frame that contains all curves, with the wishes of the chart for the y axis. */
static struct frame frame_of(const struct ck_chart *c)
{
    struct frame f = {INFINITY, -INFINITY, INFINITY, -INFINITY, 0};
    for (int i = 0; i < c->curves; i++)
        for (int64_t j = 0; j < c->curve[i].n; j++) {
            widen(&f, c->curve[i].x[j], c->curve[i].y[j]);
            if (c->curve[i].low)
                widen(&f, c->curve[i].x[j], c->curve[i].low[j]);
        }
    if (c->from_zero && f.y0 > 0 && isfinite(f.y0))
        f.y0 = 0;
    if (c->unit && isfinite(f.y0)) {
        f.y0 = fmin(f.y0, 0);
        f.y1 = fmax(f.y1, 1);
    }
    settle(&f);
    return f;
}

static void write_caption(struct ck_html *h, const char *title, const char *about)
{
    ck_html_put(h, "<figcaption><b>");
    ck_html_text(h, title);
    ck_html_put(h, "</b>");
    if (about) {
        ck_html_put(h, "<small>");
        ck_html_text(h, about);
        ck_html_put(h, "</small>");
    }
    ck_html_put(h, "</figcaption>");
}

void ck_chart_write(struct ck_html *h, const struct ck_chart *c)
{
    struct frame f = frame_of(c);
    ck_html_put(h, "<figure class=\"chart\">");
    write_caption(h, c->title, c->about);
    ck_html_format(h, "<svg viewBox=\"0 0 %d %d\" role=\"img\" tabindex=\"0\" aria-label=\"",
                   WIDTH, HEIGHT);
    write_summary(h, c);
    ck_html_put(h, "\">");
    write_axes(h, &f, c->x_name, 1, 0);
    for (int i = 0; i < c->curves; i++)
        write_curve(h, &f, &c->curve[i]);
    ck_html_put(h, "</svg>");
    write_legend(h, c);
    write_data(h, c, &f);
    ck_html_put(h, "</figure>\n");
}

/* ---- bars ---- */

/* The vertical mark of a histogram. */
static void write_bound(struct ck_html *h, const struct frame *f, const struct ck_bars *b)
{
    if (!isfinite(b->bound))
        return;
    ck_html_format(h, "<path class=\"dashed s2\" d=\"M%.1f %dV%d\"><title>", px(f, b->bound),
                   TOP, HEIGHT - BOTTOM);
    ck_html_text(h, b->bound_name);
    ck_html_format(h, " %.4g</title></path>", b->bound);
}

void ck_bars_write(struct ck_html *h, const struct ck_bars *b)
{
    struct frame f = {b->low, b->high, 0, 1, 0};
    double width = (b->high - b->low) / b->n;
    for (int i = 0; i < b->n; i++)
        f.y1 = fmax(f.y1, (double)b->count[i]);
    if (isfinite(b->bound)) {
        f.x0 = fmin(f.x0, b->bound);
        f.x1 = fmax(f.x1, b->bound);
    }
    settle(&f);
    ck_html_put(h, "<figure class=\"chart\">");
    write_caption(h, b->title, b->about);
    ck_html_format(h, "<svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"", WIDTH, HEIGHT);
    ck_html_text(h, b->title);
    ck_html_format(h, ": from %.4g to %.4g\">", b->low, b->high);
    write_axes(h, &f, b->x_name, b->high - b->low >= 2, 1);
    for (int i = 0; i < b->n; i++) {
        double from = b->low + i * width, left = px(&f, from),
               top = py(&f, (double)b->count[i]);
        if (b->count[i] == 0)
            continue;
        ck_html_format(h,
                       "<rect class=\"f1\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" "
                       "height=\"%.1f\"><title>%lld ",
                       left + 0.5, top, fmax(px(&f, from + width) - left - 1, 0.7),
                       HEIGHT - BOTTOM - top, (long long)b->count[i]);
        ck_html_text(h, b->y_name);
        ck_html_format(h, ": %.4g to %.4g</title></rect>", from, from + width);
    }
    write_bound(h, &f, b);
    ck_html_put(h, "</svg>");
    if (isfinite(b->bound)) {
        ck_html_put(h, "<span class=\"legend\"><span><i class=\"key dashed k2\"></i>");
        ck_html_text(h, b->bound_name);
        ck_html_format(h, " (%.4g)</span></span>", b->bound);
    }
    ck_html_put(h, "</figure>\n");
}
