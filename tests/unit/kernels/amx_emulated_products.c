/* amx_emulated_products.c - products of tiles by the emulation. */
#define CK_TILES_EMULATED
#define PRODUCT product_emulated
#include "amx_products.h"
