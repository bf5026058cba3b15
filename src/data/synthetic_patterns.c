/* synthetic_patterns.c - stripes, checks, dots and the other classes of the built-in images. */
#include "data/synthetic_patterns.h"
#include "core/rng.h"

#include <math.h>

const char *const ck_pattern_name[CK_PATTERNS] = {
    "stripes", "checks", "dots", "rings", "rays", "waves", "blobs", "star", "frame", "wreath"};

enum { STRIPES, CHECKS, DOTS, RINGS, RAYS, WAVES, BLOBS, STAR, FRAME, WREATH };

/* ---- numbers ---- */

float ck_draw(struct ck_draws *d, float low, float high)
{
    if (d->next % 4 == 0)
        ck_rng_words(d->seed, CK_RNG_DATA, d->image, d->next / 4, d->word);
    float unit = (float)(d->word[d->next++ % 4] >> 8) * 0x1p-24f;
    return low + (high - low) * unit;
}

int32_t ck_draw_int(struct ck_draws *d, int32_t low, int32_t high)
{
    return low + (int32_t)ck_draw(d, 0, (float)(high - low + 1));
}

/* t minus the nearest integer, -1/2..1/2, for |t| < 2^22: adding 1.5 * 2^23 rounds the fraction
 * away. */
static float from_whole(float t)
{
    float whole = (t + 12582912.0f) - 12582912.0f;
    return t - whole;
}

/* Two parabolas, corrected by their square. */
float ck_turn_sin(float turns)
{
    float t = from_whole(turns);
    float y = 8 * t - 16 * t * fabsf(t);
    return 0.775f * y + 0.225f * y * fabsf(y);
}

float ck_turn_cos(float turns)
{
    return ck_turn_sin(turns + 0.25f);
}

/* The angle of (x, y) in turns, -1/2..1/2. */
static float turn_of(float x, float y)
{
    float a = fabsf(x), b = fabsf(y);
    float least = a < b ? a : b, most = a < b ? b : a;
    float z = most > 0 ? least / most : 0;
    float t = z * (0.125f + 0.04345f * (1 - z));
    if (b > a)
        t = 0.25f - t;
    if (x < 0)
        t = 0.5f - t;
    return y < 0 ? -t : t;
}

static const float TURN = 6.2831853f;

static float min(float a, float b)
{
    return a < b ? a : b;
}

/* ---- depths ---- */

/* Bands across t; the given fraction of a period is inside. */
static float bands(const struct ck_pattern *p, float t, float fraction)
{
    return (0.5f * fraction - fabsf(from_whole(t * p->rate))) * p->period;
}

static float checks(const struct ck_pattern *p, float u, float v)
{
    float a = bands(p, u, 0.5f), b = bands(p, v, 0.5f);
    float near = min(fabsf(a), fabsf(b));
    return a * b > 0 ? near : -near;
}

static float dots(const struct ck_pattern *p, float u, float v)
{
    float row = v * p->rate, y = from_whole(row);
    float x = from_whole(u * p->rate + p->shift * (row - y));
    return (p->fraction - sqrtf(x * x + y * y)) * p->period;
}

static float rings(const struct ck_pattern *p, float u, float v)
{
    return bands(p, sqrtf(u * u + v * v) + p->shift, p->fraction);
}

static float rays(const struct ck_pattern *p, float u, float v)
{
    float radius = sqrtf(u * u + v * v), t = from_whole(turn_of(u, v) * p->rate);
    return (0.5f * p->fraction - fabsf(t)) * radius * (TURN * p->period);
}

/* Divided by the length of the gradient, so that slanted edges are equally sharp. */
static float waves(const struct ck_pattern *p, float u, float v)
{
    float t = u + p->bend * ck_turn_sin(v * p->inner);
    float slope = TURN * p->bend * p->inner * ck_turn_cos(v * p->inner);
    return bands(p, t, p->fraction) / sqrtf(1 + slope * slope);
}

static float blobs(const struct ck_pattern *p, float u, float v)
{
    float sum = p->shift;
    for (int i = 0; i < CK_PATTERN_WAVES; i++)
        sum += ck_turn_sin(p->wave[i][0] * u + p->wave[i][1] * v + p->wave[i][2]);
    return sum * p->period * 0.12f;
}

/* Rotates (u, v) into the first of 1 / period equal sectors and mirrors it at the middle: v >=
 * 0. */
static void fold(const struct ck_pattern *p, float *u, float *v)
{
    float radius = sqrtf(*u * *u + *v * *v);
    float t = fabsf(from_whole(turn_of(*u, *v) * p->rate)) * p->period;
    *u = radius * ck_turn_cos(t);
    *v = radius * ck_turn_sin(t);
}

/* Inside is the near side of the line from a tip to the notch beside it. */
static float star(const struct ck_pattern *p, float u, float v)
{
    fold(p, &u, &v);
    return p->edge[0] * (u - p->outer) + p->edge[1] * v;
}

/* A hollow square. */
static float frame(const struct ck_pattern *p, float u, float v)
{
    float a = fabsf(u), b = fabsf(v), far = a > b ? a : b;
    return min(p->outer - far, far - p->inner);
}

static float wreath(const struct ck_pattern *p, float u, float v)
{
    fold(p, &u, &v);
    u -= p->outer;
    return p->inner - sqrtf(u * u + v * v);
}

