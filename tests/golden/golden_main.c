/* golden_main.c - the golden tests: traces | tables | losses | optim | nets | gradients |
 * metrics | secu | methods | comparator [isa].
 *
 * One test per recording found in $COKE_GOLDEN (tests/golden by default). Exit code 77: this
 * CPU has no such instruction set. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <math.h>

#include "coke.h"
#include "golden_data.h"
#include "nn/precision.h"

#include <fnmatch.h>
#include <unistd.h>

static char folder[] = "/tmp/coke-golden-XXXXXX";

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    char path[256];
    (void)state;
    for (int h = 0; h < COKE_MAX_HEADS; h++) {
        snprintf(path, sizeof path, "%s/head-%d.safetensors", folder, h);
        unlink(path);
    }
    return rmdir(folder);
}

static struct golden_case *load(const char *name)
{
    struct golden_case *c = golden_load(name);
    if (!c)
        fail_msg("%s: cannot be read", name);
    return c;
}

/* ---- traces ---- */

struct bytes {
    unsigned char *data;
    size_t n;
};

static struct bytes slurp(int head)
{
    char path[256];
    struct bytes b = {malloc(1 << 24), 0};
    snprintf(path, sizeof path, "%s/head-%d.safetensors", folder, head);
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    b.n = fread(b.data, 1, 1 << 24, f);
    assert_true(b.n > 0 && b.n < 1 << 24);
    fclose(f);
    return b;
}

/* Saved and loaded early, in the middle and at the last step: the same numbers on the way, the
 * same bytes at the end. */
static void interrupted_trace_ends_with_the_same_bytes(void **state)
{
    struct golden_case *c = load(*state);
    struct golden_report r;
    struct bytes whole[COKE_MAX_HEADS];
    int heads = (int)golden_number(c, "num_head", 1);
    int64_t steps = golden_trace_steps(c), at[4] = {1, steps / 2, steps * 3 / 4 + 1, steps};
    if (golden_check_trace(c, -1, folder, &r))
        fail_msg("%s: %s", c->name, r.text);
    for (int h = 0; h < heads; h++)
        whole[h] = slurp(h);
    for (int i = 0; i < 4; i++) {
        if (golden_check_trace(c, at[i], folder, &r))
            fail_msg("%s, interrupted after step %lld: %s", c->name, (long long)at[i], r.text);
        for (int h = 0; h < heads; h++) {
            struct bytes again = slurp(h);
            assert_int_equal(again.n, whole[h].n);
            assert_memory_equal(again.data, whole[h].data, whole[h].n);
            free(again.data);
        }
    }
    for (int h = 0; h < heads; h++)
        free(whole[h].data);
    golden_free(c);
}

/* What is saved after any step is enough to meet the recording to its end. */
static void interrupted_secu_meets_its_recording(void **state)
{
    struct golden_case *c = load(*state);
    struct golden_report r;
    int64_t steps = golden_array(c, "step_bounds")->n - 1;
    int64_t at[4] = {1, steps, steps + 3, 2 * steps + steps / 2};
    for (int i = 0; i < 4; i++)
        if (golden_check_secu(c, at[i], folder, &r))
            fail_msg("%s, interrupted after step %lld: %s", c->name, (long long)at[i], r.text);
    golden_free(c);
}

/* ---- the kinds ---- */

static int check_trace(const struct golden_case *c, struct golden_report *r)
{
    return golden_check_trace(c, -1, folder, r);
}

static int check_secu(const struct golden_case *c, struct golden_report *r)
{
    return golden_check_secu(c, -1, folder, r);
}

/* Inputs that a check starts from; everything else in a recording is compared. A star stands
 * for the number of a head or tensor. */
