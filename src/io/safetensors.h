/* safetensors.h - states in the safetensors format, each tensor with a checksum. */
#ifndef CK_SAFETENSORS_H
#define CK_SAFETENSORS_H

#include "core/state.h"
#include "io/file.h"

/* The format allows 100 MB. Parsed JSON takes 20 times the memory of its text: our limit (some
 * 30 000 tensors) keeps a hostile header below a second and 100 MB. */
enum { CK_SAFETENSORS_HEADER_MAX = 4 << 20 };

/* Overwrites *out with the file's tensors in the order of their data, and its metadata but for
 * the checksums, which are verified. Data are borrowed from the mapped file, which *out owns;
 * other writers may leave them unaligned, so read them through ck_state_copy or memcpy. */
int ck_safetensors_read(const char *path, struct ck_state *out);

/* How many tensors of a state that was read had a checksum. */
int ck_safetensors_checked(const struct ck_state *s);

/* Writes s with a checksum of each tensor in the metadata: "xxh3.NAME", XXH3 of 64 bits in
 * hexadecimal. The bytes depend on s alone. */
int ck_safetensors_write_to(struct ck_writer *w, const struct ck_state *s);
int ck_safetensors_write(const char *path, const struct ck_state *s, int force);

#endif
