/* bench_methods.c - a training step of each method against its forward and backward passes.
 *
 *     build/bench_methods [--width 1] [--size 32] [--batch N] [--repeat 3] [--clock cpu] [METHOD...]
 *
 * The preset cifar10-METHOD, or else METHOD, with CIFAR's ResNet-18 on synthetic images that are
 * loaded before: threads as in OMP_NUM_THREADS. The passes are those of all views, and of the second
 * encoder where there is one; the rest of a step is the loss, the method's state and the optimizer.
 * Queues are full. The best of --repeat times, steps and passes in turn; with --clock
 * cpu, for one thread beside other work, in CPU time. Lines
 * `ratio passes_METHOD VALUE`: passes over step, 1 = the rest costs nothing. */
#include "coke.h"
#include "core/clock.h"
#include "core/workers.h"
#include "data/images.h"
#include "data/loader.h"
#include "train/session.h"
#include "train/teacher.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* What presets leave open. */
static const struct {
    const char *method, *option, *value;
} settings[] = {
    {"coke", "preset", "cifar10"},
    {"deepclusterv2", "k", "3000,3000,3000"},
    {"selflabel", "recipe", "cifar-weak-strong"},
    {"selflabel", "k", "10"},
    {"scan", "k", "10"},
    {"iic", "arch", "resnet18"},
    {"swav", "queue-from", "1"},
    {"emp", "views", "4"},
};

static const char *const all[] = {"coke",   "secu",      "simclr", "simsiam",   "barlow",
                                  "vicreg", "emp",       "byol",   "mocov2",    "mocov3",
                                  "nnclr",  "swav",      "dino",   "msn",       "deepclusterv2",
                                  "scan",   "selflabel", "iic",    "supervised"};

static struct {
    const char *width, *size, *batch;
    int repeat, cpu;
} args = {"1", "32", NULL, 3, 0};

static double now(void)
{
    return args.cpu ? (double)clock() / CLOCKS_PER_SEC : ck_clock_seconds();
}

static void stop(const char *what)
{
    fprintf(stderr, "bench_methods: %s: %s\n", what, coke_last_error());
    exit(1);
}

static void set(struct ck_train_options *o, const char *name, const char *value)
{
    if (strcmp(name, "preset") == 0 ? ck_train_preset(o, value)
                                    : ck_options_set(ck_train_option_table(), o, name, value))
        stop(name);
}

static struct ck_train_options options(const char *method)
{
    struct ck_train_options o = ck_train_options_default();
    char preset[64];
    set(&o, "recipe", "cifar");
    set(&o, "stem", "cifar");
    set(&o, "arch", "resnet18");
    snprintf(preset, sizeof preset, "cifar10-%s", method);
    if (ck_train_preset(&o, preset) && strcmp(method, "coke") != 0)
        set(&o, "preset", method);
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
        if (strcmp(settings[i].method, method) == 0)
            set(&o, settings[i].option, settings[i].value);
    set(&o, "width", args.width);
    set(&o, "size", args.size);
    if (args.batch || o.loader.batch == 0)
        set(&o, "batch", args.batch ? args.batch : "256");
    return o;
}

/* Queues and earlier projections as if many batches had been seen. */
static void fill(struct ck_session *s)
{
    struct ck_state state = {0};
    if (ck_method_save(s, &state))
        stop("state");
    for (int i = 0; i < state.ntensors; i++) {
        const struct ck_tensor *t = &state.tensor[i];
        int past = strstr(t->name, "queue") || strstr(t->name, "projections");
        for (int64_t j = 0; past && t->ndim == 2 && j < t->shape[0] * t->shape[1]; j++) {
            double x = ((uint32_t)j * 2654435761u >> 8) % 2001 / 1000.0 - 1;
            x /= sqrt((double)t->shape[1] / 3);
            if (t->dtype == CK_F64)
                ((double *)(uintptr_t)t->data)[j] = x;
            else
                ((float *)(uintptr_t)t->data)[j] = (float)x;
        }
    }
    ck_state_release(&state);
}

struct pass {
    struct ck_session *s;
    const struct coke_batch *b;
    struct ck_part part;
};

