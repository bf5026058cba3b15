/* dataset_kinds.h - what the kinds of data sets share, and their open functions; private to
 * dataset.c and the kinds.
 *
 * A kind is a struct whose first member is struct ck_dataset. Its type's free() releases the
 * members that the kind added; ck_dataset_free releases the rest and the struct itself. */
#ifndef CK_DATASET_KINDS_H
#define CK_DATASET_KINDS_H

#include "data/dataset.h"
#include "data/names.h"

/* Allocates a zeroed struct of `size` bytes with the type and a copy of the source (may be
 * NULL: ck_dataset_open sets it). NULL = out of memory. */
void *ck_dataset_new(const struct ck_dataset_type *type, size_t size, const char *source);

/* Appends a sentence to d->note. */
__attribute__((format(printf, 2, 3))) int ck_dataset_add_note(struct ck_dataset *d,
                                                              const char *fmt, ...);

/* Sets the class names to "0", "1", ..., or to copies of these names. */
int ck_dataset_number_classes(struct ck_dataset *d, int32_t n);
int ck_dataset_name_classes(struct ck_dataset *d, const struct ck_names *names);

/* Makes d->id from `names` (d->n of them) or, if NULL, from the names that the type gives. */
int ck_dataset_make_ids(struct ck_dataset *d, const struct ck_names *names);

/* Makes ids unique. Replaces an id that occurred before by second[i] (may be NULL) or, if that
 * occurred as well, by a hash with the number of the occurrence. */
int ck_ids_distinct(uint64_t *id, int64_t n, const uint64_t *second);

int ck_ends_with(const char *name, const char *ending); /* ignores the case of ASCII letters */
const char *ck_base_name(const char *path); /* points into path, after the last '/' */

/* True if the folder has files of this kind under their usual names. */
int ck_is_cifar_folder(const char *path);
int ck_is_idx_folder(const char *path);

/* Reads a file into the item. An image of more than CK_ITEM_MAX bytes is COKE_EFORMAT. */
enum { CK_ITEM_MAX = 1 << 30, CK_LABEL_MAX = (1 << 20) - 1, CK_CHANNELS_MAX = 64 };
int ck_item_load(struct ck_item *item, const char *path);
/* The same for `size` bytes at offset of an open file; several threads may share fd. */
int ck_item_load_part(struct ck_item *item, int fd, const char *name, int64_t offset,
                      int64_t size);

/* Each open function sets *out only on success; o is never NULL. */
int ck_dataset_open_folder(struct ck_dataset **out, const char *path,
                           const struct ck_dataset_options *o);
int ck_dataset_open_list(struct ck_dataset **out, const char *path,
                         const struct ck_dataset_options *o);
int ck_dataset_open_tar(struct ck_dataset **out, const char *path,
                        const struct ck_dataset_options *o);
int ck_dataset_open_cifar(struct ck_dataset **out, const char *path,
                          const struct ck_dataset_options *o);
int ck_dataset_open_idx(struct ck_dataset **out, const char *path,
                        const struct ck_dataset_options *o);
int ck_dataset_open_npy(struct ck_dataset **out, const char *path,
                        const struct ck_dataset_options *o);
/* spec: the text after "synthetic:". */
int ck_dataset_open_synthetic(struct ck_dataset **out, const char *spec,
                              const struct ck_dataset_options *o);

#endif
