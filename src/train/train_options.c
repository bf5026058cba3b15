/* train_options.c - what training needs to know: one table from those of its parts and its own
 * rows, checked and completed. */
#include "train/train_options.h"
#include "core/error.h"
#include "core/option.h"
#include "data/data_options.h"
#include "nn/schedule.h"

#include <math.h>
#include <string.h>

#define OWN struct coke_train_options
#define ROW(type, field, name, def, min, max, choices, help)                                   \
    CK_OPT(type, OWN, field, name, def, min, max, choices, help)

static const struct coke_option own[] = {
    ROW(COKE_OPT_INTS, k, "k", 0, 2, 1 << 20, NULL,
        "clusters; several numbers, as in 10,20,50: as many heads"),
    ROW(COKE_OPT_FLOAT, ratio, "ratio", 0.4, 0, 1, NULL,
        "least size of a cluster as a share of n/k"),
    ROW(COKE_OPT_FLOAT, eta, "eta", 0, 0, 1e6, "auto", "step of the duals"),
    ROW(COKE_OPT_CHOICE, eta_mode, "eta-mode", COKE_ETA_SCALED, 0, 1, "scaled|shared",
        "heads: eta grows with their k, or is one for all as published"),
    ROW(COKE_OPT_CHOICE, form, "form", COKE_CENTERS_RUNNING, 0, 2, "running|mean|epoch",
        "centers move with every batch (running: the authors' way) or once an epoch"),
    ROW(COKE_OPT_INT, epochs, "epochs", 101, 2, 1 << 19, NULL,
        "with epoch 0, which only clusters"),
    ROW(COKE_OPT_INT, stage, "stage", -1, -1, 1 << 19, "none",
        "first epoch of the second stage: averaged centers, several labels an image"),
    ROW(COKE_OPT_INT, slots, "slots", 5, 1, 64, NULL, "labels of an image in the second stage"),
    ROW(COKE_OPT_FLOAT, slot_temperature, "slot-temperature", 0.5, 1e-3, 1e3, NULL,
        "of their weights"),
    ROW(COKE_OPT_FLOAT, temperature, "temperature", 0.1, 1e-3, 10, NULL, "of the loss"),
    ROW(COKE_OPT_FLOAT, alpha, "alpha", 0.2, 0, 1, NULL,
        "share of the label in the target; the rest is the other view's prediction"),
    ROW(COKE_OPT_FLOAT, alpha_start, "alpha-start", 0, 0, 1, "alpha",
        "alpha in the first epochs, from where it comes down"),
    ROW(COKE_OPT_FLOAT, alpha_until, "alpha-until", 0.5, 0, 1, NULL,
        "share of the epochs after which alpha has its own value"),
    ROW(COKE_OPT_FLOAT, beta, "beta", 0.5, 0, 1, NULL,
        "weight of the predictor's loss against the projection's"),
    ROW(COKE_OPT_FLOAT, large_weight, "large-weight", 0.5, 0, 1, NULL,
        "weight of the two large views against the small ones"),
    ROW(COKE_OPT_CHOICE, labels, "labels", COKE_LAST, 0, 1, "last|current",
        "labels of the loss: of the last epoch, or this step's"),
    ROW(COKE_OPT_CHOICE, centers, "centers", COKE_LAST, 0, 1, "last|current",
        "centers of the loss: of the last epoch, or after this step"),
    ROW(COKE_OPT_FLAG, keep_best, "keep-best", 0, 0, 1, NULL,
        "keep a head's last labels where the new ones fit no better (Corollary 1)"),
    ROW(COKE_OPT_CHOICE, optimizer, "optimizer", COKE_LARS, 0, 1, "lars|sgd", "of the weights"),
    ROW(COKE_OPT_FLOAT, rate, "rate", 0, 0, 1e3, "auto",
        "highest learning rate; auto: lars 1.6, sgd .2 at a batch of 1024, 128, by the root"),
    ROW(COKE_OPT_FLOAT, momentum, "momentum", 0.9, 0, 1, NULL, "of the optimizer"),
    ROW(COKE_OPT_FLOAT, weight_decay, "weight-decay", 1e-6, 0, 1, NULL, "of the optimizer"),
    ROW(COKE_OPT_INT, warmup, "warmup", -1, -1, 1 << 19, "auto",
        "epochs in which the rate grows; auto: a tenth of them, at most 10"),
    ROW(COKE_OPT_INT, accumulate, "accumulate", 1, 1, 1 << 16, NULL,
        "parts that a batch goes through the network in: less memory"),
    ROW(COKE_OPT_CHOICE, precision, "precision", COKE_F32, 0, 1, "f32|bf16",
        "of the images inside the network"),
    ROW(COKE_OPT_INT, monitor, "monitor", 5, 0, 1 << 19, NULL,
        "epochs between two looks at k-NN, ACC, NMI and ARI; 0: never"),
    ROW(COKE_OPT_INT, save_epochs, "save-epochs", 1, 0, 1 << 19, NULL,
        "epochs between two checkpoints, more where they would take over 3.5 % of the time; 0: "
        "not "
        "by epochs"),
    ROW(COKE_OPT_INT, save_steps, "save-steps", 0, 0, 1e12, NULL,
        "steps between two checkpoints; 0: not by steps"),
    ROW(COKE_OPT_FLOAT, save_minutes, "save-minutes", 30, 0, 1e6, NULL,
        "minutes between two checkpoints; 0: not by time"),
    ROW(COKE_OPT_INT, keep, "keep", 1, 1, 1000, NULL, "last checkpoints that are kept"),
};

