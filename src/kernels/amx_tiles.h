/* amx_tiles.h - operations on tiles, by the matrix unit or, where the including file defines
 * CK_TILES_EMULATED first, by an emulation with the same names and results.
 *
 * A thread configures its tiles, uses them and releases them; in between it calls nothing that
 * uses tiles. Tile numbers (0..7) are constant expressions. A product d += a b has a [m][k], b
 * [k][n] and d [m][n] of 4-byte elements, where an element of a and b is a group of four bytes or
 * of two bf16: b holds rows of a usual matrix in groups, [k][n][4] or [k][n][2].
 *
 * These are inline assembly because the intrinsics of gcc 12 declare too little of the memory
 * that they read: the compiler drops stores to the configuration and moves stores to the data
 * behind the load. */
#ifndef CK_AMX_TILES_H
#define CK_AMX_TILES_H

#include <stdint.h>

enum { CK_TILES = 8, CK_TILE_ROWS = 16, CK_TILE_BYTES = 64 };

/* As the CPU defines it. */
struct ck_tile_config {
    uint8_t palette; /* 1 */
    uint8_t start_row;
    uint8_t reserved[14];
    uint16_t bytes[16]; /* per row; of 8 tiles, the rest is zero */
    uint8_t rows[16];
} __attribute__((aligned(64)));

/* Tiles 0..7 with 16 rows of 64 bytes: change the sizes that differ. */
static inline struct ck_tile_config ck_tile_config_full(void)
{
    struct ck_tile_config c = {.palette = 1};
    for (int t = 0; t < CK_TILES; t++) {
        c.bytes[t] = CK_TILE_BYTES;
        c.rows[t] = CK_TILE_ROWS;
    }
    return c;
}

/* One per thread, in amx.c. */
struct ck_emulated_tiles {
    struct ck_tile_config config;
    union {
        uint8_t byte[CK_TILE_BYTES];
        int8_t signed_byte[CK_TILE_BYTES];
        uint16_t bf16[CK_TILE_BYTES / 2];
        int32_t i32[CK_TILE_BYTES / 4];
        float f32[CK_TILE_BYTES / 4];
    } row[CK_TILES][CK_TILE_ROWS];
};

/* The tiles of the calling thread. A function, since gcc 12's -fsanitize=null takes the address of
 * a thread-local variable for NULL in some of the loops on them. */
struct ck_emulated_tiles *ck_emulated_tiles(void);

#if defined(CK_TILES_EMULATED) || !defined(__x86_64__)
#include "kernels/amx_emulated.h"
#else

/* Sets all tiles to zero. */
#define ck_tiles_configure(c) __asm__ volatile("ldtilecfg %0" : : "m"(*(c)) : "memory")
/* A thread that keeps its tiles makes every switch of its context slower. */
#define ck_tiles_release() __asm__ volatile("tilerelease" : : : "memory")

#define ck_tile_zero(t) __asm__ volatile("tilezero %%tmm%c0" : : "i"(t))

/* Rows from `p`, `stride` bytes apart. */
#define ck_tile_load(t, p, stride)                                                             \
    __asm__ volatile("tileloadd (%0,%1,1), %%tmm%c2"                                           \
                     :                                                                         \
                     : "r"(p), "r"((int64_t)(stride)), "i"(t)                                  \
                     : "memory")
/* Of data that is read once: hints that caches need not keep it. */
#define ck_tile_load_once(t, p, stride)                                                        \
    __asm__ volatile("tileloaddt1 (%0,%1,1), %%tmm%c2"                                         \
                     :                                                                         \
                     : "r"(p), "r"((int64_t)(stride)), "i"(t)                                  \
                     : "memory")
#define ck_tile_store(t, p, stride)                                                            \
    __asm__ volatile("tilestored %%tmm%c2, (%0,%1,1)"                                          \
                     :                                                                         \
                     : "r"(p), "r"((int64_t)(stride)), "i"(t)                                  \
                     : "memory")

#define CK_TILE_PRODUCT(name, d, a, b)                                                         \
    __asm__ volatile(name " %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(d), "i"(a), "i"(b))
/* f32 d += bf16 a * bf16 b: as ck_emulated_bf16() computes it. */
#define ck_tile_bf16(d, a, b) CK_TILE_PRODUCT("tdpbf16ps", d, a, b)
/* int32 d += a * b, with unsigned (u) or signed (s) bytes in a and b. */
#define ck_tile_u8s8(d, a, b) CK_TILE_PRODUCT("tdpbusd", d, a, b)
#define ck_tile_s8u8(d, a, b) CK_TILE_PRODUCT("tdpbsud", d, a, b)
#define ck_tile_s8s8(d, a, b) CK_TILE_PRODUCT("tdpbssd", d, a, b)
#define ck_tile_u8u8(d, a, b) CK_TILE_PRODUCT("tdpbuud", d, a, b)

#endif
#endif
