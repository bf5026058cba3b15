/* record.h - reads JSON: whole documents, and files with one document per line (JSON lines).
 *
 * Values are queried by key, and missing numbers are NaN, so files of older and newer versions
 * are read alike. This header does not expose jansson. */
#ifndef CK_RECORD_H
#define CK_RECORD_H

#include <stddef.h>
#include <stdint.h>

/* An object of a document; borrowed, valid as long as the document (see ck_record_read). */
struct ck_record {
    const void *object;
};

double ck_record_number(struct ck_record r, const char *key); /* NaN = none */
/* "" = none; valid as long as the document. */
const char *ck_record_text(struct ck_record r, const char *key);
int ck_record_has(struct ck_record r, const char *key);
/* The object under key, or item i of the array of objects under key. A missing object gives an
 * empty record, and so does any query on an empty record. */
struct ck_record ck_record_object(struct ck_record r, const char *key);
int64_t ck_record_count(struct ck_record r, const char *key);
struct ck_record ck_record_item(struct ck_record r, const char *key, int64_t i);
/* Calls take for every value except nested objects, as text: numbers, strings, yes/no, lists.
 * value is valid during the call only. */
void ck_record_each(struct ck_record r,
                    void (*take)(void *arg, const char *key, const char *value), void *arg);

/* Reads a file and passes its object to take, which returns a status; r is valid during the
 * call only. */
int ck_record_read(const char *path, int (*take)(void *arg, struct ck_record r), void *arg);
/* The same for every line, in order, until one call fails. An unterminated last line is
 * ignored: a running writer may not have finished it. */
int ck_record_read_lines(const char *path, int (*take)(void *arg, struct ck_record r),
                         void *arg);

#endif
