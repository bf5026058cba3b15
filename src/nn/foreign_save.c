/* foreign_save.c - saves an encoder's tensors under the names that other programs expect. */
#include "nn/foreign.h"

#include "coke/types.h"

#include <stdio.h>
#include <string.h>

enum { NAME = 160 };

static int begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

static int is_head(const char *name)
{
    return begins(name, "fc.") || begins(name, "predictor.");
}

/* What precedes the names of the ResNet; of the predictor, where there is one, "module.". */
static const char *const prefixes[] = {
    [CK_NAMES_TORCHVISION] = "",           [CK_NAMES_AUTHORS] = "module.encoder.",
    [CK_NAMES_LIGHTLY] = "backbone.",      [CK_NAMES_SOLO] = "backbone.",
    [CK_NAMES_MOCO] = "module.encoder_q.", [CK_NAMES_DINO] = "module.backbone.",
    [CK_NAMES_VISSL] = "_feature_blocks.",
};

static void put_prefix(enum ck_naming naming, const char *name, char out[NAME])
{
    int beside = naming != CK_NAMES_TORCHVISION && begins(name, "predictor.");
    snprintf(out, NAME, "%s%s", beside ? "module." : prefixes[naming], name);
}

/* lightly has the children of torchvision's ResNet one after the other. */
static void name_lightly(const char *name, char out[NAME])
{
    static const struct {
        const char *name;
        int number;
    } children[] = {{"conv1.", 0},  {"bn1.", 1},    {"layer1.", 4},
                    {"layer2.", 5}, {"layer3.", 6}, {"layer4.", 7}};
    for (size_t i = 0; i < sizeof children / sizeof children[0]; i++)
        if (begins(name, children[i].name))
            snprintf(out, NAME, "%s%d.%s", prefixes[CK_NAMES_LIGHTLY], children[i].number,
                     name + strlen(children[i].name));
}

/* The last components of a tensor's name: its layer, without "weight" and the like. */
static const struct {
    const char *ours, *theirs;
} layers[] = {
    {"conv1.", "conv1."},           {"conv2.", "conv2."},
    {"conv3.", "conv3."},           {"bn1.", "conv1.norm."},
    {"bn2.", "conv2.norm."},        {"bn3.", "conv3.norm."},
    {"downsample.0.", "shortcut."}, {"downsample.1.", "shortcut.norm."},
};

/* As in MoCo's conversion: layer1.0.bn2.bias becomes res2.0.conv2.norm.bias. */
static void name_detectron2(const char *name, char out[NAME])
{
    int stage, block, used = 0;
    char place[32] = "stem.";
    if (sscanf(name, "layer%d.%d.%n", &stage, &block, &used) == 2 && used)
        snprintf(place, sizeof place, "res%d.%d.", stage + 1, block);
    name += used;
    snprintf(out, NAME, "%s%s", place, name);
    for (size_t i = 0; i < sizeof layers / sizeof layers[0]; i++)
        if (begins(name, layers[i].ours))
            snprintf(out, NAME, "%s%s%s", place, layers[i].theirs,
                     name + strlen(layers[i].ours));
}

/* Renames the tensors of ck_net_save; `own` holds only borrowed data. */
int ck_foreign_save(const struct coke_encoder *e, enum ck_naming naming, int heads,
                    struct ck_state *out)
{
    struct ck_state own = {0};
    int rc = ck_net_save(&e->net, &own);
    for (int i = 0; i < own.ntensors && !rc; i++) {
        const struct ck_tensor *t = &own.tensor[i];
        char name[NAME];
        if (!heads && is_head(t->name))
            continue;
        if (naming == CK_NAMES_DETECTRON2)
            name_detectron2(t->name, name);
        else if (naming == CK_NAMES_LIGHTLY)
            name_lightly(t->name, name);
        else
            put_prefix(naming, t->name, name);
        rc = ck_state_add(out, name, t->dtype, t->ndim, t->shape, t->data);
    }
    ck_state_release(&own);
    return rc;
}
