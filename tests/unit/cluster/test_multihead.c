/* test_multihead.c - one batch through several heads: from memory, from a source of rows, and
 * shared by several processes, it is always the same. */
#include "support.h"
#include "cluster/kmeans_internal.h"
#include "cluster/multihead.h"
#include "core/error.h"
#include "core/mem.h"
#include "fake_share.h"

#include <stdatomic.h>

enum { N = 600, DIM = 11, HEADS = 2, BATCH = 100, EPOCHS = 3 };

static float *vectors; /* [N][DIM] */

static struct coke_multihead *make_heads(const int64_t *k)
{
    struct coke_multihead *mh = NULL;
    struct coke_kmeans *head[HEADS] = {NULL};
    for (int h = 0; h < HEADS; h++) {
        struct ck_kmeans_options o = ck_kmeans_options_default();
        o.n = N, o.k = k[h], o.dim = DIM, o.ratio = 0.7, o.eta = 0.3;
        o.update = h ? CK_UPDATE_MEAN : CK_UPDATE_RUNNING;
        if (coke_kmeans_new(&head[h], AS(kmeans, &o), vectors + h * DIM, NULL, NULL))
            return NULL;
    }
    return coke_multihead_new(&mh, head, HEADS) ? NULL : mh;
}

/* Row i of a batch at `first` is row first + i, unless it is `broken`. */
struct reader {
    int64_t first, *ids, broken;
    _Atomic int64_t reads; /* of all threads */
};

static void name(void *arg, int64_t first, int n)
{
    struct reader *r = arg;
    for (int i = 0; i < n; i++)
        r->ids[first + i] = r->first + first + i;
}

static int read(void *arg, int64_t first, int n, float *x)
{
    struct reader *r = arg;
    for (int i = 0; i < n; i++) {
        if (r->ids[first + i] == r->broken)
            return ck_fail(COKE_EIO, "row %lld is broken", (long long)r->broken);
        memcpy(x + i * ck_padded(DIM), vectors + r->ids[first + i] * DIM, DIM * sizeof *x);
    }
    r->reads += n;
    return COKE_OK;
}

/* What a process does, and what it holds in the end. */
struct process {
    const int64_t *k;
    int from_source;
    int64_t broken;
    uint64_t hash;
    double scores;
    int64_t reads;
};

static int run_all(const struct ck_share *share, void *arg)
{
    struct process *p = arg;
    struct coke_multihead *mh = make_heads(p->k);
    int64_t ids[BATCH];
    int32_t label[HEADS * BATCH];
    float score[HEADS * BATCH];
    float *x = test_array((size_t)((BATCH + CK_TILE) * ck_padded(DIM)), sizeof *x);
    int rc = mh ? COKE_OK : COKE_EFAIL;
    for (int64_t at = 0; at < EPOCHS * N && !rc; at += BATCH) {
        struct reader reader = {at % N, ids, p->broken, 0};
        struct ck_row_source source = {.name = name, .read = read, .arg = &reader};
        struct ck_row_batch b = {
            .n = BATCH, .x = x, .ids = ids, .source = &source, .label = label, .score = score};
        name(&reader, 0, p->from_source ? 0 : BATCH);
        rc = p->from_source
                 ? ck_multihead_run(mh, &b, share)
                 : ck_multihead_step(mh, vectors + at % N * DIM, ids, BATCH, share, label);
        for (int i = 0; p->from_source && !rc && i < HEADS * BATCH; i++)
            p->scores += (double)score[i];
        p->reads += reader.reads;
        if (!rc && (at + BATCH) % N == 0)
            rc = coke_multihead_epoch_end(mh);
    }
    for (int h = 0; mh && h < HEADS; h++)
        p->hash = ck_kmeans_hash(coke_multihead_head(mh, h), p->hash);
    coke_multihead_free(mh);
    free(x);
    return rc;
}

