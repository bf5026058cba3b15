/* eval_options.c - options of k-NN, the linear probe and fine-tuning. */
#include "core/option.h"
#include "eval/trials.h"

#define SEED_MAX 4503599627370496.0
#define TABLE(rows, type)                                                                      \
    {                                                                                          \
        rows, sizeof(rows) / sizeof(rows)[0], sizeof(type)                                     \
    }

/* ---- k-NN ---- */

#define ROW(type, field, name, def, min, max, choices, help)                                   \
    CK_OPT(type, struct coke_knn_options, field, name, def, min, max, choices, help)

static const struct coke_option knn_rows[] = {
    ROW(COKE_OPT_INTS, neighbours, "neighbours", 0, 1, 1 << 24, NULL,
        "how many vote; several numbers are tried each (default 20,200)"),
    ROW(COKE_OPT_FLOAT, temperature, "temperature", 0.07, 1e-3, 10, NULL,
        "a neighbour's vote is exp(cosine / temperature)"),
};

const struct coke_option_table *coke_knn_option_table(void)
{
    static const struct coke_option_table t = TABLE(knn_rows, struct coke_knn_options);
    return &t;
}

struct coke_knn_options coke_knn_options_default(void)
{
    struct coke_knn_options o;
    coke_options_default(coke_knn_option_table(), &o);
    return o;
}

/* ---- linear probe ---- */

#undef ROW
#define ROW(type, field, name, def, min, max, choices, help)                                   \
    CK_OPT(type, struct coke_linear_options, field, name, def, min, max, choices, help)

static const struct coke_option linear_rows[] = {
    ROW(COKE_OPT_CHOICE, protocol, "protocol", 0, 0, 1, "paper|ablation",
        "paper: batch 1024, 90 epochs, rate .3, cosine; ablation: 256, 100, 1, a tenth at 60 "
        "and 80 %"),
    ROW(COKE_OPT_FLOAT, rate, "rate", 0, 0, 1e3, "auto",
        "highest learning rate; auto: the protocol's"),
    ROW(COKE_OPT_FLOAT, weight_decay, "weight-decay", 1e-6, 0, 1, NULL, "of weights and bias"),
    ROW(COKE_OPT_INT, epochs, "epochs", 0, 0, 1 << 19, "auto", "auto: the protocol's"),
    ROW(COKE_OPT_INT, batch, "batch", 0, 0, 1 << 20, "auto",
        "images a step; auto: the protocol's"),
    ROW(COKE_OPT_FLAG, augment, "augment", 0, 0, 1, NULL,
        "random crops and flips in training, as published; else features are computed once"),
    ROW(COKE_OPT_FLAG, sweep, "sweep", 0, 0, 1, NULL,
        "8 learning rates from .01 to 30 times the protocol's"),
    ROW(COKE_OPT_INT, trials, "trials", 1, 1, CK_TRIALS_MAX, NULL,
        "repetitions with other seeds: mean and deviation"),
    ROW(COKE_OPT_INT, seed, "seed", 1, 0, SEED_MAX, NULL, "of the first weights and the order"),
};

const struct coke_option_table *coke_linear_option_table(void)
{
    static const struct coke_option_table t = TABLE(linear_rows, struct coke_linear_options);
    return &t;
}

struct coke_linear_options coke_linear_options_default(void)
{
    struct coke_linear_options o;
    coke_options_default(coke_linear_option_table(), &o);
    return o;
}

/* ---- fine-tuning ---- */

#undef ROW
#define ROW(type, field, name, def, min, max, choices, help)                                   \
    CK_OPT(type, struct coke_finetune_options, field, name, def, min, max, choices, help)

static const struct coke_option finetune_rows[] = {
    ROW(COKE_OPT_FLOAT, rate, "rate", 0, 0, 1e3, "grid",
        "highest learning rate, of the last layer 10 times that; grid: 1, .1, .01, .001"),
    ROW(COKE_OPT_FLOAT, weight_decay, "weight-decay", -1, -1, 1, "grid", "grid: 1e-5, 1e-6, 0"),
    ROW(COKE_OPT_INT, epochs, "epochs", 20, 1, 1 << 19, NULL, "of each row of the grid"),
    ROW(COKE_OPT_INT, batch, "batch", 64, 2, 1 << 20, NULL, "images a step"),
    ROW(COKE_OPT_INT, trials, "trials", 1, 1, CK_TRIALS_MAX, NULL,
        "repetitions with other seeds: mean and deviation"),
    ROW(COKE_OPT_INT, seed, "seed", 1, 0, SEED_MAX, NULL,
        "of the last layer's first weights, the order and the crops"),
};

const struct coke_option_table *coke_finetune_option_table(void)
{
    static const struct coke_option_table t =
        TABLE(finetune_rows, struct coke_finetune_options);
    return &t;
}

struct coke_finetune_options coke_finetune_options_default(void)
{
    struct coke_finetune_options o;
    coke_options_default(coke_finetune_option_table(), &o);
    return o;
}
