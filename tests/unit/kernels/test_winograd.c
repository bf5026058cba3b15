/* test_winograd.c - Winograd's convolutions against direct ones in double; the same bytes from
 * every version and team. */
#include "support.h"

#include "kernels/kernels_winograd.h"

/* Images of one pixel to several tiles, odd sizes, channels that do not fill blocks of 16;
 * enough tiles for several parts of the weights' gradient; many channels; both strides. */
static const struct ck_wino_shape small_shapes[] = {
    {1, 3, 16, 1, 1, 0},     {2, 16, 16, 4, 4, 0},   {1, 16, 17, 5, 3, 0},
    {3, 17, 32, 2, 7, 0},    {2, 32, 48, 8, 8, 0},   {5, 48, 32, 4, 4, 0},
    {1, 48, 48, 13, 9, 0},   {4, 3, 17, 6, 11, 0},   {2, 17, 3, 3, 12, 0},
    {1, 1, 1, 7, 7, 0},      {3, 32, 16, 9, 4, 0},   {2, 16, 33, 1, 13, 0},
    {9, 80, 64, 4, 4, 0},    {2, 256, 272, 3, 4, 0}, {1, 260, 16, 5, 5, 0},
    {2, 16, 16, 64, 64, 0},  {5, 17, 5, 42, 41, 0},  {1, 3, 16, 1, 1, 1},
    {2, 16, 16, 8, 8, 1},    {1, 16, 17, 5, 3, 1},   {3, 17, 32, 2, 7, 1},
    {2, 32, 48, 16, 8, 1},   {5, 48, 32, 4, 4, 1},   {1, 48, 48, 13, 9, 1},
    {4, 3, 17, 6, 11, 1},    {9, 80, 64, 8, 7, 1},   {2, 512, 272, 7, 4, 1},
    {1, 260, 16, 9, 9, 1},   {2, 16, 16, 64, 64, 1}, {5, 17, 5, 42, 41, 1},
    {2, 33, 16, 130, 10, 1}, {9, 16, 48, 14, 13, 0}, {7, 33, 64, 28, 26, 1},
};
enum { SMALL = sizeof small_shapes / sizeof *small_shapes };

/* Several groups and steps; too slow for the reference. */
static const struct ck_wino_shape large_shapes[] = {
    {9, 2048, 16, 16, 15, 0}, {9, 256, 128, 16, 15, 0}, {10, 128, 128, 15, 16, 0},
    {33, 64, 48, 16, 16, 0},  {9, 1024, 16, 16, 15, 1}, {9, 256, 128, 16, 15, 1},
    {17, 128, 128, 16, 32, 1}};
enum { LARGE = sizeof large_shapes / sizeof *large_shapes };

static const char *const versions[] = {"ref", "avx2", "avx512"};
enum { VERSIONS = sizeof versions / sizeof *versions };

/* ---- arrays ---- */

static int64_t blocks(int64_t channels)
{
    return (channels + 15) / 16;
}

/* The images of the input, or of the output. */
struct plane {
    int64_t n, channels, h, w;
};

static struct plane input_of(const struct ck_wino_shape *s)
{
    return (struct plane){s->n, s->ic, s->h, s->w};
}

static struct plane output_of(const struct ck_wino_shape *s)
{
    return (struct plane){s->n, s->oc, s->halved ? (s->h + 1) / 2 : s->h,
                          s->halved ? (s->w + 1) / 2 : s->w};
}

static int64_t image_size(struct plane p)
{
    return p.n * blocks(p.channels) * p.h * p.w * 16;
}

struct pixel {
    int64_t n, c, y, x;
};

static int64_t index_of(struct plane s, struct pixel p)
{
    return (((p.n * blocks(s.channels) + p.c / 16) * s.h + p.y) * s.w + p.x) * 16 + p.c % 16;
}

static struct pixel pixel_at(struct plane s, int64_t i)
{
    int64_t plane = i / 16 / (s.h * s.w), in_plane = i / 16 % (s.h * s.w);
    return (struct pixel){plane / blocks(s.channels), plane % blocks(s.channels) * 16 + i % 16,
                          in_plane / s.w, in_plane % s.w};
}

