/* synthetic_patterns.h - the ten classes of the built-in images as geometry: how far a point
 * lies inside a pattern, without colour. Only IEEE arithmetic, no library functions whose last
 * bit depends on the machine. */
#ifndef CK_SYNTHETIC_PATTERNS_H
#define CK_SYNTHETIC_PATTERNS_H

#include <stdint.h>

/* Random numbers of one image, one after the other. */
struct ck_draws {
    uint64_t seed, image;
    uint32_t next; /* how many have been drawn */
    uint32_t word[4];
};
float ck_draw(struct ck_draws *d, float low, float high);           /* even in [low, high) */
int32_t ck_draw_int(struct ck_draws *d, int32_t low, int32_t high); /* low..high */

/* One period is one turn; exact to about 1e-3, which is far below what a pixel shows. */
float ck_turn_sin(float turns);
float ck_turn_cos(float turns);

enum { CK_PATTERNS = 10, CK_PATTERN_WAVES = 6 };

/* One instance of a pattern. Lengths in half widths of the image: its corners are (+-1, +-1).
 */
struct ck_pattern {
    int32_t kind;       /* 0..CK_PATTERNS-1 */
    float x, y;         /* where its own coordinates (u, v) start */
    float cosine, sine; /* and how they are turned */
    float warp[4];      /* height, rate and phases of a wave that bends everything */
    float period, rate; /* of what repeats, a length or turns, and 1 / period */
    float share;        /* of a period that is inside */
    float shift, bend;  /* of lattice rows, of rings; height of waves */
    float outer, inner; /* radii, or half sides; inner: the rate of waves */
    float edge[2];      /* normal of a star's edge */
    float wave[CK_PATTERN_WAVES][3]; /* directions and phases that add up to blobs */
};

extern const char *const ck_pattern_name[CK_PATTERNS];
void ck_pattern_choose(struct ck_pattern *p, int32_t kind, struct ck_draws *d);

/* Distance from (x, y) to the nearest edge, positive inside; right near the edge, elsewhere
 * only in sign and order. */
float ck_pattern_depth(const struct ck_pattern *p, float x, float y);

#endif
