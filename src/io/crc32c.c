/* crc32c.c - CRC-32C (Castagnoli polynomial), four bits at a time: event files are small, so a
 * table of 64 bytes is fast enough. */
#include "io/crc32c.h"

/* Remainders of four bits; the polynomial, least significant bit first, is 0x82f63b78. */
static const uint32_t quarter[16] = {0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1,
                                     0x417b1dbc, 0x5125dad3, 0x61c69362, 0x7198540d,
                                     0x82f63b78, 0x92a8fc17, 0xa24bb5a6, 0xb21572c9,
                                     0xc38d26c4, 0xd3d3e1ab, 0xe330a81a, 0xf36e6f75};

uint32_t ck_crc32c(const void *data, size_t n)
{
    const unsigned char *p = data;
    uint32_t crc = UINT32_MAX;
    for (size_t i = 0; i < n; i++) {
        crc ^= p[i];
        crc = crc >> 4 ^ quarter[crc & 15];
        crc = crc >> 4 ^ quarter[crc & 15];
    }
    return ~crc;
}

uint32_t ck_crc32c_masked(const void *data, size_t n)
{
    uint32_t crc = ck_crc32c(data, n);
    return (crc >> 15 | crc << 17) + 0xa282ead8u;
}
