/* test_rows_part.c - rows in every format: what is read, what is refused, and failing
 * allocations. Other programs' files are in tests/py/test_row_formats.py. */
#include "as_options.h"
#include "unit/io/io_test.h"
#include "core/rows.h"
#include "io/npy.h"
#include "io/rows_part.h"
#include "io/rows_paths.h"
#include "io/safetensors.h"

#include <limits.h>
#include <sys/stat.h>
#include <zlib.h>

enum { N = 5, DIM = 3, ROOM = 8192 };

/* Element (i, j) of all arrays here. */
static float value(int64_t i, int j)
{
    return (float)(10 * i + j);
}

static int open_rows(struct coke_rows **r, const char *path, const char *raw)
{
    struct ck_rows_options o = {.raw = raw, .spool_dir = "."};
    return coke_rows_open(r, &path, 1, AS(rows, &o));
}

static void check_rows(const char *path, const char *raw)
{
    struct coke_rows *r;
    float x[N * DIM];
    const int64_t index[N] = {4, 3, 2, 1, 0};
    assert_ok(open_rows(&r, path, raw));
    assert_int_equal(r->n, N);
    assert_int_equal(r->dim, DIM);
    assert_ok(r->get(r, index, N, x, DIM));
    for (int i = 0; i < N; i++)
        for (int j = 0; j < DIM; j++) {
            assert_true(x[i * DIM + j] == value(index[i], j));
            assert_true(r->value(r, index[i], j) == (double)value(index[i], j));
        }
    coke_rows_free(r);
}

static int open_once(const char *path, const char *raw)
{
    struct coke_rows *r;
    int rc = open_rows(&r, path, raw);
    coke_rows_free(r);
    return rc;
}

/* A .npy of i2, in either order. */
static size_t make_array(unsigned char *out, int fortran)
{
    char dict[128];
    int16_t x[N * DIM];
    for (int i = 0; i < N; i++)
        for (int j = 0; j < DIM; j++)
            x[fortran ? j * N + i : i * DIM + j] = (int16_t)value(i, j);
    snprintf(dict, sizeof dict, "{'descr': '<i2', 'fortran_order': %s, 'shape': (%d, %d)}",
             fortran ? "True" : "False", N, DIM);
    return make_npy(out, 1, dict, x, sizeof x);
}

/* ---- zip archives ---- */

struct archive {
    unsigned char data[ROOM], directory[ROOM];
    size_t n, directory_size;
    int entries;
};

static void put(unsigned char *p, uint64_t x, int bytes)
{
    for (int i = 0; i < bytes; i++)
        p[i] = (unsigned char)(x >> 8 * i);
}

static size_t deflate_raw(const void *data, size_t n, unsigned char *out)
{
    z_stream z = {0};
    assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, -15, 9, Z_DEFAULT_STRATEGY), Z_OK);
    z.next_in = (Bytef *)(uintptr_t)data;
    z.avail_in = (uInt)n;
    z.next_out = out;
    z.avail_out = ROOM;
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    size_t made = ROOM - z.avail_out;
    deflateEnd(&z);
    return made;
}

static void add_entry(struct archive *a, const char *name, const void *data, size_t n,
                      int packed)
{
    unsigned char small[ROOM], *local = a->data + a->n, *c = a->directory + a->directory_size;
    size_t length = strlen(name), m = packed ? deflate_raw(data, n, small) : n;
    memset(local, 0, 30);
    memset(c, 0, 46);
    put(local, 0x04034b50, 4);
    put(local + 26, length, 2);
    put(c, 0x02014b50, 4);
    put(c + 10, packed ? 8 : 0, 2);
    put(c + 16, crc32(0, data, (uInt)n), 4);
    put(c + 20, m, 4);
    put(c + 24, n, 4);
    put(c + 28, length, 2);
    put(c + 42, a->n, 4);
    memcpy(local + 30, name, length);
    memcpy(c + 46, name, length);
    memcpy(local + 30 + length, packed ? small : data, m);
    a->n += 30 + length + m;
    a->directory_size += 46 + length;
    a->entries++;
}

