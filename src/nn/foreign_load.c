/* foreign_load.c - builds an encoder from tensors that other programs named.
 *
 * The file is not trusted: shapes are checked against each other before a network of that size
 * is built. */
#include "core/error.h"
#include "core/mem.h"
#include "io/convert.h"
#include "nn/foreign.h"
#include "nn/foreign_heads.h"
#include "nn/resnet.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PREFIX = 128, CANDIDATES = 8 };

/* The state of one ck_foreign_load. */
struct load {
    const struct ck_state *s;
    const char *path;
    const struct ck_foreign_options *o;
    char prefix[PREFIX];  /* what precedes conv1.weight */
    char sibling[PREFIX]; /* what precedes predictor.0.weight in the authors' files */
    int child;            /* the children have numbers, and layer1 this one; 0 = names */
    char renamed[2 * PREFIX];
    struct ck_state own; /* the tensors under our names */
    /* [nconverted] f32 copies that `own` borrows */
    void **converted;
    int nconverted;
    struct ck_encoder_options e;
};

static int begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

static int ends(const char *text, const char *with)
{
    size_t n = strlen(text), m = strlen(with);
    return n >= m && strcmp(text + n - m, with) == 0;
}

/* ---- the prefix ---- */

static const char first_block[] = "layer1.0.conv1.weight";

/* Where the blocks of layer1 can be in an nn.Sequential of a ResNet's children (lightly): behind
 * convolution and norm, with or without ReLU and max pool between. */
enum { FIRST_CHILD = 2, LAST_CHILD = 4 };

static int has_tensor(const struct ck_state *s, const char *prefix, const char *name)
{
    char whole[PREFIX + 64];
    snprintf(whole, sizeof whole, "%s%s", prefix, name);
    return ck_state_find(s, whole) != NULL;
}

/* The place of layer1 among numbered children behind this prefix; 0 = they have names. */
static int find_child(const struct ck_state *s, const char *prefix)
{
    char name[32];
    if (has_tensor(s, prefix, "conv1.weight") || !has_tensor(s, prefix, "0.weight"))
        return 0;
    for (int child = FIRST_CHILD; child <= LAST_CHILD; child++) {
        snprintf(name, sizeof name, "%d.0.conv1.weight", child);
        if (has_tensor(s, prefix, name))
            return child;
    }
    return 0;
}

static int has_stem(const struct ck_state *s, const char *prefix)
{
    return has_tensor(s, prefix, "conv1.weight") || find_child(s, prefix);
}

/* The length of what precedes a ResNet's names in the name of a first block; -1 = none. */
static int prefix_length(const char *name)
{
    char child[32];
    size_t n = strlen(name);
    if (ends(name, first_block))
        return (int)(n - strlen(first_block));
    for (int c = FIRST_CHILD; c <= LAST_CHILD; c++) {
        int m = snprintf(child, sizeof child, "%d.0.conv1.weight", c);
        if (ends(name, child) && (n == (size_t)m || name[n - (size_t)m - 1] == '.'))
            return (int)n - m;
    }
    return -1;
}

/* Lists everything that precedes a ResNet's names. */
static int list_prefixes(const struct ck_state *s, char out[CANDIDATES][PREFIX])
{
    int n = 0;
    for (int i = 0; i < s->ntensors && n < CANDIDATES; i++) {
        int size = prefix_length(s->tensor[i].name), known = 0;
        if (size < 0 || size >= PREFIX)
            continue;
        snprintf(out[n], PREFIX, "%.*s", size, s->tensor[i].name);
        for (int j = 0; j < n; j++)
            known |= strcmp(out[j], out[n]) == 0;
        n += !known && has_stem(s, out[n]);
    }
    return n;
}

/* Chooses, of several networks in one file, the trained one (MoCo's query, solo-learn's
 * backbone), or the one that its authors evaluate (DINO's teacher). */
