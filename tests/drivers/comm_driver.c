/* comm_driver.c - sums and exchanges over several processes, for `mpirun -n R`.
 *
 * comm_driver check REPEATS   every result against what each process can compute by itself, and
 *                             the bytes of all repeats against those of the first
 * comm_driver fail RANK CODE  that process fails while the others wait for it
 * comm_driver stop RANK CODE  the same, after it has stopped the launcher
 * comm_driver die RANK        that process is killed while the others wait for it
 * comm_driver differ RANK     that process holds something else, and takes a second to say so:
 *                             no one prints that it went on */
#include "coke.h"
#include "core/hash.h"
#include "core/rng.h"
#include "dist/bucket.h"
#include "dist/agree.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SPANS = 7, STREAM = 31, LONGEST = 100003 };

static struct ck_group *c;
static int rank, size;

static int fail(const char *words)
{
    fprintf(stderr, "comm_driver %d of %d: %s\n", rank, size, words);
    return 1;
}

/* Number i of process r: sizes of all kinds, so that the order of additions shows. */
static double value(int r, int64_t i)
{
    double g[2];
    ck_rng_normal((uint64_t)r + 1, STREAM, (uint64_t)i, 0, g);
    return g[0] * pow(10, (double)((i + r) % 13 - 6));
}

/* A short sum is a tree: of pairs, of pairs of pairs, ...; those beyond the largest power of
 * two are added to the first ones before. */
static double tree(int64_t i, int first, int count, int whole)
{
    if (count == 1)
        return first + whole < size ? value(first, i) + value(first + whole, i)
                                    : value(first, i);
    return tree(i, first, count / 2, whole) + tree(i, first + count / 2, count / 2, whole);
}

static double expected(int64_t i, int64_t n)
{
    int whole = 1;
    while (2 * whole <= size)
        whole *= 2;
    if (n <= 1 << 13)
        return tree(i, 0, whole, whole);
    double sum = value(0, i);
    for (int r = 1; r < size; r++)
        sum += value(r, i);
    return sum;
}

static int check_f64(int64_t n, uint64_t *hash)
{
    double *v = malloc((size_t)n * sizeof *v);
    int wrong = 0;
    for (int64_t i = 0; i < n; i++)
        v[i] = value(rank, i);
    wrong |= ck_group_sum_f64(c, v, n);
    for (int64_t i = 0; i < n; i++) {
        double sum = expected(i, n);
        wrong |= memcmp(&sum, &v[i], sizeof sum) != 0;
    }
    *hash = ck_hash(v, (size_t)n * sizeof *v, *hash);
    free(v);
    return wrong ? fail("a sum of f64 is wrong") : 0;
}

static int check_i64(int64_t n)
{
    int64_t *v = malloc((size_t)n * sizeof *v);
    int wrong = 0;
    for (int64_t i = 0; i < n; i++)
        v[i] = (rank + 1) * (i - 50);
    wrong |= ck_group_sum_i64(c, v, n);
    for (int64_t i = 0; i < n; i++)
        wrong |= v[i] != (int64_t)size * (size + 1) / 2 * (i - 50);
    free(v);
    return wrong ? fail("a sum of i64 is wrong") : 0;
}

typedef int gather(struct ck_group *, const void *, void *, const int64_t *);

/* Parts of 0, 3, 6 ... numbers. */
static int check_gather(gather *parts)
{
    int64_t *bytes = malloc((size_t)size * sizeof *bytes), total = 0;
    int wrong = 0;
    for (int r = 0; r < size; r++) {
        bytes[r] = 3 * r * (int64_t)sizeof(int32_t);
        total += 3 * r;
    }
    int32_t *mine = malloc(3 * (size_t)rank * sizeof *mine + 1);
    int32_t *all = malloc((size_t)total * sizeof *all + 1);
    for (int i = 0; i < 3 * rank; i++)
        mine[i] = 1000 * rank + i;
    wrong |= parts(c, mine, all, bytes);
    for (int r = 0, at = 0; r < size; r++)
        for (int i = 0; i < 3 * r; i++, at++)
            wrong |= all[at] != 1000 * r + i;
    uint32_t word[2] = {7, (uint32_t)rank};
    wrong |= ck_group_broadcast(c, word, sizeof word, size - 1);
    wrong |= word[1] != (uint32_t)size - 1;
    free(bytes);
    free(mine);
    free(all);
    return wrong ? fail("gathering is wrong") : 0;
}

