/* page.c - writes the page: header, key figures, curves, each head, options.
 *
 * The functions write to h in page order. They ignore write errors, which h keeps; only memory
 * errors are returned. */
#include "core/error.h"
#include "core/mem.h"
#include "core/stats.h"
#include "core/text.h"
#include "data/fetch.h"
#include "report/page_parts.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* With more heads than this the range of k is shown instead of every k. */
enum { FEW_HEADS = 4 };

/* Groups of three digits from 10 000 on, separated by U+202F. */
void ck_page_count(struct ck_html *h, int64_t n)
{
    if (n < 0) {
        ck_html_put(h, "-");
        n = -n;
    }
    if (n < 10000) {
        ck_html_format(h, "%lld", (long long)n);
        return;
    }
    int64_t power = 1;
    while (n / power >= 1000)
        power *= 1000;
    ck_html_format(h, "%lld", (long long)(n / power));
    for (power /= 1000; power > 0; power /= 1000)
        ck_html_format(h, "\xe2\x80\xaf%03lld", (long long)(n / power % 1000));
}

void ck_page_real(struct ck_html *h, double v, int decimals)
{
    if (isfinite(v))
        ck_html_format(h, "%.*f", decimals, v);
    else
        ck_html_put(h, "\xe2\x80\x93");
}

/* ---- document head ---- */

/* One CSS class per sheet; tiles select their part by --x and --y (see report.css). */
static void write_sheets(struct ck_html *h, const struct ck_report *r, const char *images_dir)
{
    for (int64_t i = 0; i < r->sheets.sheets; i++) {
        ck_html_format(h, ".s%lld{background-image:url(", (long long)i);
        if (images_dir) {
            ck_html_url(h, images_dir);
            ck_html_format(h, "/sheet-%04lld.jpg", (long long)i);
        } else {
            ck_html_put(h, "data:image/jpeg;base64,");
            ck_html_base64(h, r->sheets.sheet[i].bytes, r->sheets.sheet[i].size);
        }
        ck_html_put(h, ")}\n");
    }
}

const char *ck_page_base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

void ck_page_begin(struct ck_html *h, const char *title, int side)
{
    ck_html_put(h, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
                   "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">"
                   "<meta name=\"color-scheme\" content=\"light dark\">"
                   "<meta name=\"generator\" content=\"coke ");
    ck_html_text(h, COKE_VERSION);
    ck_html_put(h, "\"><link rel=\"icon\" href=\"data:,\"><title>");
    ck_html_text(h, title);
    ck_html_put(h, " \xc2\xb7 CoKe report</title>\n<style>\n");
    ck_html_bytes(h, ck_report_css, ck_report_css_size);
    if (side)
        ck_html_format(h, ":root{--side:%dpx}\n", side);
    ck_html_put(h, "</style></head>\n<body>\n");
}

/* ---- header ---- */

/* A term and its value; empty values are skipped. */
static void write_fact(struct ck_html *h, const char *key, const char *value)
{
    if (!value[0])
        return;
    ck_html_put(h, "<div><dt>");
    ck_html_text(h, key);
    ck_html_put(h, "</dt><dd>");
    ck_html_text(h, value);
    ck_html_put(h, "</dd></div>");
}

/* The badge of a training: complete or in progress. */
static void write_state(struct ck_html *h, const struct ck_report *r)
{
    if (!r->is_run)
        return;
    ck_html_format(h, "<span class=\"state %s\">", r->complete ? "done" : "going");
    if (r->complete)
        ck_html_put(h, "complete");
    else if (r->epochs >= 0)
        ck_html_format(h, "in progress: %lld of %lld epochs", (long long)r->epoch,
                       (long long)r->epochs);
    else
        ck_html_put(h, "in progress");
    ck_html_put(h, "</span>");
}

void ck_page_duration(double seconds, char *out, size_t size)
{
    out[0] = 0;
    if (!isfinite(seconds) || seconds < 0 || seconds > 1e9)
        return;
    int s = (int)(seconds + 0.5);
    if (s < 60)
        ck_format(out, size, "%.1f s", seconds);
    else if (s < 3600)
        snprintf(out, size, "%d min %d s", s / 60, s % 60);
    else
        snprintf(out, size, "%d h %d min", s / 3600, s / 60 % 60);
}