static int choose_prefix(struct load *l)
{
    static const char *const usual[] = {"",
                                        "module.",
                                        "module.encoder.",
                                        "module.encoder_q.",
                                        "encoder_q.",
                                        "encoder.",
                                        "backbone.",
                                        "module.backbone.",
                                        "teacher.backbone.",
                                        "teacher.module.backbone.",
                                        "model."};
    char found[CANDIDATES][PREFIX];
    int n = list_prefixes(l->s, found);
    if (n == 0)
        return ck_fail(COKE_EFORMAT,
                       "%s contains neither an encoder of coke nor a torchvision ResNet: no "
                       "tensors ...conv1.weight and "
                       "...%s; its first tensor is %s",
                       l->path, first_block, l->s->ntensors ? l->s->tensor[0].name : "(none)");
    for (size_t u = 0; n > 1 && u < sizeof usual / sizeof usual[0]; u++)
        for (int i = 0; i < n; i++)
            if (strcmp(found[i], usual[u]) == 0) {
                memcpy(l->prefix, found[i], PREFIX);
                return COKE_OK;
            }
    if (n > 1)
        return ck_fail(COKE_EUSAGE,
                       "%s contains several networks: choose one by prefix, %s or %s", l->path,
                       found[0], found[1]);
    memcpy(l->prefix, found[0], PREFIX);
    return COKE_OK;
}

/* The authors' predictor is a sibling of their encoder, not inside it. */
static int set_prefix(struct load *l)
{
    if (l->o->prefix) {
        snprintf(l->prefix, PREFIX, "%s", l->o->prefix);
        if (strlen(l->o->prefix) >= PREFIX || !has_stem(l->s, l->prefix))
            return ck_fail(COKE_EUSAGE, "%s has no tensor %sconv1.weight", l->path,
                           l->o->prefix);
    } else {
        CK_RETURN_IF(choose_prefix(l));
    }
    l->child = find_child(l->s, l->prefix);
    if (ends(l->prefix, "encoder."))
        snprintf(l->sibling, PREFIX, "%.*spredictor.",
                 (int)(strlen(l->prefix) - strlen("encoder.")), l->prefix);
    return COKE_OK;
}

/* ---- tensors under coke's names ---- */

static int is_backbone(const char *name)
{
    return begins(name, "conv1.") || begins(name, "bn1.") || begins(name, "layer1.") ||
           begins(name, "layer2.") || begins(name, "layer3.") || begins(name, "layer4.");
}

/* The name of a numbered child's tensor: "0.weight" is conv1.weight, "4.1.shortcut.0.weight" is
 * layer1.1.downsample.0.weight. The buffer is l->renamed. */
static const char *rename_child(struct load *l, const char *name)
{
    static const char shortcut[] = "shortcut.";
    char *dot, *end = l->renamed + sizeof l->renamed;
    long child = strtol(name, &dot, 10), layer = child - l->child + 1;
    if (dot == name || *dot != '.' || (child > 1 && (layer < 1 || layer > 4)))
        return NULL;
    char *to = l->renamed;
    if (child < 2)
        to += snprintf(to, sizeof l->renamed, "%s", child ? "bn1" : "conv1");
    else
        to += snprintf(to, sizeof l->renamed, "layer%ld", layer);
    const char *old = strstr(dot, shortcut);
    if (old)
        snprintf(to, (size_t)(end - to), "%.*sdownsample.%s", (int)(old - dot), dot,
                 old + strlen(shortcut));
    else
        snprintf(to, (size_t)(end - to), "%s", dot);
    return l->renamed;
}

/* coke's name for a tensor, valid until the next call, or NULL if it is left out. */
static const char *own_name(struct load *l, const char *name)
{
    const char *own = NULL;
    if (begins(name, l->prefix))
        own = name + strlen(l->prefix);
    else if (l->sibling[0] && begins(name, l->sibling))
        own = name + strlen(l->sibling) - strlen("predictor.");
    if (own && l->child)
        own = rename_child(l, own);
    if (own && l->o->ignore && begins(own, l->o->ignore))
        return NULL;
    return own && (l->o->heads || is_backbone(own)) ? own : NULL;
}

