/* train_options.c - the options of a training: those of its parts and its own, checked and
 * completed. */
#include "train/train_options.h"
#include "core/error.h"
#include "core/thread.h"
#include "data/recipe.h"
#include "nn/mlp.h"
#include "nn/optimizer.h"
#include "nn/schedule.h"
#include "train/method.h"

#include <math.h>
#include <string.h>

/* Epochs of a short training, without epoch 0. */
enum { SHORT_RUN = 100 };

#define OWN struct ck_train_options
#define ROW(type, field, name, def, min, max, choices, help)                                   \
    CK_OPT(type, OWN, field, name, def, min, max, choices, help)

static const struct ck_option own[] = {
    ROW(CK_OPT_CHOICE, method, "method", 0, 0, 0, "coke", "what the encoder learns by"),
    ROW(CK_OPT_CHOICE, eta_mode, "eta-mode", CK_ETA_MODE_SCALED, 0, 1, "scaled|shared",
        "eta of several heads: in proportion to their k, or the same for all as published"),
    ROW(CK_OPT_INT, epochs, "epochs", 101, 2, 1 << 19, NULL,
        "number of epochs, including epoch 0, which only clusters"),
    {.name = "alpha-start",
     .type = CK_OPT_FLOAT,
     .offset = offsetof(OWN, alpha_start),
     .def = -1,
     .max = 1,
     .choices = "auto",
     .zero = "alpha",
     .help = "alpha in epoch 0, from where it decreases linearly to alpha; alpha: constant; "
             "auto: 1 in trainings of at most 100 epochs, else alpha"},
    ROW(CK_OPT_FLOAT, alpha_until, "alpha-until", 0.5, 0, 1, NULL,
        "fraction of the epochs after which alpha has its final value"),
    ROW(CK_OPT_CHOICE, labels, "labels", CK_COUPLING_LAST, 0, 1, "last|current",
        "labels in the loss: of the last epoch, or of this step"),
    ROW(CK_OPT_CHOICE, centers, "centers", CK_COUPLING_LAST, 0, 1, "last|current",
        "centers in the loss: of the last epoch, or after this step"),
    ROW(CK_OPT_FLAG, keep_best, "keep-best", 0, 0, 1, NULL,
        "keep the last labels of a head unless the new ones fit better (Corollary 1)"),
    ROW(CK_OPT_INT, round, "round", 0, 0, 1e12, "epoch",
        "extension, not in the paper: the centers of the loss, and those that choose the "
        "labels, are renewed every N images, not only after each epoch"),
    ROW(CK_OPT_INTS, size_schedule, "size-schedule", 0, 8, 4096, "none",
        "sides of the large views, one after the other, each for an equal part of the epochs: "
        "16,24,32; the last one is the size"),
    ROW(CK_OPT_INT, embed_size, "embed-size", 0, 0, 4096, "size",
        "side of the images where the encoder is evaluated and used; random crops show objects "
        "larger than whole images do, so more pixels than in training often help"),
    ROW(CK_OPT_FLOAT, augment_ramp, "augment-ramp", 0, 0, 1, NULL,
        "augmentation grows from none to its full strength in this fraction of the epochs"),
    ROW(CK_OPT_FLOAT, ema, "ema", 0, 0, 0.999999, NULL,
        "decay per step of averaged weights, which are evaluated and saved as the encoder: "
        "0.999; 0: none"),
    ROW(CK_OPT_FLOAT, rate, "rate", 0, 0, 1e3, "auto",
        "peak learning rate; auto: 0.4*(log2(batch)-6) for LARS, 0.2*batch/128 for SGD, 0.001 "
        "for Adam and AdamW"),
    ROW(CK_OPT_CHOICE, predictor_rate, "predictor-rate", CK_RATE_SCHEDULED, 0, CK_RATE_CONSTANT,
        "scheduled|constant",
        "learning rate of the predictor: as of the others, or the peak in all steps (SimSiam)"),
    ROW(CK_OPT_FLOAT, weight_decay_end, "weight-decay-end", -1, 0, 1, "same",
        "weight decay at the end; it changes by half a cosine (DINO)"),
    ROW(CK_OPT_INT, warmup, "warmup", -1, -1, 1 << 19, "auto",
        "warm-up epochs of the learning rate; auto: a tenth of the epochs, at most 10"),
    ROW(CK_OPT_INT, accumulate, "accumulate", 0, 0, 1 << 16, "auto",
        "split each batch into N parts (gradient accumulation) to save memory; auto: as few as "
        "fit"),
    ROW(CK_OPT_CHOICE, precision, "precision", CK_PRECISION_F32, 0, CK_PRECISIONS - 1,
        CK_PRECISION_CHOICES,
        "precision of the activations inside the network; auto: the faster one, measured at "
        "the "
        "start, so that two machines may differ"),
    ROW(CK_OPT_INT, monitor, "monitor", 5, 0, 1 << 19, NULL,
        "evaluate k-NN, ACC, NMI and ARI every N epochs; 0: never"),
    ROW(CK_OPT_INT, save_epochs, "save-epochs", 1, 0, 1 << 19, NULL,
        "epochs between checkpoints, more if saving would take over 3.5 % of the time; 0: "
        "not by epochs"),
    ROW(CK_OPT_INT, save_steps, "save-steps", 0, 0, 1e12, NULL,
        "steps between checkpoints; 0: not by steps"),
    ROW(CK_OPT_FLOAT, save_minutes, "save-minutes", 30, 0, 1e6, NULL,
        "minutes between checkpoints; 0: not by time"),
    ROW(CK_OPT_INT, keep, "keep", 2, 1, 1000, NULL,
        "number of last checkpoints to keep; only one where the disk has no room for the next"),
    {.name = "init",
     .type = CK_OPT_TEXT,
     .offset = offsetof(OWN, init),
     .choices = "WEIGHTS",
     .help = "start from the encoder of another run, an encoder file, or weights that import "
             "takes",
     .local = 1},
    {.name = "from",
     .type = CK_OPT_TEXT,
     .offset = offsetof(OWN, from),
     .choices = "RUN",
     .help =
         "methods scan and selflabel: the finished run that they continue; network, size of "
         "the views and weights are its own",
     .local = 1},
};

