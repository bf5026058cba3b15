/* chart.h - line charts and histograms as SVG. They need no script; report.js adds the values
 * under the pointer from JSON that is written beside each chart. */
#ifndef CK_CHART_H
#define CK_CHART_H

#include "report/html.h"

enum ck_curve_look {
    CK_CURVE_LINE,
    CK_CURVE_FAINT,  /* thin and pale: raw values behind another line */
    CK_CURVE_DASHED, /* a limit */
    CK_CURVE_BAND    /* filled down to `low` */
};

/* Borrows its arrays until ck_chart_write returns. */
struct ck_curve {
    const char *name;
    enum ck_curve_look look;
    int color; /* 1..8: classes s1.. and f1.. of report.css */
    int64_t n;
    const double *x, *y; /* [n]; y NaN = unknown */
    const double *low;   /* [n] lower edge of a band, else NULL */
};

enum { CK_CHART_CURVES = 16 };

struct ck_chart {
    const char *title;
    const char *about; /* explanation below the title, or NULL */
    const char *x_name;
    int curves;
    struct ck_curve curve[CK_CHART_CURVES];
    int from_zero; /* the y axis starts at 0 */
    int unit;      /* the y axis covers at least 0..1 */
};

/* Does any curve have a known value? */
int ck_chart_has_data(const struct ck_chart *c);
void ck_chart_write(struct ck_html *h, const struct ck_chart *c);

/* A histogram with n bins of equal width over low..high, and a mark at `bound` (NaN = none). */
struct ck_bars {
    const char *title, *about, *x_name, *y_name;
    int n;
    const int64_t *count; /* [n] */
    double low, high, bound;
    const char *bound_name;
};
void ck_bars_write(struct ck_html *h, const struct ck_bars *b);

#endif
