/* crc32c.h - CRC-32C (Castagnoli polynomial). */
#ifndef CK_CRC32C_H
#define CK_CRC32C_H

#include <stddef.h>
#include <stdint.h>

uint32_t ck_crc32c(const void *data, size_t n);

/* The masked CRC of TensorFlow's record format: rotated and offset, so that a record that
 * contains records does not contain the CRC of its own bytes. */
uint32_t ck_crc32c_masked(const void *data, size_t n);

#endif