static void end_archive(struct archive *a)
{
    unsigned char *p = a->data + a->n + a->directory_size;
    memcpy(a->data + a->n, a->directory, a->directory_size);
    memset(p, 0, 22);
    put(p, 0x06054b50, 4);
    put(p + 10, (uint64_t)a->entries, 2);
    put(p + 12, a->directory_size, 4);
    put(p + 16, a->n, 4);
    a->n += a->directory_size + 22;
}

static void make_archive(struct archive *a, int fortran, int packed)
{
    unsigned char array[ROOM];
    *a = (struct archive){.n = 0};
    add_entry(a, "train.npy", array, make_array(array, fortran), packed);
    end_archive(a);
}

static void archives_are_read_stored_and_deflated(void **state)
{
    (void)state;
    struct archive a;
    for (int i = 0; i < 4; i++) {
        make_archive(&a, i & 1, i >> 1);
        write_file("a.npz", a.data, a.n);
        check_rows("a.npz", NULL);
        check_rows("a.npz:train", NULL);
        assert_fails(open_once("a.npz:test", NULL), COKE_EFORMAT,
                     "a.npz:test: no such array in it; it has train");
    }
}

static void archives_without_one_array_are_refused(void **state)
{
    (void)state;
    struct archive a = {.n = 0};
    unsigned char array[ROOM];
    size_t n = make_array(array, 0);
    end_archive(&a);
    write_file("e.npz", a.data, a.n);
    assert_fails(open_once("e.npz", NULL), COKE_EFORMAT, "e.npz: unknown format");
    a = (struct archive){.n = 0};
    add_entry(&a, "a.npy", array, n, 0);
    add_entry(&a, "b.npy", array, n, 1);
    add_entry(&a, "readme", "hello", 5, 0);
    end_archive(&a);
    write_file("e.npz", a.data, a.n);
    assert_fails(open_once("e.npz", NULL), COKE_EFORMAT,
                 "2 arrays: a, b; name one: e.npz:NAME");
    check_rows("e.npz:a", NULL);
    check_rows("e.npz:b", NULL);
    write_file("e.zip", a.data, a.n);
    check_rows("e.zip:b.npy", NULL);
    a = (struct archive){.n = 0};
    add_entry(&a, "a.npy", array, n - 1, 1);
    end_archive(&a);
    write_file("e.npz", a.data, a.n);
    assert_fails(open_once("e.npz", NULL), COKE_EFORMAT, "the file has 29");
    a = (struct archive){.n = 0};
    add_entry(&a, "a.npy", "hello", 5, 1);
    end_archive(&a);
    write_file("e.npz", a.data, a.n);
    assert_fails(open_once("e.npz", NULL), COKE_EFORMAT, "not a .npy file");
}

/* Opens the bytes with each of them changed, and cut at each length. Only COKE_EFORMAT may come
 * out, or rows. */
static void try_damage(const char *path, const unsigned char *data, size_t n)
{
    static unsigned char copy[ROOM];
    for (size_t i = 0; i < n; i++) {
        memcpy(copy, data, n);
        copy[i] = (unsigned char)(copy[i] ^ (1u << i % 8));
        write_file(path, copy, n);
        int rc = open_once(path, NULL);
        if (rc && rc != COKE_EFORMAT)
            fail_msg("%s: byte %zu changed: %d, %s", path, i, rc, coke_last_error());
        write_file(path, data, i);
        rc = open_once(path, NULL);
        if (rc != COKE_EFORMAT)
            fail_msg("%s: cut after %zu: %d, %s", path, i, rc, coke_last_error());
    }
}

static void damaged_archives_are_refused(void **state)
{
    (void)state;
    struct archive a;
    for (int packed = 0; packed < 2; packed++) {
        make_archive(&a, 0, packed);
        try_damage("d.npz", a.data, a.n);
    }
}

/* ---- safetensors ---- */

