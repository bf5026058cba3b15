/* bench_embed.c - inference (what coke embed spends its time on) against PyTorch's, same
 * network, batch and threads, each in a process of its own.
 *
 * usage: build/bench_embed [--threads 2] [--steps 5] [--repeat 3] [--only NAME]
 *                          [--python PYTHON]
 *
 * The peer is bench/peers/torch_step.py --inference: eval mode, inference_mode, the faster of its two
 * memory layouts, in f32. Last come lines `ratio embed_NAME VALUE`, above 1 = we are faster;
 * _bf16: our bf16 against that peer, _bf16_to_f32: against our f32. */
#include "coke.h"
#include "core/clock.h"
#include "kernels/amx.h"
#include "nn/encoder.h"
#include "nn/mlp.h"
#include "nn/precision.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct config {
    const char *name, *arch, *stem, *width, *size, *batch;
};

static const struct config configs[] = {
    {"resnet18", "resnet18", "cifar", "1", "32", "64"},
    {"resnet18w25", "resnet18", "cifar", "0.25", "32", "64"},
    {"resnet50", "resnet50", "imagenet", "1", "224", "16"},
};

static struct {
    int threads, steps, repeat;
    const char *only, *python, *self, *child, *precision;
} args = {
    .threads = 2, .steps = 5, .repeat = 3, .precision = "f32", .python = "/usr/bin/python3"};

/* ---- our side ---- */

static int make_plan(struct coke_encoder *e, const struct config *c, struct ck_plan **plan)
{
    const struct ck_option_table *t = ck_encoder_option_table();
    struct ck_encoder_options o = ck_encoder_options_default();
    struct ck_plan_request q = ck_plan_request_default();
    if (ck_options_set(t, &o, "arch", c->arch) || ck_options_set(t, &o, "stem", c->stem) ||
        ck_options_set(t, &o, "width", c->width))
        return -1;
    o.projector.word = CK_PROJECTOR_LINEAR; /* as the peer */
    o.predictor.word = 0;
    if (ck_encoder_init(e, &o))
        return -1;
    q.n = atoi(c->batch);
    q.h = q.w = atoi(c->size);
    q.train = q.backward = 0;
    q.dtype = strcmp(args.precision, "bf16") ? CK_F32 : CK_BF16;
    q.want[q.nwant++] = e->node[COKE_OUTPUT_LOGITS];
    return ck_plan_new(plan, &e->net, &q);
}

static float *make_images(const struct config *c)
{
    size_t pixels = (size_t)atoi(c->batch) * 3 * (size_t)atoi(c->size) * (size_t)atoi(c->size);
    float *x = malloc(pixels * sizeof *x);
    for (size_t i = 0; x && i < pixels; i++)
        x[i] = (float)(((uint32_t)i * 2654435761u >> 8) % 2001) / 1000.0f - 1;
    return x;
}

static int child(const struct config *c)
{
    struct coke_encoder e;
    struct ck_plan *plan = NULL;
    double best = 1e30;
    coke_set_threads(args.threads);
    float *x = make_images(c);
    int rc = !x || make_plan(&e, c, &plan) || ck_plan_forward(plan, x);
    for (int i = 0; i < args.repeat && !rc; i++) {
        double start = ck_clock_seconds();
        for (int j = 0; j < args.steps && !rc; j++)
            rc = ck_plan_forward(plan, x);
        double seconds = (ck_clock_seconds() - start) / args.steps;
        best = seconds < best ? seconds : best;
    }
    if (rc)
        fprintf(stderr, "bench_embed: %s: %s\n", c->name, coke_last_error());
    else
        printf("{\"images_per_second\": %.2f}\n", atof(c->batch) / best);
    ck_plan_free(plan);
    ck_encoder_release(&e);
    free(x);
    return rc != 0;
}

/* ---- both sides, from outside ---- */

/* Images a second; 0 = failed, and what it said is printed. */
static double run_command(const char *command)
{
    static const char field[] = "\"images_per_second\": ";
    char line[4096] = "no output\n";
    FILE *f = popen(command, "r");
    double rate = 0;
    while (f && fgets(line, sizeof line, f))
        if (strstr(line, field))
            rate = atof(strstr(line, field) + sizeof field - 1);
    if (f)
        pclose(f);
    if (!(rate > 0))
        printf("failed: %s", line);
    return rate;
}