/* ---- composition ---- */

/* A softmax over one center learns nothing. */
static const struct ck_option_override of_heads[] = {{"k", CK_NEW_BOUNDS(2, 1 << 20)},
                                                     {.name = NULL}};

/* The training sets n, k and dim of each head and stores labels; sizes have lower bounds. */
static const struct ck_option_override of_kmeans[] = {
    {"n", .drop = 1},
    {"k", .drop = 1},
    {"dim", .drop = 1},
    {"max-ratio", .drop = 1},
    {"tau", .drop = 1},
    {"inflate", .drop = 1},
    {"carry", .drop = 1},
    {"keep-labels", .drop = 1},
    {"metric", .drop = 1},
    {"eta", .help = "step of the duals, which control the sizes"},
    {"update", CK_NEW_BOUNDS(0, CK_UPDATE_EPOCH), .choices = "running|mean|epoch",
     .alias = "form",
     .help = "how centers move: running mean (the authors' way), mean of the epoch so far, or "
             "once per epoch"},
    {.name = NULL},
};

static const struct ck_option_override of_dataset[] = {{"one-pass", .drop = 1}, {.name = NULL}};

/* Batches keep their size. The training sets rank and ranks. */
static const struct ck_option_override of_loader[] = {
    {"batch", CK_NEW_DEF(0), CK_NEW_BOUNDS(0, 1 << 20), .choices = "auto",
     .help = "images per batch, of all processes together; auto: up to 256, from images and "
             "memory"},
    {"bad", CK_NEW_DEF(CK_BAD_REPLACE)},
    {"rank", .drop = 1},
    {"ranks", .drop = 1},
    {.name = NULL},
};

/* Both follow from the options of the images. */
static const struct ck_option_override of_encoder[] = {
    {"seed", .drop = 1}, {"channels", .drop = 1}, {.name = NULL}};

/* The choices are the rows of the table of methods; completed by join. */
static struct ck_option_override of_own[] = {{"method", CK_NEW_BOUNDS(0, 0)}, {.name = NULL}};

enum { PARTS = 10, ROWS = 160 };

static struct ck_option_part parts[PARTS];
static struct ck_option rows[ROWS];
static struct ck_option_table table;

static void join(void)
{
    static const struct ck_option_table own_table = CK_OPTION_TABLE(own, OWN);
    of_own[0].choices = ck_method_choices();
    for (const char *c = of_own[0].choices; *c; c++)
        of_own[0].max += *c == '|';
    const struct ck_option_part all[PARTS] = {
        {ck_heads_option_table(), offsetof(OWN, k), of_heads},
        {ck_kmeans_option_table(), offsetof(OWN, kmeans), of_kmeans},
        {ck_loss_option_table(), offsetof(OWN, loss), NULL},
        {ck_optimizer_option_table(), offsetof(OWN, optimizer), NULL},
        {&own_table, 0, of_own},
        {ck_method_option_table(), offsetof(OWN, own), NULL},
        {ck_dataset_option_table(), offsetof(OWN, data), of_dataset},
        {ck_view_option_table(), offsetof(OWN, loader.view), NULL},
        {ck_loader_own_table(), offsetof(OWN, loader), of_loader},
        {ck_encoder_option_table(), offsetof(OWN, encoder), of_encoder},
    };
    memcpy(parts, all, sizeof all);
    ck_option_join(&table, rows, ROWS, sizeof(OWN), parts, PARTS);
}

const struct ck_option_table *ck_train_option_table(void)
{
    static struct ck_once once = CK_ONCE;
    ck_once(&once, join);
    return &table;
}

struct ck_train_options ck_train_options_default(void)
{
    struct ck_train_options o;
    ck_options_default(ck_train_option_table(), &o);
    return o;
}

int ck_train_option_is_free(const char *name)
{
    static const char *const names[] = {"workers",      "prefetch", "save-epochs", "save-steps",
                                        "save-minutes", "keep",     "max-bad",     "monitor"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(names[i], name) == 0)
            return 1;
    return 0;
}

