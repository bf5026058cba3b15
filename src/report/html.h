/* html.h - writes an HTML file; text from data is escaped.
 *
 * The functions return nothing: the first failure is kept in status, later calls write nothing,
 * and ck_html_commit returns it. One thread per file. */
#ifndef CK_HTML_H
#define CK_HTML_H

#include "io/file.h"
#include "io/json.h"

#include <stdint.h>

struct ck_html {
    struct ck_writer w; /* owned; a temporary file until the commit */
    int64_t bytes;      /* written so far */
    int status;         /* first failure */
};

int ck_html_open(struct ck_html *h, const char *path, int force);
/* Renames the file to its path. Call ck_html_abort afterwards in any case: after a successful
 * commit it does nothing. */
int ck_html_commit(struct ck_html *h);
void ck_html_abort(struct ck_html *h);

/* Without escaping. */
void ck_html_bytes(struct ck_html *h, const void *data, size_t n);
void ck_html_put(struct ck_html *h, const char *text);
/* Without escaping, too: for numbers and literals only, never for text from data. Truncates at
 * 1023 bytes. */
__attribute__((format(printf, 2, 3))) void ck_html_format(struct ck_html *h, const char *fmt,
                                                          ...);
void ck_html_base64(struct ck_html *h, const unsigned char *data, size_t n);

/* Text from data, escaped as content of an element or of a quoted attribute. Control characters
 * become their Unicode pictures; invalid UTF-8, line separators and direction marks become
 * U+FFFD, so that a name is shown as one line and cannot disguise itself. */
void ck_html_text(struct ck_html *h, const char *text);
/* Truncates to `max` columns, ending in an ellipsis. Wide letters count as two columns. */
void ck_html_short_text(struct ck_html *h, const char *text, int max);
/* Part of a URL: percent-encodes everything but letters, digits, '-', '_' and '.'. */
void ck_html_url(struct ck_html *h, const char *text);

/* A JSON document in the page, escaped for use inside <script>. j writes to h immediately, so
 * that white space put into h in between appears in the document. */
void ck_html_json_begin(struct ck_html *h, struct ck_json *j);
/* Closes all open arrays and objects; a failure of j becomes the status of h. */
void ck_html_json_end(struct ck_html *h, struct ck_json *j);
/* Text from data with the replacements of ck_html_text; key NULL = an array element. */
void ck_html_json_text(struct ck_json *j, const char *key, const char *text);

#endif
