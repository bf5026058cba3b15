/* info.h - what a file holds, as text or JSON. */
#ifndef CK_INFO_H
#define CK_INFO_H

#include <stdio.h>

/* .npy, .fvecs, .bvecs, safetensors, or a directory with model.safetensors. */
int ck_info_print(const char *path, int json, FILE *to);

/* Names and values come from files: control characters become '?', so that they do not reach
 * the terminal. Padded with spaces to `width`. */
void ck_print_clean(FILE *to, const char *s, int width);

#endif
