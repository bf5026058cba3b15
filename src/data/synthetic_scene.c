/* synthetic_scene.c - paints a pattern: colors, light, shadow, background and noise. */
#include "data/synthetic_scene.h"
#include "data/synthetic_patterns.h"
#include "core/rng.h"

#include <math.h>

enum { SPOTS = 3, STRIP = 32 };

/* Counter of the first draw of noise, beyond all other draws. */
enum { NOISE_FROM = 1 << 16 };

struct color {
    float c[3]; /* 0..1, as displayed */
};

/* A color that changes from `from` to `to` along (x, y). */
struct ramp {
    struct color from, to;
    float x, y;
};

/* A soft round spot in the background. */
struct spot {
    struct color color;
    float x, y, radius, strength;
};

struct scene {
    struct ck_pattern pattern;
    struct ramp ground, figure;
    struct spot spot[SPOTS];
    float light_x, light_y;           /* towards the light */
    float shadow, shadow_x, shadow_y; /* darkness, and offset to the point that casts it */
    float noise;                      /* amplitude per unit of a byte */
    float blur;                       /* of edges, a length */
    float pixels;                     /* per half width of the image */
};

/* ---- colors ---- */

/* Clamps to 0..1, up to rounding; without branches, so that loops vectorize. */
static float clamp(float x)
{
    return 0.5f * (fabsf(x) - fabsf(x - 1) + 1);
}

static float root(float x)
{
    return x > 0 ? sqrtf(clamp(x)) : 0;
}

/* Converts lightness, chroma and hue (in turns) from Oklab, where equal steps look equal (B.
 * Ottosson, 2020), with a display gamma of 2. */
static struct color color_of(float lightness, float chroma, float hue)
{
    float a = chroma * ck_turn_cos(hue), b = chroma * ck_turn_sin(hue);
    float l = lightness + 0.3963377774f * a + 0.2158037573f * b;
    float m = lightness - 0.1055613458f * a - 0.0638541728f * b;
    float s = lightness - 0.0894841775f * a - 1.2914855480f * b;
    l = l * l * l;
    m = m * m * m;
    s = s * s * s;
    float red = 4.0767416621f * l - 3.3077115913f * m + 0.2309699292f * s;
    float green = -1.2684380046f * l + 2.6097574011f * m - 0.3413193965f * s;
    float blue = -0.0041960863f * l - 0.7034186147f * m + 1.7076147010f * s;
    return (struct color){{root(red), root(green), root(blue)}};
}

static void choose_ramp(struct ramp *r, float lightness, float hue, struct ck_draws *d)
{
    float turn = ck_draw(d, 0, 1), chroma = ck_draw(d, 0.05f, 0.15f);
    float spread = ck_draw(d, -0.17f, 0.17f), step = ck_draw(d, 0.02f, 0.12f);
    r->from = color_of(lightness - 0.5f * step, chroma, hue - spread);
    r->to = color_of(lightness + 0.5f * step, chroma, hue + spread);
    r->x = 0.5f * ck_turn_cos(turn);
    r->y = 0.5f * ck_turn_sin(turn);
}

/* Figure and ground differ in lightness, and the figure is lighter: training views are not
 * inverted, so a pattern and its negative would be learned as two classes. Hues are adjacent,
 * or a third or half of the circle apart. */
static void choose_colors(struct scene *s, struct ck_draws *d)
{
    static const float apart[] = {0.1f, -0.1f, 0.33f, -0.33f, 0.42f, 0.5f};
    float hue = ck_draw(d, 0, 1), distance = ck_draw(d, 0.28f, 0.5f);
    float dark = ck_draw(d, 0.25f, 0.9f - distance), light = dark + distance;
    float other = hue + apart[ck_draw_int(d, 0, 5)];
    choose_ramp(&s->ground, dark, hue, d);
    choose_ramp(&s->figure, light, other, d);
    for (int i = 0; i < SPOTS; i++) {
        struct spot *p = &s->spot[i];
        float lightness = dark + ck_draw(d, -0.15f, 0.15f);
        float chroma = ck_draw(d, 0.04f, 0.14f), away = ck_draw(d, -0.3f, 0.3f);
        p->color = color_of(lightness, chroma, hue + away);
        p->x = ck_draw(d, -1, 1);
        p->y = ck_draw(d, -1, 1);
        p->radius = ck_draw(d, 0.3f, 0.9f);
        p->strength = ck_draw(d, 0, 0.9f);
    }
}

static void choose_scene(struct scene *s, int32_t kind, int32_t size, struct ck_draws *d)
{
    choose_colors(s, d);
    float turn = ck_draw(d, 0, 1), slope = ck_draw(d, 0.02f, 0.14f);
    float x = ck_turn_cos(turn), y = ck_turn_sin(turn);
    s->light_x = slope * x;
    s->light_y = slope * y;
    s->shadow_x = 0.07f * x;
    s->shadow_y = 0.07f * y;
    s->shadow = ck_draw(d, 0.1f, 0.35f);
    float grain = ck_draw(d, 0.05f, 0.24f);
    s->noise = grain * grain / 128;
    s->blur = ck_draw(d, 0, 0.06f);
    s->pixels = 0.5f * (float)size;
    ck_pattern_choose(&s->pattern, kind, d);
}