/* Between two spans other sums go on, as those of batch norm do. */
static int reduce(struct ck_buckets *b, uint64_t *hash)
{
    int wrong = 0;
    ck_buckets_begin(b);
    for (int s = 0; s < SPANS; s++) {
        wrong |= ck_buckets_ready(b, s);
        wrong |= check_f64(10 + s, hash);
    }
    return wrong | ck_buckets_finish(b);
}

static int check_buckets(uint64_t *hash)
{
    struct ck_span_f32 span[SPANS];
    struct ck_buckets *b = NULL;
    int wrong = 0;
    int64_t at = 0;
    for (int s = 0; s < SPANS; s++) {
        span[s].n = s == 2 ? 1 : 1000 * s + 3;
        span[s].data = malloc((size_t)span[s].n * sizeof(float));
        for (int64_t i = 0; i < span[s].n; i++)
            span[s].data[i] = (float)value(rank, at++);
    }
    if (ck_buckets_new(&b, c, span, SPANS, 4000))
        return fail(coke_last_error());
    wrong |= reduce(b, hash);
    at = 0;
    for (int s = 0; s < SPANS; s++) {
        for (int64_t i = 0; i < span[s].n; i++, at++) {
            double sum = 0;
            for (int r = 0; r < size; r++)
                sum += (double)(float)value(r, at);
            wrong |= span[s].data[i] != (float)sum;
        }
        *hash = ck_hash(span[s].data, (size_t)span[s].n * sizeof(float), *hash);
        free(span[s].data);
    }
    if (ck_buckets_count(b) < 3)
        wrong = 1;
    ck_buckets_free(b);
    return wrong ? fail("buckets are wrong") : 0;
}

static int check(int repeats)
{
    uint64_t first = 0;
    int wrong = 0;
    for (int i = 0; i < repeats && !wrong; i++) {
        uint64_t hash = 0;
        wrong |= check_f64(1, &hash) || check_f64(500, &hash) || check_f64(LONGEST, &hash);
        wrong |= check_i64(3) || check_i64(LONGEST) || check_buckets(&hash);
        wrong |= check_gather(ck_group_gather) || check_gather(ck_group_gather_in_turns);
        if (i && hash != first)
            wrong = fail("a repeat has other bytes");
        first = hash;
    }
    struct ck_group_stats s = ck_group_stats(c);
    if (rank == 0)
        printf("%d processes, %016llx, sent %lld\n", size, (unsigned long long)first,
               (long long)(s.gathered + s.summed + s.reduced));
    return wrong;
}

/* Those that went on have a second to say so. */
static int compare(int odd)
{
    int rc = ck_agree_hash(c, rank == odd ? 8 : 7, "now", "numbers");
    if (rc)
        sleep(1);
    else
        printf("went on\n");
    return rc;
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return fail("check REPEATS, fail RANK CODE, stop RANK CODE, die RANK or differ RANK?");
    if (coke_group_join())
        return fail(coke_last_error());
    c = ck_group();
    rank = coke_group_rank();
    size = coke_group_size();
    int which = atoi(argv[2]), rc = COKE_OK;
    if (strcmp(argv[1], "check") == 0)
        rc = check(which) ? COKE_EFAIL : COKE_OK;
    else if (strcmp(argv[1], "differ") == 0)
        rc = compare(which);
    else if (rank == which && strcmp(argv[1], "die") == 0)
        raise(SIGKILL);
    else if (rank == which && strcmp(argv[1], "stop") == 0)
        rc = kill(getppid(), SIGSTOP) ? COKE_EFAIL : -atoi(argv[3]);
    else if (rank == which)
        rc = -atoi(argv[3]);
    else
        rc = ck_group_barrier(c);
    fflush(stdout);
    return coke_group_leave(rc) ? 1 : 0;
}
