/* page_curves.c - charts of a training over its epochs, and histograms of the final clusters.
 *
 * Curves borrow the columns of the report's tables. */
#include "core/error.h"
#include "core/mem.h"
#include "report/chart.h"
#include "report/page_parts.h"

#include <math.h>

/* Columns x and y of t as a curve; an empty table gives an empty curve. */
static struct ck_curve curve(const char *name, enum ck_curve_look look, int color,
                             const struct ck_table *t, int x, int y)
{
    return (struct ck_curve){.name = name,
                             .look = look,
                             .color = color,
                             .n = t->rows,
                             .x = t->rows ? t->column[x] : NULL,
                             .y = t->rows ? t->column[y] : NULL};
}

static void write_if_any(struct ck_html *h, const struct ck_chart *c)
{
    if (ck_chart_has_data(c))
        ck_chart_write(h, c);
}

/* The loss per epoch over the loss of single steps. */
static void write_loss(struct ck_html *h, const struct ck_report *r)
{
    struct ck_chart c = {
        .title = "Loss", .about = "epoch means, with single steps in pale", .x_name = "epoch"};
    if (r->steps.rows)
        c.curve[c.curves++] =
            curve("step", CK_CURVE_FAINT, 1, &r->steps, CK_STEP_EPOCH, CK_STEP_LOSS);
    if (r->history.rows)
        c.curve[c.curves++] =
            curve("epoch", CK_CURVE_LINE, 1, &r->history, CK_EPOCH_EPOCH, CK_EPOCH_LOSS);
    write_if_any(h, &c);
}

/* The rate per step, or per epoch if steps were not recorded. */
static void write_rate(struct ck_html *h, const struct ck_report *r)
{
    struct ck_chart c = {.title = "Learning rate",
                         .about = "warm-up, then a cosine schedule",
                         .x_name = "epoch",
                         .from_zero = 1};
    if (r->steps.rows)
        c.curve[c.curves++] =
            curve("rate", CK_CURVE_LINE, 4, &r->steps, CK_STEP_EPOCH, CK_STEP_RATE);
    else
        c.curve[c.curves++] =
            curve("rate", CK_CURVE_LINE, 4, &r->history, CK_EPOCH_EPOCH, CK_EPOCH_RATE);
    write_if_any(h, &c);
}

/* Several clusterings of vectors: objective and silhouette over k, to choose one by. The heads
 * are sorted by k here. */
static void write_choice(struct ck_html *h, const struct ck_report *r)
{
    double k[COKE_MAX_HEADS], objective[COKE_MAX_HEADS], silhouette[COKE_MAX_HEADS];
    for (int i = 0; i < r->heads; i++) {
        int at = i;
        for (; at > 0 && k[at - 1] > (double)r->head[i].k; at--) {
            k[at] = k[at - 1];
            objective[at] = objective[at - 1];
            silhouette[at] = silhouette[at - 1];
        }
        k[at] = (double)r->head[i].k;
        objective[at] = r->head[i].objective;
        silhouette[at] = r->head[i].silhouette;
    }
    struct ck_chart a = {
        .title = r->euclidean ? "Squared distance" : "Similarity",
        .about = r->euclidean ? "mean to the center of the label; look for a bend"
                              : "mean cosine to the center of the label; look for a bend",
        .x_name = "clusters",
        .curves = 1};
    struct ck_chart b = {.title = "Silhouette",
                         .about =
                             "how much nearer the own cluster is than the next; high is good",
                         .x_name = "clusters",
                         .curves = 1};
    a.curve[0] = (struct ck_curve){"objective", CK_CURVE_LINE, 1, r->heads, k, objective, NULL};
    b.curve[0] =
        (struct ck_curve){"silhouette", CK_CURVE_LINE, 2, r->heads, k, silhouette, NULL};
    ck_html_put(h, "<section id=\"choice\"><h2>Number of clusters</h2><div class=\"charts\">");
    write_if_any(h, &a);
    write_if_any(h, &b);
    ck_html_put(h, "</div></section>\n");
}

void ck_page_curves(struct ck_html *h, const struct ck_report *r)
{
    struct ck_chart knn = {.title = "k-NN accuracy",
                           .about = "by votes of the 20 and 200 nearest other images",
                           .x_name = "epoch",
                           .unit = 1,
                           .curves = 2};
    struct ck_chart acc = {.title = "Agreement with the classes",
                           .about = "of the head with as many clusters as classes",
                           .x_name = "epoch",
                           .unit = 1,
                           .curves = 3};
    if (!r->is_run && r->heads > 1)
        write_choice(h, r);
    if (!r->steps.rows && !r->history.rows)
        return;
    knn.curve[0] = curve("20", CK_CURVE_LINE, 1, &r->history, CK_EPOCH_EPOCH, CK_EPOCH_KNN20);
    knn.curve[1] = curve("200", CK_CURVE_LINE, 2, &r->history, CK_EPOCH_EPOCH, CK_EPOCH_KNN200);
    acc.curve[0] = curve("ACC", CK_CURVE_LINE, 1, &r->history, CK_EPOCH_EPOCH, CK_EPOCH_ACC);
    acc.curve[1] = curve("NMI", CK_CURVE_LINE, 2, &r->history, CK_EPOCH_EPOCH, CK_EPOCH_NMI);
    acc.curve[2] = curve("ARI", CK_CURVE_LINE, 3, &r->history, CK_EPOCH_EPOCH, CK_EPOCH_ARI);
    ck_html_put(h, "<section id=\"curves\"><h2>Training</h2><div class=\"charts\">");
    write_loss(h, r);
    write_rate(h, r);
    write_if_any(h, &knn);
    write_if_any(h, &acc);
    ck_html_put(h, "</div></section>\n");
}