static const struct kind {
    const char *word; /* on the command line */
    enum golden_kind kind;
    int (*check)(const struct golden_case *c, struct golden_report *r);
    double off; /* a little more than its largest tolerance */
    const char *inputs[13];
} kinds[] = {
    {"traces",
     GOLDEN_TRACE,
     check_trace,
     3e-5,
     {"init_centers_*", "step_bounds", "ids", "features", "view1", "view2", "mean", "label_idx",
      "multi_match", "margin", "loss", "labels_used"}},
    {"tables", GOLDEN_TABLE, golden_check_table, 3e-6, {"label_idx", "flags", "labels"}},
    {"losses",
     GOLDEN_LOSS,
     golden_check_loss,
     3e-6,
     {"proj_raw", "pred_raw", "centers_*", "labels", "soft_labels_*", "label_slots",
      "label_slot_val"}},
    {"optim", GOLDEN_OPTIM, golden_check_optim, 1e-6, {"lr", "p*_init", "p*_grad"}},
    {"optim", GOLDEN_SCHED, golden_check_sched, 1e-14, {NULL}},
    {"nets", GOLDEN_HEADS, golden_check_heads, 3e-5, {"input", "centers_*", "labels", "*_f32"}},
    /* Gradients are compared as a whole, relative to their length. */
    {"nets", GOLDEN_NET, golden_check_net, 1e4, {"*_f32"}},
    {"secu",
     GOLDEN_SECU,
     check_secu,
     2e-4, /* centers of length 24 */
     {"init_centers_*", "step_bounds", "ids", "view1", "view2", "margin", "init_probe"}},
    {"secu",
     GOLDEN_SECU_LOSS,
     golden_check_secu_loss,
     5e-6,
     {"view_raw", "centers_*", "pre_centers_*", "labels_used", "labels_new"}},
    {"secu", GOLDEN_SECU_SCHED, golden_check_secu_sched, 1e-11, {NULL}},
    {"methods",
     GOLDEN_METHOD,
     golden_check_method,
     2e-3, /* losses are below 400 */
     {"*_raw", "linear_weight", "linear_bias", "*_init", "online_*", "proto", "*_proto_v"}},
    {"methods",
     GOLDEN_CLASS,
     golden_check_class,
     1e-4, /* losses are below 10 */
     {"*logits", "proj_raw", "proto", "labels"}},
    {"metrics", GOLDEN_METRICS, golden_check_metrics, 3e-12, {"truth", "pred"}},
};

enum { KINDS = sizeof kinds / sizeof *kinds };

static const struct kind *kind_of(const struct golden_case *c)
{
    for (int i = 0; i < KINDS; i++)
        if (kinds[i].kind == c->kind)
            return &kinds[i];
    fail_msg("%s: of no known kind", c->name);
    return NULL;
}

static int check(const struct golden_case *c, struct golden_report *r)
{
    return kind_of(c)->check(c, r);
}

static int is_input(const struct golden_case *c, const char *name)
{
    const char *const *pattern = kind_of(c)->inputs;
    while (*pattern && fnmatch(*pattern, name, 0) != 0)
        pattern++;
    return *pattern != NULL;
}

static void equals_its_recording(void **state)
{
    struct golden_case *c = load(*state);
    struct golden_report r;
    if (check(c, &r))
        fail_msg("%s: %s", c->name, r.text);
    print_message("             %lld numbers compared, at most %.2g apart\n",
                  (long long)r.compared, r.apart);
    assert_true(r.compared > 0);
    golden_free(c);
}

static void gradients_are_near_double(void **state)
{
    struct golden_case *c = load(*state);
    struct golden_report r;
    if (golden_check_gradients(c, &r))
        fail_msg("%s: %s", c->name, r.text);
    print_message("             at most %.2g of their length apart\n", r.apart);
    golden_free(c);
}

static void bf16_is_near_double(void **state)
{
    struct golden_case *c = load(*state);
    struct golden_report r;
    if (golden_check_bf16(c, &r))
        fail_msg("%s: %s", c->name, r.text);
    print_message("             at most %.2g of their length apart\n", r.apart);
    golden_free(c);
}

/* ---- can it fail at all? ---- */

/* A number that is compared: marked rows and the labels of free slots are not. */
static int64_t comparable(const struct golden_case *c, const struct golden_array *a,
                          int64_t from)
{
    const struct golden_array *w = golden_array(c, "label_val");
    const struct golden_array *marked = golden_array(c, "multi_match");
    const struct golden_array *flags = golden_array(c, "flags");
    int slots = w && (a == w || strcmp(a->name, "assign_labels") == 0);
    for (int64_t i = from; i < a->n; i++) {
        int64_t row = slots ? i / w->shape[w->ndim - 1] : 0;
        if (!slots ||
            (w->f[i] > 0 && !(marked ? marked->i[row] : flags->i[row % flags->n] & 1)))
            return i;
    }
    return -1;
}

/* Does the check notice a change of one number? It is undone. */
static int finds_change(struct golden_case *c, struct golden_array *a, int64_t i)
{
    struct golden_report r;
    float f = a->f ? a->f[i] : 0;
    double d = a->d ? a->d[i] : 0, off = kind_of(c)->off;
    if (a->f)
        a->f[i] = f + (float)off;
    if (a->d)
        a->d[i] = d + off;
    if (a->i)
        a->i[i] ^= 1;
    int found = check(c, &r) != 0;
    if (a->f)
        a->f[i] = f;
    if (a->d)
        a->d[i] = d;
    if (a->i)
        a->i[i] ^= 1;
    return found;
}

