/* layers_text.c - a multilayer perceptron as text: "2048-bn-relu-256". */
#include "core/layers_text.h"
#include "core/error.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *word;
    enum ck_layer_code code;
} words[] = {
    {"bn", CK_LAYER_CODE_BN},
    {"bn0", CK_LAYER_CODE_BN0},
    {"relu", CK_LAYER_CODE_RELU},
    {"gelu", CK_LAYER_CODE_GELU},
};

enum { WORDS = sizeof words / sizeof words[0], WORD = 24 };

/* The layer that a word means; 0 = none. */
static int32_t layer_of(const char *word)
{
    char *end;
    for (int i = 0; i < WORDS; i++)
        if (strcmp(words[i].word, word) == 0)
            return (int32_t)words[i].code;
    if (word[0] < '0' || word[0] > '9')
        return 0;
    long width = strtol(word, &end, 10);
    return *end || width < 1 || width > CK_LAYERS_WIDTH ? 0 : (int32_t)width;
}

static const char *word_of(int32_t layer)
{
    for (int i = 0; i < WORDS; i++)
        if ((int32_t)words[i].code == layer)
            return words[i].word;
    return NULL;
}

static int is_activation(int32_t layer)
{
    return layer == CK_LAYER_CODE_RELU || layer == CK_LAYER_CODE_GELU;
}

static int is_norm(int32_t layer)
{
    return layer == CK_LAYER_CODE_BN || layer == CK_LAYER_CODE_BN0;
}

int ck_layers_check(const char *name, const struct ck_layers *l)
{
    if (l->n < 1 || l->n > CK_MAX_LAYERS)
        return ck_fail(COKE_EUSAGE, "%s: %d layers, 1 to %d are possible", name, l->n,
                       CK_MAX_LAYERS);
    for (int i = 0; i < l->n; i++)
        if (l->v[i] > CK_LAYERS_WIDTH || (l->v[i] < 1 && !word_of(l->v[i])))
            return ck_fail(COKE_EUSAGE,
                           "%s: layer %d is %d, neither a width within 1..%d nor a code", name,
                           i + 1, l->v[i], CK_LAYERS_WIDTH);
    if (l->v[0] < 1)
        return ck_fail(COKE_EUSAGE,
                       "%s: the first layer must be a width (as in 2048-bn-relu-256), not %s",
                       name, word_of(l->v[0]));
    for (int i = 1; i < l->n; i++)
        if ((is_norm(l->v[i]) && is_norm(l->v[i - 1])) ||
            (is_activation(l->v[i]) && is_activation(l->v[i - 1])))
            return ck_fail(COKE_EUSAGE, "%s: %s directly after %s", name, word_of(l->v[i]),
                           word_of(l->v[i - 1]));
    return COKE_OK;
}

int ck_layers_parse(const char *name, const char *text, struct ck_layers *out)
{
    struct ck_layers l = {0};
    for (const char *p = text;; p++) {
        char word[WORD];
        size_t n = strcspn(p, "-");
        snprintf(word, sizeof word, "%.*s", (int)(n < WORD ? n : WORD - 1), p);
        int32_t layer = n < WORD ? layer_of(word) : 0;
        if (layer == 0)
            return ck_fail(COKE_EUSAGE,
                           "%s: '%s' is no layer; use widths within 1..%d, bn, bn0, relu and "
                           "gelu, as in 2048-bn-relu-256",
                           name, word, CK_LAYERS_WIDTH);
        if (l.n == CK_MAX_LAYERS)
            return ck_fail(COKE_EUSAGE, "%s: more than %d layers", name, CK_MAX_LAYERS);
        l.v[l.n++] = layer;
        p += n;
        if (!*p)
            break;
    }
    CK_RETURN_IF(ck_layers_check(name, &l));
    *out = l;
    return COKE_OK;
}

int ck_layers_print(const struct ck_layers *l, char *text, size_t size)
{
    int used = snprintf(text, size, "%s", "");
    for (int i = 0; i < l->n; i++) {
        char number[16];
        const char *word = word_of(l->v[i]);
        size_t at = (size_t)used < size ? (size_t)used : size;
        snprintf(number, sizeof number, "%d", l->v[i]);
        used += snprintf(text + at, size - at, "%s%s", i ? "-" : "", word ? word : number);
    }
    return used;
}

int64_t ck_layers_out(const struct ck_layers *l)
{
    for (int i = l->n - 1; i >= 0; i--)
        if (l->v[i] > 0)
            return l->v[i];
    return 0;
}
