/* names.h - a list of strings in one block of memory: millions of file names without an
 * allocation each. */
#ifndef CK_NAMES_H
#define CK_NAMES_H

#include <stddef.h>
#include <stdint.h>

/* Initialize with zeros. */
struct ck_names {
    char *text; /* the names, each zero-terminated */
    size_t used;
    int64_t room;
    size_t *at; /* [n] offset of each in text */
    int64_t n, places;
};

/* Appends a copy; pointers from ck_names_get become invalid. */
int ck_names_add(struct ck_names *s, const char *text, size_t length);
/* Valid until the next ck_names_add. */
const char *ck_names_get(const struct ck_names *s, int64_t i);
void ck_names_release(struct ck_names *s);

/* Appends the non-empty lines of a text file; adds nothing if the file cannot be read. */
int ck_names_load(struct ck_names *s, const char *path);

/* Sorts by code point, which is the byte order of UTF-8. */
int ck_names_sort(struct ck_names *s);

#endif