/* One number off by a little more than the tolerance, or by one, must be found, in every array
 * and at its beginning as well as later. */
static void one_wrong_number_is_found(void **state)
{
    struct golden_case *c = load(*state);
    struct golden_report r;
    int changed = 0, arrays = 0;
    assert_int_equal(check(c, &r), 0);
    for (int n = 0; n < c->narrays; n++) {
        struct golden_array *a = &c->array[n];
        if (is_input(c, a->name))
            continue;
        arrays++;
        /* Whole networks take their time: one number of each array. */
        for (int part = 0; part < (c->kind == GOLDEN_NET ? 1 : 2); part++) {
            int64_t i = comparable(c, a, part * (a->n * 2 / 3));
            if (i < 0)
                continue;
            if (finds_change(c, a, i) == 0)
                fail_msg("%s: %s[%lld] was changed and nothing noticed", c->name, a->name,
                         (long long)i);
            changed++;
        }
    }
    assert_true(arrays > 0 && changed >= arrays);
    assert_int_equal(check(c, &r), 0);
    golden_free(c);
}

static void comparison_takes_no_nan(void **state)
{
    (void)state;
    struct golden_report r = {.compared = 0};
    float got[2] = {1, NAN}, want[2] = {1, 1};
    assert_int_equal(golden_close(&r, "x", got, want, 1, 0), 0);
    assert_int_equal(golden_close(&r, "x", got, want, 2, 1e9), -1);
    double wide[2] = {1, NAN}, right[2] = {1, 1};
    assert_int_equal(golden_close_f64(&r, "x", wide, right, 1, 0), 0);
    assert_int_equal(golden_close_f64(&r, "x", wide, right, 2, 1e9), -1);
}

/* ---- main ---- */

static void add(struct CMUnitTest *t, int *n, const char *what, char *name,
                CMUnitTestFunction f)
{
    char *title = malloc(300);
    snprintf(title, 300, "%s: %s", name, what);
    t[(*n)++] = (struct CMUnitTest){.name = title, .test_func = f, .initial_state = name};
}

static int collect(const char *what, struct CMUnitTest *t)
{
    char *name[GOLDEN_CASES];
    int n = 0, comparator = strcmp(what, "comparator") == 0;
    for (int k = 0; k < KINDS; k++) {
        if (!comparator && strcmp(what, kinds[k].word) != 0)
            continue;
        int found = golden_list(kinds[k].kind, name);
        for (int i = 0; i < found; i++) {
            add(t, &n, comparator ? "one wrong number is found" : "equals its recording",
                name[i], comparator ? one_wrong_number_is_found : equals_its_recording);
            if (kinds[k].kind == GOLDEN_TRACE && !comparator)
                add(t, &n, "may be interrupted", name[i],
                    interrupted_trace_ends_with_the_same_bytes);
            if (kinds[k].kind == GOLDEN_SECU && !comparator)
                add(t, &n, "may be interrupted", name[i], interrupted_secu_meets_its_recording);
        }
    }
    int nets = strcmp(what, "gradients") == 0 ? golden_list(GOLDEN_NET, name) : 0;
    for (int i = 0; i < nets; i++)
        add(t, &n, "its gradients are near double arithmetic", name[i],
            gradients_are_near_double);
    nets = strcmp(what, "bf16") == 0 ? golden_list(GOLDEN_NET, name) : 0;
    for (int i = 0; i < nets; i++)
        add(t, &n, "bf16 is near double arithmetic", name[i], bf16_is_near_double);
    if (comparator)
        add(t, &n, "takes no NaN", strdup("comparison"), comparison_takes_no_nan);
    return n;
}

int main(int argc, char **argv)
{
    static struct CMUnitTest tests[3 * GOLDEN_CASES];
    const char *what = argc > 1 ? argv[1] : "traces";
    if (argc > 2)
        setenv("COKE_ISA", argv[2], 1);
    if (argc > 2 && strcmp(coke_isa(), argv[2]) != 0)
        return 77;
    if (strcmp(what, "bf16") == 0 && !ck_precision_has_bf16())
        return 77;
    int n = collect(what, tests);
    if (!n) {
        fprintf(stderr, "%s: no recordings\n", golden_root());
        return 1;
    }
    print_message("%s, kernels %s\n", golden_root(), coke_isa());
    int failed = _cmocka_run_group_tests(what, tests, (size_t)n, make_folder, remove_folder);
    for (int i = 0; i < n; i++) {
        free((void *)(uintptr_t)tests[i].name);
        if (i == 0 || tests[i].initial_state != tests[i - 1].initial_state)
            free(tests[i].initial_state);
    }
    return failed;
}