static float random_number(uint64_t seed, int64_t i)
{
    enum { NUMBERS = 8191 };
    static float table[NUMBERS];
    if (table[0] == 0)
        for (int k = 0; k < NUMBERS; k++)
            table[k] = test_normal(1, (uint64_t)k);
    return table[((uint64_t)i + (uint64_t)i / NUMBERS * 17 + seed * 641) % NUMBERS];
}

static float *random_image(struct plane s, uint64_t seed)
{
    int64_t n = image_size(s);
    float *p = test_array((size_t)n, sizeof *p);
    for (int64_t i = 0; i < n; i++)
        p[i] = pixel_at(s, i).c < s.channels ? random_number(seed, i) : 0;
    return p;
}

struct work {
    struct ck_wino_shape s;
    float *x, *w, *dy;
    int64_t size[CK_WINO_PASSES];
    float *out[CK_WINO_PASSES], *first[CK_WINO_PASSES];
};

static struct work work_for(const struct ck_wino_shape *s)
{
    int64_t weights = s->oc * s->ic * 9;
    struct work k = {.s = *s,
                     .x = random_image(input_of(s), 1),
                     .w = test_array((size_t)weights, sizeof(float)),
                     .dy = random_image(output_of(s), 2),
                     .size = {image_size(output_of(s)), image_size(input_of(s)), weights}};
    for (int64_t i = 0; i < weights; i++)
        k.w[i] = 0.1f * random_number(3, i);
    for (int p = 0; p < CK_WINO_PASSES; p++) {
        k.out[p] = test_array((size_t)k.size[p], sizeof(float));
        k.first[p] = test_array((size_t)k.size[p], sizeof(float));
    }
    return k;
}

static void work_release(struct work *k)
{
    for (int p = 0; p < CK_WINO_PASSES; p++) {
        free(k->out[p]);
        free(k->first[p]);
    }
    free(k->x);
    free(k->w);
    free(k->dy);
}

/* Recomputes out[]; the scratch starts with garbage and is exactly as long as requested. */
static void compute(struct work *k, int threads)
{
    for (int p = 0; p < CK_WINO_PASSES; p++) {
        size_t bytes = ck_wino_scratch(&k->s, (enum ck_wino_pass)p, threads);
        void *scratch = test_array(bytes, 1);
        memset(scratch, 0xff, bytes);
        memset(k->out[p], 0xff, (size_t)k->size[p] * sizeof(float));
        if (p == CK_WINO_FORWARD)
            ck_wino_forward(&k->s, k->x, k->w, k->out[p], NULL, scratch);
        else if (p == CK_WINO_DATA)
            ck_wino_data(&k->s, k->dy, k->w, k->out[p], NULL, scratch);
        else
            ck_wino_weights(&k->s, k->x, k->dy, 0, k->out[p], scratch);
        free(scratch);
    }
}

/* ---- direct convolutions in double ---- */

/* The pixel of the input that tap `tap` of the output at p reads, or (back != 0) the pixel of the
 * output that reads the input at p; -1: none. */
static int64_t neighbour(const struct ck_wino_shape *s, struct pixel p, int64_t tap, int back)
{
    struct plane to = back ? output_of(s) : input_of(s);
    int64_t dy = tap / 3 - 1, dx = tap % 3 - 1, stride = s->halved ? 2 : 1;
    if (back && ((p.y - dy) % stride || (p.x - dx) % stride))
        return -1;
    p.y = back ? (p.y - dy) / stride : p.y * stride + dy;
    p.x = back ? (p.x - dx) / stride : p.x * stride + dx;
    return p.y < 0 || p.y >= to.h || p.x < 0 || p.x >= to.w ? -1 : index_of(to, p);
}

/* Element i of the forward (back = 0) or the backward-data pass. */
static double exact_image(const struct work *k, int back, int64_t i)
{
    const struct ck_wino_shape *s = &k->s;
    struct plane to = back ? input_of(s) : output_of(s);
    int64_t from = back ? s->oc : s->ic;
    struct pixel p = pixel_at(to, i), q = p;
    double sum = 0;
    for (q.c = 0; q.c < from && p.c < to.channels; q.c++)
        for (int64_t tap = 0; tap < 9; tap++) {
            int64_t j = neighbour(s, q, tap, back);
            int64_t o = back ? q.c : p.c, c = back ? p.c : q.c;
            if (j >= 0)
                sum +=
                    (double)(back ? k->dy : k->x)[j] * (double)k->w[(o * s->ic + c) * 9 + tap];
        }
    return sum;
}