enum { OWN_ROWS = sizeof own / sizeof own[0], MAX_ROWS = OWN_ROWS + 48 };

/* Rows of the parts that mean something else here, or that follow from other rows. */
static int is_left_out(const char *name, int part)
{
    return part == 3 && (strcmp(name, "seed") == 0 || strcmp(name, "channels") == 0);
}

static struct coke_option all[MAX_ROWS];

static struct coke_option_table join(void)
{
    const struct {
        const struct coke_option_table *table;
        size_t offset;
    } part[] = {{coke_dataset_option_table(), offsetof(OWN, data)},
                {coke_view_option_table(), offsetof(OWN, loader.view)},
                {coke_loader_option_table(), offsetof(OWN, loader)},
                {coke_encoder_option_table(), offsetof(OWN, encoder)}};
    int n = OWN_ROWS;
    memcpy(all, own, sizeof own);
    for (int p = 0; p < 4; p++)
        for (int i = 0; i < part[p].table->n; i++) {
            if (is_left_out(part[p].table->row[i].name, p))
                continue;
            all[n] = part[p].table->row[i];
            if (strcmp(all[n].name, "bad") == 0)
                all[n].def = CK_BAD_REPLACE; /* batches keep their size */
            all[n++].offset += part[p].offset;
        }
    return (struct coke_option_table){all, n, sizeof(OWN)};
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

/* Threads that build the table at the same time write the same values. */
const struct coke_option_table *coke_train_option_table(void)
{
    static struct coke_option_table t;
    if (!t.row)
        t = join();
    return &t;
}

struct coke_train_options coke_train_options_default(void)
{
    struct coke_train_options o;
    coke_options_default(coke_train_option_table(), &o);
    return o;
}

/* ---- checks ---- */

static int check_modes(const struct coke_train_options *o)
{
    int views = o->loader.view.recipe == COKE_RECIPE_SINGLE ||
                        o->loader.view.recipe == COKE_RECIPE_CIFAR_SINGLE
                    ? 1
                    : 2;
    if (o->loader.view.recipe >= COKE_RECIPE_LINEAR)
        return ck_fail(COKE_EUSAGE, "recipe: linear, eval and none are not made for training");
    if (o->stage >= 0 && views > 1)
        return ck_fail(COKE_EUSAGE,
                       "stage: the second stage goes with one view (recipe single or "
                       "cifar-single)");
    if (o->stage >= o->epochs || o->stage == 0)
        return ck_fail(COKE_EUSAGE, "stage: epoch %lld is not within 1..%lld",
                       (long long)o->stage, (long long)o->epochs - 1);
    if (o->accumulate > 1 && (o->labels == COKE_CURRENT || o->centers == COKE_CURRENT))
        return ck_fail(COKE_EUSAGE,
                       "accumulate: labels and centers of the current step are known only "
                       "after the whole batch; use accumulate 1");
    if (o->accumulate > o->loader.batch)
        return ck_fail(COKE_EUSAGE, "accumulate: a batch of %lld cannot be cut into %lld parts",
                       (long long)o->loader.batch, (long long)o->accumulate);
    if (o->encoder.head == COKE_PROJECTOR_NONE)
        return ck_fail(COKE_EUSAGE, "head: training needs one (linear, mlp2 or mlp3)");
    if (o->beta > 0 && !o->encoder.predictor)
        return ck_fail(COKE_EUSAGE,
                       "beta %g weighs the predictor, and there is none: set beta 0", o->beta);
    if (o->beta <= 0 && o->encoder.predictor)
        return ck_fail(COKE_EUSAGE,
                       "the predictor would learn nothing with beta 0: set no-predictor");
    return COKE_OK;
}

int ck_train_options_check(const struct coke_train_options *o)
{
    struct ck_schedule sched;
    CK_RETURN_IF(ck_options_check(coke_train_option_table(), o));
    if (o->k.n < 1)
        return ck_fail(COKE_EUSAGE,
                       "the number of clusters is missing, as in k=100 or k=10,20,50");
    CK_RETURN_IF(check_modes(o));
    return ck_schedule_init(&sched, 1, o->epochs, o->warmup, 1);
}

/* ---- what follows ---- */

double ck_train_rate(const struct coke_train_options *o)
{
    double b = (double)o->loader.batch;
    if (o->rate > 0)
        return o->rate;
    if (o->optimizer == COKE_SGD)
        return 0.2 * b / 128;
    /* The paper: 1.6 at 1024, 1.2 at 512, .8 at 256. */
    return b >= 256 ? 0.4 * (log2(b) - 6) : 0.8 * b / 256;
}

double ck_train_alpha(const struct coke_train_options *o, int64_t epoch)
{
    double end = o->alpha_until * (double)(o->epochs - 1), t = (double)epoch;
    if (o->alpha_start <= 0 || t >= end)
        return o->alpha;
    return o->alpha_start + (o->alpha - o->alpha_start) * t / end;
}

double ck_train_eta(const struct coke_train_options *o, int64_t n, int h)
{
    double k = o->k.v[h], b = (double)o->loader.batch, least = k;
    for (int i = 0; i < o->k.n; i++)
        least = fmin(least, o->k.v[i]);
    if (o->eta > 0)
        return o->eta_mode == COKE_ETA_SCALED ? o->eta * k / least : o->eta;
    double whole = 3.3 * k * b / (fmax(o->ratio, 0.05) * (double)n);
    return fmin(whole, 0.0025 * b);
}
