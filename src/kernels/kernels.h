/* kernels.h - arithmetic on plain arrays, one version per instruction set.
 *
 * The contract. Vectors are padded with zeros to `ld` floats, a multiple of CK_PAD. The score
 * of a row x and a center c is defined once, in kernels_ref.c: CK_LANES partial sums p[l] =
 * fmaf(x[j], c[j], p[l])  for j = l, l + 8, l + 16, ... added as ((p0+p4)+(p2+p6)) +
 * ((p1+p5)+(p3+p7)), then + bias. Every version returns these bits.
 */
#ifndef CK_KERNELS_H
#define CK_KERNELS_H

#include <stddef.h>
#include <stdint.h>

/* Order in which the fast versions compute the lanes, and how many pending partial sums each
 * lane then closes, so that the additions form the tree above: (0+4), (2+6), those two, (1+5),
 * ... */
#define CK_LANE_ORDER                                                                          \
    {                                                                                          \
        0, 4, 2, 6, 1, 5, 3, 7                                                                 \
    }
#define CK_LANE_JOINS                                                                          \
    {                                                                                          \
        0, 1, 0, 2, 0, 1, 0, 3                                                                 \
    }

enum {
    CK_PAD = 16,       /* vectors are padded to a multiple of this many floats */
    CK_LANES = 8,      /* partial sums of a score */
    CK_TILE = 8,       /* rows per tile */
    CK_PANEL_REF = 8,  /* panel of the reference */
    CK_PANEL_MAX = 48, /* largest panel of any version, in centers */
    CK_SCREEN_PANEL = 48,
    CK_SCREEN_LANES = 16,
    CK_SCREEN_ROWS = 32, /* rows per step of any version's screening */
    CK_SCREEN_MOST = 64, /* rows per call */
};

static inline int ck_padded(int dim)
{
    return (dim + CK_PAD - 1) / CK_PAD * CK_PAD;
}

/* 48 centers quantized to 8 bits relative to a reference point, for screening. The numbers q
 * [ld/4][48][4] follow each struct in memory. All error terms are rounded up. */
struct ck_screen_panel {
    int32_t start[CK_SCREEN_PANEL]; /* -128 * sum of q: undoes the rows' +128 */
    float scale[CK_SCREEN_PANEL];   /* center = scale * q */
    float bias[CK_SCREEN_PANEL];    /* dual bias and the reference's part; -inf = no center */
    float lift[CK_SCREEN_PANEL];    /* factor of the rows' lift; 0 = none */
    float norm[CK_SCREEN_PANEL];    /* length of the center relative to the reference */
    float residue[CK_SCREEN_PANEL]; /* length of the rounding error */
    int8_t q[];
};

/* A quantized vector: v - reference = scale * q + rest, q of 8 bits. Lengths are rounded up. */
struct ck_rounded {
    float scale;
    float length;  /* |scale * q| */
    float residue; /* |rest| */
    int32_t sum;   /* of the q */
};

/* All panels of the centers. */
struct ck_screen_panels {
    const char *first; /* aligned to 64 bytes */
    size_t bytes;      /* from one panel to the next, with q [ld/4] padded with zeros to whole
                          groups of 16 */
    int64_t n;
    int group; /* panels whose maxima are joined */
    int ld;
};

/* Quantized rows. All scores of row r are raised by lift[r] times the lift of the center: a
 * column that is not quantized. */
struct ck_screen_rows {
    const uint8_t *q; /* [n][stride], readable up to a multiple of CK_SCREEN_ROWS rows */
    int64_t stride;   /* in bytes, a multiple of 64, at least ld */
    int n;            /* a multiple of CK_TILE, at most CK_SCREEN_MOST */
    const float *scale, *lift;     /* [n] */
    const float *length, *residue; /* [n / CK_TILE]: the largest of each CK_TILE rows */
};

/* One version of the kernels: constant, shared by all threads. Every function is pure and
 * single-threaded; the callers (cluster/, eval/knn.c) split rows over the team and give each
 * worker its own outputs. Pointers may be unaligned; inputs and outputs may not overlap. */
struct ck_kernels {
    const char *name;
    int panel; /* centers per dense panel */

    float (*dot)(const float *x, const float *c, int ld);
    /* out[i] = dot(x, c[i]). Four independent sums hide the latency of the fma. */
    void (*dot4)(const float *x, const float *const c[4], int ld, float out[4]);

    /* Scores of CK_TILE rows x [8][ld] with one dense panel [8 lanes][ld/8][panel] of centers.
     * Returns a mask of the rows with a score >= limit[row]; for those hits[row] has a bit for
     * each such center, and out [8][panel] the scores. */
    unsigned (*dense_tile)(const float *panel, const float *bias, const float *x, int ld,
                           const float *limit, uint64_t *hits, float *out);

    /* sum[j] += round-to-even(x[j] * scale), scale a power of two, |x[j] * scale| < 2^51. */
    void (*accumulate)(int64_t *sum, const float *x, int ld, float scale);

    /* x[j] = (float)(sum[j] * unit), the product in double. */
    void (*restore)(const int64_t *sum, int ld, double unit, float *x);