static double exact_weight(const struct work *k, int64_t i)
{
    const struct ck_wino_shape *s = &k->s;
    struct plane out = output_of(s);
    double sum = 0;
    for (int64_t j = 0; j < out.n * out.h * out.w; j++) {
        struct pixel p = {j / (out.h * out.w), i / 9 / s->ic, j / out.w % out.h, j % out.w};
        struct pixel q = p;
        q.c = i / 9 % s->ic;
        int64_t in = neighbour(s, q, i % 9, 0);
        if (in >= 0)
            sum += (double)k->dy[index_of(out, p)] * (double)k->x[in];
    }
    return sum;
}

/* Relative error over up to about 4000 elements. */
static double error_of(const struct work *k, enum ck_wino_pass pass)
{
    double error = 0, size = 0;
    int64_t step = k->size[pass] / 4000 | 1;
    for (int64_t i = 0; i < k->size[pass]; i += step) {
        double e = pass == CK_WINO_WEIGHTS ? exact_weight(k, i)
                                           : exact_image(k, pass == CK_WINO_DATA, i);
        error += ((double)k->out[pass][i] - e) * ((double)k->out[pass][i] - e);
        size += e * e;
    }
    return sqrt(error / size);
}

/* ---- tests ---- */

/* The errors that winograd.h states: they grow with the square root of the sums' lengths. */
static void check_errors(const struct ck_wino_shape *s)
{
    struct work k = work_for(s);
    double length[] = {(double)s->ic, (double)s->oc, (double)(s->n * s->h * s->w) / 16};
    compute(&k, coke_threads());
    for (int p = 0; p < CK_WINO_PASSES; p++) {
        double e = error_of(&k, (enum ck_wino_pass)p);
        if (!(e <= 5e-7 + 1e-7 * sqrt(length[p])))
            fail_msg("%lld: %lld -> %lld, %lldx%lld, pass %d: error %g", (long long)s->n,
                     (long long)s->ic, (long long)s->oc, (long long)s->h, (long long)s->w, p,
                     e);
    }
    work_release(&k);
}

static void all_passes_match_direct_convolution(void **state)
{
    (void)state;
    for (int i = 0; i < SMALL; i++)
        check_errors(&small_shapes[i]);
    for (int i = 0; i < LARGE; i++)
        check_errors(&large_shapes[i]);
}

static void check_bytes(const struct work *k, const char *way, int threads)
{
    for (int p = 0; p < CK_WINO_PASSES; p++)
        if (memcmp(k->first[p], k->out[p], (size_t)k->size[p] * sizeof(float)))
            fail_msg("%lld -> %lld, pass %d, %s, %d threads: other bytes", (long long)k->s.ic,
                     (long long)k->s.oc, p, way, threads);
}

static void remember(struct work *k)
{
    compute(k, coke_threads());
    for (int p = 0; p < CK_WINO_PASSES; p++)
        memcpy(k->first[p], k->out[p], (size_t)k->size[p] * sizeof(float));
}

static void every_version_and_team_gives_the_same_bytes(void **state)
{
    (void)state;
    for (int i = 0; i < SMALL + LARGE; i++) {
        struct work k = work_for(i < SMALL ? &small_shapes[i] : &large_shapes[i - SMALL]);
        remember(&k);
        for (int v = i < SMALL ? 0 : 1; v < VERSIONS; v++)
            for (int t = 1; t <= 3 && ck_wino_kernels_named(versions[v]); t += v ? 1 : 2) {
                ck_wino_kernels_force(ck_wino_kernels_named(versions[v]));
                coke_set_threads(t);
                compute(&k, t);
                check_bytes(&k, versions[v], t);
            }
        ck_wino_kernels_force(NULL);
        coke_set_threads(0);
        work_release(&k);
    }
}

struct delivery {
    const float *from;
    float *to;
    int64_t image; /* floats */
    int count[64]; /* how often each image was produced */
};

static void deliver(void *arg, int64_t first, int64_t images)
{
    struct delivery *d = arg;
    memcpy(d->to + first * d->image, d->from + first * d->image,
           (size_t)(images * d->image) * sizeof(float));
    for (int64_t i = first; i < first + images; i++)
        d->count[i]++;
}