/* Title and facts: where the files are, data set, encoder, time, version. */
static void write_header(struct ck_html *h, const struct ck_report *r)
{
    char time[64], speed[64] = "";
    ck_page_duration(r->seconds, time, sizeof time);
    if (isfinite(r->speed))
        ck_format(speed, sizeof speed, "%.0f %s per second", r->speed,
                  r->is_run ? "images" : "rows");
    ck_html_put(h, "<a class=\"skip\" href=\"#heads\">To the clusters</a>"
                   "<header class=\"top\"><div><p class=\"kind\">");
    ck_html_put(h, r->is_run ? "CoKe training" : "CoKe clustering");
    write_state(h, r);
    ck_html_put(h, "</p><h1>");
    ck_html_text(h, ck_page_base_name(r->source));
    ck_html_put(h, "</h1></div><div class=\"js\" id=\"switches\"></div></header>\n"
                   "<dl class=\"facts\">");
    write_fact(h, r->is_run ? "run" : "folder", r->source);
    write_fact(h, "images", r->images);
    if (r->data)
        write_fact(h, "kind", r->data->set->type->kind);
    write_fact(h, r->is_run ? "encoder" : "rows", r->about);
    if (r->is_run)
        write_fact(h, "weights", ck_page_base_name(r->weights));
    write_fact(h, "time", time);
    write_fact(h, "speed", speed);
    write_fact(h, "version", COKE_VERSION);
    ck_html_put(h, "</dl>\n");
}

/* ---- key figures ---- */

/* Leaves the <dd> open for the value; the caller closes it. */
static void begin_figure(struct ck_html *h, const char *name, const char *title)
{
    ck_html_put(h, "<div title=\"");
    ck_html_text(h, title);
    ck_html_put(h, "\"><dt>");
    ck_html_text(h, name);
    ck_html_put(h, "</dt><dd>");
}

/* Unknown figures are left out. */
static void write_real_figure(struct ck_html *h, const char *name, const char *title, double v)
{
    if (!isfinite(v))
        return;
    begin_figure(h, name, title);
    ck_html_format(h, "%.3f</dd></div>", v);
}

/* The last known number of a column, NaN if there is none. */
static double last_of(const struct ck_table *t, int column)
{
    for (int64_t i = t->rows - 1; i >= 0; i--)
        if (isfinite(t->column[column][i]))
            return t->column[column][i];
    return (double)NAN;
}

/* The smallest cluster, the lowest min size, and the number of clusters below theirs. */
static void write_size_figure(struct ck_html *h, const struct ck_report_head *head)
{
    int64_t low = head->size[0], below = 0, min = head->min_size[0];
    for (int64_t c = 0; c < head->k; c++) {
        low = head->size[c] < low ? head->size[c] : low;
        min = head->min_size[c] < min ? head->min_size[c] : min;
        below += head->size[c] < head->min_size[c];
    }
    begin_figure(h, "smallest", "members of the smallest cluster, and the min size");
    ck_page_count(h, low);
    ck_html_put(h, " <small>min size ");
    ck_page_count(h, min);
    if (below)
        ck_html_format(h, ", %lld below", (long long)below);
    ck_html_put(h, "</small></dd></div>");
}

/* Rows without a label: images of a run in its first epoch, or rows that a clustering
 * skipped. */
static void write_unlabeled(struct ck_html *h, const struct ck_report *r)
{
    const struct ck_report_head *head = &r->head[r->first];
    int64_t n = r->n;
    for (int64_t c = 0; c < head->k; c++)
        n -= head->size[c];
    if (n == 0)
        return;
    ck_html_put(h, "<p class=\"about\">");
    ck_page_count(h, n);
    ck_html_put(h, r->is_run ? " images are in no cluster yet.</p>\n"
                             : " rows are in no cluster: they were skipped.</p>\n");
}

static void write_warnings(struct ck_html *h, const struct ck_report *r)
{
    if (r->warnings.n == 0)
        return;
    ck_html_put(h, "<ul class=\"warnings\">");
    for (int64_t i = 0; i < r->warnings.n; i++) {
        ck_html_put(h, "<li>");
        ck_html_text(h, ck_names_get(&r->warnings, i));
        ck_html_put(h, "</li>");
    }
    ck_html_put(h, "</ul>\n");
}

