/* eval_options.c - the options of k-NN, the linear probe and fine-tuning. */
#include "eval/eval_options.h"
#include "eval/trials.h"

#define SEED_MAX 4503599627370496.0

/* ---- k-NN ---- */

#define ROW(type, field, name, def, min, max, choices, help)                                   \
    CK_OPT(type, struct ck_knn_options, field, name, def, min, max, choices, help)

static const struct ck_option knn_rows[] = {
    ROW(CK_OPT_INTS, neighbours, "neighbours", 0, 1, 1 << 24, NULL,
        "number of neighbours that vote; several numbers are evaluated in turn (default "
        "20,200)"),
    ROW(CK_OPT_FLOAT, temperature, "temperature", 0.07, 1e-3, 10, NULL,
        "a neighbour's vote is exp(cosine / temperature)"),
};

const struct ck_option_table *ck_knn_option_table(void)
{
    static const struct ck_option_table t = CK_OPTION_TABLE(knn_rows, struct ck_knn_options);
    return &t;
}

struct ck_knn_options ck_knn_options_default(void)
{
    struct ck_knn_options o;
    ck_options_default(ck_knn_option_table(), &o);
    return o;
}

/* ---- linear probe ---- */

#undef ROW
#define ROW(type, field, name, def, min, max, choices, help)                                   \
    CK_OPT(type, struct ck_linear_options, field, name, def, min, max, choices, help)

static const struct ck_option linear_rows[] = {
    ROW(CK_OPT_CHOICE, protocol, "protocol", 0, 0, 1, "paper|ablation",
        "paper: batch 1024, 90 epochs, rate .3, cosine; ablation: 256, 100, 1, divided by "
        "10 at 60 and 80 %"),
    ROW(CK_OPT_FLOAT, rate, "rate", 0, 0, 1e3, "auto",
        "peak learning rate; auto: the protocol's"),
    ROW(CK_OPT_FLOAT, weight_decay, "weight-decay", 1e-6, 0, 1, NULL, "of weights and bias"),
    ROW(CK_OPT_INT, epochs, "epochs", 0, 0, 1 << 19, "auto", "auto: the protocol's"),
    ROW(CK_OPT_INT, batch, "batch", 0, 0, 1 << 20, "auto",
        "images per step; auto: the protocol's"),
    ROW(CK_OPT_FLAG, augment, "augment", 0, 0, 1, NULL,
        "random crops and flips in training, as published; else features are computed once"),
    ROW(CK_OPT_FLAG, sweep, "sweep", 0, 0, 1, NULL,
        "8 learning rates from .01 to 30 times the protocol's"),
    ROW(CK_OPT_INT, trials, "trials", 1, 1, CK_TRIALS_MAX, NULL,
        "repetitions with other seeds: mean and deviation"),
    ROW(CK_OPT_INT, seed, "seed", 1, 0, SEED_MAX, NULL,
        "seed of the initial weights and the order"),
};

const struct ck_option_table *ck_linear_option_table(void)
{
    static const struct ck_option_table t =
        CK_OPTION_TABLE(linear_rows, struct ck_linear_options);
    return &t;
}

struct ck_linear_options ck_linear_options_default(void)
{
    struct ck_linear_options o;
    ck_options_default(ck_linear_option_table(), &o);
    return o;
}

/* ---- fine-tuning ---- */

#undef ROW
#define ROW(type, field, name, def, min, max, choices, help)                                   \
    CK_OPT(type, struct ck_finetune_options, field, name, def, min, max, choices, help)

static const struct ck_option finetune_rows[] = {
    ROW(CK_OPT_FLOAT, rate, "rate", 0, 0, 1e3, "grid",
        "peak learning rate, 10 times that for the last layer; grid: 1, .1, .01, .001"),
    ROW(CK_OPT_FLOAT, weight_decay, "weight-decay", -1, -1, 1, "grid", "grid: 1e-5, 1e-6, 0"),
    ROW(CK_OPT_INT, epochs, "epochs", 20, 1, 1 << 19, NULL, "of each row of the grid"),
    ROW(CK_OPT_INT, batch, "batch", 64, 2, 1 << 20, NULL, "images per step"),
    ROW(CK_OPT_INT, trials, "trials", 1, 1, CK_TRIALS_MAX, NULL,
        "repetitions with other seeds: mean and deviation"),
    ROW(CK_OPT_INT, seed, "seed", 1, 0, SEED_MAX, NULL,
        "seed of the last layer's initial weights, the order and the crops"),
};

const struct ck_option_table *ck_finetune_option_table(void)
{
    static const struct ck_option_table t =
        CK_OPTION_TABLE(finetune_rows, struct ck_finetune_options);
    return &t;
}

struct ck_finetune_options ck_finetune_options_default(void)
{
    struct ck_finetune_options o;
    ck_options_default(ck_finetune_option_table(), &o);
    return o;
}