static void an_errand_makes_each_image_once_before_it_is_read(void **state)
{
    (void)state;
    int runs = 0;
    for (int i = 0; i < SMALL; i++) {
        struct work k = work_for(&small_shapes[i]);
        int64_t size = k.size[CK_WINO_DATA]; /* of x */
        float *x = test_array((size_t)size, sizeof *x);
        struct delivery d = {.from = k.x, .to = x, .image = size / k.s.n};
        struct ck_wino_producer producer = {deliver, &d, k.x};
        void *scratch = test_array(ck_wino_scratch(&k.s, CK_WINO_FORWARD, 2), 1);
        remember(&k);
        if (ck_wino_takes_producer(&k.s, CK_WINO_FORWARD)) {
            coke_set_threads(2);
            memset(x, 0xff, (size_t)size * sizeof *x);
            ck_wino_forward(&k.s, x, k.w, k.out[CK_WINO_FORWARD], &producer, scratch);
            coke_set_threads(0);
            check_bytes(&k, "producer", 2);
            for (int64_t j = 0; j < k.s.n; j++)
                assert_int_equal(d.count[j], 1);
            runs++;
        }
        free(scratch);
        free(x);
        work_release(&k);
    }
    assert_true(runs > 0);
}

/* Aligned images bypass the caches. */
static void alignment_does_not_matter(void **state)
{
    (void)state;
    for (int i = 0; i < SMALL; i++) {
        struct work k = work_for(&small_shapes[i]);
        float *own[2] = {k.out[CK_WINO_FORWARD], k.out[CK_WINO_DATA]};
        char *room[2];
        remember(&k);
        for (int p = 0; p < 2; p++) {
            room[p] = test_array((size_t)k.size[p] * sizeof(float) + 128, 1);
            char *aligned = (char *)(((uintptr_t)room[p] + 63) & ~(uintptr_t)63);
            k.out[p] = (float *)(aligned + ((uintptr_t)own[p] % 64 ? 0 : 16));
        }
        compute(&k, coke_threads());
        check_bytes(&k, "other alignment", coke_threads());
        for (int p = 0; p < 2; p++) {
            free(room[p]);
            k.out[p] = own[p];
        }
        work_release(&k);
    }
}

static void padding_channels_of_outputs_are_zero(void **state)
{
    (void)state;
    for (int i = 0; i < SMALL; i++) {
        const struct ck_wino_shape *s = &small_shapes[i];
        struct work k = work_for(s);
        compute(&k, coke_threads());
        for (int p = 0; p < CK_WINO_WEIGHTS; p++) {
            struct plane out = p == CK_WINO_FORWARD ? output_of(s) : input_of(s);
            for (int64_t j = 0; j < k.size[p]; j++)
                assert_true(pixel_at(out, j).c < out.channels || k.out[p][j] == 0);
        }
        work_release(&k);
    }
}

static void gradient_of_weights_can_be_added(void **state)
{
    (void)state;
    for (int i = 0; i < SMALL; i++) {
        struct work k = work_for(&small_shapes[i]);
        float *sum = k.first[CK_WINO_WEIGHTS];
        void *scratch = test_array(ck_wino_scratch(&k.s, CK_WINO_WEIGHTS, coke_threads()), 1);
        compute(&k, coke_threads());
        for (int64_t j = 0; j < k.size[CK_WINO_WEIGHTS]; j++)
            sum[j] = (float)j;
        ck_wino_weights(&k.s, k.x, k.dy, 1, sum, scratch);
        for (int64_t j = 0; j < k.size[CK_WINO_WEIGHTS]; j++)
            assert_true(sum[j] == (float)j + k.out[CK_WINO_WEIGHTS][j]);
        free(scratch);
        work_release(&k);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_passes_match_direct_convolution),
        cmocka_unit_test(every_version_and_team_gives_the_same_bytes),
        cmocka_unit_test(an_errand_makes_each_image_once_before_it_is_read),
        cmocka_unit_test(alignment_does_not_matter),
        cmocka_unit_test(padding_channels_of_outputs_are_zero),
        cmocka_unit_test(gradient_of_weights_can_be_added),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
