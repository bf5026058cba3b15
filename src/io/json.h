/* json.h - JSON: options from and to it, and small documents written with it.
 *
 * Nothing of jansson shows here; json.c and safetensors.c are its only users. */
#ifndef CK_JSON_H
#define CK_JSON_H

#include "coke.h"
#include "io/file.h"

enum { CK_JSON_DEPTH = 8 };

/* A document being built: an object to begin with. The put and begin functions take the key, or
 * NULL inside an array. They never fail visibly: the first failure is kept, and the print and
 * write functions return it. Usage:
 *
 *     struct ck_json j;
 *     ck_json_init(&j);
 *     ck_json_put_int(&j, "n", 1000);
 *     ck_json_begin_array(&j, "heads");
 *     ck_json_begin_object(&j, NULL);
 *     ck_json_put_real(&j, "objective", 0.5);
 *     ck_json_end(&j);
 *     ck_json_end(&j);
 *     CK_TRY(ck_json_write(&j, path, force));
 * done:
 *     ck_json_release(&j);
 */
struct ck_json {
    void *open[CK_JSON_DEPTH]; /* [0] is the document, the last one takes what is put */
    int depth;
    int status;
};

void ck_json_init(struct ck_json *j);
void ck_json_release(struct ck_json *j);
void ck_json_put_int(struct ck_json *j, const char *key, int64_t value);
void ck_json_put_real(struct ck_json *j, const char *key, double value); /* NaN, Inf = null */
void ck_json_put_flag(struct ck_json *j, const char *key, int value);
/* Text that is not UTF-8 (a path may be anything) gets '?' for each byte beyond ASCII. */
void ck_json_put_text(struct ck_json *j, const char *key, const char *value);
void ck_json_begin_object(struct ck_json *j, const char *key);
void ck_json_begin_array(struct ck_json *j, const char *key);
void ck_json_end(struct ck_json *j);

int ck_json_print(const struct ck_json *j, FILE *to);
int ck_json_write_to(const struct ck_json *j, struct ck_writer *w);
int ck_json_write(const struct ck_json *j, const char *path, int force); /* atomic */

/* Text that jansson will take. */
int ck_json_is_utf8(const char *s);

/* All or none of the file's options are set. */
int ck_options_load_json(const struct coke_option_table *t, void *options, const char *path);
int ck_options_print_json(const struct coke_option_table *t, const void *options, FILE *to);

/* The text that the object in the file has under key. */
int ck_json_read_text(const char *path, const char *key, char *out, size_t size);

#endif
