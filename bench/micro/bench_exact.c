/* bench_exact.c - the exact min-size assignment of rows to given centers, from nothing known
 * (all prices 0): frozen scans and solver, best of several runs. Prints one JSON object;
 * bench/peers/bench_cluster compares it with LEMON's network simplex. */
#include "cluster/kmeans.h"
#include "cluster/repair.h"
#include "coke.h"
#include "core/clock.h"
#include "core/mem.h"
#include "io/rows_file.h"
#include "io/rows_options.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void fail(void)
{
    fprintf(stderr, "bench_exact: %s\n", coke_last_error());
    exit(1);
}

static float *load_centers(const char *path, int64_t *k, int *ld)
{
    struct coke_rows *rows;
    const struct ck_rows_options options = {0};
    if (ck_rows_open(&rows, &path, 1, &options))
        fail();
    *k = rows->n;
    *ld = ck_padded(rows->dim);
    float *c = ck_calloc_array((size_t)*k, (size_t)*ld * sizeof *c);
    for (int64_t i = 0; c && i < *k; i++)
        if (rows->get(rows, &i, 1, c + i * *ld, *ld))
            fail();
    if (!c)
        fail();
    coke_rows_free(rows);
    return c;
}

/* Peak resident set of this process, as the kernel counts it. */
static long peak_rss(void)
{
    char line[256];
    long kb = 0;
    FILE *f = fopen("/proc/self/status", "r");
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "VmHWM: %ld kB", &kb) == 1)
            break;
    if (f)
        fclose(f);
    return kb * 1024;
}

int main(int argc, char **argv)
{
    double ratio = 0.4, best = INFINITY;
    int repeat = 3;
    if (argc < 3) {
        fprintf(stderr, "usage: bench_exact ROWS.npy CENTERS.npy [--ratio R] [--repeat N] "
                        "[--threads T]\n");
        return 2;
    }
    for (int i = 3; i + 1 < argc; i += 2) {
        if (!strcmp(argv[i], "--ratio"))
            ratio = atof(argv[i + 1]);
        else if (!strcmp(argv[i], "--repeat"))
            repeat = atoi(argv[i + 1]);
        else if (!strcmp(argv[i], "--threads"))
            coke_set_threads(atoi(argv[i + 1]));
    }
    const char *path = argv[1];
    const struct ck_rows_options options = {0};
    struct coke_rows *rows;
    struct ck_scan scan;
    struct ck_repair r;
    int64_t k;
    int ld;
    float *center = load_centers(argv[2], &k, &ld);
    if (ck_rows_open(&rows, &path, 1, &options) ||
        ck_scan_init(&scan, rows, ck_kernels(), NULL, 0, 0))
        fail();
    int64_t *min_size = ck_calloc_array((size_t)k, sizeof *min_size);
    int64_t *size = ck_calloc_array((size_t)k, sizeof *size);
    float *price = ck_calloc_array((size_t)k, sizeof *price);
    if (!min_size || !size || !price ||
        ck_kmeans_bounds(rows->n, k, ratio, 0, NULL, NULL, min_size, NULL))
        fail();
    for (int t = 0; t < repeat; t++) {
        struct ck_labels labels;
        struct ck_assigner *a = NULL;
        double start = ck_clock_seconds();
        memset(price, 0, (size_t)k * sizeof *price);
        if (ck_labels_init(&labels, rows->n, k) ||
            ck_assigner_new(&a, ck_kernels(), center, k, ld))
            fail();
        r = (struct ck_repair){.scan = &scan,
                               .assigner = a,
                               .k = k,
                               .min_size = min_size,
                               .exact = 1,
                               .sample = 1,
                               .price = price,
                               .labels = &labels,
                               .size = size};
        if (ck_repair_run(&r))
            fail();
        best = fmin(best, ck_clock_seconds() - start);
        ck_assigner_free(a);
        ck_labels_release(&labels);
    }
    printf("{\"seconds\": %.6f, \"objective\": %.9f, \"dual\": %.9f, \"gap\": %.3g, "
           "\"peak_bytes\": %lld, \"rss_bytes\": %ld, \"passes\": %.3f, \"missing_at_start\": "
           "%lld}\n",
           best, r.primal, r.dual, r.dual - r.primal, (long long)r.bytes, peak_rss(), r.scans,
           (long long)r.missing);
    ck_free(center);
    ck_free(min_size);
    ck_free(size);
    ck_free(price);
    ck_scan_release(&scan);
    coke_rows_free(rows);
    return 0;
}