static void forward(void *pass, int64_t v)
{
    struct pass *p = pass;
    if (ck_plan_forward(p->part.plans->plan[v],
                        ck_session_view(p->s, p->b, p->part, p->s->skip + (int)v)))
        stop("forward");
}

static void backward(void *pass, int64_t v)
{
    struct pass *p = pass;
    struct ck_session *s = p->s;
    int64_t at = v * p->b->n * s->dim;
    const float *seed[2] = {s->grad_proj + at, s->pred ? s->grad_pred + at : NULL};
    if (ck_plan_backward(p->part.plans->plan[v], seed))
        stop("backward");
}

/* As step.c runs views: each on a thread of its own, or one after the other on the team. */
static void run_views(struct pass *p, void (*run)(void *pass, int64_t view))
{
    if (p->s->plans.lanes)
        ck_lanes(p->s->views, run, p);
    else
        for (int v = 0; v < p->s->views; v++)
            run(p, v);
}

static double passes(struct ck_session *s, const struct coke_batch *b)
{
    struct pass p = {s, b, {0, b->n, NULL}};
    double start = now();
    if (ck_session_plans(s, b, b->n, &p.part.plans) ||
        (s->method->teacher && ck_teacher_run(s->own, s, b, p.part)))
        stop("plans");
    ck_plan_cache_begin(&s->plans, &s->encoder.net);
    run_views(&p, forward);
    ck_plan_cache_add_statistics(&s->plans, &s->encoder.net);
    run_views(&p, backward);
    ck_plan_cache_add_gradients(&s->plans, &s->encoder.net);
    return now() - start;
}

static double step(struct ck_session *s, const struct coke_batch *b)
{
    struct ck_step out;
    double start = now();
    if (ck_session_step(s, b, &out))
        stop("step");
    return now() - start;
}

static void measure(const char *method)
{
    struct ck_train_options o = options(method);
    struct coke_dataset *data;
    struct ck_session s;
    struct coke_batch b = COKE_INIT(struct coke_batch);
    double whole = INFINITY, pure = INFINITY;
    if (ck_images_new(&data, "synthetic:n=3200,size=32", &o.data) ||
        ck_session_init(&s, data, &o) || ck_loader_next(s.loader, &b))
        stop(method);
    fill(&s);
    if (s.method->begin_epoch)
        s.method->begin_epoch(&s, 1);
    step(&s, &b); /* epoch 0 of most methods: nothing is learned */
    if (s.method->end_epoch && s.method->end_epoch(&s))
        stop("epoch");
    b.epoch = 1;
    step(&s, &b);
    for (int r = 0; r < args.repeat; r++) {
        whole = fmin(whole, step(&s, &b));
        pure = fmin(pure, passes(&s, &b));
    }
    printf("%-14s batch %4lld: step %8.2f ms, passes %8.2f ms, the rest %6.2f ms\n", method,
           (long long)b.n, 1e3 * whole, 1e3 * pure, 1e3 * (whole - pure));
    printf("ratio passes_%s %.3f\n", method, pure / whole);
    fflush(stdout);
    ck_session_release(&s);
    coke_dataset_free(data);
}

int main(int argc, char **argv)
{
    int i = 1;
    for (; i + 1 < argc && argv[i][0] == '-'; i += 2) {
        if (strcmp(argv[i], "--width") == 0)
            args.width = argv[i + 1];
        else if (strcmp(argv[i], "--size") == 0)
            args.size = argv[i + 1];
        else if (strcmp(argv[i], "--batch") == 0)
            args.batch = argv[i + 1];
        else if (strcmp(argv[i], "--clock") == 0)
            args.cpu = strcmp(argv[i + 1], "cpu") == 0;
        else if (strcmp(argv[i], "--repeat") == 0)
            args.repeat = atoi(argv[i + 1]);
        else
            stop(argv[i]);
    }
    if (i < argc)
        for (; i < argc; i++)
            measure(argv[i]);
    else
        for (size_t m = 0; m < sizeof all / sizeof *all; m++)
            measure(all[m]);
    return 0;
}
