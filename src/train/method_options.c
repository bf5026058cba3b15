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
    ROW(CK_OPT_FLOAT, threshold, "threshold", 0.99, 0, 1, NULL,
        "selflabel: probability above which a label is confident"),
    ROW(CK_OPT_INT, from_head, "from-head", 0, 0, 63, NULL,
        "selflabel: head of the run of option from whose clusters are the labels"),
    ROW(CK_OPT_FLOAT, coding_eps, "coding-eps", 0.2, 1e-6, 1e3, NULL,
        "emp: distortion of the coding rate"),
};

const struct ck_option_table *ck_method_option_table(void)
{
    static const struct ck_option_table table = CK_OPTION_TABLE(rows, struct ck_method_options);
    return &table;
}