static uint64_t run_alone(const int64_t *k, int from_source)
{
    struct process p = {.k = k, .from_source = from_source, .broken = -1};
    assert_ok(run_all(NULL, &p));
    assert_int_equal(p.reads, from_source ? EPOCHS * N : 0);
    return p.hash;
}

static const int64_t few[HEADS] = {3, 4}, many[HEADS] = {20, 50};

static void a_source_of_rows_gives_what_rows_in_memory_give(void **state)
{
    (void)state;
    assert_true(run_alone(few, 0) == run_alone(few, 1));
    assert_true(run_alone(many, 0) == run_alone(many, 1));
    coke_set_threads(2);
    uint64_t two = run_alone(many, 1);
    coke_set_threads(1);
    assert_true(two == run_alone(many, 1));
}

/* few: sums are exchanged; many: the rows are. */
static void processes_that_share_a_batch_hold_what_one_alone_does(void **state)
{
    (void)state;
    const int64_t *const k[] = {few, many};
    for (int size = 2; size <= FAKE_MOST; size++)
        for (int kind = 0; kind < 4; kind++) {
            struct process p[FAKE_MOST];
            void *arg[FAKE_MOST];
            for (int r = 0; r < size; r++) {
                p[r] =
                    (struct process){.k = k[kind / 2], .from_source = kind % 2, .broken = -1};
                arg[r] = &p[r];
            }
            assert_ok(fake_ranks(size, run_all, arg));
            int64_t reads = 0;
            for (int r = 0; r < size; r++) {
                assert_true(p[r].hash == run_alone(k[kind / 2], kind % 2));
                assert_true(p[r].scores == p[0].scores);
                reads += p[r].reads;
            }
            assert_int_equal(reads, kind % 2 ? EPOCHS * N : 0); /* each row by one process */
        }
}

static void a_row_that_cannot_be_read_ends_the_batch_before_heads_change(void **state)
{
    (void)state;
    struct coke_multihead *mh = make_heads(few);
    uint64_t before = 0;
    assert_non_null(mh);
    for (int h = 0; h < HEADS; h++)
        before = ck_kmeans_hash(coke_multihead_head(mh, h), before);
    coke_multihead_free(mh);
    struct process p = {.k = few, .from_source = 1, .broken = 7};
    assert_fails(run_all(NULL, &p), COKE_EIO, "row 7 is broken");
    assert_true(p.hash == before);
}

static void labels_of_ids_beyond_the_rows_stay_free(void **state)
{
    (void)state;
    struct ck_kmeans_options o = ck_kmeans_options_default();
    struct coke_kmeans *km;
    int64_t ids[2] = {1, 5};
    int32_t label[2];
    o.n = 2, o.k = 2, o.dim = DIM;
    assert_ok(coke_kmeans_new(&km, AS(kmeans, &o), vectors, NULL, NULL));
    assert_fails(ck_kmeans_step(km, vectors, ids, 2, label), COKE_EUSAGE, "0..1");
    assert_fails(ck_kmeans_set_ids(km, 1), COKE_EUSAGE, "1 ids for 2 rows");
    assert_ok(ck_kmeans_set_ids(km, 6));
    assert_ok(ck_kmeans_step(km, vectors, ids, 2, label));
    for (int i = 0; i < 6; i++)
        assert_int_equal(ck_kmeans_label(km, i), i == 1 ? label[0] : i == 5 ? label[1] : -1);
    coke_kmeans_free(km);
}

static int enter(void **state)
{
    (void)state;
    vectors = test_vectors(N, DIM, 8, 0.7, 5);
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
        cmocka_unit_test(a_source_of_rows_gives_what_rows_in_memory_give),
        cmocka_unit_test(processes_that_share_a_batch_hold_what_one_alone_does),
        cmocka_unit_test(a_row_that_cannot_be_read_ends_the_batch_before_heads_change),
        cmocka_unit_test(labels_of_ids_beyond_the_rows_stay_free),
    };
    return cmocka_run_group_tests_name("multihead", tests, enter, leave);
}
