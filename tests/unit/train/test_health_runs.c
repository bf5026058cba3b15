/* test_health_runs.c - recorded trainings: no false alarm for healthy ones, the right one for
 * broken ones, and no advice that contradicts itself. scripts/record-health explains the file. */
#include "support.h"
#include "train/health.h"

enum { LINE = 4096, NAME = 64 };

struct recorded {
    char name[NAME], expected[NAME];
    int heads;
    int64_t images, monitor;
    struct ck_health_facts facts;
    double pixels;
    struct ck_health w;
    char said[LINE]; /* all warnings of the run */
    int lines;
};

static double number(char **at)
{
    return strtod(*at, at);
}

static void parse_epoch(const struct recorded *run, char *at, struct ck_epoch_report *r)
{
    *r = (struct ck_epoch_report){.heads = run->heads, .images = run->images, .matched = -1};
    r->epoch = (int64_t)number(&at);
    r->loss = number(&at);
    r->feature_mean = number(&at);
    r->knn20 = number(&at);
    r->asked = run->images;
    r->pixels = run->pixels;
    r->monitored =
        run->monitor > 0 && (r->epoch % run->monitor == 0 || r->epoch + 1 == run->facts.epochs);
    for (int h = 0; h < run->heads; h++) {
        struct ck_head_health *s = &r->health[h];
        s->k = (int64_t)number(&at);
        s->loss = number(&at);
        s->accuracy = number(&at);
        s->size_max = (int64_t)number(&at);
        s->bound = (int64_t)number(&at);
        s->empty = (int64_t)number(&at);
        s->duplicates = (int64_t)number(&at);
        s->dual_max = number(&at);
    }
}

static void take_epoch(struct recorded *run, char *line)
{
    struct ck_epoch_report r;
    parse_epoch(run, line, &r);
    const struct ck_train_options o = ck_train_options_default();
    run->facts.o = &o;
    ck_health_check(&run->w, &r, &run->facts);
    for (int i = 0; i < r.warnings.n; i++) {
        size_t n = strlen(run->said);
        snprintf(run->said + n, sizeof run->said - n, "%s: %s\n", r.warnings.item[i].kind,
                 r.warnings.item[i].text);
    }
    run->lines++;
}

/* "a larger X" and "a smaller X" or "a lower X" for the same X. */
static void assert_no_contradiction(const struct recorded *run)
{
    static const char *const options[] = {"ratio", "eta",         "rate",
                                          "alpha", "temperature", "warmup"};
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++) {
        char up[NAME], down[NAME], lower[NAME];
        snprintf(up, sizeof up, "larger %s", options[i]);
        snprintf(down, sizeof down, "smaller %s", options[i]);
        snprintf(lower, sizeof lower, "lower %s", options[i]);
        if (strstr(run->said, up) && (strstr(run->said, down) || strstr(run->said, lower)))
            fail_msg("%s: contradictory advice:\n%s", run->name, run->said);
    }
    if (strstr(run->said, "fewer clusters") && strstr(run->said, "more clusters"))
        fail_msg("%s: contradictory advice:\n%s", run->name, run->said);
}

/* expected: kinds joined by +, one of which is enough. */
static void judge(const struct recorded *run)
{
    char kinds[NAME], *rest = kinds, *kind, start[NAME + 2];
    int found = 0;
    if (run->lines == 0)
        return;
    assert_no_contradiction(run);
    if (strcmp(run->expected, "healthy") == 0 && run->said[0])
        fail_msg("%s is healthy, but was warned:\n%s", run->name, run->said);
    if (strcmp(run->expected, "healthy") == 0 || strcmp(run->expected, "any") == 0)
        return;
    if (strcmp(run->expected, "still") == 0 && run->monitor == 0)
        return; /* only k-NN shows it */
    snprintf(kinds, sizeof kinds, "%s", run->expected);
    while ((kind = strtok_r(rest, "+", &rest))) {
        snprintf(start, sizeof start, "%s: ", kind);
        found |= strstr(run->said, start) != NULL;
    }
    if (!found)
        fail_msg("%s should be warned of %s, but was warned:\n%s", run->name, run->expected,
                 run->said);
}

/* Returns the number of runs. */
static int replay_all(int64_t monitor)
{
    char path[LINE], line[LINE];
    struct recorded run = {.lines = 0};
    int runs = 0;
    snprintf(path, sizeof path, "%s/tests/golden/health/runs.txt", getenv("COKE_SOURCE"));
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    while (fgets(line, sizeof line, f)) {
        struct recorded next = {.monitor = monitor};
        long long images, warmup, epochs;
        if (line[0] == '#')
            continue;
        if (sscanf(line, "run %63s %63s %d %lld %lld %lld %lf", next.name, next.expected,
                   &next.heads, &images, &warmup, &epochs, &next.pixels) != 7) {
            take_epoch(&run, line);
            continue;
        }
        judge(&run);
        next.images = images;
        next.facts = (struct ck_health_facts){warmup, epochs, 2, 20, NULL};
        run = next;
        runs++;
    }
    judge(&run);
    fclose(f);
    return runs;
}

static void recorded_runs_get_the_right_alarms(void **state)
{
    (void)state;
    assert_true(replay_all(1) >= 20);
}

static void the_default_monitor_interval_is_enough(void **state)
{
    (void)state;
    assert_true(replay_all(5) >= 20);
}

static void no_monitor_makes_no_false_alarm(void **state)
{
    (void)state;
    assert_true(replay_all(0) >= 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recorded_runs_get_the_right_alarms),
        cmocka_unit_test(the_default_monitor_interval_is_enough),
        cmocka_unit_test(no_monitor_makes_no_false_alarm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
