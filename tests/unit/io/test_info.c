/* test_info.c - what files hold, as text and JSON. */
#include "unit/io/io_test.h"

#include <jansson.h>
#include "io/info.h"
#include "io/npy.h"
#include "io/safetensors.h"

#include <math.h>
#include <sys/stat.h>

static char shown[4096];

static int show(const char *path, int json)
{
    FILE *f = tmpfile();
    int rc = coke_info_print(path, json, f);
    rewind(f);
    shown[fread(shown, 1, sizeof shown - 1, f)] = 0;
    fclose(f);
    return rc;
}

static void npy_shows_shape_norms_and_bad_values(void **state)
{
    (void)state;
    float x[4][2] = {{3, 4}, {0, 1}, {NAN, 0}, {INFINITY, -INFINITY}};
    assert_ok(coke_npy_write_f32("x.npy", &x[0][0], 4, 2, 0));
    assert_ok(show("x.npy", 0));
    assert_string_equal(shown, "x.npy: NumPy array (.npy, version 1)\n"
                               "  dtype      f4\n"
                               "  shape      4 x 2\n"
                               "  bytes      160\n"
                               "  norms      1 to 5\n"
                               "  values     1 NaN, 2 infinite, in 4 rows sampled\n");
    assert_ok(show("x.npy", 1));
    json_t *j = json_loads(shown, 0, NULL);
    assert_non_null(j);
    json_t *sample = json_object_get(j, "sample");
    assert_true(json_real_value(json_object_get(sample, "norm_max")) == 5.0);
    assert_int_equal(json_integer_value(json_object_get(sample, "inf")), 2);
    assert_int_equal(json_integer_value(json_array_get(json_object_get(j, "shape"), 0)), 4);
    json_decref(j);
    assert_ok(coke_npy_write_f32("x.npy", x[2], 1, 2, 1));
    assert_ok(show("x.npy", 0));
    assert_non_null(strstr(shown, "none is finite"));
    assert_ok(show("x.npy", 1));
    assert_non_null(strstr(shown, "\"norm_max\": null"));
}

static void npy_that_is_not_rows_shows_its_shape(void **state)
{
    (void)state;
    assert_ok(coke_npy_write_i32("l.npy", (const int32_t[]){1, 2}, 2, 0));
    assert_ok(show("l.npy", 0));
    assert_string_equal(shown, "l.npy: NumPy array (.npy, version 1)\n"
                               "  dtype      i4\n"
                               "  shape      2\n"
                               "  bytes      136\n");
    assert_ok(coke_npy_write_f32("l.npy", NULL, 0, 2, 1));
    assert_ok(show("l.npy", 0));
    assert_non_null(strstr(shown, "shape      0 x 2\n"));
}

static void large_arrays_are_sampled_from_end_to_end(void **state)
{
    (void)state;
    enum { N = 100003 };
    float *x = malloc(N * sizeof *x);
    for (int i = 0; i < N; i++)
        x[i] = (float)(i + 1);
    assert_ok(coke_npy_write_f32("x.npy", x, N, 1, 1));
    free(x);
    assert_ok(show("x.npy", 0));
    assert_non_null(strstr(shown, "norms      1 to 100003\n"));
    assert_non_null(strstr(shown, "in 1000 rows sampled"));
}

static void vecs_show_their_shape(void **state)
{
    (void)state;
    write_file("x.bvecs", "\2\0\0\0\3\4\2\0\0\0\0\2", 12);
    assert_ok(show("x.bvecs", 0));
    assert_non_null(strstr(shown, "x.bvecs: vectors of bytes (.bvecs)\n"));
    assert_non_null(strstr(shown, "shape      2 x 2\n"));
    assert_non_null(strstr(shown, "norms      2 to 5\n"));
    write_file("x.bvecs", "\1\0\0\0\3\2\0\0\0\0\1\0\0\0\3", 15);
    assert_fails(show("x.bvecs", 0), COKE_EFORMAT, "row 1 has 2 elements");
    assert_string_equal(shown, "");
}

