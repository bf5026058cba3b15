/* record.h - JSON read: whole documents, and files with one document a line. Numbers are asked
 * for by key, and what is not there is NaN: old and new files are read alike.
 *
 * Nothing of jansson shows here. */
#ifndef CK_RECORD_H
#define CK_RECORD_H

#include <stddef.h>
#include <stdint.h>

/* An object of a document, valid as long as the document. */
struct ck_record {
    const void *object;
};

double ck_record_number(struct ck_record r, const char *key); /* NaN = none */
/* "" = none. */
const char *ck_record_text(struct ck_record r, const char *key);
int ck_record_has(struct ck_record r, const char *key);
/* The object, or one of the objects in the array, under key; asking an empty record gives an
 * empty record. */
struct ck_record ck_record_object(struct ck_record r, const char *key);
int64_t ck_record_count(struct ck_record r, const char *key);
struct ck_record ck_record_item(struct ck_record r, const char *key, int64_t i);
/* Every value of the object as text: numbers, words, flags, lists. */
void ck_record_each(struct ck_record r,
                    void (*take)(void *arg, const char *key, const char *value), void *arg);

/* Lends the object of a file to take. */
int ck_record_read(const char *path, int (*take)(void *arg, struct ck_record r), void *arg);
/* Lends every line's object. The last line may be half-written, by a writer that still runs:
 * without its end it does not count. */
int ck_record_read_lines(const char *path, int (*take)(void *arg, struct ck_record r),
                         void *arg);

#endif
