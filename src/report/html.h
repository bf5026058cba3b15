/* html.h - a page being written: what comes from data goes in escaped.
 *
 * The functions never fail visibly: the first failure is kept, and ck_html_commit returns it.
 */
#ifndef CK_HTML_H
#define CK_HTML_H

#include "io/file.h"
#include "io/json.h"

#include <stdint.h>

struct ck_html {
    struct ck_writer w;
    int64_t bytes; /* written so far */
    int status;
};

int ck_html_open(struct ck_html *h, const char *path, int force);
int ck_html_commit(struct ck_html *h);
void ck_html_abort(struct ck_html *h);

/* As it is. */
void ck_html_bytes(struct ck_html *h, const void *data, size_t n);
void ck_html_put(struct ck_html *h, const char *text);
/* As it is, too: for numbers and words of our own, never for text from data. */
__attribute__((format(printf, 2, 3))) void ck_html_format(struct ck_html *h, const char *fmt,
                                                          ...);
void ck_html_base64(struct ck_html *h, const unsigned char *data, size_t n);

/* Text from data, as the content of an element or of a quoted attribute. Bytes that are no
 * UTF-8 become U+FFFD, control characters their pictures, and marks that turn the direction of
 * writing U+FFFD: a name stays one line that reads as it is. */
void ck_html_text(struct ck_html *h, const char *text);
/* No wider than `most` letters; an ellipsis stands for the rest. Wide scripts count twice. */
void ck_html_short_text(struct ck_html *h, const char *text, int most);
/* As part of a URL: everything but letters, digits, '-', '_' and '.' as %xx. */
void ck_html_url(struct ck_html *h, const char *text);

/* A JSON document in the page, safe inside <script>. It goes to h as it is written, so that
 * white space put into h in between appears in it. */
void ck_html_json_begin(struct ck_html *h, struct ck_json *j);
/* Ends all that is open, and keeps the failure of j as that of h. */
void ck_html_json_end(struct ck_html *h, struct ck_json *j);
/* Text from data as ck_html_text shows it. */
void ck_html_json_text(struct ck_json *j, const char *key, const char *text);

#endif
