/* bench_step.c - a training step (forward, backward, update) against PyTorch's, same network,
 * batch and threads, each in a process of its own.
 *
 * usage: build/bench_step [--threads 2] [--steps 3] [--repeat 3] [--only NAME,...]
 *                         [--python PYTHON]... [--profile [--peak GFLOPS]] [--tune FILE]
 *                         [--recompute auto|0|1]
 *
 * Every --python (default /usr/bin/python3, and build/torch/bin/python if it exists) is a peer;
 * ratios are against the fastest that runs, those of bf16 against the fastest in either
 * precision. Both sides compute the loss to 1000 centers. Last come lines `ratio NAME VALUE`,
 * above 1 = we are faster (memory: smaller; bf16_to_f32: bf16 against our f32). bf16 is skipped,
 * in words, on a CPU without it. */
#include "coke.h"
#include "core/clock.h"
#include "kernels/amx.h"
#include "nn/encoder.h"
#include "nn/loss.h"
#include "nn/mlp.h"
#include "nn/optimizer.h"
#include "nn/precision.h"
#include "nn/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PYTHONS = 4, COSTS = 1024 };

/* A current PyTorch beside Debian's, if someone made it: the head of torch_step.py tells how.
 */
#define CURRENT_TORCH "build/torch/bin/python"

struct config {
    const char *name, *arch, *stem, *width, *size, *batch;
};

static const struct config configs[] = {
    {"resnet18", "resnet18", "cifar", "1", "32", "128"},
    {"resnet18w25", "resnet18", "cifar", "0.25", "32", "128"},
    {"resnet50", "resnet50", "imagenet", "1", "224", "16"},
};

static struct {
    int threads, steps, repeat, profile, npython;
    double peak;
    const char *only, *tune, *recompute, *python[PYTHONS], *self, *child, *precision;
} args = {.threads = 2, .steps = 3, .repeat = 3, .recompute = "auto", .precision = "f32"};

static int die(const char *what)
{
    fprintf(stderr, "bench_step: %s: %s\n", what, coke_last_error());
    return 1;
}

/* ---- our side ---- */

struct run {
    struct coke_encoder e;
    struct ck_plan *plan;
    struct ck_optimizer *optim;
    struct ck_loss *loss;
    float *images, *grad, *centers;
    int32_t *label;
    int64_t n, size;
    int node;
};

/* As the peer: softmax over 1000 centers. */
static int set_up_loss(struct run *r, int dim)
{
    static const int64_t k = 1000;
    struct ck_loss_options o = ck_loss_options_default();
    struct ck_loss_shape shape = {1, 1, r->n, dim, 1, &k};
    float *length = malloc((size_t)k * sizeof *length);
    o.beta = 0;
    r->centers = malloc((size_t)(k * dim) * sizeof *r->centers);
    r->label = malloc((size_t)r->n * sizeof *r->label);
    for (int64_t i = 0; i < k * dim; i++)
        r->centers[i] = (float)(((uint32_t)i * 2246822519u >> 8) % 2001) / 1000.0f - 1;
    ck_unit_forward(r->centers, k, dim, r->centers, length);
    for (int64_t i = 0; i < r->n; i++)
        r->label[i] = (int32_t)(i * 7 % k);
    free(length);
    return ck_loss_new(&r->loss, &shape, &o);
}

