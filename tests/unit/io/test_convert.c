/* test_convert.c - element types of files to f32 and f64. */
#include "unit/io/io_test.h"
#include "io/convert.h"

#include <math.h>

/* The definition, with library arithmetic only. */
static double half_value(uint16_t h)
{
    int exponent = h >> 10 & 31, fraction = h & 1023;
    double sign = h & 0x8000 ? -1.0 : 1.0;
    if (exponent == 31)
        return fraction ? (double)NAN : sign * (double)INFINITY;
    if (exponent == 0)
        return sign * ldexp(fraction, -24);
    return sign * ldexp(1024 + fraction, exponent - 25);
}

static void every_half_is_converted_exactly(void **state)
{
    (void)state;
    uint16_t *h = malloc(65536 * sizeof *h);
    float *f = malloc(65536 * sizeof *f);
    double *d = malloc(65536 * sizeof *d);
    for (int i = 0; i < 65536; i++)
        h[i] = (uint16_t)i;
    ck_convert_f32(CK_F16, h, 65536, f);
    ck_convert_f64(CK_F16, h, 65536, d);
    for (int i = 0; i < 65536; i++) {
        double expected = half_value((uint16_t)i);
        if (isnan(expected)) {
            assert_true(isnan(f[i]) && isnan(d[i]));
            continue;
        }
        assert_true((double)f[i] == expected && d[i] == expected);
        assert_int_equal(signbit(f[i]) != 0, i >> 15);
    }
    uint32_t bits;
    memcpy(&bits, &f[0xfe01], 4);
    assert_int_equal(bits, 0xffc02000u); /* NaN keeps sign and payload */
    free(h);
    free(f);
    free(d);
}

static void other_types_are_converted_from_any_address(void **state)
{
    (void)state;
    unsigned char raw[64];
    float f[2];
    const double x[2] = {0.1, -1e300};
    memcpy(raw + 1, x, sizeof x);
    ck_convert_f32(CK_F64, raw + 1, 2, f);
    assert_true(f[0] == 0.1f && isinf(f[1]) && f[1] < 0);
    const float y[2] = {0.25f, -3.0f};
    memcpy(raw + 3, y, sizeof y);
    ck_convert_f32(CK_F32, raw + 3, 2, f);
    assert_memory_equal(f, y, sizeof y);
    raw[0] = 255;
    raw[1] = 7;
    ck_convert_f32(CK_U8, raw, 2, f);
    assert_true(f[0] == 255.0f && f[1] == 7.0f);
    ck_convert_f32(CK_I8, raw, 2, f);
    assert_true(f[0] == -1.0f && f[1] == 7.0f);
}

static void integers_of_all_widths_become_f64(void **state)
{
    (void)state;
    static const struct {
        enum ck_dtype dtype;
        double expected; /* of bytes that are all 0xff */
    } cases[] = {
        {CK_I8, -1},  {CK_I16, -1},    {CK_I32, -1},           {CK_I64, -1},
        {CK_U8, 255}, {CK_U16, 65535}, {CK_U32, 4294967295.0}, {CK_U64, 18446744073709551616.0},
    };
    unsigned char raw[9];
    memset(raw, 0xff, sizeof raw);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double d;
        ck_convert_f64(cases[i].dtype, raw + 1, 1, &d);
        assert_true(d == cases[i].expected);
    }
}

static void shapes_are_multiplied_without_overflow(void **state)
{
    (void)state;
    int64_t n, bytes;
    char text[CK_SHAPE_TEXT];
    assert_true(ck_shape_size(CK_F32, 2, (const int64_t[]){3, 4}, &n, &bytes));
    assert_true(n == 12 && bytes == 48);
    assert_true(ck_shape_size(CK_F32, 0, NULL, &n, &bytes) && n == 1 && bytes == 4);
    assert_true(ck_shape_size(CK_F32, 2, (const int64_t[]){INT64_MAX, 0}, &n, &bytes) &&
                n == 0);
    assert_false(ck_shape_size(CK_F32, 1, (const int64_t[]){INT64_MAX / 2}, &n, &bytes));
    assert_false(ck_shape_size(CK_F32, 2, (const int64_t[]){1LL << 40, 1LL << 40}, &n, &bytes));
    assert_false(ck_shape_size(CK_F32, 2, (const int64_t[]){-1, 0}, &n, &bytes));
    int64_t widest[CK_MAX_DIMS];
    for (int i = 0; i < CK_MAX_DIMS; i++)
        widest[i] = INT64_MAX;
    ck_shape_text(CK_MAX_DIMS, widest, text);
    assert_int_equal(strlen(text), 8 * 19 + 7 * 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_half_is_converted_exactly),
        cmocka_unit_test(other_types_are_converted_from_any_address),
        cmocka_unit_test(integers_of_all_widths_become_f64),
        cmocka_unit_test(shapes_are_multiplied_without_overflow),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
