/* encoder_test.h - what the tests of encoders share: a small one, a folder of their own. */
#ifndef CK_ENCODER_TEST_H
#define CK_ENCODER_TEST_H

#include "support.h"

#include <unistd.h>

enum { BATCH = 3, SIZE = 16, DIM = 4, PIXELS = 3 * SIZE * SIZE };

static char encoder_folder[] = "/tmp/coke-encoder-XXXXXX";
static float images[BATCH * PIXELS];

static int set_up(void **state)
{
    (void)state;
    coke_set_threads(1);
    for (int i = 0; i < BATCH * PIXELS; i++)
        images[i] = test_normal(1, (uint64_t)i);
    return mkdtemp(encoder_folder) && chdir(encoder_folder) == 0 ? 0 : -1;
}

static int tear_down(void **state)
{
    char command[128];
    (void)state;
    snprintf(command, sizeof command, "rm -rf %s", encoder_folder);
    return chdir("/") || system(command) ? -1 : 0;
}

static inline struct ck_encoder_options small_options(void)
{
    struct ck_encoder_options o = ck_encoder_options_default();
    o.stem = CK_STEM_CIFAR;
    o.width = 0.03125; /* 2, 4, 8, 16 channels */
    o.hidden = 5;
    o.dim = DIM;
    return o;
}

static inline struct coke_encoder *small_encoder(int64_t seed)
{
    struct coke_encoder *e;
    struct ck_encoder_options o = small_options();
    o.seed = seed;
    assert_ok(coke_encoder_new(&e, AS(encoder, &o)));
    return e;
}

static inline struct ck_plan_options small_pass_options(void)
{
    struct ck_plan_options o = ck_plan_options_default();
    o.batch = BATCH;
    o.height = o.width = SIZE;
    return o;
}

static inline struct coke_plan *small_pass(struct coke_encoder *e, int train)
{
    struct coke_plan *p;
    struct ck_plan_options o = small_pass_options();
    o.train = train;
    assert_ok(coke_plan_new(&p, e, AS(plan, &o), NULL));
    return p;
}

/* Every parameter and statistic, and the outputs of evaluation: what two encoders that are the
 * same have in common. */
static inline float *outputs_of(struct coke_encoder *e)
{
    int32_t dim;
    float *out = test_array(2 * BATCH * DIM, sizeof *out);
    struct coke_plan *p = small_pass(e, 0);
    assert_ok(coke_plan_forward(p, images));
    memcpy(out, coke_plan_output(p, COKE_OUTPUT_PROJ, &dim), BATCH * DIM * sizeof *out);
    memcpy(out + BATCH * DIM, coke_plan_output(p, COKE_OUTPUT_PRED, &dim),
           BATCH * DIM * sizeof *out);
    assert_int_equal(dim, DIM);
    coke_plan_free(p);
    return out;
}

static inline void assert_same_encoder(struct coke_encoder *a, struct coke_encoder *b, int same)
{
    float *x = outputs_of(a), *y = outputs_of(b);
    int equal = memcmp(x, y, 2 * BATCH * DIM * sizeof *x) == 0;
    assert_int_equal(equal, same);
    free(x);
    free(y);
}

static inline void write_whole(const char *path, const unsigned char *data, size_t n)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
}

#endif