/* ---- checks ---- */

int ck_train_views(const struct ck_train_options *o)
{
    const struct ck_view_options *v = &o->loader.view;
    return v->views > 0 ? (int)v->views : ck_recipe_large(v->recipe);
}

void ck_train_settle_size(struct ck_train_options *o)
{
    if (o->size_schedule.n && o->loader.view.size == 0)
        o->loader.view.size = o->size_schedule.v[o->size_schedule.n - 1];
}

struct ck_course ck_train_course(const struct ck_train_options *o)
{
    return (struct ck_course){
        .epochs = o->epochs, .ramp = o->augment_ramp, .size = o->size_schedule};
}

static int check_sizes(const struct ck_train_options *o)
{
    const struct ck_ints *s = &o->size_schedule;
    int64_t size = o->loader.view.size;
    for (int i = 1; i < s->n; i++)
        if (s->v[i] < s->v[i - 1])
            return ck_fail(COKE_EUSAGE,
                           "size-schedule: %d after %d: sizes must not decrease, because the "
                           "last one is that of the encoder's images",
                           s->v[i], s->v[i - 1]);
    if (s->n && size > 0 && size != s->v[s->n - 1])
        return ck_fail(COKE_EUSAGE,
                       "size-schedule ends with %d, but size is %lld; set size %d, or auto",
                       s->v[s->n - 1], (long long)size, s->v[s->n - 1]);
    if (s->n > o->epochs)
        return ck_fail(COKE_EUSAGE, "size-schedule: %d sizes are too many for %lld epochs",
                       s->n, (long long)o->epochs);
    return COKE_OK;
}

static int check_modes(const struct ck_train_options *o)
{
    if (o->loader.view.recipe >= CK_RECIPE_LINEAR)
        return ck_fail(COKE_EUSAGE, "recipe: linear, eval and none are not for training");
    if (o->loader.batch > 0 && o->accumulate > o->loader.batch)
        return ck_fail(COKE_EUSAGE, "accumulate: cannot split a batch of %lld into %lld parts",
                       (long long)o->loader.batch, (long long)o->accumulate);
    if (o->predictor_rate == CK_RATE_CONSTANT && !ck_has_predictor(&o->encoder))
        return ck_fail(COKE_EUSAGE, "predictor-rate: there is no predictor");
    if (!ck_has_projector(&o->encoder))
        return ck_fail(COKE_EUSAGE,
                       "projector: training needs one (linear, mlp2, mlp2bn, mlp3 or layers)");
    return ck_mlp_check(&o->encoder);
}

int ck_train_options_check(const struct ck_train_options *o)
{
    struct ck_schedule sched;
    CK_RETURN_IF(ck_options_check(ck_train_option_table(), o));
    CK_RETURN_IF(check_modes(o));
    CK_RETURN_IF(check_sizes(o));
    CK_RETURN_IF(ck_method_check(o));
    return ck_schedule_init(&sched, 1, o->epochs, o->warmup, 1);
}

/* ---- what follows ---- */

double ck_train_rate(const struct ck_train_options *o)
{
    double b = (double)o->loader.batch;
    if (o->rate > 0)
        return o->rate;
    if (o->optimizer.kind == CK_SGD)
        return 0.2 * b / 128;
    if (o->optimizer.kind == CK_ADAM || o->optimizer.kind == CK_ADAMW)
        return 0.001;
    /* The paper: 1.6 at 1024, 1.2 at 512, .8 at 256. */
    return b >= 256 ? 0.4 * (log2(b) - 6) : 0.8 * b / 256;
}

double ck_train_weight_decay(const struct ck_train_options *o, int64_t step, int64_t steps)
{
    double from = o->optimizer.weight_decay, to = o->weight_decay_end;
    return to < 0 ? from : ck_schedule_cosine(from, to, step, steps);
}

/* Soft labels of a network that has learned nothing teach nothing: docs/results/ablations.md. */
static double alpha_start(const struct ck_train_options *o)
{
    if (o->alpha_start >= 0)
        return o->alpha_start > 0 ? o->alpha_start : o->loss.alpha;
    return o->epochs - 1 <= SHORT_RUN ? 1 : o->loss.alpha;
}

double ck_train_alpha(const struct ck_train_options *o, int64_t epoch)
{
    double end = o->alpha_until * (double)(o->epochs - 1), t = (double)epoch;
    if (t >= end)
        return o->loss.alpha;
    return alpha_start(o) + (o->loss.alpha - alpha_start(o)) * t / end;
}

double ck_train_eta(const struct ck_train_options *o, int64_t n, int h)
{
    double k = o->k.v[h], b = (double)o->loader.batch, least = k;
    for (int i = 0; i < o->k.n; i++)
        least = fmin(least, o->k.v[i]);
    if (o->kmeans.eta > 0)
        return o->eta_mode == CK_ETA_MODE_SCALED ? o->kmeans.eta * k / least : o->kmeans.eta;
    double whole = 3.3 * k * b / (fmax(o->kmeans.ratio, 0.05) * (double)n);
    return fmin(whole, 0.0025 * b);
}