static int is_float(enum ck_dtype t)
{
    return t == CK_F32 || t == CK_F16 || t == CK_BF16 || t == CK_F64;
}

/* Adds the tensor as f32. Always copies: data in a file may be unaligned. */
static int add_float(struct load *l, const char *name, const struct ck_tensor *t)
{
    int64_t n = ck_tensor_elements(t);
    float *x = ck_alloc_array((size_t)n, sizeof *x);
    if (!x)
        return COKE_ENOMEM;
    l->converted[l->nconverted++] = x;
    ck_convert_f32(t->dtype, t->data, n, x);
    for (int64_t i = 0; i < n; i++)
        if (!isfinite(x[i]))
            return ck_fail(COKE_EFORMAT, "%s: tensor '%s' has %s at index %lld", l->path,
                           t->name, isnan(x[i]) ? "NaN" : "a value beyond f32", (long long)i);
    return ck_state_add(&l->own, name, CK_F32, t->ndim, t->shape, x);
}

static int collect(struct load *l)
{
    l->converted = ck_calloc_array((size_t)l->s->ntensors, sizeof *l->converted);
    if (!l->converted)
        return COKE_ENOMEM;
    for (int i = 0; i < l->s->ntensors; i++) {
        const struct ck_tensor *t = &l->s->tensor[i];
        const char *name = own_name(l, t->name);
        if (name && is_float(t->dtype))
            CK_RETURN_IF(add_float(l, name, t));
        else if (name)
            CK_RETURN_IF(ck_state_add(&l->own, name, t->dtype, t->ndim, t->shape, t->data));
    }
    return COKE_OK;
}

/* ---- the options, from names and shapes ---- */

/* Requires that tensor `name` has this shape (0 = any length), so that no small tensor makes
 * coke build a network larger than the file. */
static int need(const struct load *l, const char *name, int ndim, const int64_t *shape,
                const struct ck_tensor **out)
{
    char text[CK_SHAPE_TEXT];
    const struct ck_tensor *t = ck_state_find(&l->own, name);
    if (!t)
        return ck_fail(COKE_EFORMAT, "%s: %s%s is missing", l->path, l->prefix, name);
    int fits = t->ndim == ndim;
    for (int i = 0; fits && i < ndim; i++)
        fits = shape[i] ? t->shape[i] == shape[i] : t->shape[i] > 0;
    if (out)
        *out = t;
    if (fits)
        return COKE_OK;
    ck_shape_text(t->ndim, t->shape, text);
    return ck_fail(COKE_EFORMAT,
                   "%s: %s%s has shape %s, which fits no supported ResNet (18, 34, 50)",
                   l->path, l->prefix, name, text);
}

static int count_blocks(const struct load *l, int stage)
{
    char name[64];
    int n = 0;
    do
        snprintf(name, sizeof name, "layer%d.%d.conv1.weight", stage, n);
    while (ck_state_find(&l->own, name) && ++n < 100);
    return n;
}

static int find_arch(struct load *l)
{
    static const struct {
        int blocks[4], bottleneck;
        enum ck_arch arch;
    } archs[] = {{{2, 2, 2, 2}, 0, CK_RESNET18},
                 {{3, 4, 6, 3}, 0, CK_RESNET34},
                 {{3, 4, 6, 3}, 1, CK_RESNET50}};
    int bottleneck = ck_state_find(&l->own, "layer1.0.conv3.weight") != NULL, blocks[4];
    for (int i = 0; i < 4; i++)
        blocks[i] = count_blocks(l, i + 1);
    for (size_t i = 0; i < sizeof archs / sizeof archs[0]; i++)
        if (memcmp(blocks, archs[i].blocks, sizeof blocks) == 0 &&
            bottleneck == archs[i].bottleneck) {
            l->e.arch = (int32_t)archs[i].arch;
            return COKE_OK;
        }
    return ck_fail(
        COKE_EFORMAT,
        "%s: a ResNet of %d, %d, %d and %d blocks of %d convolutions; only ResNet-18, "
        "34 and 50 are supported",
        l->path, blocks[0], blocks[1], blocks[2], blocks[3], bottleneck ? 3 : 2);
}