static void write_tensors(const char *path, int two)
{
    struct ck_state s = {0};
    uint16_t x[N * DIM]; /* bf16 */
    for (int i = 0; i < N * DIM; i++) {
        float f = value(i / DIM, i % DIM);
        uint32_t bits;
        memcpy(&bits, &f, 4);
        x[i] = (uint16_t)(bits >> 16);
    }
    assert_ok(ck_state_add(&s, "emb", CK_BF16, 2, (const int64_t[]){N, DIM}, x));
    assert_ok(ck_state_add(&s, "flat", CK_BF16, 1, (const int64_t[]){N}, x));
    if (two)
        assert_ok(ck_state_add(&s, "more", CK_BF16, 2, (const int64_t[]){1, DIM}, x));
    assert_ok(ck_safetensors_write(path, &s, 1));
    ck_state_release(&s);
}

static void tensors_are_rows(void **state)
{
    (void)state;
    unsigned char bytes[ROOM];
    write_tensors("t.safetensors", 0);
    check_rows("t.safetensors", NULL);
    check_rows("t.safetensors:emb", NULL);
    assert_fails(open_once("t.safetensors:flat", NULL), COKE_EFORMAT, "1 dimension;");
    assert_fails(open_once("t.safetensors:none", NULL), COKE_EFORMAT,
                 "no such tensor in it; it has emb, flat");
    size_t n = read_file("t.safetensors", bytes, sizeof bytes);
    write_file("t.other", bytes, n);
    check_rows("t.other:emb", NULL);
    try_damage("d.safetensors", bytes, n);
    write_tensors("t.safetensors", 1);
    assert_fails(open_once("t.safetensors", NULL), COKE_EFORMAT,
                 "2 tensors: emb, flat, more; name one: t.safetensors:NAME");
    write_file("t.safetensors", "\0\0\0\0\0\0\0\1{}", 10);
    assert_fails(open_once("t.safetensors", NULL), COKE_EFORMAT, "the limit is");
    write_file("t.safetensors", "\2\0\0\0\0\0\0\0{}", 10);
    assert_fails(open_once("t.safetensors", NULL), COKE_EFORMAT, "it has none");
}

/* ---- .fbin, headerless files, .npy ---- */

static size_t make_fbin(unsigned char *out)
{
    put(out, N, 4);
    put(out + 4, DIM, 4);
    for (int i = 0; i < N * DIM; i++) {
        float f = value(i / DIM, i % DIM);
        memcpy(out + 8 + 4 * i, &f, 4);
    }
    return 8 + 4 * N * DIM;
}

static void fbin_and_raw_are_rows(void **state)
{
    (void)state;
    unsigned char bytes[ROOM];
    size_t n = make_fbin(bytes);
    write_file("b.FBIN", bytes, n);
    check_rows("b.FBIN", NULL);
    check_rows("b.FBIN", "f32:3:8");
    write_file("b.fbin", bytes, n);
    assert_fails(open_once("b.fbin:x", NULL), COKE_EFORMAT, "b.fbin:x: the file is one array");
    assert_fails(open_once("b.fbin", "f32:3:68"), COKE_EFORMAT,
                 "no rows: the file has 68 bytes");
    assert_fails(open_once("b.fbin", "f32:3:9"), COKE_EFORMAT, "59 bytes are not a multiple");
    assert_fails(open_once("b.fbin", "f32"), COKE_EUSAGE, "'f32' is not TYPE:COLUMNS");
    try_damage("d.fbin", bytes, n);
}

static void columns_become_rows(void **state)
{
    (void)state;
    unsigned char bytes[ROOM];
    size_t n = make_array(bytes, 1);
    write_file("c.npy", bytes, n);
    check_rows("c.npy", NULL);
    try_damage("d.npy", bytes, n);
}