static int set_up(struct run *r, const struct config *c, int bf16)
{
    const struct ck_option_table *t = ck_encoder_option_table();
    struct ck_encoder_options o = ck_encoder_options_default();
    struct ck_plan_request q = ck_plan_request_default();
    struct ck_optimizer_options sgd = {
        .kind = CK_SGD, .momentum = 0.9, .weight_decay = 1e-4, .trust = 1};
    r->n = atoi(c->batch);
    r->size = atoi(c->size);
    if (ck_options_set(t, &o, "arch", c->arch) || ck_options_set(t, &o, "stem", c->stem) ||
        ck_options_set(t, &o, "width", c->width))
        return -1;
    o.projector.word = CK_PROJECTOR_LINEAR;
    o.predictor.word = 0;
    if (ck_encoder_init(&r->e, &o))
        return -1;
    r->node = r->e.node[COKE_OUTPUT_PROJ];
    q.n = r->n;
    q.h = q.w = r->size;
    q.dtype = bf16 ? CK_BF16 : CK_F32;
    q.train = q.backward = 1;
    q.recompute = strcmp(args.recompute, "auto") == 0 ? r->size > 64 : atoi(args.recompute);
    q.want[q.nwant++] = q.grad[q.ngrad++] = r->node;
    if (args.tune && coke_tune(args.tune))
        return -1;
    if (ck_plan_new(&r->plan, &r->e.net, &q) ||
        ck_optimizer_new(&r->optim, r->e.net.param, r->e.net.nparams, &sgd))
        return -1;
    int64_t pixels = r->n * o.channels * r->size * r->size;
    r->images = malloc((size_t)pixels * sizeof *r->images);
    r->grad = malloc((size_t)(r->n * r->e.o.dim) * sizeof *r->grad);
    for (int64_t i = 0; i < pixels; i++)
        r->images[i] = (float)(((uint32_t)i * 2654435761u >> 8) % 2001) / 1000.0f - 1;
    return set_up_loss(r, (int)r->e.o.dim);
}

static int step(struct run *r, int64_t number)
{
    const float *seed[] = {r->grad}, *centers[] = {r->centers};
    double head_loss;
    struct ck_targets targets = {r->n, 1, r->label, NULL, 0};
    ck_net_zero_grad(&r->e.net);
    if (ck_plan_forward(r->plan, r->images))
        return -1;
    struct ck_loss_input in = {r->n, ck_plan_vector(r->plan, r->node), NULL, centers, &targets};
    struct ck_loss_output out = {.grad_proj = r->grad, .head_loss = &head_loss};
    if (ck_loss_step(r->loss, &in, &out) || ck_plan_backward(r->plan, seed))
        return -1;
    return ck_optimizer_step(r->optim, 0.01, 1, number);
}

static double peak_mb(void)
{
    char line[256];
    double kb = 0;
    FILE *f = fopen("/proc/self/status", "r");
    while (f && fgets(line, sizeof line, f))
        sscanf(line, "VmHWM: %lf", &kb);
    if (f)
        fclose(f);
    return kb / 1024;
}

/* Time and share of the peak, layer by layer; the peak in GFLOP/s is --peak, as bench_peak
 * measures it. */
static void print_profile(const struct run *r)
{
    static struct ck_plan_cost row[COSTS];
    double peak = args.peak * 1e9, total = 0;
    int n = ck_plan_costs(r->plan, row, COSTS);
    for (int i = 0; i < n; i++)
        total += row[i].seconds;
    fprintf(stderr, "%-24s %-12s %-9s %8s %6s %9s  %s\n", "layer", "kind", "pass", "ms", "%",
            "GFLOP/s", "how");
    for (int i = 0; i < n; i++) {
        double rate = row[i].flops / row[i].seconds;
        fprintf(stderr, "%-24s %-12s %-9s %8.2f %6.2f %9.0f  %s", row[i].layer, row[i].kind,
                row[i].pass, row[i].seconds * 1e3, 100 * row[i].seconds / total, rate / 1e9,
                row[i].how);
        fprintf(stderr, peak > 0 && row[i].flops > 0 ? "  %.0f %% of peak\n" : "\n",
                100 * rate / peak);
    }
    fprintf(stderr, "layers together %.1f ms\n", total * 1e3);
}