/* Of the head that is shown first. */
static void write_figures(struct ck_html *h, const struct ck_report *r)
{
    const struct ck_report_head *head = &r->head[r->first];
    ck_html_put(h, "<dl class=\"figures\">");
    begin_figure(h, r->is_run || r->data ? "images" : "rows", "clustered");
    ck_page_count(h, r->n);
    ck_html_put(h, "</dd></div>");
    begin_figure(h, "clusters", "of each head");
    if (r->heads <= FEW_HEADS) {
        for (int i = 0; i < r->heads; i++) {
            ck_html_put(h, i ? ", " : "");
            ck_page_count(h, r->head[i].k);
        }
    } else {
        int64_t min = r->head[0].k, max = min;
        for (int i = 1; i < r->heads; i++) {
            min = r->head[i].k < min ? r->head[i].k : min;
            max = r->head[i].k > max ? r->head[i].k : max;
        }
        ck_html_format(h, "%lld\u2013%lld <small>%d heads</small>", (long long)min,
                       (long long)max, r->heads);
    }
    ck_html_put(h, "</dd></div>");
    if (r->epoch >= 0) {
        begin_figure(h, "epochs", "done");
        ck_page_count(h, r->epoch);
        if (r->is_run && !r->complete && r->epochs >= 0)
            ck_html_format(h, " <small>of %lld</small>", (long long)r->epochs);
        ck_html_put(h, "</dd></div>");
    }
    write_real_figure(h, "k-NN", "accuracy by votes of the 20 nearest other images",
                      last_of(&r->history, CK_EPOCH_KNN20));
    if (head->count) {
        write_real_figure(h, "ACC", "labels against classes, best one-to-one matching",
                          head->agreement.accuracy);
        write_real_figure(h, "NMI", "normalized mutual information of labels and classes",
                          head->agreement.nmi);
        write_real_figure(h, "ARI", "adjusted Rand index of labels and classes",
                          head->agreement.ari);
    }
    if (r->euclidean)
        write_real_figure(h, "squared distance",
                          "mean squared distance to the center of the label", head->objective);
    else
        write_real_figure(h, "similarity", "mean cosine to the center of the label",
                          head->objective);
    write_real_figure(h, "silhouette",
                      "how much nearer a row is to its own cluster than to the next: -1 to 1",
                      head->silhouette);
    write_size_figure(h, head);
    ck_html_put(h, "</dl>\n");
}

/* ---- heads ---- */

/* One row of the summary table. The last column is the fraction of new labels of a training, or
 * the gap of a clustering. */
static int write_head_line(struct ck_html *h, const struct ck_report *r, int i)
{
    const struct ck_report_head *head = &r->head[i];
    int64_t below = 0, *size = ck_alloc_array((size_t)head->k, sizeof *size);
    if (!size)
        return COKE_ENOMEM;
    memcpy(size, head->size, (size_t)head->k * sizeof *size);
    struct ck_spread s = ck_spread_sort(size, head->k);
    for (int64_t c = 0; c < head->k; c++)
        below += head->size[c] < head->min_size[c];
    ck_html_format(h, "<tr><th scope=\"row\"><a href=\"#head%d\">%lld</a></th>", i,
                   (long long)head->k);
    ck_html_format(h, "<td>%lld</td><td>%lld</td><td>%lld</td><td>%lld</td>", (long long)s.min,
                   (long long)s.median, (long long)s.max, (long long)below);
    const double number[] = {head->agreement.accuracy, head->agreement.many_to_one,
                             head->agreement.nmi, head->agreement.ari};
    for (int c = 0; c < 4 && r->head[0].count; c++) {
        ck_html_put(h, "<td>");
        ck_page_real(h, head->count ? number[c] : (double)NAN, 3);
        ck_html_put(h, "</td>");
    }
    ck_html_put(h, "<td>");
    ck_page_real(h, head->objective, 3);
    if (r->silhouette_rows) {
        ck_html_put(h, "</td><td>");
        ck_page_real(h, head->silhouette, 3);
    }
    ck_html_put(h, "</td><td>");
    if (head->history.rows)
        ck_page_real(h, 100 * last_of(&head->history, CK_HEAD_CHANGED), 1);
    else
        ck_page_real(h, head->gap, 6);
    ck_html_put(h, "</td></tr>");
    ck_free(size);
    return COKE_OK;
}

