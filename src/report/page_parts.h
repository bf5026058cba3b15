/* page_parts.h - the parts of a page, each in a file of its own. */
#ifndef CK_PAGE_PARTS_H
#define CK_PAGE_PARTS_H

#include "report/html.h"
#include "report/report.h"

enum { CK_MAP_WIDTH = 640, CK_MAP_HEIGHT = 460 };

/* page_curves.c */
void ck_page_curves(struct ck_html *h, const struct ck_report *r);
void ck_page_head_curves(struct ck_html *h, const struct ck_report_head *head);
void ck_page_size_bars(struct ck_html *h, const struct ck_report_head *head);
/* Of a clustering, which has no history. */
int ck_page_spreads(struct ck_html *h, const struct ck_report_head *head);

/* page_classes.c: clusters against true classes. */
int ck_page_classes(struct ck_html *h, const struct ck_report *r,
                    const struct ck_report_head *head);

/* page_map.c: the plane of the centers and of a sample. */
int ck_page_map(struct ck_html *h, const struct ck_report *r,
                const struct ck_report_head *head);
/* Where a point of the plane lies in the drawing. */
struct ck_map_frame {
    double scale, left, top; /* x * scale + left, top - y * scale */
};
struct ck_map_frame ck_page_map_frame(const struct ck_report *r);

/* page_clusters.c: the rows of the browser. */
int ck_page_clusters(struct ck_html *h, const struct ck_report *r, int index);
/* "cat", or "" where classes are not known. */
const char *ck_page_cluster_name(const struct ck_report *r, const struct ck_report_head *head,
                                 int64_t c);

/* page_data.c: what the script works with. */
void ck_page_data(struct ck_html *h, const struct ck_report *r);

/* A number for people: thousands apart. */
void ck_page_count(struct ck_html *h, int64_t n);
/* With this many decimals; NaN is a dash. */
void ck_page_real(struct ck_html *h, double v, int decimals);

/* Made from report.css and report.js when the library is built. */
extern const unsigned char ck_report_css[], ck_report_js[];
extern const size_t ck_report_css_size, ck_report_js_size;

#endif
