/* compare_page.c - writes the page about several trainings. */
#include "core/error.h"
#include "core/mem.h"
#include "report/chart.h"
#include "report/compare.h"
#include "report/page_parts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- results ---- */

/* The last known number of a column. */
static double last_of(const struct ck_table *t, int column)
{
    for (int64_t i = t->rows - 1; i >= 0; i--)
        if (isfinite(t->column[column][i]))
            return t->column[column][i];
    return (double)NAN;
}

static const struct {
    const char *name, *title;
    int column, scored; /* scored: the highest is marked */
} results[] = {
    {"loss", "of the last epoch; losses of different methods cannot be compared",
     CK_COMPARE_LOSS, 0},
    {"k-NN", "accuracy of the 20 nearest neighbors", CK_COMPARE_KNN, 1},
    {"ACC", "accuracy of clusters matched to classes", CK_COMPARE_ACC, 1},
    {"NMI", "normalized mutual information", CK_COMPARE_NMI, 1},
    {"ARI", "adjusted Rand index", CK_COMPARE_ARI, 1},
};

enum { RESULTS = sizeof results / sizeof results[0] };

static double highest(const struct ck_compare *c, int column)
{
    double most = -INFINITY;
    for (int i = 0; i < c->n; i++)
        most = fmax(most, last_of(&c->run[i].history, column)); /* fmax skips NaN */
    return most;
}

static void write_cell(struct ck_html *h, const char *class, const char *text)
{
    ck_html_format(h, "<td class=\"%s\">", class);
    ck_html_text(h, text[0] ? text : "\xe2\x80\x93");
    ck_html_put(h, "</td>");
}

static void write_result(struct ck_html *h, const struct ck_compare *c, int i)
{
    const struct ck_compare_run *r = &c->run[i];
    char time[64], epochs[64];
    ck_page_duration(r->seconds, time, sizeof time);
    snprintf(epochs, sizeof epochs, r->epoch < r->epochs ? "%lld of %lld" : "%lld",
             (long long)(r->epoch < 0 ? 0 : r->epoch), (long long)r->epochs);
    ck_html_format(h, "<tr><th scope=\"row\"><i class=\"key line k%d\"></i> ", i % 8 + 1);
    ck_html_text(h, r->name);
    ck_html_put(h, "</th>");
    write_cell(h, "word", r->method);
    write_cell(h, "word", r->about);
    write_cell(h, "", epochs);
    write_cell(h, "", time);
    ck_html_put(h, "<td>");
    ck_page_real(h, r->speed, 0);
    ck_html_put(h, "</td>");
    for (int k = 0; k < RESULTS; k++) {
        double value = last_of(&r->history, results[k].column);
        int best = results[k].scored && c->n > 1 && isfinite(value) &&
                   value >= highest(c, results[k].column);
        ck_html_format(h, "<td%s>", best ? " class=\"best\"" : "");
        ck_page_real(h, value, 3);
        ck_html_put(h, "</td>");
    }
    ck_html_put(h, "</tr>\n");
}

static void write_results(struct ck_html *h, const struct ck_compare *c)
{
    ck_html_put(h, "<section id=\"results\"><h2>Results</h2><p class=\"about\">The last known "
                   "values; the highest of a column in bold.</p><div class=\"wide\"><table>"
                   "<thead><tr><th scope=\"col\">run</th>"
                   "<th scope=\"col\" class=\"word\">method</th>"
                   "<th scope=\"col\" class=\"word\">encoder</th><th scope=\"col\">epochs</th>"
                   "<th scope=\"col\">time</th><th scope=\"col\">images/s</th>");
    for (int k = 0; k < RESULTS; k++) {
        ck_html_put(h, "<th scope=\"col\" title=\"");
        ck_html_text(h, results[k].title);
        ck_html_put(h, "\">");
        ck_html_text(h, results[k].name);
        ck_html_put(h, "</th>");
    }
    ck_html_put(h, "</tr></thead><tbody>\n");
    for (int i = 0; i < c->n; i++)
        write_result(h, c, i);
    ck_html_put(h, "</tbody></table></div></section>\n");
}

/* ---- curves ---- */

static void write_chart(struct ck_html *h, const struct ck_compare *c, const char *title,
                        const char *about, int x, int y)
{
    struct ck_chart chart = {.title = title,
                             .about = about,
                             .x_name = x == CK_COMPARE_EPOCH ? "epoch" : "minutes",
                             .unit = 0};
    for (int i = 0; i < c->n; i++) {
        const struct ck_table *t = &c->run[i].history;
        if (t->rows)
            chart.curve[chart.curves++] =
                (struct ck_curve){.name = c->run[i].name,
                                  .look = i < 8 ? CK_CURVE_LINE : CK_CURVE_DASHED,
                                  .color = i % 8 + 1,
                                  .n = t->rows,
                                  .x = t->column[x],
                                  .y = t->column[y]};
    }
    if (ck_chart_has_data(&chart))
        ck_chart_write(h, &chart);
}