static int write_head_table(struct ck_html *h, const struct ck_report *r)
{
    ck_html_put(h, "<div class=\"wide\"><table class=\"summary\"><thead><tr><th>clusters</th>"
                   "<th>smallest</th><th>median</th><th>largest</th><th>below min</th>");
    if (r->head[0].count)
        ck_html_put(h,
                    "<th title=\"best one-to-one matching\">ACC</th><th title=\"every cluster "
                    "counts as its most frequent class\">many-to-one</th><th>NMI</th>"
                    "<th>ARI</th>");
    ck_html_put(h,
                r->euclidean
                    ? "<th title=\"mean squared distance to the center of the label\">"
                      "squared distance</th>"
                    : "<th title=\"mean cosine to the center of the label\">similarity</th>");
    if (r->silhouette_rows)
        ck_html_format(h,
                       "<th title=\"how much nearer a row is to its own cluster than to the "
                       "next, exact over %lld rows\">silhouette</th>",
                       (long long)r->silhouette_rows);
    ck_html_put(h, r->is_run ? "<th title=\"in the last epoch\">labels new, %</th>"
                             : "<th title=\"no assignment with these sizes has a total "
                               "that is better by more than this\">gap</th>");
    ck_html_put(h, "</tr></thead><tbody>");
    for (int i = 0; i < r->heads; i++)
        CK_RETURN_IF(write_head_line(h, r, i));
    ck_html_put(h, "</tbody></table></div>\n");
    return COKE_OK;
}

/* The section of one head; report.js shows one section at a time. */
static int write_head(struct ck_html *h, const struct ck_report *r, int i)
{
    const struct ck_report_head *head = &r->head[i];
    ck_html_format(h, "<section class=\"head-part\" id=\"head%d\" data-head=\"%d\"><h2>", i, i);
    ck_page_count(h, head->k);
    ck_html_put(h, " clusters</h2><div class=\"charts\">");
    ck_page_head_curves(h, head);
    ck_page_size_bars(h, head);
    if (!r->is_run)
        CK_RETURN_IF(ck_page_spreads(h, head, r->euclidean));
    ck_html_put(h, "</div>\n");
    CK_RETURN_IF(ck_page_clusters(h, r, i));
    ck_html_put(h, "<div class=\"pair\">");
    CK_RETURN_IF(ck_page_classes(h, r, head));
    CK_RETURN_IF(ck_page_map(h, r, head));
    ck_html_put(h, "</div></section>\n");
    return COKE_OK;
}

/* ---- options ---- */

/* n: key, value, key, value, ... */
static void write_pairs(struct ck_html *h, const struct ck_names *n)
{
    ck_html_put(h, "<dl class=\"pairs\">");
    for (int64_t i = 0; i + 1 < n->n; i += 2)
        write_fact(h, ck_names_get(n, i), ck_names_get(n, i + 1));
    ck_html_put(h, "</dl>");
}

static void write_options(struct ck_html *h, const struct ck_report *r)
{
    ck_html_put(h, "<section id=\"options\"><h2>Options</h2>");
    if (r->facts.n) {
        ck_html_put(h, "<p class=\"about\">Those that are not the default:</p>");
        write_pairs(h, &r->facts);
    }
    if (r->options.n) {
        ck_html_put(h, "<details><summary>All options</summary>");
        write_pairs(h, &r->options);
        ck_html_put(h, "</details>");
    }
    ck_html_put(h, "</section>\n");
}

/* ---- the whole page ---- */

void ck_page_end(struct ck_html *h)
{
    ck_html_put(h, "<script>\n");
    ck_html_bytes(h, ck_report_js, ck_report_js_size);
    ck_html_put(h, "</script></body></html>\n");
}

/* The sheets come last, so that the browser can show the text before it has loaded them. */
static int write_page(struct ck_html *h, const struct ck_report *r, const char *images_dir)
{
    ck_page_begin(h, ck_page_base_name(r->source), r->sheets.side);
    write_header(h, r);
    ck_html_put(h, "<main>");
    write_figures(h, r);
    write_warnings(h, r);
    write_unlabeled(h, r);
    CK_RETURN_IF(write_head_table(h, r));
    ck_page_curves(h, r);
    ck_html_put(h, "<div id=\"heads\" tabindex=\"-1\">");
    for (int i = 0; i < r->heads; i++)
        CK_RETURN_IF(write_head(h, r, i));
    ck_html_put(h, "</div>");
    write_options(h, r);
    ck_html_put(h, "</main><dialog id=\"detail\" aria-labelledby=\"detail-title\"></dialog>"
                   "<div id=\"tip\" role=\"status\" hidden></div>\n<style>\n");
    write_sheets(h, r, images_dir);
    ck_html_put(h, "</style>\n");
    ck_page_data(h, r);
    ck_page_end(h);
    return COKE_OK;
}

