/* test_job.c - a whole clustering: shared by several processes it is that of one, and labels are
 * indexed by row. */
#include "support.h"
#include "cluster/job.h"
#include "fake_share.h"

enum { N = 700, DIM = 9 };

static float *vectors; /* [N][DIM]; rows 3 and 500 are zero */

struct process {
    struct ck_cluster_options o;
    uint64_t hash;
    struct coke_head_summary summary;
    int32_t label[N];
};

static struct ck_cluster_options options(void)
{
    struct ck_cluster_options o = ck_cluster_options_default();
    o.k = (struct ck_ints){2, {5, 12}};
    o.bad = 1; /* skip */
    o.epochs = 3;
    o.batch = 64;
    return o;
}

static int run(const struct ck_share *share, void *arg)
{
    struct process *p = arg;
    struct coke_rows *rows = NULL;
    struct coke_cluster *c = NULL;
    int rc = coke_rows_from_array(&rows, vectors, N, DIM);
    struct coke_cluster_input input = {.rows = rows};
    if (!rc)
        rc = ck_cluster_run(&c, &input, &p->o, NULL, share);
    for (int h = 0; c && h < c->heads; h++)
        p->hash = ck_kmeans_hash(c->head[h], p->hash);
    for (int64_t i = 0; c && i < N; i++)
        p->label[i] = ck_kmeans_label(c->head[1], i);
    if (c)
        p->summary = c->summary[1];
    coke_cluster_free(c);
    coke_rows_free(rows);
    return rc;
}

static void labels_are_indexed_by_row_and_bad_rows_have_none(void **state)
{
    (void)state;
    struct process p = {.o = options()};
    assert_ok(run(NULL, &p));
    for (int64_t i = 0; i < N; i++)
        assert_int_equal(p.label[i] < 0, i == 3 || i == 500);
    assert_int_equal(p.summary.n, N - 2);
    assert_int_equal(p.summary.skipped, 2);
    assert_true(p.summary.size_min >= p.summary.lower_bound_min);
}

static void processes_that_share_the_rows_find_what_one_alone_does(void **state)
{
    (void)state;
    for (int kind = 0; kind < 2; kind++)
        for (int size = 2; size <= 3; size++) {
            struct process alone = {.o = options()}, p[FAKE_MOST];
            void *arg[FAKE_MOST];
            alone.o.batch = kind ? 350 : 64; /* sums, or rows are exchanged */
            assert_ok(run(NULL, &alone));
            for (int r = 0; r < size; r++) {
                p[r] = (struct process){.o = alone.o};
                arg[r] = &p[r];
            }
            assert_ok(fake_ranks(size, run, arg));
            for (int r = 0; r < size; r++) {
                assert_true(p[r].hash == alone.hash);
                assert_memory_equal(p[r].label, alone.label, sizeof alone.label);
                assert_true(p[r].summary.primal == alone.summary.primal);
            }
        }
}

static void processes_with_different_options_are_refused(void **state)
{
    (void)state;
    struct process p[2] = {{.o = options()}, {.o = options()}};
    void *arg[2] = {&p[0], &p[1]};
    p[1].o.kmeans.ratio = 0.5;
    assert_int_not_equal(fake_ranks(2, run, arg), COKE_OK);
}

static int enter(void **state)
{
    (void)state;
    vectors = test_vectors(N, DIM, 6, 0.6, 9);
    memset(vectors + 3 * DIM, 0, DIM * sizeof *vectors);
    memset(vectors + 500 * DIM, 0, DIM * sizeof *vectors);
    return coke_set_threads(1);
}

static int leave(void **state)
{
    (void)state;
    free(vectors);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(labels_are_indexed_by_row_and_bad_rows_have_none),
        cmocka_unit_test(processes_that_share_the_rows_find_what_one_alone_does),
        cmocka_unit_test(processes_with_different_options_are_refused),
    };
    return cmocka_run_group_tests_name("job", tests, enter, leave);
}
