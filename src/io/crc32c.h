/* crc32c.h - the CRC of 32 bits with Castagnoli's polynomial. */
#ifndef CK_CRC32C_H
#define CK_CRC32C_H

#include <stddef.h>
#include <stdint.h>

uint32_t ck_crc32c(const void *data, size_t n);

/* As TensorFlow's records store it: turned and moved, so that a record within a record does not
 * carry the CRC of its own bytes. */
uint32_t ck_crc32c_masked(const void *data, size_t n);

#endif
