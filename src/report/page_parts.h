/* page_parts.h - the parts of a page, one file each. Called by page.c only.
 *
 * They write to h and read r; write errors stay in h, other errors are returned. */
#ifndef CK_PAGE_PARTS_H
#define CK_PAGE_PARTS_H

#include "report/html.h"
#include "report/report.h"

enum { CK_MAP_WIDTH = 640, CK_MAP_HEIGHT = 460 }; /* SVG units */

/* page_curves.c: charts of the training, of one head, and the histogram of its sizes. */
void ck_page_curves(struct ck_html *h, const struct ck_report *r);
void ck_page_head_curves(struct ck_html *h, const struct ck_report_head *head);
void ck_page_size_bars(struct ck_html *h, const struct ck_report_head *head);
/* Histograms of duals, tightness and purity, for a clustering, which has no history. */
int ck_page_spreads(struct ck_html *h, const struct ck_report_head *head, int euclidean);

/* page_classes.c: clusters against true classes; nothing if they are unknown. */
int ck_page_classes(struct ck_html *h, const struct ck_report *r,
                    const struct ck_report_head *head);

/* page_map.c: the map of the centers and a sample of the rows. */
int ck_page_map(struct ck_html *h, const struct ck_report *r,
                const struct ck_report_head *head);
/* Transforms map coordinates to SVG units. */
struct ck_map_frame {
    double scale, left, top; /* x * scale + left, top - y * scale */
};
struct ck_map_frame ck_page_map_frame(const struct ck_report *r);

/* page_clusters.c: the cluster browser of head `index`. */
int ck_page_clusters(struct ck_html *h, const struct ck_report *r, int index);
/* Most frequent class of cluster c; "" if unknown. Borrowed from r. */
const char *ck_page_cluster_name(const struct ck_report *r, const struct ck_report_head *head,
                                 int64_t c);

/* page_data.c: the JSON for report.js. */
void ck_page_data(struct ck_html *h, const struct ck_report *r);

/* page.c: the page up to <body>, and its end with the script. side: of the pictures, 0 = none. */
void ck_page_begin(struct ck_html *h, const char *title, int side);
void ck_page_end(struct ck_html *h);
/* Part of `path` after the last slash, unless that is empty. */
const char *ck_page_base_name(const char *path);
/* "3 min 20 s"; empty if the duration is unknown or not plausible. */
void ck_page_duration(double seconds, char *out, size_t size);
/* page.c: an integer with thousands separated by thin spaces. */
void ck_page_count(struct ck_html *h, int64_t n);
/* A number with `decimals` decimals; NaN becomes a dash. */
void ck_page_real(struct ck_html *h, double v, int decimals);

/* Generated from report.css and report.js at build time (cmake/embed.cmake). */
extern const unsigned char ck_report_css[], ck_report_js[];
extern const size_t ck_report_css_size, ck_report_js_size;

#endif