static double ours(const struct config *c, const char *precision)
{
    char command[2048];
    snprintf(command, sizeof command,
             "GOMP_SPINCOUNT=20000 '%s' --child %s --precision %s --threads %d --steps %d "
             "--repeat %d",
             args.self, c->name, precision, args.threads, args.steps, args.repeat);
    return run_command(command);
}

static double theirs(const struct config *c, const char *layout)
{
    char command[2048];
    snprintf(
        command, sizeof command,
        "GOMP_SPINCOUNT=20000 '%s' bench/peers/torch_step.py --inference --arch %s --stem %s "
        "--width %s --size %s --batch %s --layout %s --threads %d --steps %d --repeat %d",
        args.python, c->arch, c->stem, c->width, c->size, c->batch, layout, args.threads,
        args.steps, args.repeat);
    return run_command(command);
}

/* Images per second of both sides; 0 = failed, or no bf16 here. */
struct rates {
    double f32, bf16, theirs;
};

static struct rates compare(const struct config *c)
{
    static const char *const layouts[] = {"contiguous", "channels_last"};
    double we = ours(c, "f32"), best = 0, bf16 = 0;
    printf("%-12s %-30s %8.1f images/s\n", c->name, "coke", we);
    if (ck_precision_has_bf16()) {
        bf16 = ours(c, "bf16");
        printf("%-12s %-30s %8.1f images/s\n", c->name, "coke bf16", bf16);
    }
    for (int i = 0; i < 2; i++) {
        double they = theirs(c, layouts[i]);
        printf("%-12s PyTorch %-22s %8.1f images/s\n", c->name, layouts[i], they);
        best = they > best ? they : best;
    }
    fflush(stdout);
    return (struct rates){we, bf16, best};
}

static void print_ratio(const char *name, const char *what, double ours, double other)
{
    if (ours > 0 && other > 0)
        printf("ratio embed_%s%s %.2f\n", name, what, ours / other);
}

static int parse(int argc, char **argv)
{
    args.self = argv[0];
    for (int i = 1; i + 1 < argc; i += 2) {
        const char *a = argv[i], *v = argv[i + 1];
        if (strcmp(a, "--threads") == 0)
            args.threads = atoi(v);
        else if (strcmp(a, "--steps") == 0)
            args.steps = atoi(v);
        else if (strcmp(a, "--repeat") == 0)
            args.repeat = atoi(v);
        else if (strcmp(a, "--only") == 0)
            args.only = v;
        else if (strcmp(a, "--python") == 0)
            args.python = v;
        else if (strcmp(a, "--precision") == 0)
            args.precision = v;
        else if (strcmp(a, "--child") == 0)
            args.child = v;
        else
            return 2;
    }
    return argc % 2 ? 0 : 2;
}

int main(int argc, char **argv)
{
    enum { CONFIGS = sizeof configs / sizeof configs[0] };
    struct rates rate[CONFIGS] = {{0, 0, 0}};
    if (parse(argc, argv)) {
        fprintf(stderr, "bench_embed: the head of bench/peers/bench_embed.c tells the usage\n");
        return 2;
    }
    for (int i = 0; i < CONFIGS; i++) {
        if (args.child && strcmp(args.child, configs[i].name) == 0)
            return child(&configs[i]);
        if (!args.child && (!args.only || strcmp(args.only, configs[i].name) == 0))
            rate[i] = compare(&configs[i]);
    }
    for (int i = 0; i < CONFIGS; i++) {
        print_ratio(configs[i].name, "", rate[i].f32, rate[i].theirs);
        print_ratio(configs[i].name, "_bf16", rate[i].bf16, rate[i].theirs);
        print_ratio(configs[i].name, "_bf16_to_f32", rate[i].bf16, rate[i].f32);
    }
    if (ck_amx() != CK_AMX_UNIT)
        printf("bf16 on the matrix unit (AMX): not measured here\n");
    return 0;
}