/* ---- the folder beside the page ---- */

/* What write_folder has created, so that undo_folder can remove it. */
struct folder {
    char path[CK_REPORT_PATH];
    int made;        /* created by this call */
    int64_t written; /* number of sheets */
};

static const char *sheet_path(const struct folder *f, int64_t i, char *path, size_t size)
{
    snprintf(path, size, "%s/sheet-%04lld.jpg", f->path, (long long)i);
    return path;
}

/* The folder is a sibling of the page. */
static int name_folder(const struct ck_page_target *to, struct folder *f)
{
    const char *slash = strrchr(to->page, '/');
    int before = slash ? (int)(slash - to->page + 1) : 0;
    int n = snprintf(f->path, sizeof f->path, "%.*s%s", before, to->page, to->images_dir);
    return n < CK_REPORT_PATH ? COKE_OK
                              : ck_fail(COKE_EUSAGE, "%s: the name is too long", to->page);
}

int ck_page_check_target(const struct ck_page_target *to)
{
    struct folder f;
    char path[CK_REPORT_PATH + 64];
    int rc = ck_file_check_target(to->page, to->force);
    if (rc || !to->images_dir)
        return rc;
    rc = name_folder(to, &f);
    if (!rc && access(sheet_path(&f, 0, path, sizeof path), F_OK) == 0 && !to->force)
        rc = ck_fail(COKE_EUSAGE, "%s exists; set force to overwrite it", path);
    return rc;
}

static int write_sheet(const char *path, const struct ck_sheet *sheet, int force)
{
    struct ck_writer w = {0};
    int rc = COKE_OK;
    CK_TRY(ck_writer_open(&w, path, force));
    CK_TRY(ck_writer_write(&w, sheet->bytes, sheet->size));
    CK_TRY(ck_writer_commit(&w));
done:
    ck_writer_abort(&w);
    return rc;
}

/* Writes the sheets; with force also removes surplus sheets of an earlier, larger report. */
static int write_folder(const struct ck_report *r, const struct ck_page_target *to,
                        struct folder *f)
{
    char path[CK_REPORT_PATH + 64];
    CK_RETURN_IF(name_folder(to, f));
    f->made = mkdir(f->path, 0777) == 0;
    if (!f->made && errno != EEXIST)
        return ck_fail(COKE_EIO, "%s: %s", f->path, strerror(errno));
    for (; f->written < r->sheets.sheets; f->written++)
        CK_RETURN_IF(write_sheet(sheet_path(f, f->written, path, sizeof path),
                                 &r->sheets.sheet[f->written], to->force));
    for (int64_t i = f->written; to->force; i++)
        if (unlink(sheet_path(f, i, path, sizeof path)) != 0)
            break;
    return COKE_OK;
}

/* Removes the sheets if the page failed. With force they may have replaced older ones: kept. */
static void undo_folder(const struct folder *f, int force)
{
    char path[CK_REPORT_PATH + 64];
    for (int64_t i = 0; i < f->written && !force; i++)
        unlink(sheet_path(f, i, path, sizeof path));
    if (f->made)
        rmdir(f->path);
}

/* The page is committed last: an existing page always has its pictures. */
int ck_page_write(const struct ck_report *r, const struct ck_page_target *to,
                  struct coke_report_summary *out)
{
    struct ck_html h = {0};
    struct folder f = {.written = 0};
    int rc = COKE_OK;
    CK_TRY(ck_html_open(&h, to->page, to->force));
    CK_TRY(write_page(&h, r, to->images_dir));
    if (to->images_dir)
        CK_TRY(write_folder(r, to, &f));
    CK_TRY(ck_html_commit(&h));
    *out = (struct coke_report_summary){.page_bytes = h.bytes,
                                        .picture_bytes = r->sheets.bytes,
                                        .pictures = r->sheets.side ? r->sheets.n : 0,
                                        .picture_side = r->sheets.side,
                                        .heads = r->heads};
    for (int i = 0; i < r->heads; i++)
        out->clusters += r->head[i].k;
done:
    if (rc)
        undo_folder(&f, to->force);
    ck_html_abort(&h);
    return rc;
}
