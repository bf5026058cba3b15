/* json.h - JSON: the one writer of it, and options from and to it.
 *
 * Nothing of jansson shows here. json_write.c needs none of it: a document is written as it
 * goes, to memory or to a function. */
#ifndef CK_JSON_H
#define CK_JSON_H

#include "coke/types.h"
#include "core/option.h"
#include "io/file.h"

#include <stdio.h>

enum { CK_JSON_DEPTH = 8 };

enum ck_json_style {
    CK_JSON_FILE,   /* indented, 15 digits, reals keep a point: 0.4, 3.0, 1e-5 */
    CK_JSON_PRETTY, /* indented, 15 digits as %g prints them: 0.4, 3, 1e-05 */
    CK_JSON_LINE,   /* a document per line, 9 digits as %g prints them */
    CK_JSON_SCRIPT  /* no space at all, 9 digits; text is safe inside an HTML <script> */
};

/* A document being written. The put and begin functions take the key, or NULL inside an array
 * and at the top. They never fail visibly: the first failure is kept, and the functions below
 * that return a status return it. Usage:
 *
 *     struct ck_json j;
 *     ck_json_init(&j);
 *     ck_json_put_int(&j, "n", 1000);
 *     ck_json_begin_array(&j, "heads");
 *     ck_json_begin_object(&j, NULL);
 *     ck_json_put_real(&j, "objective", 0.5);
 *     rc = ck_json_write(&j, path, force);
 *     ck_json_release(&j);
 */
struct ck_json {
    enum ck_json_style style;
    int (*write)(void *arg, const char *bytes, size_t n); /* NULL = to text */
    void *arg;
    char *text; /* [n], no 0 at its end */
    int64_t n, room;
    int depth;
    char close[CK_JSON_DEPTH]; /* what ends each open object and array */
    int filled;                /* bit per depth: there is an item already */
    int status;
};

/* In memory, CK_JSON_FILE, inside an object. */
void ck_json_init(struct ck_json *j);
/* In memory, nothing begun: several objects after each other are several documents. */
void ck_json_init_style(struct ck_json *j, enum ck_json_style style);
/* To `write`, which returns a status, as it goes; nothing begun, nothing to release. */
void ck_json_init_to(struct ck_json *j, enum ck_json_style style,
                     int (*write)(void *arg, const char *bytes, size_t n), void *arg);
void ck_json_release(struct ck_json *j);

void ck_json_put_int(struct ck_json *j, const char *key, int64_t value);
/* NaN and infinity = null. */
void ck_json_put_real(struct ck_json *j, const char *key, double value);
void ck_json_put_digits(struct ck_json *j, const char *key, double value, int digits);  /* %g */
void ck_json_put_fixed(struct ck_json *j, const char *key, double value, int decimals); /* %f */
void ck_json_put_flag(struct ck_json *j, const char *key, int value);
/* Bytes that are not UTF-8 (a path may be anything) become '?'. */
void ck_json_put_text(struct ck_json *j, const char *key, const char *value);
void ck_json_begin_object(struct ck_json *j, const char *key);
void ck_json_begin_array(struct ck_json *j, const char *key);
void ck_json_end(struct ck_json *j);

/* Ends all that is open. */
int ck_json_finish(struct ck_json *j);
/* The same for an object of one line in memory, with its last member "xxh3": the checksum of all
 * before it, which ck_record_read_lines verifies. */
int ck_json_finish_line(struct ck_json *j);
/* These finish a document in memory, and copy it. */
int ck_json_print(struct ck_json *j, FILE *to);
int ck_json_write_to(struct ck_json *j, struct ck_writer *w);
int ck_json_write(struct ck_json *j, const char *path, int force); /* atomic */

/* True if s is valid UTF-8, the only text that jansson accepts. */
int ck_json_is_utf8(const char *s);

/* The options as members of the open object: numbers, true and false, words, lists; without the
 * local ones. */
int ck_json_put_options(struct ck_json *j, const struct ck_option_table *t,
                        const void *options);
/* Sets all options of the file or, on failure, none. Printing leaves out the local ones. */
int ck_options_load_json(const struct ck_option_table *t, void *options, const char *path);
int ck_options_print_json(const struct ck_option_table *t, const void *options, FILE *to);

/* Copies the text value of `key` from the object in the file; it must fit in `size` bytes. */
int ck_json_read_text(const char *path, const char *key, char *out, size_t size);

#endif
