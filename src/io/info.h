/* info.h - describes what a file contains, as text or JSON (`coke info`). */
#ifndef CK_INFO_H
#define CK_INFO_H

#include <stdio.h>

/* path is a file of rows in any format, or an array in one (x.npz:train), a safetensors file, or
 * a directory with model.safetensors. raw is NULL, or TYPE:COLUMNS[:OFFSET] of a file of rows
 * without a header.
 * Nothing is printed if the file is invalid. */
int ck_info_print(const char *path, const char *raw, int json, FILE *to);

/* Prints s, padded with spaces to `width`. Names and values come from untrusted files: what a
 * terminal acts on becomes '?' (core/text.h). */
void ck_print_clean(FILE *to, const char *s, int width);

#endif
