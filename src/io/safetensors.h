/* safetensors.h - reads and writes states in the safetensors format, with a checksum per
 * tensor. */
#ifndef CK_SAFETENSORS_H
#define CK_SAFETENSORS_H

#include "core/state.h"
#include "io/file.h"

/* Bytes. The format allows 100 MB, but parsed JSON takes 20 times the memory of its text; this
 * limit (some 30 000 tensors) keeps a hostile header below a second and 100 MB. */
enum { CK_SAFETENSORS_HEADER_MAX = 4 << 20 };

/* Overwrites *out with the file's tensors in file order and its metadata; checksums are
 * verified where the file has them, and left out. Tensor data are borrowed from the mapped file,
 * which *out owns. Files of other writers may be unaligned, so read the data through
 * ck_state_copy or memcpy. */
int ck_safetensors_read(const char *path, struct ck_state *out);
/* The same from memory, which is borrowed as long as *out lives; name is for messages. */
int ck_safetensors_unpack(const char *name, const void *bytes, size_t size,
                          struct ck_state *out);

/* The same for a file that is mapped already and stays it: head is a copy of its first bytes, up
 * to the end of the header. Only the addresses of the data are taken: no checksum is verified, and
 * readers touch them in ck_guard_call. */
int ck_safetensors_index(const char *path, const unsigned char *head, const struct ck_map *map,
                         struct ck_state *out);

/* The number of tensors of a state that was read from a file whose checksum was verified. */
int ck_safetensors_checked(const struct ck_state *s);

/* Writes s with checksums in the metadata, XXH3 of 64 bits in hexadecimal: "xxh3.NAME" of each
 * tensor, and "xxh3-metadata" of all other metadata. Equal states give equal bytes. */
int ck_safetensors_write_to(struct ck_writer *w, const struct ck_state *s);
/* The bytes of such a file, which the caller frees with ck_free; untouched on failure. */
int ck_safetensors_pack(const struct ck_state *s, void **bytes, size_t *size);
int ck_safetensors_write(const char *path, const struct ck_state *s, int force);

#endif
