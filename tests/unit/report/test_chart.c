/* test_chart.c - the numbers beside an axis are all different. */
#include "support.h"
#include "report/chart.h"

#include <unistd.h>

static char path[64] = "/tmp/coke-chart-XXXXXX";

static int enter(void **state)
{
    (void)state;
    int fd = mkstemp(path);
    return fd < 0 ? -1 : close(fd);
}

static int leave(void **state)
{
    (void)state;
    return unlink(path);
}

/* The labels of one axis of the page in text, one after the other: are neighbours different?
 * Returns how many there are. */
static int check_labels(const char *text, char axis, double low, double high)
{
    char mark[24], last[64] = "", label[64];
    int n = 0;
    snprintf(mark, sizeof mark, "<text class=\"%c\"", axis);
    for (const char *p = strstr(text, mark); p; p = strstr(p, mark)) {
        p = strchr(p, '>') + 1;
        snprintf(label, sizeof label, "%.*s", (int)strcspn(p, "<"), p);
        if (n++ && strcmp(label, last) == 0)
            fail_msg("axis %c of %g..%g has %s twice", axis, low, high, label);
        memcpy(last, label, sizeof label);
    }
    return n;
}

static void write_range(struct ck_html *h, double low, double high)
{
    const double x[] = {low, high}, y[] = {low, high};
    struct ck_chart c = {.title = "t", .x_name = "epoch", .curves = 1};
    c.curve[0] = (struct ck_curve){.name = "c", .color = 1, .n = 2, .x = x, .y = y};
    ck_chart_write(h, &c);
}

/* The page with a chart of each range [n][2]. */
static char *write_charts(const double (*range)[2], int n)
{
    static char text[4 << 20];
    struct ck_html h;
    assert_ok(ck_html_open(&h, path, 1));
    for (int i = 0; i < n; i++)
        write_range(&h, range[i][0], range[i][1]);
    assert_ok(ck_html_commit(&h));
    ck_html_abort(&h);
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    size_t size = fread(text, 1, sizeof text - 1, f);
    fclose(f);
    assert_true(size < sizeof text - 1);
    text[size] = 0;
    return text;
}

enum { RANGES = 1000 };

static void no_axis_repeats_a_number(void **state)
{
    (void)state;
    static double range[RANGES][2] = {
        {0, 0}, {5, 5.00001}, {0.693147, 0.6931473}, {2e9, 2e9 + 4e6}, {-0.001, 0.0168901}};
    int n = 5;
    for (double size = 1e-9; size < 1e12; size *= 10)
        for (double part = 1e-9; part < 1e3; part *= 3.7) {
            range[n][0] = size;
            range[n++][1] = size * (1 + part);
            range[n][0] = -size;
            range[n++][1] = size * part;
            assert_true(n < RANGES - 1);
        }
    char *p = write_charts(range, n);
    for (int i = 0; i < n; i++) {
        char *end = strstr(p, "</figure>");
        assert_non_null(end);
        *end = 0;
        assert_true(check_labels(p, 'y', range[i][0], range[i][1]) >= 2);
        check_labels(p, 'x', range[i][0], range[i][1]);
        p = end + 1;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_axis_repeats_a_number),
    };
    return cmocka_run_group_tests_name("chart", tests, enter, leave);
}