    /* The functions below are NULL if the instruction set has no fast 8-bit product. */

    /* Rows of a tile of the matrix unit, which are quantized with one scale if theirs are
     * similar, and not offset; 0 = no such tiles. */
    int unit_rows;

    /* The largest |v[j] - reference[j]|, and norm = |v - reference|, rounded up. */
    float (*range8)(const float *v, const float *reference, int ld, float *norm);

    /* Quantizes v [ld], with a scale that suits numbers up to `range`: at least that of range8.
     * Groups of four numbers are stored at q, q + stride, ...; with 128 added if `offset`,
     * plain otherwise. */
    struct ck_rounded (*round8)(const float *v, const float *reference, int ld, float range,
                                int offset, int64_t stride, uint8_t *q);

    /* Upper bounds on the scores of rows with all panels: estimate + residue of the rows * norm
     * + length of the rows * residue. Keeps only the maxima over the columns l, l + 16, l + 32 of
     * the panels of a group, at top + row * stride + group * 16 [16]. */
    void (*screen)(const struct ck_screen_panels *panels, const struct ck_screen_rows *rows,
                   float *top, int64_t stride);
    /* Index of a maximum of top [n], and the indices of all >= limit (returns their number); n
     * is a multiple of 16. */
    int (*peak)(const float *top, int n);
    int (*reach)(const float *top, int n, float limit, int32_t *index);
};

/* The best version this CPU supports, or the one named by COKE_ISA; chosen on the first call,
 * from any thread. */
const struct ck_kernels *ck_kernels(void);
const char *ck_isa(void); /* the name of that version */
/* A version by name; NULL if unknown or not runnable here. */
const struct ck_kernels *ck_kernels_named(const char *name);
/* NULL-terminated list of the versions that run on this CPU, reference first. Static
 * storage. */
const struct ck_kernels *const *ck_kernels_all(void);

/* Writes center c [ld] into column `column` of a dense panel. */
void ck_panel_set(float *panel, int width, int column, const float *c, int ld);
/* Sets column `column` to center c relative to the reference; leaves its bias alone. Requires
 * kn->round8. */
void ck_screen_panel_set(const struct ck_kernels *kn, struct ck_screen_panel *panel, int column,
                         const float *c, const float *reference, int ld);

/* x *= 1/|x|; returns |x| (0 or not finite: x is left as it is). */
double ck_normalize(const struct ck_kernels *kn, float *x, int ld);

extern const struct ck_kernels ck_kernels_ref;
extern const struct ck_kernels ck_kernels_avx2;
extern const struct ck_kernels ck_kernels_avx512;
extern const struct ck_kernels ck_kernels_vnni;
extern const struct ck_kernels ck_kernels_amx;
extern const struct ck_kernels ck_kernels_amx_emulated;

/* The version whose f32 arithmetic goes with kn where kn adds nothing: reference, AVX2 or
 * AVX-512, of the emulation the best that this CPU supports. NULL for NULL. */
const struct ck_kernels *ck_kernels_f32(const struct ck_kernels *kn);

/* Panel p of all. */
static inline const struct ck_screen_panel *ck_screen_panel_at(const struct ck_screen_panels *s,
                                                               int64_t p)
{
    return (const struct ck_screen_panel *)(const void *)(s->first + (size_t)p * s->bytes);
}

/* AVX-512 functions that the VNNI and AMX versions reuse, and VNNI's that AMX reuses. */
float ck_dot_avx512(const float *x, const float *c, int ld);
void ck_dot4_avx512(const float *x, const float *const c[4], int ld, float out[4]);
unsigned ck_dense_tile_avx512(const float *panel, const float *bias, const float *x, int ld,
                              const float *limit, uint64_t *hits, float *out);
void ck_accumulate_avx512(int64_t *sum, const float *x, int ld, float scale);
void ck_restore_avx512(const int64_t *sum, int ld, double unit, float *x);
#define CK_DENSE_AVX512                                                                        \
    .panel = 48, .dot = ck_dot_avx512, .dot4 = ck_dot4_avx512,                                 \
    .dense_tile = ck_dense_tile_avx512, .accumulate = ck_accumulate_avx512,                    \
    .restore = ck_restore_avx512
float ck_range8_vnni(const float *v, const float *reference, int ld, float *norm);
struct ck_rounded ck_round8_vnni(const float *v, const float *reference, int ld, float range,
                                 int offset, int64_t stride, uint8_t *q);
int ck_peak_vnni(const float *top, int n);
int ck_reach_vnni(const float *top, int n, float limit, int32_t *index);
/* Used by versions that have nothing faster. */
float ck_dot_ref(const float *x, const float *c, int ld);
void ck_dot4_ref(const float *x, const float *const c[4], int ld, float out[4]);
unsigned ck_dense_tile_ref(const float *panel, const float *bias, const float *x, int ld,
                           const float *limit, uint64_t *hits, float *out);
void ck_accumulate_ref(int64_t *sum, const float *x, int ld, float scale);
void ck_restore_ref(const int64_t *sum, int ld, double unit, float *x);

#endif
