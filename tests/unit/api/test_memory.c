/* test_memory.c - rows, models and clusterings in memory: any type and layout of the elements,
 * and the bytes of files without files. */
#include "as_options.h"
#include "support.h"
#include "core/mem.h"
#include "core/rows.h"

enum { N = 60, DIM = 300, K = 4 }; /* more columns than are gathered at once */

static struct coke_memory memory_of(const void *data, enum coke_number type, int64_t row,
                                    int64_t column)
{
    struct coke_memory m = COKE_INIT(struct coke_memory);
    m.data = data;
    m.n = N;
    m.dim = DIM;
    m.type = type;
    m.row_stride = row;
    m.column_stride = column;
    return m;
}

static int8_t value(int64_t i, int64_t j)
{
    return (int8_t)((i * 7 + j * 3) % 100);
}

static void check_rows(struct coke_memory m)
{
    static const int64_t index[] = {N - 1, 0, 17, 1, 2, 3, 4, 5, 6};
    enum { READ = sizeof index / sizeof *index, LD = DIM + 4 };
    static float out[READ * LD];
    struct coke_rows *r;
    assert_ok(coke_rows_from_memory(&r, &m));
    assert_ok(r->get(r, index, READ, out, LD));
    for (int i = 0; i < READ; i++)
        for (int j = 0; j < LD; j++)
            assert_true(out[i * LD + j] == (j < DIM ? (float)value(index[i], j) : 0));
    assert_ok(coke_rows_read(r, index, READ, out));
    for (int i = 0; i < READ * DIM; i++)
        assert_true(out[i] == (float)value(index[i / DIM], i % DIM));
    assert_fails(coke_rows_read(r, (const int64_t[]){N}, 1, out), COKE_EUSAGE, "row 60");
    coke_rows_free(r);
}

static void any_type_and_layout_is_read(void **state)
{
    static double by_column[DIM][N];
    static float reversed[N][DIM];
    static int8_t small[N][DIM];
    static uint8_t every_second[N][2 * DIM];
    (void)state;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < DIM; j++) {
            by_column[j][i] = value(i, j);
            reversed[N - 1 - i][DIM - 1 - j] = value(i, j);
            small[i][j] = value(i, j);
            every_second[i][2 * j] = (uint8_t)value(i, j);
        }
    check_rows(memory_of(by_column, COKE_NUMBER_F64, 8, N * 8));
    check_rows(memory_of(&reversed[N - 1][DIM - 1], COKE_NUMBER_F32, -DIM * 4, -4));
    check_rows(memory_of(small, COKE_NUMBER_I8, DIM, 1));
    check_rows(memory_of(every_second, COKE_NUMBER_U8, 2 * DIM, 2));
}

static void halves_are_read(void **state)
{
    static const uint16_t x[2] = {0x3c00, 0xc000}; /* 1, -2 */
    struct coke_memory m = memory_of(x, COKE_NUMBER_F16, 4, 2);
    struct coke_rows *r;
    float out[2];
    (void)state;
    m.n = 1;
    m.dim = 2;
    assert_ok(coke_rows_from_memory(&r, &m));
    assert_ok(r->get(r, (const int64_t[]){0}, 1, out, 2));
    assert_true(out[0] == 1 && out[1] == -2);
    coke_rows_free(r);
}

static void impossible_arrays_are_refused(void **state)
{
    float x = 0;
    struct coke_memory m = memory_of(&x, (enum coke_number)5, 4, 4);
    struct coke_rows *r;
    (void)state;
    assert_fails(coke_rows_from_memory(&r, &m), COKE_EUSAGE, "invalid type 5");
    m.type = COKE_NUMBER_F64;
    m.n = INT64_MAX / 16;
    assert_fails(coke_rows_from_memory(&r, &m), COKE_EUSAGE, "do not fit");
    m.n = 0;
    assert_fails(coke_rows_from_memory(&r, &m), COKE_EUSAGE, "0 rows");
    assert_null(r);
}