void ck_page_head_curves(struct ck_html *h, const struct ck_report_head *head)
{
    const struct ck_table *t = &head->history;
    if (!t->rows)
        return;
    struct ck_chart sizes = {.title = "Cluster sizes over the epochs",
                             .about = "smallest to largest, the median, and the min size",
                             .x_name = "epoch",
                             .from_zero = 1,
                             .curves = 3};
    sizes.curve[0] =
        curve("smallest to largest", CK_CURVE_BAND, 1, t, CK_HEAD_EPOCH, CK_HEAD_MAX);
    sizes.curve[0].low = t->column[CK_HEAD_MIN];
    sizes.curve[1] = curve("median", CK_CURVE_LINE, 1, t, CK_HEAD_EPOCH, CK_HEAD_MEDIAN);
    sizes.curve[2] = curve("min size", CK_CURVE_DASHED, 2, t, CK_HEAD_EPOCH, CK_HEAD_BOUND);
    ck_chart_write(h, &sizes);
    struct ck_chart duals = {.title = "Dual variables",
                             .about = "added to the similarities of small clusters",
                             .x_name = "epoch",
                             .from_zero = 1,
                             .curves = 1};
    duals.curve[0] =
        curve("lowest to highest", CK_CURVE_BAND, 4, t, CK_HEAD_EPOCH, CK_HEAD_DUAL_MAX);
    duals.curve[0].low = t->column[CK_HEAD_DUAL_MIN];
    write_if_any(h, &duals);
    struct ck_chart changed = {.title = "Label change",
                               .about = "fraction of the images that changed their cluster",
                               .x_name = "epoch",
                               .unit = 1,
                               .curves = 1};
    changed.curve[0] = curve("changed", CK_CURVE_LINE, 3, t, CK_HEAD_EPOCH, CK_HEAD_CHANGED);
    write_if_any(h, &changed);
}

/* ---- histograms of the final clusters ---- */

enum { BARS = 30 }; /* bins of a histogram, at most */

/* The mark is drawn only if all clusters have the same min size. */
void ck_page_size_bars(struct ck_html *h, const struct ck_report_head *head)
{
    int64_t count[BARS] = {0}, low = head->size[0], high = head->size[0];
    int same = 1;
    for (int64_t c = 0; c < head->k; c++) {
        low = head->size[c] < low ? head->size[c] : low;
        high = head->size[c] > high ? head->size[c] : high;
        same = same && head->min_size[c] == head->min_size[0];
    }
    /* Bins of a whole number of sizes, so that none is favored by rounding. */
    int64_t width = (high - low) / BARS + 1, bars = (high - low) / width + 1;
    for (int64_t c = 0; c < head->k; c++)
        count[(head->size[c] - low) / width]++;
    struct ck_bars b = {.title = "Cluster sizes now",
                        .about = "clusters of each size",
                        .x_name = "members",
                        .y_name = "clusters",
                        .n = (int)bars,
                        .count = count,
                        .low = (double)low,
                        .high = (double)(low + bars * width),
                        .bound = same ? (double)head->min_size[0] : (double)NAN,
                        .bound_name = "min size"};
    ck_bars_write(h, &b);
}

/* A histogram of value [n]; unknown values (NaN) are skipped. */
static void write_spread(struct ck_html *h, const char *title, const char *about,
                         const double *value, int64_t n)
{
    int64_t count[BARS] = {0}, known = 0;
    double low = INFINITY, high = -INFINITY;
    for (int64_t i = 0; i < n; i++)
        if (isfinite(value[i])) {
            low = fmin(low, value[i]);
            high = fmax(high, value[i]);
            known++;
        }
    if (!known)
        return;
    high = high > low ? high : low + fmax(fabs(low), 1) * 1e-3;
    for (int64_t i = 0; i < n; i++)
        if (isfinite(value[i])) {
            int at = (int)((value[i] - low) / (high - low) * BARS);
            count[at < BARS ? at : BARS - 1]++;
        }
    struct ck_bars b = {.title = title,
                        .about = about,
                        .x_name = "",
                        .y_name = "clusters",
                        .n = BARS,
                        .count = count,
                        .low = low,
                        .high = high,
                        .bound = (double)NAN};
    ck_bars_write(h, &b);
}

int ck_page_spreads(struct ck_html *h, const struct ck_report_head *head, int euclidean)
{
    double *value = ck_alloc_array((size_t)head->k, sizeof *value);
    if (!value)
        return COKE_ENOMEM;
    for (int64_t c = 0; c < head->k; c++)
        value[c] = (double)head->dual[c];
    write_spread(h, "Dual variables", "added to the similarities of each cluster", value,
                 head->k);
    for (int64_t c = 0; c < head->k; c++)
        value[c] = euclidean ? -head->look.tightness[c] : head->look.tightness[c];
    write_spread(h, "Tightness",
                 euclidean ? "mean distance of the members to their center"
                           : "mean cosine of the members to their center",
                 value, head->k);
    if (head->purity)
        write_spread(h, "Purity", "fraction of the most frequent class", head->purity, head->k);
    ck_free(value);
    return COKE_OK;
}
