/* amx_products.h - one product of tiles, compiled for the unit and for the emulation. Includers
 * define PRODUCT, the name of the function. */
#include "kernels/amx_tiles.h"

enum product { BF16, U8S8, S8U8, S8S8, U8U8, PRODUCTS };

void product_on_unit(enum product kind, int rows, int bytes, const void *a, const void *b,
                     void *d);
void product_emulated(enum product kind, int rows, int bytes, const void *a, const void *b,
                      void *d);

#ifdef PRODUCT
/* d [rows][16] += a [rows][bytes] b [bytes / 4][16][4]: tiles of any size. */
void PRODUCT(enum product kind, int rows, int bytes, const void *a, const void *b, void *d)
{
    struct ck_tile_config c = ck_tile_config_full();
    c.rows[0] = c.rows[1] = (uint8_t)rows;
    c.bytes[1] = (uint16_t)bytes;
    c.rows[7] = (uint8_t)(bytes / 4);
    ck_tiles_configure(&c);
    ck_tile_load(0, d, 64);
    ck_tile_load_once(1, a, bytes);
    ck_tile_load(7, b, 64);
    switch (kind) {
    case BF16:
        ck_tile_bf16(0, 1, 7);
        break;
    case U8S8:
        ck_tile_u8s8(0, 1, 7);
        break;
    case S8U8:
        ck_tile_s8u8(0, 1, 7);
        break;
    case S8S8:
        ck_tile_s8s8(0, 1, 7);
        break;
    default:
        ck_tile_u8u8(0, 1, 7);
        break;
    }
    ck_tile_store(0, d, 64);
    ck_tile_zero(0);
    ck_tiles_release();
}
#endif
