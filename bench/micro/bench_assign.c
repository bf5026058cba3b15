/* bench_assign.c - one exact assignment pass: rows and centers from .npy or drawn, best of
 * several runs. Prints one JSON object, and with --against that of another version and the ratio; bench/peers/bench_cluster compares it with the peers. */
#include "cluster/assign.h"
#include "coke.h"
#include "core/clock.h"
#include "core/mem.h"
#include "core/rng.h"
#include "core/rows.h"
#include "io/rows_file.h"
#include "io/rows_options.h"
#include "kernels/amx.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void fail(void)
{
    fprintf(stderr, "bench_assign: %s\n", coke_last_error());
    exit(1);
}

static float *load(const char *path, int64_t *n, int *ld)
{
    struct coke_rows *rows;
    const struct ck_rows_options options = {0};
    if (ck_rows_open(&rows, &path, 1, &options))
        fail();
    *n = rows->n;
    *ld = ck_padded(rows->dim);
    float *x = ck_calloc_array((size_t)(*n + CK_TILE), (size_t)*ld * sizeof *x);
    if (!x)
        fail();
    for (int64_t i = 0; i < *n; i++)
        if (rows->get(rows, &i, 1, x + i * *ld, *ld))
            fail();
    coke_rows_free(rows);
    return x;
}

/* Rows of length 1 around k centers: [n][dim] and [k][dim]. */
static float *draw(int64_t n, int dim, int *ld, const float *center, int64_t k, uint32_t stream)
{
    *ld = ck_padded(dim);
    float *x = ck_calloc_array((size_t)(n + CK_TILE), (size_t)*ld * sizeof *x);
    if (!x)
        fail();
    for (int64_t i = 0; i < n; i++) {
        const float *c = center ? center + (i % k) * *ld : NULL;
        for (int j = 0; j < dim; j++) {
            double g[2];
            ck_rng_normal(1, stream, (uint64_t)i, (uint32_t)j, g);
            x[i * *ld + j] = (c ? c[j] : 0) + (float)(g[0] / sqrt(dim));
        }
        ck_normalize(ck_kernels(), x + i * *ld, *ld);
    }
    return x;
}

struct task {
    const float *x, *c;
    int64_t n, k;
    int ld;
    enum ck_assign_path path;
    int32_t *label;
};

struct result {
    double seconds; /* of the fastest run */
    uint64_t hash;  /* of the labels */
    struct ck_assign_stats stats;
};

static struct ck_assigner *assigner(const struct task *t, const struct ck_kernels *kn)
{
    struct ck_assigner *a = NULL;
    if (ck_assigner_new(&a, kn, t->c, t->k, t->ld))
        fail();
    ck_assigner_force(a, t->path);
    return a;
}

/* Beyond the assignment itself: quantized centers are packed in every run, as a user pays it. */
static void run(const struct task *t, struct ck_assigner *a, struct result *r)
{
    double began = ck_clock_seconds();
    ck_assigner_reset(a, t->c);
    ck_assigner_settle(a, NULL);
    ck_assign(a, t->x, t->n, t->label, NULL);
    ck_assigner_choose(a);
    double seconds = ck_clock_seconds() - began;
    r->seconds = r->seconds > 0 ? fmin(r->seconds, seconds) : seconds;
    r->hash = 1469598103934665603u;
    for (int64_t i = 0; i < t->n; i++)
        r->hash = (r->hash ^ (uint32_t)t->label[i]) * 1099511628211u;
    r->stats = ck_assigner_stats(a);
}

static void print(const struct task *t, const char *isa, const struct result *r)
{
    const struct ck_assign_stats *s = &r->stats;
    double products = (double)t->n * (double)t->k * t->ld;
    printf(
        "{\"seconds\": %.6f, \"vectors_per_second\": %.0f, \"gflops\": %.1f, \"isa\": \"%s\", "
        "\"path\": \"%s\", \"candidates_per_row\": %.2f, \"labels_hash\": \"%016llx\"}\n",
        r->seconds, (double)t->n / r->seconds, 2e-9 * products / r->seconds, isa, s->path,
        s->rows ? (double)s->candidates / (double)s->rows : 0, (unsigned long long)r->hash);
}

static const char usage[] =
    "usage: bench_assign (ROWS.npy CENTERS.npy | --drawn N D K) [--repeat R] "
    "[--path dense|screen] [--threads T] [--labels FILE] [--against ISA]\n";

int main(int argc, char **argv)
{
    int repeat = 5, dim = 0, ldc;
    const char *labels_path = NULL, *rows = NULL, *centers = NULL, *against = NULL;
    struct task t = {.path = CK_PATH_AUTO};
    for (int i = 1; i < argc; i++) {
        if (i + 1 < argc && !strcmp(argv[i], "--repeat"))
            repeat = atoi(argv[++i]);
        else if (i + 1 < argc && !strcmp(argv[i], "--threads"))
            coke_set_threads(atoi(argv[++i]));
        else if (i + 1 < argc && !strcmp(argv[i], "--labels"))
            labels_path = argv[++i];
        else if (i + 1 < argc && !strcmp(argv[i], "--against"))
            against = argv[++i];
        else if (i + 1 < argc && !strcmp(argv[i], "--path"))
            t.path = strcmp(argv[++i], "dense") ? CK_PATH_SCREEN : CK_PATH_DENSE;
        else if (i + 3 < argc && !strcmp(argv[i], "--drawn")) {
            t.n = atoll(argv[++i]);
            dim = atoi(argv[++i]);
            t.k = atoll(argv[++i]);
        } else if (!rows)
            rows = argv[i];
        else
            centers = argv[i];
    }
    const struct ck_kernels *other = against ? ck_kernels_named(against) : NULL;
    if ((!dim && !centers) || (against && !other)) {
        fputs(usage, stderr);
        return 2;
    }
    t.c = dim ? draw(t.k, dim, &ldc, NULL, 0, 1) : load(centers, &t.k, &ldc);
    t.x = dim ? draw(t.n, dim, &t.ld, t.c, t.k, 2) : load(rows, &t.n, &t.ld);
    t.label = ck_alloc_array((size_t)t.n, sizeof *t.label);
    if (!t.label)
        fail();
    struct ck_assigner *a = assigner(&t, ck_kernels()), *b = other ? assigner(&t, other) : NULL;
    struct result mine = {0}, theirs = {0};
    for (int r = 0; r < repeat + 1; r++) { /* by turns, so that both meet the same machine */
        if (b)
            run(&t, b, &theirs);
        run(&t, a, &mine);
        if (r == 0)
            mine.seconds = theirs.seconds = 0;
    }
    if (labels_path && coke_npy_write_i32(labels_path, t.label, t.n, 1))
        fail();
    if (b)
        print(&t, other->name, &theirs);
    print(&t, coke_isa(), &mine);
    if (b && mine.hash != theirs.hash) {
        fprintf(stderr, "bench_assign: the labels differ\n");
        return 1;
    }
    if (b)
        printf("ratio assign-%lldx%d-k%lld-%s-%s %.2f\n", (long long)t.n, t.ld, (long long)t.k,
               coke_isa(), other->name, theirs.seconds / mine.seconds);
    if (b && ck_amx() != CK_AMX_UNIT)
        printf("screening on the matrix unit (AMX): not measured here\n");
    ck_assigner_free(a);
    ck_assigner_free(b);
    ck_free((void *)t.x);
    ck_free((void *)t.c);
    ck_free(t.label);
    return 0;
}
