/* names.h - many short texts in one piece of memory. */
#ifndef CK_NAMES_H
#define CK_NAMES_H

#include <stddef.h>
#include <stdint.h>

/* Zeroed = empty. */
struct ck_names {
    char *text; /* the names, each with its final zero */
    size_t used;
    int64_t room;
    size_t *at; /* [n] where each begins */
    int64_t n, places;
};

int ck_names_add(struct ck_names *s, const char *text, size_t length);
const char *ck_names_get(const struct ck_names *s, int64_t i);
void ck_names_release(struct ck_names *s);

/* Adds the lines of a text file that are not empty; nothing if it cannot be read. */
int ck_names_load(struct ck_names *s, const char *path);

/* Sorted by code point: the order of UTF-8's bytes. */
int ck_names_sort(struct ck_names *s);

#endif
