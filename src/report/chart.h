/* chart.h - curves as SVG that need no script; with one, they tell their values. */
#ifndef CK_CHART_H
#define CK_CHART_H

#include "report/html.h"

enum ck_curve_look {
    CK_CURVE_LINE,
    CK_CURVE_FAINT,  /* thin and pale: the numbers behind another line */
    CK_CURVE_DASHED, /* a bound */
    CK_CURVE_BAND    /* filled down to `low` */
};

struct ck_curve {
    const char *name;
    enum ck_curve_look look;
    int color; /* 1.. : the page's colours for lines */
    int64_t n;
    const double *x, *y; /* [n]; y NaN = not known there */
    const double *low;   /* [n] of a band */
};

enum { CK_CHART_CURVES = 6 };

struct ck_chart {
    const char *title;
    const char *about; /* what one should see in it, or NULL */
    const char *x_name;
    int curves;
    struct ck_curve curve[CK_CHART_CURVES];
    int from_zero; /* the axis begins at 0 */
    int unit;      /* it goes from 0 to 1 */
};

/* Are there at least two numbers to draw a line between, or one to mark? */
int ck_chart_has_data(const struct ck_chart *c);
void ck_chart_write(struct ck_html *h, const struct ck_chart *c);

/* Bars over equal parts of low..high, with a mark at `bound` (NaN = none). */
struct ck_bars {
    const char *title, *about, *x_name, *y_name;
    int n;
    const int64_t *count; /* [n] */
    double low, high, bound;
    const char *bound_name;
};
void ck_bars_write(struct ck_html *h, const struct ck_bars *b);

#endif