static void write_model(const char *path)
{
    struct ck_state s = {0};
    const float centers[6] = {0};
    const int64_t sizes[3] = {5, 1, 9};
    assert_ok(ck_state_add(&s, "centers", CK_F32, 2, (const int64_t[]){3, 2}, centers));
    assert_ok(ck_state_add(&s, "sizes", CK_I64, 1, (const int64_t[]){3}, sizes));
    assert_ok(ck_state_add_meta(&s, "format", "coke-kmeans"));
    assert_ok(ck_state_add_meta(&s, "note", "a\033[1mb"));
    assert_ok(ck_safetensors_write(path, &s, 1));
    ck_state_release(&s);
}

static void model_shows_k_dim_and_sizes(void **state)
{
    (void)state;
    mkdir("run", 0700);
    assert_fails(show("run", 0), COKE_EFORMAT, "run: the folder has no model.safetensors");
    write_model("run/model.safetensors");
    assert_ok(show("run/", 0));
    assert_string_equal(shown, "run/model.safetensors: a coke model (coke-kmeans)\n"
                               "  k          3\n"
                               "  dim        2\n"
                               "  sizes      min 1, median 5, max 9\n"
                               "  bytes      368\n"
                               "  checksums  2 of 2 verified\n"
                               "  tensors    2\n"
                               "    sizes    I64   3\n"
                               "    centers  F32   3 x 2\n"
                               "  metadata   2\n"
                               "    format  coke-kmeans\n"
                               "    note    a?[1mb\n");
    assert_ok(show("run", 1));
    json_t *j = json_loads(shown, 0, NULL);
    assert_non_null(j);
    assert_int_equal(json_integer_value(json_object_get(j, "k")), 3);
    assert_string_equal(json_string_value(json_object_get(j, "format")), "coke-kmeans");
    assert_int_equal(json_array_size(json_object_get(j, "tensors")), 2);
    json_decref(j);
}

static void other_files_are_refused_in_words(void **state)
{
    (void)state;
    assert_fails(show("none", 0), COKE_EIO, "none: No such file");
    write_file("t.txt", "hello", 5);
    assert_fails(show("t.txt", 1), COKE_EFORMAT, "t.txt: text is not read");
    write_file("t.txt", "", 0);
    assert_fails(show("t.txt", 0), COKE_EFORMAT, "t.txt: empty");
    write_file("t.safetensors", "hello", 5);
    assert_fails(show("t.safetensors", 0), COKE_EFORMAT, "too few for safetensors");
    assert_fails(coke_info_print(NULL, 0, stdout), COKE_EUSAGE, "NULL");
    FILE *full = fopen("/dev/full", "w");
    assert_ok(coke_npy_write_i32("f.npy", (const int32_t[]){1, 2}, 2, 0));
    assert_fails(coke_info_print("f.npy", 0, full), COKE_EIO, "No space left");
    assert_fails(coke_info_print("f.npy", 1, full), COKE_EIO, "No space left");
    fclose(full);
}

static int show_model(void)
{
    int rc = show("run", 0);
    return rc ? rc : show("run", 1);
}

static int show_array(void)
{
    int rc = show("x.npy", 0);
    return rc ? rc : show("x.npy", 1);
}

static void failed_allocations_are_survived(void **state)
{
    (void)state;
    const float x[4] = {1, 2, 3, 4};
    assert_ok(coke_npy_write_f32("x.npy", x, 2, 2, 1));
    every_allocation_may_fail(show_array);
    mkdir("run", 0700);
    write_model("run/model.safetensors");
    /* jansson takes a token it has no memory for as a syntax error. */
    every_allocation_may_fail_as(show_model, COKE_EFORMAT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(npy_shows_shape_norms_and_bad_values),
        cmocka_unit_test(npy_that_is_not_rows_shows_its_shape),
        cmocka_unit_test(large_arrays_are_sampled_from_end_to_end),
        cmocka_unit_test(vecs_show_their_shape),
        cmocka_unit_test(model_shows_k_dim_and_sizes),
        cmocka_unit_test(other_files_are_refused_in_words),
        cmocka_unit_test(failed_allocations_are_survived),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
