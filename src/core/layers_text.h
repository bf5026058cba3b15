/* layers_text.h - a multilayer perceptron as text: "2048-bn-relu-256". */
#ifndef CK_LAYERS_TEXT_H
#define CK_LAYERS_TEXT_H

#include <stddef.h>
#include <stdint.h>

enum { CK_MAX_LAYERS = 32, CK_LAYERS_WIDTH = 65536, CK_LAYERS_TEXT = 6 * CK_MAX_LAYERS };

/* A layer is the width of a linear layer, or one of these. */
enum ck_layer_code {
    CK_LAYER_CODE_BN = -1,
    CK_LAYER_CODE_BN0 = -2, /* batch norm without scale and shift */
    CK_LAYER_CODE_RELU = -3,
    CK_LAYER_CODE_GELU = -4
};

/* A word of an option's choices, or layers instead of it. */
struct ck_layers {
    int32_t word; /* index into choices, where n is 0 */
    int32_t n;
    int32_t v[CK_MAX_LAYERS];
};

/* Layers separated by '-', the first of them a width; no two norms or two activations in a row.
 * `name` is the option's, for messages. A text that is refused leaves *out as it was. */
int ck_layers_parse(const char *name, const char *text, struct ck_layers *out);
/* Is a struct that was filled by hand what parsing could have returned, with n > 0? */
int ck_layers_check(const char *name, const struct ck_layers *l);
/* As ck_layers_parse takes it; returns the length, also of a text that was truncated. */
int ck_layers_print(const struct ck_layers *l, char *text, size_t size);

/* The last width. */
int64_t ck_layers_out(const struct ck_layers *l);

#endif
