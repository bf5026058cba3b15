/* nn_options.c - the options of encoders, plans, optimizers and the loss. */
#include "nn/nn_options.h"
#include "core/thread.h"
#include "nn/mlp.h"
#include "nn/optimizer.h"
#include "nn/resnet.h"

#define SEED_MAX 9007199254740992.0

/* ---- encoder ---- */

#define ROW(type_, field_, name_, def_, min_, max_, choices_, help_)                           \
    CK_OPT(type_, struct ck_encoder_options, field_, name_, def_, min_, max_, choices_, help_)

static const struct ck_option encoder_rows[] = {
    ROW(CK_OPT_CHOICE, arch, "arch", CK_RESNET18, 0, CK_RESNET50, "resnet18|resnet34|resnet50",
        "network architecture"),
    ROW(CK_OPT_CHOICE, stem, "stem", CK_STEM_IMAGENET, 0, CK_STEM_STL, "imagenet|cifar|stl",
        "first layers: 7x7 stride 2 and max pool; cifar: 3x3 for small images; stl: 3x3 and "
        "max pool 2x2"),
    ROW(CK_OPT_FLOAT, width, "width", 1, 0.015625, 16, NULL,
        "factor on the channels of all layers"),
    ROW(CK_OPT_INT, channels, "channels", 3, 1, 1024, NULL, "channels of the images"),
    {.name = "projector",
     .alias = "head",
     .type = CK_OPT_LAYERS,
     .offset = offsetof(struct ck_encoder_options, projector),
     .def = CK_PROJECTOR_MLP3,
     .choices = "none|linear|mlp2|mlp2bn|mlp3",
     .help =
         "projector: the layers behind the features; mlp2bn has batch norm between its two, "
         "mlp3 after each of its three; or widths and bn, bn0 (without scale and shift), relu, "
         "gelu, as in 2048-bn-relu-256"},
    ROW(CK_OPT_INT, hidden, "hidden", 0, 0, 65536, "auto",
        "hidden width of projector and predictor given by a word; auto: that of the features"),
    ROW(CK_OPT_INT, dim, "dim", 0, 1, 65536, "auto",
        "dimension of the projections; auto: the last width of the projector's layers, else "
        "128"),
    ROW(CK_OPT_LAYERS, predictor, "predictor", CK_PREDICTOR_ON, 0, 0, "off|on",
        "predictor: an MLP behind the projector; on: two layers with batch norm and ReLU "
        "between; or layers, as of the projector, that end with the dimension of the "
        "projections"),
    ROW(CK_OPT_FLAG, zero_residual, "zero-residual", 0, 0, 1, NULL,
        "initialise residual blocks as identities: features vary less between views"),
    ROW(CK_OPT_INT, seed, "seed", 1, 0, SEED_MAX, NULL, "seed of the initial weights"),
};

const struct ck_option_table *ck_encoder_option_table(void)
{
    static const struct ck_option_table table =
        CK_OPTION_TABLE(encoder_rows, struct ck_encoder_options);
    return &table;
}

struct ck_encoder_options ck_encoder_options_default(void)
{
    struct ck_encoder_options o;
    ck_options_default(ck_encoder_option_table(), &o);
    return o;
}

/* ---- plan ---- */

#undef ROW
#define ROW(type_, field_, name_, def_, min_, max_, choices_, help_)                           \
    CK_OPT(type_, struct ck_plan_options, field_, name_, def_, min_, max_, choices_, help_)
#define OUTPUT(i_, word_)                                                                      \
    ROW(CK_OPT_FLAG, want[i_], "want-" word_, 0, 0, 1, NULL, "compute the " word_ " output"),  \
        ROW(CK_OPT_FLAG, grad[i_], "grad-" word_, 0, 0, 1, NULL,                               \
            "take gradients of the " word_ " output")

static const struct ck_option plan_rows[] = {
    ROW(CK_OPT_INT, batch, "batch", 0, 0, 1 << 20, NULL, "images per batch"),
    ROW(CK_OPT_INT, height, "height", 0, 0, 1 << 16, NULL, "height of the images"),
    ROW(CK_OPT_INT, width, "width", 0, 0, 1 << 16, NULL, "width of the images"),
    ROW(CK_OPT_CHOICE, precision, "precision", 0, 0, CK_PRECISIONS - 1, CK_PRECISION_CHOICES,
        "precision of the activations inside the backbone; auto: the faster one, measured now"),
    ROW(CK_OPT_FLAG, train, "train", 1, 0, 1, NULL,
        "batch norm uses batch statistics, not the running ones"),
    ROW(CK_OPT_FLAG, backward, "backward", 1, 0, 1, NULL,
        "make the plan capable of a backward pass"),
    ROW(CK_OPT_FLAG, recompute, "recompute", 0, 0, 1, NULL,
        "recompute activations in the backward pass: less memory, slightly slower"),
    OUTPUT(0, "features"),
    OUTPUT(1, "logits"),
    OUTPUT(2, "proj"),
    OUTPUT(3, "pred"),
};