static void write_curves(struct ck_html *h, const struct ck_compare *c)
{
    static const struct {
        const char *title, *about;
        int column;
    } rows[] = {
        {"k-NN accuracy", "20 nearest neighbors in the features", CK_COMPARE_KNN},
        {"Clustering accuracy (ACC)", "of the head with as many clusters as classes",
         CK_COMPARE_ACC},
        {"Loss", "compare it only between runs of one method", CK_COMPARE_LOSS},
    };
    ck_html_put(h, "<section id=\"curves\"><h2>Curves</h2><div class=\"charts\">");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        write_chart(h, c, rows[i].title, rows[i].about, CK_COMPARE_EPOCH, rows[i].column);
        write_chart(h, c, rows[i].title, rows[i].about, CK_COMPARE_MINUTES, rows[i].column);
    }
    ck_html_put(h, "</div></section>\n");
}

/* ---- options ---- */

static const char *value_of(const struct ck_compare_run *r, int64_t option)
{
    return ck_names_get(&r->options, 2 * option + 1);
}

static int differs(const struct ck_compare *c, int64_t option)
{
    for (int i = 1; i < c->n; i++)
        if (strcmp(value_of(&c->run[i], option), value_of(&c->run[0], option)) != 0)
            return 1;
    return 0;
}

/* All runs list the same options: those of this version. */
static void write_options(struct ck_html *h, const struct ck_compare *c)
{
    int64_t options = c->run[0].options.n / 2, shown = 0;
    ck_html_put(h, "<section id=\"options\"><h2>Options that differ</h2>"
                   "<div class=\"wide\"><table><thead><tr><th scope=\"col\">option</th>");
    for (int i = 0; i < c->n; i++) {
        ck_html_put(h, "<th scope=\"col\">");
        ck_html_text(h, c->run[i].name);
        ck_html_put(h, "</th>");
    }
    ck_html_put(h, "</tr></thead><tbody>\n");
    for (int64_t o = 0; o < options; o++) {
        if (!differs(c, o))
            continue;
        shown++;
        ck_html_put(h, "<tr><th scope=\"row\">");
        ck_html_text(h, ck_names_get(&c->run[0].options, 2 * o));
        ck_html_put(h, "</th>");
        for (int i = 0; i < c->n; i++)
            write_cell(h, "", value_of(&c->run[i], o));
        ck_html_put(h, "</tr>\n");
    }
    ck_html_put(h, "</tbody></table></div>");
    if (!shown)
        ck_html_put(h, "<p class=\"about\">None.</p>");
    ck_html_put(h, "</section>\n");
}

/* ---- the page ---- */

/* Nothing but the number of heads is read of it: there are none here. */
static void write_data(struct ck_html *h)
{
    ck_html_put(h,
                "<dialog id=\"detail\"></dialog><div id=\"tip\" role=\"status\" hidden></div>"
                "<script type=\"application/json\" id=\"data\">{\"heads\":[],\"first\":0,"
                "\"names\":[]}</script>\n");
}

static void write_facts(struct ck_html *h, const struct ck_compare *c)
{
    ck_html_put(h, "<dl class=\"facts\">");
    for (int i = 0; i < c->n; i++) {
        int known = 0;
        for (int j = 0; j < i; j++)
            known |= strcmp(c->run[i].data, c->run[j].data) == 0;
        if (known || !c->run[i].data[0])
            continue;
        ck_html_put(h, "<div><dt>images</dt><dd>");
        ck_html_text(h, c->run[i].data);
        ck_html_put(h, "</dd></div>");
    }
    ck_html_put(h, "<div><dt>version</dt><dd>" COKE_VERSION "</dd></div></dl>\n");
}

int ck_compare_write(const char *const *runs, int n, const struct ck_page_target *to,
                     struct coke_report_summary *out)
{
    int rc = COKE_OK;
    struct ck_html h = {0};
    struct ck_compare *c = ck_calloc_array(1, sizeof *c);
    char title[64];
    if (!c)
        return COKE_ENOMEM;
    CK_TRY(ck_page_check_target(to));
    CK_TRY(ck_compare_read(c, runs, n));
    CK_TRY(ck_html_open(&h, to->page, to->force));
    snprintf(title, sizeof title, "%d trainings", c->n);
    ck_page_begin(&h, title, 0);
    ck_html_put(&h, "<header class=\"top\"><div><p class=\"kind\">CoKe trainings</p><h1>");
    ck_html_text(&h, title);
    ck_html_put(&h, "</h1></div><div class=\"js\" id=\"switches\"></div></header>\n");
    write_facts(&h, c);
    ck_html_put(&h, "<main class=\"runs\">");
    write_results(&h, c);
    write_curves(&h, c);
    write_options(&h, c);
    ck_html_put(&h, "</main>");
    write_data(&h);
    ck_page_end(&h);
    CK_TRY(ck_html_commit(&h));
    *out = (struct coke_report_summary){.page_bytes = h.bytes};
done:
    ck_html_abort(&h);
    if (c)
        ck_compare_release(c);
    ck_free(c);
    return rc;
}
