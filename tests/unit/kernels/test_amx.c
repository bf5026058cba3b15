/* test_amx.c - the emulation of tiles computes what the unit computes, to the bit, and both what
 * plain sums give. Where there is no unit, the emulation is tested alone. */
#define PRODUCT product_on_unit
#include "amx_products.h"
#include "core/workers.h"
#include "kernels/amx.h"
#include "support.h"

#include <sys/wait.h>
#include <unistd.h>

enum { GROUPS = 16, COLUMNS = 16, A_BYTES = 16 * 64 };

struct operands {
    uint8_t a[A_BYTES], b[A_BYTES];
    int32_t d[16 * COLUMNS];
};

static float widen(uint16_t v)
{
    uint32_t u = (uint32_t)v << 16;
    float x;
    memcpy(&x, &u, sizeof x);
    return x;
}

/* kind 0: usual numbers; 1: extreme bytes, or bf16 up to 2^100 and down to denormals. */
static void fill(struct operands *o, enum product p, int extreme, uint64_t seed)
{
    for (int i = 0; i < A_BYTES; i++) {
        uint32_t r = ck_rng_u32(seed, 1, (uint64_t)i, 0);
        o->a[i] = extreme ? (r & 1 ? 255 : 128) : (uint8_t)r;
        o->b[i] = extreme ? (r & 2 ? 127 : 128) : (uint8_t)(r >> 8);
    }
    for (int i = 0; i < A_BYTES / 2 && p == BF16; i++) {
        uint16_t *v[2] = {(uint16_t *)(void *)o->a + i, (uint16_t *)(void *)o->b + i};
        for (int side = 0; side < 2; side++) {
            uint32_t r = ck_rng_u32(seed, 2 + (uint32_t)side, (uint64_t)i, 0);
            uint32_t exponent = extreme ? (r >> 16) % 150 : 120 + (r >> 16) % 12;
            *v[side] = (uint16_t)((r & 0x807f) | exponent << 7);
        }
    }
    for (int i = 0; i < 16 * COLUMNS; i++) {
        float f = test_normal(seed, (uint64_t)i);
        memcpy(&o->d[i], &f, sizeof f);
        if (p != BF16)
            o->d[i] = (int32_t)(f * 1000);
    }
}

/* The sums in exact integers, and in double with a bound on f32's rounding. */
static void check_plain(const struct operands *before, const struct operands *after,
                        enum product p, int rows, int bytes)
{
    for (int m = 0; m < rows; m++)
        for (int n = 0; n < COLUMNS; n++) {
            int64_t sum = before->d[m * COLUMNS + n];
            float first, last;
            memcpy(&first, &before->d[m * COLUMNS + n], sizeof first);
            memcpy(&last, &after->d[m * COLUMNS + n], sizeof last);
            double exact = (double)first, size = fabs(exact);
            for (int k = 0; k < bytes; k++) {
                int x = before->a[m * bytes + k], y = before->b[k / 4 * 64 + 4 * n + k % 4];
                x = p == S8U8 || p == S8S8 ? (int8_t)x : x;
                y = p == U8S8 || p == S8S8 ? (int8_t)y : y;
                sum += x * y;
            }
            for (int k = 0; k < bytes / 2 && p == BF16; k++) {
                const uint16_t *a = (const void *)before->a, *b = (const void *)before->b;
                double t = (double)widen(a[m * bytes / 2 + k]) *
                           (double)widen(b[k / 2 * 32 + 2 * n + k % 2]);
                exact += t;
                size += fabs(t);
            }
            if (p == BF16)
                assert_close((double)last, exact, 1e-6 * size);
            else
                assert_int_equal(after->d[m * COLUMNS + n], (int32_t)sum);
        }
}

static void products_are_plain_sums_on_the_unit_and_emulated(void **state)
{
    (void)state;
    const int sizes[][2] = {{16, 64}, {1, 4}, {5, 12}, {16, 36}, {15, 64}};
    for (int p = 0; p < PRODUCTS; p++)
        for (int i = 0; i < 10; i++) {
            int rows = sizes[i / 2][0], bytes = sizes[i / 2][1];
            struct operands before, emulated, unit;
            fill(&before, (enum product)p, i % 2, (uint64_t)(100 * p + i));
            emulated = unit = before;
            product_emulated((enum product)p, rows, bytes, emulated.a, emulated.b, emulated.d);
            if (p != BF16 || i % 2 == 0)
                check_plain(&before, &emulated, (enum product)p, rows, bytes);
            if (ck_amx_obstacle())
                continue;
            product_on_unit((enum product)p, rows, bytes, unit.a, unit.b, unit.d);
            assert_memory_equal(unit.d, emulated.d, sizeof unit.d);
        }
}

/* ---- threads and processes ---- */

enum { CHUNKS = 400 };

