/* method_options.c - options that only some methods of training read. */
#include "train/method_options.h"

#define ROW(type, field, name, def, min, max, choices, help)                                   \
    CK_OPT(type, struct ck_method_options, field, name, def, min, max, choices, help)

static const struct ck_option rows[] = {
    ROW(CK_OPT_CHOICE, constraint, "constraint", CK_CONSTRAINT_SIZE, 0, CK_CONSTRAINT_ENTROPY,
        "size|entropy",
        "secu: minimum sizes by duals (ratio, eta), or a high entropy of the sizes"),
    ROW(CK_OPT_FLOAT, entropy_weight, "entropy-weight", 0, 0, 1e12, "auto",
        "secu: weight of the entropy; auto: 0.12 times the images"),
    ROW(CK_OPT_FLOAT, center_rate, "center-rate", 0.8, 0, 1e3, NULL,
        "secu: learning rate of the centers"),
    ROW(CK_OPT_CHOICE, center_schedule, "center-schedule", CK_CENTERS_CONSTANT, 0,
        CK_CENTERS_RISING, "constant|rising",
        "secu: the rate of the centers is the same in all steps, or rises from 0 by half a "
        "cosine"),
    ROW(CK_OPT_FLOAT, center_temperature, "center-temperature", 0.05, 1e-3, 10, NULL,
        "secu: temperature of the loss of the centers"),
    ROW(CK_OPT_FLOAT, redundancy_weight, "redundancy-weight", 0.0051, 0, 1e3, NULL,
        "barlow: weight of the correlations between different dimensions"),
    ROW(CK_OPT_FLOAT, loss_scale, "loss-scale", 0.1, 1e-6, 1e3, NULL,
        "barlow: factor of the loss"),
    ROW(CK_OPT_FLOAT, invariance_weight, "invariance-weight", 25, 0, 1e6, NULL,
        "vicreg: weight of the square distance between the views"),
    ROW(CK_OPT_FLOAT, variance_weight, "variance-weight", 25, 0, 1e6, NULL,
        "vicreg: weight of deviations below 1, the mean of both views"),
    ROW(CK_OPT_FLOAT, covariance_weight, "covariance-weight", 1, 0, 1e6, NULL,
        "vicreg: weight of the covariances between different dimensions"),
    ROW(CK_OPT_FLOAT, agreement_weight, "agreement-weight", 200, 0, 1e6, NULL,
        "emp: weight of the cosine between views and their mean"),
    ROW(CK_OPT_INT, kmeans_epochs, "kmeans-epochs", 10, 1, 10000, NULL,
        "deepclusterv2: epochs of the k-means after each epoch of the training"),
    ROW(CK_OPT_INT, neighbours, "near", 20, 1, 1000, NULL,
        "scan: nearest neighbors of an image, of which one is drawn in each epoch"),
    ROW(CK_OPT_FLOAT, balance_weight, "balance-weight", 5, 0, 1e6, NULL,
        "scan: weight of the entropy of the cluster sizes"),
    ROW(CK_OPT_FLOAT, threshold, "threshold", 0, 0, 1, "auto",
        "selflabel: probability above which a label is confident; auto: one that a quarter of "
        "every cluster exceeds in epoch 0"),
    ROW(CK_OPT_INT, from_head, "from-head", 0, 0, 63, NULL,
        "selflabel: head of the run of option from whose clusters are the labels"),
    ROW(CK_OPT_FLOAT, coding_eps, "coding-eps", 0.2, 1e-6, 1e3, NULL,
        "emp: distortion of the coding rate"),
    ROW(CK_OPT_FLOAT, momentum_start, "momentum-start", 0.99, 0, 1, NULL,
        "byol, mocov2, mocov3, dino, msn: momentum of the averaged encoder, what a step leaves "
        "of "
        "it, in the first step"),
    ROW(CK_OPT_FLOAT, momentum_end, "momentum-end", 1, 0, 1, NULL,
        "byol, mocov2, mocov3, dino, msn: the same at the end; it changes by half a cosine"),
    ROW(CK_OPT_INT, queue, "queue", 4096, 0, 1 << 24, NULL,
        "mocov2, nnclr, swav: projections of earlier batches that are kept; swav: 0 = none"),
    ROW(CK_OPT_INT, queue_from, "queue-from", 16, 1, 1 << 19, NULL,
        "swav: first epoch in which the queue is used"),
    ROW(CK_OPT_FLAG, symmetric, "symmetric", 1, 0, 1, NULL,
        "mocov2: both views are learned, with a queue each; off: one, as first published"),
    ROW(CK_OPT_INT, prototypes, "prototypes", 3000, 2, 1 << 20, NULL,
        "swav, dino, msn: number of prototypes"),
    ROW(CK_OPT_INT, freeze_prototypes, "freeze-prototypes", 1, 0, 1 << 19, NULL,
        "swav, dino, msn: epochs in which the prototypes do not learn yet"),
    ROW(CK_OPT_CHOICE, prototype_norm, "prototype-norm", CK_PROTOTYPES_WEIGHT, 0,
        CK_PROTOTYPES_SPHERE, "weight|sphere",
        "swav: prototypes are divided by their length, or brought to length 1 after each step"),
    ROW(CK_OPT_FLOAT, sinkhorn_eps, "sinkhorn-eps", 0.05, 1e-3, 10, NULL,
        "swav: temperature of the codes"),
    ROW(CK_OPT_INT, sinkhorn_rounds, "sinkhorn-rounds", 3, 0, 1000, NULL,
        "swav, msn: rounds that even out the use of prototypes in a batch"),
    ROW(CK_OPT_FLOAT, teacher_temperature, "teacher-temperature", 0.07, 1e-3, 10, NULL,
        "dino: temperature of the targets"),
    ROW(CK_OPT_FLOAT, teacher_temperature_start, "teacher-temperature-start", 0.04, 1e-3, 10,
        NULL, "dino: the same in the first epoch, if teacher-warmup is above 1"),
    ROW(CK_OPT_INT, teacher_warmup, "teacher-warmup", 0, 0, 1 << 19, NULL,
        "dino: epochs in which it rises from that"),
    ROW(CK_OPT_FLOAT, center_momentum, "center-momentum", 0.9, 0, 1, NULL,
        "dino: momentum of the center of the targets"),
    ROW(CK_OPT_FLOAT, sharpen, "sharpen", 0.25, 1e-3, 1, NULL,
        "msn: factor on the temperature of the targets"),
    ROW(CK_OPT_FLOAT, mean_entropy_weight, "mean-entropy-weight", 1, 0, 1e6, NULL,
        "msn: weight of a high entropy of the mean prediction"),
};

const struct ck_option_table *ck_method_option_table(void)
{
    static const struct ck_option_table table = CK_OPTION_TABLE(rows, struct ck_method_options);
    return &table;
}