float ck_pattern_depth(const struct ck_pattern *p, float x, float y)
{
    float across = p->warp[0] * ck_turn_sin(p->warp[1] * y + p->warp[2]);
    float down = p->warp[0] * ck_turn_sin(p->warp[1] * x + p->warp[3]);
    x += across - p->x;
    y += down - p->y;
    float u = p->cosine * x + p->sine * y, v = p->cosine * y - p->sine * x;
    switch (p->kind) {
    case STRIPES:
        return bands(p, u, p->fraction);
    case CHECKS:
        return checks(p, u, v);
    case DOTS:
        return dots(p, u, v);
    case RINGS:
        return rings(p, u, v);
    case RAYS:
        return rays(p, u, v);
    case WAVES:
        return waves(p, u, v);
    case BLOBS:
        return blobs(p, u, v);
    case STAR:
        return star(p, u, v);
    case FRAME:
        return frame(p, u, v);
    default:
        return wreath(p, u, v);
    }
}

/* ---- choices ---- */

/* Patterns are tilted a little around a preferred direction, and no further: training views are
 * mirrored but not rotated, so a pattern that may have any angle would have to be learned for
 * each one. Patterns are bent instead, so that crops of one image differ in direction. Both
 * blur the spectrum (tests/py/test_synthetic_images.py). */
static void choose_place(struct ck_pattern *p, struct ck_draws *d)
{
    static const float usual[CK_PATTERNS] = {
        [STRIPES] = 0.125f, [WAVES] = 0.25f, [STAR] = 0.25f};
    float turn = usual[p->kind] + ck_draw(d, -0.075f, 0.075f);
    if (ck_draw_int(d, 0, 1) && p->kind == STRIPES)
        turn = -turn;
    p->cosine = ck_turn_cos(turn);
    p->sine = -ck_turn_sin(turn); /* y points down */
    p->warp[1] = ck_draw(d, 0.25f, 0.45f);
    p->warp[0] = ck_draw(d, 0, 0.5f) / (TURN * p->warp[1]);
    p->warp[2] = ck_draw(d, 0, 1);
    p->warp[3] = ck_draw(d, 0, 1);
    p->x = ck_draw(d, -0.25f, 0.25f);
    p->y = ck_draw(d, -0.25f, 0.25f);
}

static void set_period(struct ck_pattern *p, float period)
{
    p->period = period;
    p->rate = 1 / period;
}

/* Directions spread over the half circle, with wavelengths of about one period. */
static void choose_blobs(struct ck_pattern *p, struct ck_draws *d)
{
    float first = ck_draw(d, 0, 1);
    p->shift = ck_draw(d, -0.3f, 0.3f);
    for (int i = 0; i < CK_PATTERN_WAVES; i++) {
        float turn = first + ((float)i + ck_draw(d, -0.4f, 0.4f)) * 0.5f / CK_PATTERN_WAVES;
        float rate = p->rate * ck_draw(d, 0.7f, 1.3f);
        p->wave[i][0] = rate * ck_turn_cos(turn);
        p->wave[i][1] = rate * ck_turn_sin(turn);
        p->wave[i][2] = ck_draw(d, 0, 1);
    }
}

/* The line from a tip (outer, 0) to the notch beside it, as its normal. */
static void choose_star(struct ck_pattern *p, float size, struct ck_draws *d)
{
    set_period(p, 1 / 5.0f);
    p->outer = 0.65f + 0.3f * size;
    p->inner = p->outer * ck_draw(d, 0.4f, 0.5f);
    float du = p->inner * ck_turn_cos(0.1f) - p->outer, dv = p->inner * ck_turn_sin(0.1f);
    float length = sqrtf(du * du + dv * dv);
    p->edge[0] = -dv / length;
    p->edge[1] = du / length;
}

static void choose_texture(struct ck_pattern *p, float size, struct ck_draws *d)
{
    set_period(p, 0.34f + 0.38f * size);
    p->fraction = ck_draw(d, 0.4f, 0.6f);
    switch (p->kind) {
    case CHECKS:
        set_period(p, 1.6f * p->period);
        break;
    case DOTS:
        set_period(p, 1.15f * p->period);
        p->fraction = ck_draw(d, 0.28f, 0.36f);
        p->shift = 0.5f;
        break;
    case RINGS:
        p->shift = ck_draw(d, 0, 1);
        break;
    case WAVES:
        p->inner = 1 / ck_draw(d, 0.75f, 1.1f);
        p->bend = ck_draw(d, 0.2f, 0.28f) / p->inner;
        break;
    case BLOBS:
        set_period(p, 1.6f * p->period);
        choose_blobs(p, d);
        break;
    }
}

void ck_pattern_choose(struct ck_pattern *p, int32_t kind, struct ck_draws *d)
{
    *p = (struct ck_pattern){.kind = kind};
    choose_place(p, d);
    float size = ck_draw(d, 0, 1);
    switch (kind) {
    case RAYS:
        p->fraction = ck_draw(d, 0.4f, 0.6f);
        set_period(p, 1 / (float)ck_draw_int(d, 6, 9));
        break;
    case STAR:
        choose_star(p, size, d);
        break;
    case FRAME:
        p->outer = 0.55f + 0.3f * size;
        p->inner = p->outer * ck_draw(d, 0.5f, 0.65f);
        break;
    case WREATH:
        set_period(p, 1 / (float)ck_draw_int(d, 6, 8));
        p->outer = 0.5f + 0.22f * size;
        p->inner = p->outer * p->period * ck_draw(d, 1.7f, 2.2f);
        break;
    default:
        choose_texture(p, size, d);
    }
}