/* Counts the wrong results of products on the unit, if there is one, by the worker's thread. */
static void multiply_chunk(void *arg, int64_t chunk, int worker)
{
    (void)worker;
    struct operands o, unit;
    fill(&o, U8S8, 0, (uint64_t)chunk);
    unit = o;
    product_emulated(U8S8, 16, 64, o.a, o.b, o.d);
    if (!ck_amx_obstacle())
        product_on_unit(U8S8, 16, 64, unit.a, unit.b, unit.d);
    else
        unit = o;
    ((int *)arg)[chunk] = memcmp(o.d, unit.d, sizeof o.d) != 0;
}

static int wrong_products(void)
{
    int wrong[CHUNKS] = {0}, n = 0;
    ck_parallel(CHUNKS, multiply_chunk, wrong);
    for (int i = 0; i < CHUNKS; i++)
        n += wrong[i];
    return n;
}

/* Threads that started before permission was asked for, and children, may use the unit too. */
static void all_threads_and_children_may_use_the_unit(void **state)
{
    (void)state;
    assert_ok(coke_set_threads(3));
    assert_int_equal(wrong_products(), 0);
    int status = -1;
    pid_t child = fork();
    if (child == 0)
        _exit(wrong_products() != 0);
    assert_true(child > 0);
    assert_true(waitpid(child, &status, 0) == child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    assert_int_equal(wrong_products(), 0);
}

/* The version is chosen once per process: each value in a child of its own. */
static int chosen_in_child(const char *isa)
{
    int status = -1;
    pid_t child = fork();
    if (child == 0)
        _exit(setenv("COKE_ISA", isa, 1) ? 99 : (int)ck_amx());
    assert_true(child > 0);
    assert_true(waitpid(child, &status, 0) == child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void the_environment_chooses(void **state)
{
    (void)state;
    enum ck_amx best = ck_amx_obstacle() ? CK_AMX_NONE : CK_AMX_UNIT;
    assert_int_equal(chosen_in_child("amx-emulated"), CK_AMX_EMULATED);
    assert_int_equal(chosen_in_child("ref"), CK_AMX_NONE);
    assert_int_equal(chosen_in_child("amx"), best);
    assert_int_equal(chosen_in_child("foo"), best);
}

/* ---- CPUs and systems that are not at hand ---- */

static int asked, permitted;

static int permit(void)
{
    asked++;
    return permitted;
}

/* bf16, tiles and 8 bits; both states of tiles beside x87, SSE and AVX; 1024 bytes a tile. */
static struct ck_amx_cpu xeon(void)
{
    return (struct ck_amx_cpu){.leaf7_edx = 1u << 22 | 1u << 24 | 1u << 25,
                               .tile_sizes = 1024 << 16 | 8192,
                               .xcr0 = 0x600e7,
                               .permit = permit};
}

static void assert_obstacle(const struct ck_amx_cpu *cpu, const char *part, int asks)
{
    asked = 0;
    const char *obstacle = ck_amx_obstacle_of(cpu);
    assert_int_equal(asked, asks);
    assert_true(part ? obstacle && strstr(obstacle, part) : !obstacle);
}

static void each_missing_part_is_named_before_permission_is_asked_for(void **state)
{
    (void)state;
    permitted = 1;
    struct ck_amx_cpu cpu = xeon();
    assert_obstacle(&cpu, NULL, 1);
    for (unsigned bit = 22; bit <= 25; bit += bit == 22 ? 2 : 1) {
        cpu = xeon();
        cpu.leaf7_edx &= ~(1u << bit);
        assert_obstacle(&cpu, "the CPU has no AMX", 0);
    }
    for (unsigned bit = 17; bit <= 18; bit++) {
        cpu = xeon();
        cpu.xcr0 &= ~(1u << bit);
        assert_obstacle(&cpu, "does not enable", 0);
    }
    permitted = 0;
    cpu = xeon();
    assert_obstacle(&cpu, "does not permit", 1);
}

/* The unit is used where its sizes are hidden; only other libraries must be kept from it. */
static void hidden_sizes_are_no_obstacle(void **state)
{
    (void)state;
    permitted = 1;
    struct ck_amx_cpu cpu = xeon();
    assert_false(ck_amx_hides_sizes(&cpu));
    cpu.tile_sizes = 0;
    assert_true(ck_amx_hides_sizes(&cpu));
    assert_obstacle(&cpu, NULL, 1);
    cpu.leaf7_edx = 0; /* a CPU without the unit has no such leaf */
    assert_false(ck_amx_hides_sizes(&cpu));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_environment_chooses), /* before anything chooses in this process */
        cmocka_unit_test(products_are_plain_sums_on_the_unit_and_emulated),
        cmocka_unit_test(all_threads_and_children_may_use_the_unit),
        cmocka_unit_test(each_missing_part_is_named_before_permission_is_asked_for),
        cmocka_unit_test(hidden_sizes_are_no_obstacle),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