static int child(const struct config *c)
{
    struct run r;
    double best = 1e30;
    memset(&r, 0, sizeof r);
    coke_set_threads(args.threads);
    if (set_up(&r, c, strcmp(args.precision, "bf16") == 0) || step(&r, 0))
        return die(c->name);
    for (int i = 0; i < args.repeat; i++) {
        double start = ck_clock_seconds();
        for (int j = 0; j < args.steps; j++)
            if (step(&r, i))
                return die(c->name);
        double seconds = (ck_clock_seconds() - start) / args.steps;
        best = seconds < best ? seconds : best;
    }
    if (args.profile)
        print_profile(&r);
    printf("{\"images_per_second\": %.2f, \"seconds_per_step\": %.5f, \"peak_rss_mb\": %.1f}\n",
           (double)r.n / best, best, peak_mb());
    free(r.images);
    free(r.grad);
    free(r.centers);
    free(r.label);
    ck_loss_free(r.loss);
    ck_optimizer_free(r.optim);
    ck_plan_free(r.plan);
    ck_encoder_release(&r.e);
    return 0;
}

/* ---- both sides, from outside ---- */

struct result {
    double rate, mb;
    char error[256];
};

static double field(const char *json, const char *name)
{
    const char *at = strstr(json, name);
    return at ? atof(at + strlen(name) + 2) : 0;
}

static struct result run_command(const char *command)
{
    char line[4096];
    struct result r = {0, 0, "no output"};
    FILE *f = popen(command, "r");
    while (f && fgets(line, sizeof line, f)) {
        r.rate = field(line, "\"images_per_second\"");
        r.mb = field(line, "\"peak_rss_mb\"");
        r.error[0] = 0;
        if (strstr(line, "\"error\""))
            snprintf(r.error, sizeof r.error, "%.250s", line);
    }
    if (f)
        pclose(f);
    return r;
}

static struct result ours(const struct config *c, const char *precision)
{
    char command[2048];
    snprintf(command, sizeof command,
             "GOMP_SPINCOUNT=20000 '%s' --child %s --precision %s --threads %d --steps %d "
             "--repeat %d --recompute %s --peak %g%s%s%s",
             args.self, c->name, precision, args.threads, args.steps, args.repeat,
             args.recompute, args.peak, args.profile ? " --profile" : "",
             args.tune ? " --tune " : "", args.tune ? args.tune : "");
    return run_command(command);
}

static struct result theirs(const struct config *c, const char *precision, const char *python,
                            const char *layout)
{
    char command[2048];
    snprintf(
        command, sizeof command,
        "GOMP_SPINCOUNT=20000 '%s' bench/peers/torch_step.py --arch %s --stem %s --width %s "
        "--size %s --batch %s "
        "--precision %s --layout %s --threads %d --steps %d --repeat %d",
        python, c->arch, c->stem, c->width, c->size, c->batch, precision, layout, args.threads,
        args.steps, args.repeat);
    return run_command(command);
}

static char ratios[4096];

static void note_ratio(const char *name, const char *what, double value)
{
    size_t at = strlen(ratios);
    snprintf(ratios + at, sizeof ratios - at, "ratio %s_%s %.2f\n", name, what, value);
}

/* Ours, and the fastest and smallest of the peers that run. */
struct outcome {
    struct result ours;
    double theirs, their_mb;
};

static struct outcome compare(const struct config *c, const char *precision)
{
    struct result we = ours(c, precision);
    struct outcome o = {we, 0, 1e30};
    if (we.error[0] || !(we.rate > 0)) {
        printf("%-12s %-4s coke: failed %s\n", c->name, precision, we.error);
        return o;
    }
    printf("%-12s %-4s %-34s %8.1f images/s %8.0f MB\n", c->name, precision, "coke", we.rate,
           we.mb);
    for (int i = 0; i < args.npython; i++) {
        static const char *const layouts[] = {"contiguous", "channels_last"};
        for (int j = 0; j < 2; j++) {
            struct result they = theirs(c, precision, args.python[i], layouts[j]);
            if (they.error[0]) {
                printf("%-12s %-4s %s: %s\n", c->name, precision, args.python[i], they.error);
                continue;
            }
            printf("%-12s %-4s %-20.20s %-13s %8.1f images/s %8.0f MB\n", c->name, precision,
                   args.python[i], layouts[j], they.rate, they.mb);
            o.theirs = they.rate > o.theirs ? they.rate : o.theirs;
            o.their_mb = they.mb < o.their_mb ? they.mb : o.their_mb;
        }
        fflush(stdout);
    }
    return o;
}

