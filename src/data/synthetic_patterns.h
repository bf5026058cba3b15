/* synthetic_patterns.h - the ten classes of the built-in images as geometry: how far a point is
 * inside a pattern, without color. Uses only IEEE arithmetic and no library functions whose
 * last bit depends on the machine. */
#ifndef CK_SYNTHETIC_PATTERNS_H
#define CK_SYNTHETIC_PATTERNS_H

#include <stdint.h>

/* The sequence of random numbers of one image. */
struct ck_draws {
    uint64_t seed, image;
    uint32_t next; /* numbers drawn so far */
    uint32_t word[4];
};
float ck_draw(struct ck_draws *d, float low, float high);           /* uniform in [low, high) */
int32_t ck_draw_int(struct ck_draws *d, int32_t low, int32_t high); /* low..high */

/* Sine and cosine of an angle in turns, accurate to about 1e-3, which no pixel shows. */
float ck_turn_sin(float turns);
float ck_turn_cos(float turns);

enum { CK_PATTERNS = 10, CK_PATTERN_WAVES = 6 };

/* One instance of a pattern. Lengths are in half widths of the image: its corners are (+-1,
 * +-1). */
struct ck_pattern {
    int32_t kind;       /* 0..CK_PATTERNS-1 */
    float x, y;         /* origin of its own coordinates (u, v) */
    float cosine, sine; /* and their rotation */
    float warp[4];      /* amplitude, rate and phases of a wave that bends everything */
    float period, rate; /* of the repetition, a length or turns, and 1 / period */
    float fraction;     /* fraction of a period that is inside */
    float shift, bend;  /* of lattice rows, of rings; amplitude of waves */
    float outer, inner; /* radii, or half sides; inner: the rate of waves */
    float edge[2];      /* normal of a star's edge */
    float wave[CK_PATTERN_WAVES][3]; /* directions and phases that sum up to blobs */
};

extern const char *const ck_pattern_name[CK_PATTERNS];
void ck_pattern_choose(struct ck_pattern *p, int32_t kind, struct ck_draws *d);

/* Distance from (x, y) to the nearest edge, positive inside. Exact only near the edge;
 * elsewhere only its sign and order are right. */
float ck_pattern_depth(const struct ck_pattern *p, float x, float y);

#endif
