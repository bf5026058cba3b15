/* model_file.h - clusterings and models from and to safetensors files. */
#ifndef CK_MODEL_FILE_H
#define CK_MODEL_FILE_H

#include "coke/types.h"

/* path: the file of a model, or the folder of 'coke cluster' that holds one. *out is NULL on
 * failure; free it with ck_model_free. */
int ck_model_load(struct coke_model **out, const char *path);

/* The same from the bytes of such a file, which are borrowed for the call. */
int ck_model_unpack(struct coke_model **out, const void *bytes, size_t size);

/* Writes such a file, whole or not at all. */
int ck_model_save(const struct coke_model *m, const char *path, int force);

/* The whole state of a head; a loaded head continues with the same bits. save replaces an
 * existing file only with force, and leaves a whole file or none. */
int ck_kmeans_save(const struct coke_kmeans *km, const char *path, int force);
int ck_kmeans_load(struct coke_kmeans **out, const char *path);
/* The same bytes without a file, which the caller frees with ck_free. */
int ck_kmeans_pack(const struct coke_kmeans *km, void **bytes, size_t *size);
int ck_kmeans_unpack(struct coke_kmeans **out, const void *bytes, size_t size);

#endif