static int find_backbone(struct load *l)
{
    const struct ck_tensor *stem;
    CK_RETURN_IF(need(l, "conv1.weight", 4, (int64_t[4]){0}, &stem));
    int64_t planes = stem->shape[0], last[] = {8 * planes, 8 * planes, 3, 3};
    if (stem->shape[2] != stem->shape[3] || (stem->shape[2] != 7 && stem->shape[2] != 3))
        return ck_fail(COKE_EFORMAT,
                       "%s: %sconv1 is %lld x %lld; 7 x 7 and 3 x 3 are supported", l->path,
                       l->prefix, (long long)stem->shape[2], (long long)stem->shape[3]);
    l->e.stem = stem->shape[2] == 7 ? CK_STEM_IMAGENET : CK_STEM_CIFAR;
    l->e.channels = stem->shape[1];
    l->e.width = (double)planes / 64;
    CK_RETURN_IF(find_arch(l));
    return need(l, "layer4.0.conv2.weight", 4, last, NULL);
}

static int find_options(struct load *l)
{
    l->e = ck_encoder_options_default();
    CK_RETURN_IF(find_backbone(l));
    int64_t planes = llround(64 * l->e.width);
    struct ck_foreign_names names = {&l->own, l->path, l->prefix};
    return ck_foreign_find_heads(&names, (l->e.arch == CK_RESNET50 ? 32 : 8) * planes, &l->e);
}

/* ---- what is left out ---- */

/* A name truncated to as many components as the prefix has: "module.encoder_k.*". */
static void group_of(const struct load *l, const char *name, char out[PREFIX])
{
    int words = 1;
    size_t n = 0;
    for (const char *p = l->prefix; *p; p++)
        words += *p == '.' && p[1];
    while (name[n] && n < PREFIX - 8 && (name[n] != '.' || --words > 0))
        n++;
    snprintf(out, PREFIX, "%.*s%s", (int)n, name, name[n] ? ".*" : "");
}

/* Writes the note: groups of names instead of hundreds of tensors. */
static void note_left_out(struct load *l, char note[CK_FOREIGN_NOTE])
{
    char group[PREFIX], list[CK_FOREIGN_NOTE - 128] = "";
    int n = 0;
    for (int i = 0; i < l->s->ntensors; i++) {
        size_t used = strlen(list);
        if (own_name(l, l->s->tensor[i].name))
            continue;
        n++;
        group_of(l, l->s->tensor[i].name, group);
        if (strstr(list, group))
            continue;
        if (used + strlen(group) + 8 < sizeof list)
            snprintf(list + used, sizeof list - used, "%s%s", used ? ", " : "", group);
        else if (!ends(list, "..."))
            snprintf(list + used, sizeof list - used, ", ...");
    }
    note[0] = 0;
    if (n)
        snprintf(note, CK_FOREIGN_NOTE, "%d tensors are left out: %s", n, list);
}

int ck_foreign_load(struct coke_encoder *e, const struct ck_state *s, const char *path,
                    const struct ck_foreign_options *o, char note[CK_FOREIGN_NOTE])
{
    int rc = COKE_OK;
    struct load l = {.s = s, .path = path, .o = o};
    CK_TRY(set_prefix(&l));
    CK_TRY(collect(&l));
    CK_TRY(find_options(&l));
    rc = ck_encoder_init(e, &l.e);
    if (rc) {
        rc = ck_fail_prefix(rc == COKE_EUSAGE ? COKE_EFORMAT : rc, "%s: ", path);
        goto done;
    }
    rc = ck_net_load(&e->net, &l.own, path, NULL);
    if (rc)
        ck_encoder_release(e);
    else
        note_left_out(&l, note);
done:
    for (int i = 0; i < l.nconverted; i++)
        ck_free(l.converted[i]);
    ck_free(l.converted);
    ck_state_release(&l.own);
    return rc;
}
