/* amx_emulated.h - the operations of amx_tiles.h in plain C. */
#ifndef CK_AMX_EMULATED_H
#define CK_AMX_EMULATED_H

#include <assert.h>
#include <float.h>
#include <math.h>
#include <string.h>

static inline void ck_tiles_configure(const struct ck_tile_config *c)
{
    assert(c->palette == 1);
    memset(ck_emulated_tiles(), 0, sizeof(struct ck_emulated_tiles));
    ck_emulated_tiles()->config = *c;
}

static inline void ck_tiles_release(void)
{
    memset(ck_emulated_tiles(), 0, sizeof(struct ck_emulated_tiles));
}

static inline void ck_tile_zero(int t)
{
    assert(ck_emulated_tiles()->config.palette == 1);
    memset(ck_emulated_tiles()->row[t], 0, sizeof ck_emulated_tiles()->row[t]);
}

static inline void ck_tile_load(int t, const void *p, int64_t stride)
{
    ck_tile_zero(t);
    for (int r = 0; r < ck_emulated_tiles()->config.rows[t]; r++)
        memcpy(ck_emulated_tiles()->row[t][r].byte, (const char *)p + r * stride,
               ck_emulated_tiles()->config.bytes[t]);
}

static inline void ck_tile_load_once(int t, const void *p, int64_t stride)
{
    ck_tile_load(t, p, stride);
}

static inline void ck_tile_store(int t, void *p, int64_t stride)
{
    assert(ck_emulated_tiles()->config.palette == 1);
    for (int r = 0; r < ck_emulated_tiles()->config.rows[t]; r++)
        memcpy((char *)p + r * stride, ck_emulated_tiles()->row[t][r].byte,
               ck_emulated_tiles()->config.bytes[t]);
}

/* The unit faults where these are not equal. */
static inline void ck_emulated_check(int d, int a, int b)
{
    const struct ck_tile_config *c = &ck_emulated_tiles()->config;
    assert(c->palette == 1 && d != a && d != b && a != b);
    assert(c->rows[d] == c->rows[a] && c->bytes[d] == c->bytes[b] &&
           c->bytes[a] == 4 * c->rows[b]);
    (void)c;
}

/* bf16 is the upper half of f32; the unit takes denormals as zeros, and rounds to even. */
static inline float ck_emulated_widen(uint16_t v)
{
    uint32_t u = (uint32_t)((v & 0x7f80) ? v : v & 0x8000) << 16;
    float x;
    memcpy(&x, &u, sizeof x);
    return x;
}

static inline float ck_emulated_flush(float x)
{
    return fabsf(x) < FLT_MIN ? copysignf(0, x) : x;
}

/* Even and odd products are summed apart, added, and the sum is added to d. */
static inline void ck_tile_bf16(int d, int a, int b)
{
    struct ck_emulated_tiles *t = ck_emulated_tiles();
    ck_emulated_check(d, a, b);
    for (int m = 0; m < t->config.rows[d]; m++)
        for (int n = 0; n < t->config.bytes[d] / 4; n++) {
            float sum[2] = {0, 0};
            for (int k = 0; k < t->config.rows[b]; k++)
                for (int i = 0; i < 2; i++)
                    sum[i] = ck_emulated_flush(
                        fmaf(ck_emulated_widen(t->row[a][m].bf16[2 * k + i]),
                             ck_emulated_widen(t->row[b][k].bf16[2 * n + i]), sum[i]));
            float *out = &t->row[d][m].f32[n];
            *out =
                ck_emulated_flush(ck_emulated_flush(*out) + ck_emulated_flush(sum[0] + sum[1]));
        }
}

/* Wraps around as the unit does. Columns and groups beyond the tiles' sizes are zero. */
#define CK_EMULATED_BYTES(name, left, right)                                                   \
    static inline void name(int d, int a, int b)                                               \
    {                                                                                          \
        enum { GROUP = 4, COLUMNS = CK_TILE_BYTES / GROUP };                                   \
        struct ck_emulated_tiles *t = ck_emulated_tiles();                                     \
        ck_emulated_check(d, a, b);                                                            \
        for (int k = 0; k < t->config.rows[b]; k++) {                                          \
            int32_t y[GROUP][COLUMNS];                                                         \
            for (int n = 0; n < CK_TILE_BYTES; n++)                                            \
                y[n % GROUP][n / GROUP] = t->row[b][k].right[n];                               \
            for (int m = 0; m < t->config.rows[d]; m++) {                                      \
                int32_t x[GROUP], *sum = t->row[d][m].i32;                                     \
                for (int i = 0; i < GROUP; i++)                                                \
                    x[i] = t->row[a][m].left[GROUP * k + i];                                   \
                for (int n = 0; n < COLUMNS; n++)                                              \
                    sum[n] = (int32_t)((uint32_t)sum[n] +                                      \
                                       (uint32_t)(x[0] * y[0][n] + x[1] * y[1][n] +            \
                                                  x[2] * y[2][n] + x[3] * y[3][n]));           \
            }                                                                                  \
        }                                                                                      \
    }

CK_EMULATED_BYTES(ck_tile_u8s8, byte, signed_byte)
CK_EMULATED_BYTES(ck_tile_s8u8, signed_byte, byte)
CK_EMULATED_BYTES(ck_tile_s8s8, signed_byte, signed_byte)
CK_EMULATED_BYTES(ck_tile_u8u8, byte, byte)
#undef CK_EMULATED_BYTES

#endif
