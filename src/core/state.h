/* state.h - a named list of tensors and text: what checkpoints and models are made of. */
#ifndef CK_STATE_H
#define CK_STATE_H

#include <stddef.h>
#include <stdint.h>

enum ck_dtype {
    CK_F64,
    CK_F32,
    CK_F16,
    CK_BF16,
    CK_I64,
    CK_I32,
    CK_I16,
    CK_I8,
    CK_U64,
    CK_U32,
    CK_U16,
    CK_U8,
    CK_BOOL,
    CK_DTYPES
};

size_t ck_dtype_size(enum ck_dtype t);
const char *ck_dtype_name(enum ck_dtype t); /* "F32", as in safetensors */

enum { CK_MAX_DIMS = 8 };

struct ck_tensor {
    char *name;
    enum ck_dtype dtype;
    int ndim;
    int64_t shape[CK_MAX_DIMS];
    const void *data; /* borrowed: from the state's writer, or from the mapped file */
};

struct ck_meta {
    char *key, *value;
};

struct ck_state {
    struct ck_tensor *tensor;
    int ntensors;
    int64_t room_tensors;
    struct ck_meta *meta;
    int nmeta;
    int64_t room_meta;
    void *backing; /* mapped file, or NULL */
    void (*release_backing)(void *);
};

/* A zeroed struct is an empty state. */
void ck_state_release(struct ck_state *s);
int ck_state_add(struct ck_state *s, const char *name, enum ck_dtype dtype, int ndim,
                 const int64_t *shape, const void *data);
int ck_state_add_meta(struct ck_state *s, const char *key, const char *value);
int ck_state_add_meta_number(struct ck_state *s, const char *key, double value); /* exact */

const struct ck_tensor *ck_state_find(const struct ck_state *s, const char *name);
const char *ck_state_meta(const struct ck_state *s, const char *key); /* NULL = absent */
int64_t ck_tensor_elements(const struct ck_tensor *t);

/* Copies tensor `name` to out after checking dtype and shape; a mismatch is an error in words.
 */
int ck_state_copy(const struct ck_state *s, const char *name, enum ck_dtype dtype, int ndim,
                  const int64_t *shape, void *out);
/* Adds the tensors (borrowed) and texts of `part` under prefixed names; names are at most 127
 * characters long. */
int ck_state_add_part(struct ck_state *s, const char *prefix, const struct ck_state *part);
/* The reverse: what has the prefix, without it, is added to `part`. */
int ck_state_take_part(struct ck_state *part, const char *prefix, const struct ck_state *s);
int ck_state_meta_number(const struct ck_state *s, const char *key, double *out);

#endif
