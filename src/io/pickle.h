/* pickle.h - reads the data in a Python pickle without executing anything.
 *
 * Supports numbers, text, tuples, lists, dicts, and what torch.save makes of tensors. Objects of
 * settings (argparse, omegaconf, lightning) are recognized and left out; every other global is
 * refused by name. The result is a graph of nodes identified by number. Shared
 * objects stay shared, so memory is bounded by a constant multiple of the bytes read. */
#ifndef CK_PICKLE_H
#define CK_PICKLE_H

#include "core/state.h"

/* Bytes. Pickles of networks take about 100 kB. */
enum { CK_PICKLE_MAX = 2 << 20 };

enum ck_pickle_kind {
    CK_PICKLE_NONE,
    CK_PICKLE_BOOL,
    CK_PICKLE_INT,
    CK_PICKLE_FLOAT,
    CK_PICKLE_TEXT,
    CK_PICKLE_TUPLE,
    CK_PICKLE_LIST,
    CK_PICKLE_DICT,
    CK_PICKLE_GLOBAL,  /* an allowed class or function */
    CK_PICKLE_STORAGE, /* the bytes of tensors, stored outside the pickle */
    CK_PICKLE_TENSOR,
    CK_PICKLE_SETTINGS, /* an object of settings that training programs save; its content is left out */
};

struct ck_pickle_node {
    enum ck_pickle_kind kind;
    int32_t first, last, count; /* items; first: the arguments' node (storage, tensor) */
    int64_t number;             /* of an int; of text its offset in data, `count` bytes */
};

struct ck_pickle_item {
    int32_t key; /* -1 except in dicts */
    int32_t value;
    int32_t next; /* index of the next item; -1 = last */
};

/* A pickle that has been read. The arrays are owned; path and data are borrowed and must
 * outlive it. Once read it is immutable: any thread may query it. */
struct ck_pickle {
    const char *path; /* for messages */
    const unsigned char *data;
    size_t size;
    struct ck_pickle_node *node;
    struct ck_pickle_item *item;
    int32_t nodes, items;
    int64_t room_nodes, room_items;
    int32_t root;
};

/* Reads one pickle from the beginning of data; *used is its length in bytes. Borrows path and
 * data. Releases *p on failure. */
int ck_pickle_read(struct ck_pickle *p, const char *path, const unsigned char *data,
                   size_t size, size_t *used);
void ck_pickle_release(struct ck_pickle *p);

int ck_pickle_is_text(const struct ck_pickle *p, int32_t node, const char *text);
/* A node's text, not zero-terminated and owned by the file's data; NULL if it is not text. */
const char *ck_pickle_text(const struct ck_pickle *p, int32_t node, size_t *size);
/* The node of a key's value in a dict, or -1. */
int32_t ck_pickle_get(const struct ck_pickle *p, int32_t dict, const char *key);
/* Node i of a tuple or list, or -1. */
int32_t ck_pickle_at(const struct ck_pickle *p, int32_t node, int i);

struct ck_pickle_storage {
    enum ck_dtype dtype;
    const char *key;
    size_t key_size;
    int64_t elements;
};

struct ck_pickle_tensor {
    struct ck_pickle_storage storage;
    int64_t offset; /* elements */
    int ndim;
    int64_t shape[CK_MAX_DIMS], stride[CK_MAX_DIMS];
};

/* Decode a storage or tensor node. They check the types only: sizes, offsets and strides come
 * from the file as they are and must be validated by the caller. */
int ck_pickle_storage(const struct ck_pickle *p, int32_t node, struct ck_pickle_storage *out);
int ck_pickle_tensor(const struct ck_pickle *p, int32_t node, struct ck_pickle_tensor *out);

#endif