/* ---- painting ---- */

/* A piece of a row of pixels, stored by channel so that compilers vectorize. */
struct strip {
    int32_t n;
    float x[STRIP], y;
    float cover[STRIP]; /* fraction of the pixel inside the pattern */
    float shade[STRIP]; /* and inside its shadow */
    float c[3][STRIP];
};

static void paint_ramp(const struct ramp *r, const float *x, float y, float c[3][STRIP])
{
    float mix[STRIP];
    for (int j = 0; j < STRIP; j++)
        mix[j] = clamp(0.5f + r->x * x[j] + r->y * y);
    for (int k = 0; k < 3; k++)
        for (int j = 0; j < STRIP; j++)
            c[k][j] = r->from.c[k] + mix[j] * (r->to.c[k] - r->from.c[k]);
}

static void paint_spot(const struct spot *s, struct strip *t)
{
    float mix[STRIP], rate = 1 / s->radius, dy = (t->y - s->y) * rate;
    for (int j = 0; j < STRIP; j++) {
        float dx = (t->x[j] - s->x) * rate, near = clamp(1 - dx * dx - dy * dy);
        mix[j] = s->strength * near * near;
    }
    for (int k = 0; k < 3; k++)
        for (int j = 0; j < STRIP; j++)
            t->c[k][j] += mix[j] * (s->color.c[k] - t->c[k][j]);
}

static void paint_figure(const struct scene *s, struct strip *t)
{
    float c[3][STRIP];
    paint_ramp(&s->figure, t->x, t->y, c);
    for (int k = 0; k < 3; k++)
        for (int j = 0; j < STRIP; j++) {
            float ground = t->c[k][j] * (1 - s->shadow * t->shade[j]);
            float light = 1 + s->light_x * t->x[j] + s->light_y * t->y;
            t->c[k][j] = (ground + t->cover[j] * (c[k][j] - ground)) * light;
        }
}

/* One byte of a random word is the noise of one channel of a pixel. */
static void add_noise(const struct scene *s, const struct ck_draws *d, uint32_t from,
                      struct strip *t)
{
    uint32_t word[STRIP];
    for (uint32_t j = 0; j < STRIP; j += 4)
        ck_rng_words(d->seed, CK_RNG_DATA, d->image, NOISE_FROM + from + j, word + j);
    for (int k = 0; k < 3; k++)
        for (int j = 0; j < STRIP; j++)
            t->c[k][j] += s->noise * (float)((int32_t)(word[j] >> (8 * k) & 255) - 128);
}

/* Figures are slightly above the ground: the blurred shadow falls away from the light. */
static void find_cover(const struct scene *s, struct strip *t)
{
    float sharp = 1 / (1 / s->pixels + s->blur), soft = 1 / (1 / s->pixels + 0.12f);
    for (int j = 0; j < t->n; j++) {
        float inside = ck_pattern_depth(&s->pattern, t->x[j], t->y);
        float above = ck_pattern_depth(&s->pattern, t->x[j] + s->shadow_x, t->y + s->shadow_y);
        t->cover[j] = clamp(0.5f + inside * sharp);
        t->shade[j] = clamp(0.5f + above * soft);
    }
    for (int j = t->n; j < STRIP; j++) /* painted as well, but not written */
        t->cover[j] = t->shade[j] = 0;
}

static void write_strip(const struct strip *t, uint8_t *rgb)
{
    uint8_t byte[3][STRIP];
    for (int k = 0; k < 3; k++)
        for (int j = 0; j < STRIP; j++)
            byte[k][j] = (uint8_t)(int32_t)(255 * clamp(t->c[k][j]) + 0.5f);
    for (int j = 0; j < t->n; j++)
        for (int k = 0; k < 3; k++)
            rgb[3 * j + k] = byte[k][j];
}

void ck_scene_draw(uint64_t seed, uint64_t image, int32_t kind, int32_t size, uint8_t *rgb)
{
    struct ck_draws d = {.seed = seed, .image = image};
    struct scene s;
    choose_scene(&s, kind, size, &d);
    for (int32_t at = 0, row = 0; row < size; row++)
        for (int32_t from = 0; from < size; from += STRIP, at += STRIP) {
            struct strip t;
            t.n = size - from < STRIP ? size - from : STRIP;
            t.y = ((float)row + 0.5f) / s.pixels - 1;
            for (int32_t j = 0; j < STRIP; j++)
                t.x[j] = ((float)(from + j) + 0.5f) / s.pixels - 1;
            find_cover(&s, &t);
            paint_ramp(&s.ground, t.x, t.y, t.c);
            for (int i = 0; i < SPOTS; i++)
                paint_spot(&s.spot[i], &t);
            paint_figure(&s, &t);
            add_noise(&s, &d, (uint32_t)at, &t);
            write_strip(&t, rgb + 3 * ((int64_t)row * size + from));
        }
}