static void model_comes_back_from_its_bytes(void **state)
{
    float *x = test_vectors(N, DIM, K, 0.7, 3);
    int32_t label[N], again[N];
    void *bytes;
    size_t size;
    struct coke_cluster *c;
    struct coke_model *m;
    struct coke_cluster_input in = COKE_INIT(struct coke_cluster_input);
    struct ck_cluster_options o = ck_cluster_options_default();
    struct coke_assign_job job = COKE_INIT(struct coke_assign_job);
    (void)state;
    o.k = (struct ck_ints){.n = 1, .v = {K}};
    o.repair = CK_REPAIR_EXACT; /* as coke_model_assign does */
    assert_ok(coke_rows_from_array(&in.rows, x, N, DIM));
    assert_ok(coke_cluster_run(&c, &in, AS(cluster, &o), NULL));
    assert_ok(coke_cluster_labels(c, 0, label));
    assert_ok(coke_cluster_pack(c, 0, &bytes, &size));
    assert_ok(coke_model_unpack(&m, bytes, size));
    job.rows = in.rows;
    job.labels = again;
    job.constrained = 1;
    assert_ok(coke_model_assign(m, &job, NULL));
    assert_memory_equal(label, again, sizeof label);
    coke_model_free(m);
    ((char *)bytes)[size - 1] ^= 1;
    assert_fails(coke_model_unpack(&m, bytes, size), COKE_EFORMAT, "damaged");
    assert_fails(coke_model_unpack(&m, bytes, 20), COKE_EFORMAT, "model: ");
    assert_null(m);
    coke_bytes_free(bytes);
    coke_cluster_free(c);
    coke_rows_free(in.rows);
    free(x);
}

static void clustering_continues_from_its_bytes(void **state)
{
    float *x = test_vectors(N, DIM, K, 0.7, 3);
    int32_t label[N], again[N];
    void *bytes;
    size_t size;
    struct coke_kmeans *km, *copy;
    struct ck_kmeans_options o = ck_kmeans_options_default();
    (void)state;
    o.n = N;
    o.k = K;
    o.dim = DIM;
    assert_ok(coke_kmeans_new(&km, AS(kmeans, &o), x, NULL, NULL));
    assert_ok(coke_kmeans_step(km, x, NULL, N, label));
    assert_ok(coke_kmeans_pack(km, &bytes, &size));
    assert_ok(coke_kmeans_unpack(&copy, bytes, size));
    coke_bytes_free(bytes);
    assert_ok(coke_kmeans_step(km, x, NULL, N, label));
    assert_ok(coke_kmeans_step(copy, x, NULL, N, again));
    assert_memory_equal(label, again, sizeof label);
    coke_kmeans_free(km);
    coke_kmeans_free(copy);
    assert_fails(coke_kmeans_unpack(&copy, x, 40), COKE_EFORMAT, "clustering: ");
    free(x);
}

static int pack_and_unpack(void)
{
    static float center[2] = {1, -1};
    void *bytes = NULL;
    size_t size = 0;
    struct coke_kmeans *km = NULL, *copy = NULL;
    struct ck_kmeans_options o = ck_kmeans_options_default();
    o.n = o.k = 2;
    int rc = coke_kmeans_new(&km, AS(kmeans, &o), center, NULL, NULL);
    if (!rc)
        rc = coke_kmeans_pack(km, &bytes, &size);
    if (!rc)
        rc = coke_kmeans_unpack(&copy, bytes, size);
    coke_kmeans_free(copy);
    coke_kmeans_free(km);
    coke_bytes_free(bytes);
    return rc;
}

static void failed_allocations_are_survived(void **state)
{
    int rc = COKE_ENOMEM;
    (void)state;
    for (int i = 1; rc; i++) {
        ck_mem_fail_at(i);
        rc = pack_and_unpack();
        ck_mem_fail_at(0);
        /* jansson takes a token it has no memory for as a syntax error. */
        assert_true(rc == COKE_OK || rc == COKE_ENOMEM || rc == COKE_EFORMAT);
    }
}

int main(void)
{
    coke_set_threads(1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_type_and_layout_is_read),
        cmocka_unit_test(halves_are_read),
        cmocka_unit_test(impossible_arrays_are_refused),
        cmocka_unit_test(model_comes_back_from_its_bytes),
        cmocka_unit_test(clustering_continues_from_its_bytes),
        cmocka_unit_test(failed_allocations_are_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
