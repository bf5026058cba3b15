/* foreign_heads.c - finds the layers of projector and predictor in tensors that other programs
 * saved.
 *
 * The file is not trusted: every width is checked against the one before, so that no network is
 * built that is larger than the file. */
#include "core/error.h"
#include "nn/foreign_heads.h"
#include "nn/mlp.h"

#include <stdio.h>
#include <string.h>

enum { NAME = 96 };

static const struct ck_tensor *find(const struct ck_foreign_names *f, const char *head, int i,
                                    const char *what)
{
    char name[NAME];
    if (i < 0)
        snprintf(name, sizeof name, "%s.%s", head, what);
    else
        snprintf(name, sizeof name, "%s.%d.%s", head, i, what);
    return ck_state_find(f->own, name);
}

static int fail(const struct ck_foreign_names *f, const char *head, int i, const char *what)
{
    return ck_fail(COKE_EFORMAT, "%s: layer %s%s.%d %s", f->path, f->prefix, head, i, what);
}

static int take_linear(const struct ck_foreign_names *f, const char *head, int i,
                       const struct ck_tensor *t, int64_t *width, struct ck_layers *l)
{
    if (t->shape[0] < 1 || t->shape[0] > CK_LAYERS_WIDTH || t->shape[1] != *width)
        return ck_fail(COKE_EFORMAT,
                       "%s: layer %s%s.%d maps %lld values to %lld, but the layer before has "
                       "%lld",
                       f->path, f->prefix, head, i, (long long)t->shape[1],
                       (long long)t->shape[0], (long long)*width);
    *width = l->v[l->n++] = (int32_t)t->shape[0];
    return COKE_OK;
}

/* Layers have the numbers of an nn.Sequential. A number without tensors is an activation, taken
 * for ReLU: names do not tell which. */
static int find_layers(const struct ck_foreign_names *f, const char *head, int64_t width,
                       struct ck_layers *l)
{
    const struct ck_tensor *t = find(f, head, -1, "weight");
    int skipped = 0;
    l->n = 0;
    if (t)
        return t->ndim == 2 ? take_linear(f, head, 0, t, &width, l)
                            : fail(f, head, 0, "is not linear");
    for (int i = 0; i < CK_MAX_LAYERS; i++) {
        t = find(f, head, i, "weight");
        int norm = find(f, head, i, "running_mean") != NULL;
        if (!t && !norm) {
            skipped++;
            continue;
        }
        if (skipped > 1 || (skipped && l->n == 0))
            return fail(f, head, i, "does not follow a linear layer, norm or activation");
        if (skipped)
            l->v[l->n++] = CK_LAYER_CODE_RELU;
        skipped = 0;
        if (norm)
            l->v[l->n++] = t ? CK_LAYER_CODE_BN : CK_LAYER_CODE_BN0;
        else if (t->ndim != 2)
            return fail(f, head, i, "is neither linear nor a batch norm");
        else
            CK_RETURN_IF(take_linear(f, head, i, t, &width, l));
    }
    return l->n ? ck_layers_check(head, l) : COKE_OK;
}

static int same(const struct ck_layers *a, const struct ck_layers *b)
{
    return a->n == b->n && memcmp(a->v, b->v, (size_t)a->n * sizeof *a->v) == 0;
}

/* Replaces layers by the word that stands for them, if there is one. */
static void name_projector(struct ck_encoder_options *e, int64_t features)
{
    struct ck_encoder_options named = *e;
    if (e->projector.n == 0) {
        e->projector.word = CK_PROJECTOR_NONE;
        return;
    }
    named.hidden = e->projector.v[0];
    named.dim = e->dim = ck_layers_out(&e->projector);
    for (int32_t word = CK_PROJECTOR_LINEAR; word <= CK_PROJECTOR_MLP3; word++) {
        named.projector = (struct ck_layers){.word = word};
        struct ck_layers l = ck_projector_layers(&named, features);
        if (!same(&l, &e->projector))
            continue;
        e->projector = named.projector;
        e->hidden = word == CK_PROJECTOR_LINEAR ? 0 : named.hidden;
        return;
    }
}

/* The same for the predictor, which shares `hidden` with a projector given by a word. */
static void name_predictor(struct ck_encoder_options *e, int64_t features)
{
    struct ck_encoder_options named = *e;
    named.predictor = (struct ck_layers){.word = CK_PREDICTOR_ON};
    if (e->predictor.n == 0) {
        e->predictor.word = CK_PREDICTOR_OFF;
        return;
    }
    if (e->hidden == 0)
        named.hidden = e->predictor.v[0];
    struct ck_layers l = ck_predictor_layers(&named, features);
    if (same(&l, &e->predictor)) {
        e->predictor = named.predictor;
        e->hidden = named.hidden;
    }
}

int ck_foreign_find_heads(const struct ck_foreign_names *f, int64_t features,
                          struct ck_encoder_options *e)
{
    CK_RETURN_IF(find_layers(f, "fc", features, &e->projector));
    name_projector(e, features);
    if (!ck_has_projector(e)) {
        e->predictor = (struct ck_layers){.word = CK_PREDICTOR_OFF};
        return COKE_OK;
    }
    CK_RETURN_IF(find_layers(f, "predictor", ck_projector_dim(e), &e->predictor));
    name_predictor(e, features);
    return COKE_OK;
}
