/* pickle.h - the data in a pickle of Python, read without running anything.
 *
 * Numbers, text, tuples, lists, dicts, and what torch.save makes of tensors. Anything else that
 * a pickle can ask for is refused by its name. What is read becomes nodes known by number;
 * shared parts stay shared, so that the memory is a fixed multiple of the bytes read. */
#ifndef CK_PICKLE_H
#define CK_PICKLE_H

#include "core/state.h"

/* Those of networks take some 100 kB. */
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
    CK_PICKLE_GLOBAL,  /* a name that is allowed */
    CK_PICKLE_STORAGE, /* the bytes of tensors, which stand elsewhere */
    CK_PICKLE_TENSOR,
};

struct ck_pickle_node {
    enum ck_pickle_kind kind;
    int32_t first, last, count; /* items: of tuples, lists and dicts; first of the arguments:
                                   of storages and tensors */
    int64_t number;             /* of text: where it begins, and `count` its bytes */
};

struct ck_pickle_item {
    int32_t key; /* -1 but in dicts */
    int32_t value;
    int32_t next; /* -1 = the last */
};

struct ck_pickle {
    const char *path; /* for sentences */
    const unsigned char *data;
    size_t size;
    struct ck_pickle_node *node;
    struct ck_pickle_item *item;
    int32_t nodes, items;
    int64_t room_nodes, room_items;
    int32_t root;
};

/* Reads one pickle; *used: its bytes. Borrows path and data. */
int ck_pickle_read(struct ck_pickle *p, const char *path, const unsigned char *data,
                   size_t size, size_t *used);
void ck_pickle_release(struct ck_pickle *p);

int ck_pickle_is_text(const struct ck_pickle *p, int32_t node, const char *text);
/* A node's text without a final zero; NULL if it is something else. */
const char *ck_pickle_text(const struct ck_pickle *p, int32_t node, size_t *size);
/* The value of a key in a dict, or -1. */
int32_t ck_pickle_get(const struct ck_pickle *p, int32_t dict, const char *key);
/* Item i of a tuple or list, or -1. */
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

/* What a node of that kind is made of. Only the types have been looked at: sizes may be
 * anything. */
int ck_pickle_storage(const struct ck_pickle *p, int32_t node, struct ck_pickle_storage *out);
int ck_pickle_tensor(const struct ck_pickle *p, int32_t node, struct ck_pickle_tensor *out);

#endif