/* More rows than a tile and a block, of each size of elements. */
static void long_columns_become_rows(void **state)
{
    (void)state;
    enum { ROWS = 3000, COLUMNS = 700 };
    static const char *const types[] = {"|u1", "<u2", "<f4", "<f8"};
    static const size_t sizes[] = {1, 2, 4, 8};
    unsigned char *x = malloc((size_t)ROWS * COLUMNS * 8);
    for (int t = 0; t < 4; t++) {
        char dict[128];
        struct coke_rows *r;
        float row[COLUMNS];
        for (int64_t at = 0; at < (int64_t)ROWS * COLUMNS; at++) {
            int v = (int)((at % ROWS * 7 + at / ROWS * 3) % 251);
            float f = (float)v;
            double d = v;
            const uint16_t u = (uint16_t)v;
            unsigned char *p = x + (size_t)at * sizes[t];
            memcpy(p, t == 3 ? (void *)&d : t == 2 ? (void *)&f : (const void *)&u, sizes[t]);
        }
        snprintf(dict, sizeof dict, "{'descr': '%s', 'fortran_order': True, 'shape': (%d, %d)}",
                 types[t], ROWS, COLUMNS);
        write_npy("l.npy", dict, x, (size_t)ROWS * COLUMNS * sizes[t]);
        assert_ok(open_rows(&r, "l.npy", NULL));
        for (int64_t i = 0; i < ROWS; i++) {
            assert_ok(r->get(r, &i, 1, row, COLUMNS));
            for (int64_t j = 0; j < COLUMNS; j++)
                assert_true(row[j] == (float)((i * 7 + j * 3) % 251));
        }
        coke_rows_free(r);
    }
    free(x);
}

/* ---- folders and patterns ---- */

static void folders_and_patterns_are_sorted_by_bytes(void **state)
{
    (void)state;
    struct ck_paths p;
    const char *folder = "s", *given[] = {"s/a1[0].npy", "s/*.npy", "none.npy", "s/[z].npy"};
    mkdir("s", 0700);
    mkdir("s/deeper.npy", 0700);
    for (int i = 0; i < 6; i++) {
        static const char *const names[] = {"s/b.npy", "s/a9.npy", "s/a10.npy",
                                            "s/B.npy", "s/.h.npy", "s/a1[0].npy"};
        write_file(names[i], "", 0);
    }
    write_file("s/notes", "", 0);
    assert_ok(ck_paths_expand(&p, &folder, 1, 0));
    assert_int_equal(p.n, 5);
    assert_int_equal(p.left_out, 1);
    assert_string_equal(p.path[0], "s/B.npy");
    assert_string_equal(p.path[1], "s/a10.npy");
    assert_string_equal(p.path[2], "s/a1[0].npy");
    assert_string_equal(p.path[3], "s/a9.npy");
    assert_string_equal(p.path[4], "s/b.npy");
    ck_paths_release(&p);
    assert_ok(ck_paths_expand(&p, &folder, 1, 1));
    assert_int_equal(p.n, 6);
    ck_paths_release(&p);
    assert_ok(ck_paths_expand(&p, given, 4, 0));
    assert_int_equal(p.n, 1 + 6 + 1 + 1);
    assert_string_equal(p.path[0], "s/a1[0].npy");
    assert_string_equal(p.path[1], "s/B.npy");
    assert_string_equal(p.path[8], "s/[z].npy");
    ck_paths_release(&p);
    given[0] = "nothing-*";
    assert_fails(ck_paths_expand(&p, given, 1, 0), COKE_EIO, "nothing-*: no file matches");
}

static void the_first_colon_after_a_file_begins_the_array(void **state)
{
    (void)state;
    int n;
    write_file("f", "", 0);
    write_file("f:a", "", 0);
    assert_null(ck_paths_array("f", &n));
    assert_int_equal(n, 1);
    assert_null(ck_paths_array("f:a", &n));
    assert_string_equal(ck_paths_array("f:/b:c", &n), "/b:c");
    assert_int_equal(n, 1);
    assert_null(ck_paths_array("g:b", &n));
    assert_int_equal(n, 3);
}

/* ---- HDF5, where its plug-in and h5py are ---- */

static int make_hdf5(void)
{
    char path[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 32);
    path[n < 0 ? 0 : n] = 0;
    for (int i = 0; i < 2; i++)
        if (strrchr(path, '/'))
            *strrchr(path, '/') = 0;
    strcat(path, "/libcoke-hdf5.so");
    setenv("COKE_HDF5", path, 1);
    return access(path, F_OK) == 0 &&
           system("/usr/bin/python3 -c \"\n"
                  "import h5py, numpy as n\n"
                  "x = 10 * n.arange(5)[:, None] + n.arange(3)\n"
                  "f = h5py.File('x.h5', 'w')\n"
                  "f['plain'] = x.astype('f4')\n"
                  "f.create_dataset('packed', data=x, chunks=(2, 2), compression='gzip')\" "
                  "2>/dev/null") == 0;
}