const struct ck_option_table *ck_plan_option_table(void)
{
    static const struct ck_option_table table =
        CK_OPTION_TABLE(plan_rows, struct ck_plan_options);
    return &table;
}

struct ck_plan_options ck_plan_options_default(void)
{
    struct ck_plan_options o;
    ck_options_default(ck_plan_option_table(), &o);
    return o;
}

/* ---- optimizer ---- */

#undef ROW
#define ROW(type_, field_, name_, def_, min_, max_, choices_, help_)                           \
    CK_OPT(type_, struct ck_optimizer_options, field_, name_, def_, min_, max_, choices_, help_)

static const struct ck_option optimizer_rows[] = {
    ROW(CK_OPT_CHOICE, kind, "optimizer", CK_LARS, 0, CK_ADAMW, "lars|sgd|adam|adamw",
        "optimizer of the weights"),
    ROW(CK_OPT_FLOAT, momentum, "momentum", 0.9, 0, 1, NULL,
        "momentum of the optimizer, below 1; of adam and adamw that of the gradients"),
    ROW(CK_OPT_FLOAT, weight_decay, "weight-decay", 1e-6, 0, 1, NULL,
        "weight decay of the optimizer"),
    ROW(CK_OPT_FLOAT, trust, "trust", 0.001, 0, 1e3, NULL, "trust coefficient of LARS"),
    ROW(CK_OPT_FLAG, trust_clip, "trust-clip", 0, 0, 1, NULL,
        "LARS: the factor of a tensor is at most 1, relative to the rate"),
    ROW(CK_OPT_FLOAT, second_momentum, "second-momentum", 0.999, 0, 1, NULL,
        "adam, adamw: momentum of the squares of the gradients, below 1"),
    ROW(CK_OPT_FLOAT, clip, "clip", 0, 0, 1e12, "off",
        "scale the gradients down where the norm of all of them is larger"),
};

const struct ck_option_table *ck_optimizer_option_table(void)
{
    static const struct ck_option_table table =
        CK_OPTION_TABLE(optimizer_rows, struct ck_optimizer_options);
    return &table;
}

struct ck_optimizer_options ck_optimizer_options_default(void)
{
    struct ck_optimizer_options o;
    ck_options_default(ck_optimizer_option_table(), &o);
    return o;
}

/* ---- loss ---- */

#undef ROW
#define ROW(type_, field_, name_, def_, min_, max_, choices_, help_)                           \
    CK_OPT(type_, struct ck_loss_options, field_, name_, def_, min_, max_, choices_, help_)

static const struct ck_option loss_rows[] = {
    ROW(CK_OPT_FLOAT, temperature, "temperature", 0.1, 1e-3, 10, NULL,
        "temperature of the loss"),
    ROW(CK_OPT_FLOAT, alpha, "alpha", 0.2, 0, 1, NULL,
        "weight of the label in the target; 1 - alpha is for the prediction of the other "
        "views"),
    ROW(CK_OPT_FLOAT, beta, "beta", 0.5, 0, 1, NULL,
        "weight of the predictor's loss; 1 - beta is for the projector's"),
    ROW(CK_OPT_FLOAT, large_weight, "large-weight", 0.5, 0, 1, NULL,
        "weight of the two large views; the small ones have the remainder"),
};

const struct ck_option_table *ck_loss_option_table(void)
{
    static const struct ck_option_table table =
        CK_OPTION_TABLE(loss_rows, struct ck_loss_options);
    return &table;
}

struct ck_loss_options ck_loss_options_default(void)
{
    struct ck_loss_options o;
    ck_options_default(ck_loss_option_table(), &o);
    return o;
}

#undef ROW
#define SETUP struct ck_loss_setup
#define ROW(type_, field_, name_, def_, min_, max_, help_)                                     \
    CK_OPT(type_, SETUP, field_, name_, def_, min_, max_, NULL, help_)

static const struct ck_option setup_rows[] = {
    ROW(CK_OPT_INTS, k, "k", 0, 1, 1 << 24, "centers of each head"),
    ROW(CK_OPT_INT, views, "views", 1, 1, 16, "views of an image: two large ones first"),
    ROW(CK_OPT_INT, batch, "batch", 1, 1, 1 << 20, "maximum number of images per batch"),
    ROW(CK_OPT_INT, dim, "dim", 128, 1, 65536, "dimension of the vectors"),
};

static struct ck_option_part setup_parts[2];
static struct ck_option setup_all[16];
static struct ck_option_table setup_table;

static void join_setup(void)
{
    static const struct ck_option_table own = CK_OPTION_TABLE(setup_rows, SETUP);
    setup_parts[0] = (struct ck_option_part){&own, 0, NULL};
    setup_parts[1] =
        (struct ck_option_part){ck_loss_option_table(), offsetof(SETUP, loss), NULL};
    ck_option_join(&setup_table, setup_all, 16, sizeof(SETUP), setup_parts, 2);
}

const struct ck_option_table *ck_loss_setup_table(void)
{
    static struct ck_once once = CK_ONCE;
    ck_once(&once, join_setup);
    return &setup_table;
}
