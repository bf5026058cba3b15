/* state.h - a list of named tensors and texts, the content of checkpoints and models.
 *
 * A state owns names and texts and borrows tensor data: from the object that adds it, which
 * must outlive the state, or from a mapped file, which the state releases (backing). One thread
 * at a time. */
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
    const void *data; /* borrowed; see above */
};

struct ck_meta {
    char *key, *value; /* owned */
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
/* ndim <= CK_MAX_DIMS. Does not check for duplicate names. */
int ck_state_add(struct ck_state *s, const char *name, enum ck_dtype dtype, int ndim,
                 const int64_t *shape, const void *data);
int ck_state_add_meta(struct ck_state *s, const char *key, const char *value);
int ck_state_add_meta_number(struct ck_state *s, const char *key, double value); /* exact */
int ck_state_add_meta_int(struct ck_state *s, const char *key, int64_t value);

/* Borrowed from the state; NULL = absent. */
const struct ck_tensor *ck_state_find(const struct ck_state *s, const char *name);
const char *ck_state_meta(const struct ck_state *s, const char *key); /* NULL = absent */
int64_t ck_tensor_elements(const struct ck_tensor *t);

/* Copies tensor `name` to out after checking dtype and shape; a mismatch is COKE_EFORMAT. */
int ck_state_copy(const struct ck_state *s, const char *name, enum ck_dtype dtype, int ndim,
                  const int64_t *shape, void *out);
/* The same to memory of its own, which the caller frees with ck_free; NULL on failure. For files
 * that are not trusted: memory is taken only for what is there. */
int ck_state_copy_new(const struct ck_state *s, const char *name, enum ck_dtype dtype, int ndim,
                      const int64_t *shape, void **out);
/* Adds tensors (borrowed) and texts of `part` with prefixed names, which are truncated at 127
 * characters. */
int ck_state_add_part(struct ck_state *s, const char *prefix, const struct ck_state *part);
/* The reverse: adds everything with the prefix to `part`, without the prefix. */
int ck_state_take_part(struct ck_state *part, const char *prefix, const struct ck_state *s);
/* Numbers of the metadata; COKE_EFORMAT if the text is absent or more than a number. */
int ck_state_meta_number(const struct ck_state *s, const char *key, double *out);
int ck_state_meta_int(const struct ck_state *s, const char *key, int64_t *out);

#endif