/* ---- main ---- */

static int usage(const char *word)
{
    fprintf(stderr,
            "bench_step: what is %s? The head of bench/peers/bench_step.c tells the usage.\n",
            word);
    return 2;
}

static int parse(int argc, char **argv)
{
    args.self = argv[0];
    for (int i = 1; i < argc; i++) {
        const char *a = argv[i], *v = i + 1 < argc ? argv[i + 1] : "";
        if (strcmp(a, "--profile") == 0) {
            args.profile = 1;
            continue;
        }
        i++;
        if (strcmp(a, "--threads") == 0)
            args.threads = atoi(v);
        else if (strcmp(a, "--steps") == 0)
            args.steps = atoi(v);
        else if (strcmp(a, "--repeat") == 0)
            args.repeat = atoi(v);
        else if (strcmp(a, "--only") == 0)
            args.only = v;
        else if (strcmp(a, "--tune") == 0)
            args.tune = v;
        else if (strcmp(a, "--recompute") == 0)
            args.recompute = v;
        else if (strcmp(a, "--peak") == 0)
            args.peak = atof(v);
        else if (strcmp(a, "--precision") == 0)
            args.precision = v;
        else if (strcmp(a, "--child") == 0)
            args.child = v;
        else if (strcmp(a, "--python") == 0 && args.npython < PYTHONS)
            args.python[args.npython++] = v;
        else
            return usage(a);
    }
    if (args.npython)
        return 0;
    args.python[args.npython++] = "/usr/bin/python3";
    if (access(CURRENT_TORCH, X_OK) == 0)
        args.python[args.npython++] = CURRENT_TORCH;
    return 0;
}

static int is_named(const char *list, const char *name)
{
    size_t n = strlen(name);
    for (const char *at = list; at && *at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
        if (strncmp(at, name, n) == 0 && (at[n] == 0 || at[n] == ','))
            return 1;
    return 0;
}

int main(int argc, char **argv)
{
    int rc = parse(argc, argv);
    if (rc)
        return rc;
    if (!args.child)
        printf("forward + loss + backward + SGD update, best of repeats%s\n",
               args.npython > 1 ? "" : "; no current PyTorch in " CURRENT_TORCH);
    for (size_t i = 0; i < sizeof configs / sizeof *configs; i++) {
        const struct config *c = &configs[i];
        if (args.child && strcmp(args.child, c->name) == 0)
            return child(c);
        if (args.child || (args.only && !is_named(args.only, c->name)))
            continue;
        struct outcome f32 = compare(c, "f32"), bf16;
        if (f32.theirs > 0)
            note_ratio(c->name, "f32", f32.ours.rate / f32.theirs);
        if (strcmp(c->name, "resnet50") == 0 && f32.theirs > 0)
            note_ratio(c->name, "memory", f32.their_mb / f32.ours.mb);
        if (!ck_precision_has_bf16()) {
            printf("%-12s bf16 skipped: this CPU has no instructions for it\n", c->name);
            continue;
        }
        bf16 = compare(c, "bf16");
        double best = bf16.theirs > f32.theirs ? bf16.theirs : f32.theirs;
        if (best > 0)
            note_ratio(c->name, "bf16", bf16.ours.rate / best);
        note_ratio(c->name, "bf16_to_f32", bf16.ours.rate / f32.ours.rate);
        note_ratio(c->name, "memory_bf16_to_f32", f32.ours.mb / bf16.ours.mb);
    }
    printf("%s", ratios);
    if (!args.child && ck_amx() != CK_AMX_UNIT)
        printf("bf16 on the matrix unit (AMX): not measured here\n");
    return 0;
}