static int open_plain(void)
{
    return open_once("x.h5:/plain", NULL);
}

static int open_packed(void)
{
    return open_once("x.h5:/packed", NULL);
}

static void hdf5_data_sets_are_rows(void **state)
{
    (void)state;
    setenv("COKE_HDF5", "/nowhere/at/all.so", 1);
    write_file("x.h5", "\x89HDF\r\n\x1a\n", 8);
    assert_fails(open_once("x.h5", NULL), COKE_EFAIL, "h5py.File");
    setenv("COKE_HDF5", "libz.so.1", 1);
    assert_fails(open_once("x.h5", NULL), COKE_EFAIL, "is not the HDF5 plug-in of coke");
    if (!make_hdf5())
        skip();
    check_rows("x.h5:/plain", NULL);
    check_rows("x.h5:packed", NULL);
    assert_fails(open_once("x.h5", NULL), COKE_EFORMAT, "2 data sets: /packed, /plain");
    every_allocation_may_fail(open_plain);
    every_allocation_may_fail(open_packed);
    write_file("x.h5", "\x89HDF\r\n\x1a\n", 8);
    assert_fails(open_once("x.h5", NULL), COKE_EFORMAT, "x.h5: libhdf5 cannot open it");
}

/* ---- memory ---- */

static const char *job_path, *job_raw;

static int open_job(void)
{
    return open_once(job_path, job_raw);
}

static int show_job(void)
{
    FILE *f = fopen("/dev/null", "w");
    int rc = coke_info_print(job_path, 0, f);
    fclose(f);
    return rc;
}

static void failed_allocations_are_survived(void **state)
{
    (void)state;
    struct archive a;
    unsigned char bytes[ROOM];
    mkdir("m", 0700);
    write_file("m/b.fbin", bytes, make_fbin(bytes));
    write_file("m/c.npy", bytes, make_array(bytes, 1));
    make_archive(&a, 0, 0);
    write_file("m/stored.npz", a.data, a.n);
    make_archive(&a, 1, 1);
    write_file("m/packed.npz", a.data, a.n);
    write_tensors("m/t.safetensors", 0);
    static const char *const paths[] = {"m/b.fbin", "m/c.npy", "m/stored.npz:train",
                                        "m/packed.npz", "m/*.npz"};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        job_path = paths[i];
        every_allocation_may_fail(open_job);
        if (i < 4)
            every_allocation_may_fail(show_job);
    }
    job_path = "m"; /* has the safetensors: jansson takes a lack of memory for a syntax error */
    every_allocation_may_fail_as(open_job, COKE_EFORMAT);
    job_path = "m/b.fbin";
    job_raw = "f32:3:8";
    every_allocation_may_fail(open_job);
}

/* HDF5 has lengths of 64 bits; beyond 63 they are -1 here. */
static void shapes_beyond_63_bits_are_refused(void **state)
{
    (void)state;
    int64_t rows[2] = {-1, 3}, columns[2] = {3, -1}, many[2] = {3, (int64_t)INT32_MAX + 1};
    assert_fails(ck_rows_check_shape("x", 2, rows), COKE_EFORMAT, "x: the number of rows");
    assert_fails(ck_rows_check_shape("x", 2, columns), COKE_EFORMAT, "columns are too many");
    assert_fails(ck_rows_check_shape("x", 2, many), COKE_EFORMAT, "x: 2147483648 columns");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(archives_are_read_stored_and_deflated),
        cmocka_unit_test(archives_without_one_array_are_refused),
        cmocka_unit_test(damaged_archives_are_refused),
        cmocka_unit_test(tensors_are_rows),
        cmocka_unit_test(fbin_and_raw_are_rows),
        cmocka_unit_test(columns_become_rows),
        cmocka_unit_test(long_columns_become_rows),
        cmocka_unit_test(folders_and_patterns_are_sorted_by_bytes),
        cmocka_unit_test(the_first_colon_after_a_file_begins_the_array),
        cmocka_unit_test(hdf5_data_sets_are_rows),
        cmocka_unit_test(shapes_beyond_63_bits_are_refused),
        cmocka_unit_test(failed_allocations_are_survived),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
