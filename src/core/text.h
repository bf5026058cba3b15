/* text.h - numbers as text, the same in every locale, and text of unknown origin.
 *
 * A program that calls setlocale() changes the decimal point of printf and strtod for the whole
 * process. Files, options and messages always use the C locale: these functions switch the
 * calling thread to it for the call and back, so that they are safe on any thread. Everything
 * in src/ that prints or parses a floating-point number uses them; scripts/check-layers
 * rejects printf and strtod. */
#ifndef CK_TEXT_H
#define CK_TEXT_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* snprintf, vsnprintf and fprintf. */
__attribute__((format(printf, 3, 4))) int ck_format(char *out, size_t size, const char *fmt,
                                                    ...);
__attribute__((format(printf, 3, 0))) int ck_format_list(char *out, size_t size,
                                                         const char *fmt, va_list ap);
__attribute__((format(printf, 2, 3))) int ck_print(FILE *to, const char *fmt, ...);

/* strtod: *end is where the number ends, `text` if there is none. */
double ck_parse_double(const char *text, char **end);

/* Whether a and b are equal up to the case of ASCII letters. */
int ck_text_same(const char *a, const char *b);

/* ---- text of unknown origin: file names, class names, metadata ---- */

enum { CK_TEXT_INVALID = 0xfffd };
/* The UTF-8 character at *s (not its end), which advances by it; CK_TEXT_INVALID for a byte
 * that is not part of one. */
uint32_t ck_text_next(const char **s);
/* Whether a terminal or a browser acts on it instead of showing it: control characters, line
 * separators, and what changes the direction of writing; and CK_TEXT_INVALID. */
int ck_text_acts(uint32_t c);
/* Copies text to out [size], for a terminal: with '?' for characters that act and for bytes
 * that are not UTF-8. What does not fit is cut off after a character. out may not overlap text.
 */
void ck_text_clean(const char *text, char *out, size_t size);

#endif
