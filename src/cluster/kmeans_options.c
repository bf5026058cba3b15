/* kmeans_options.c - the options of one k-means head. */
#include "cluster/kmeans_options.h"

#define ROW(type, field, name, def, min, max, choices, help)                                   \
    CK_OPT(type, struct ck_kmeans_options, field, name, def, min, max, choices, help)

enum { MAX_CLUSTERS = 1 << 24 };

/* The only definition of these names, defaults, bounds and help texts: coke cluster and coke
 * train include the rows, with overrides (job_options.c, train_options.c). */
static const struct ck_option rows[] = {
    ROW(CK_OPT_INT, n, "n", 1, 1, 1e15, NULL, "rows per epoch"),
    ROW(CK_OPT_INT, k, "k", 1, 1, MAX_CLUSTERS, NULL, "clusters"),
    ROW(CK_OPT_INT, dim, "dim", 1, 1, 65536, NULL, "dimension of the vectors"),
    ROW(CK_OPT_FLOAT, ratio, "ratio", 0.4, 0, 1, NULL,
        "minimum size of every cluster as a fraction of n/k; 1 = balanced, 0 = no bound"),
    ROW(CK_OPT_FLOAT, max_ratio, "max-ratio", 0, 0, 1e9, NULL,
        "maximum size of every cluster as a multiple of n/k; 0 = no bound"),
    ROW(CK_OPT_FLOAT, eta, "eta", 0, 0, 1e36, "auto",
        "step of the duals, which control the sizes; auto: tau/sqrt(2n), or "
        "without tau from the lead of the best center over the second in the first batch"),
    ROW(CK_OPT_FLOAT, tau, "tau", 0, 0, 1e36, NULL,
        "upper limit of the sum of the duals (Theorem 1); 0 = no limit"),
    ROW(CK_OPT_FLOAT, inflate, "inflate", 1, 1, 10, NULL,
        "factor on the minimum sizes that the duals work towards"),
    {.name = "update",
     .alias = "centers",
     .type = CK_OPT_CHOICE,
     .offset = offsetof(struct ck_kmeans_options, update),
     .def = CK_UPDATE_RUNNING,
     .max = CK_UPDATE_FIXED,
     .choices = "running|mean|epoch|fixed",
     .help = "how centers move: running mean (the authors' way), mean of the epoch so far, "
             "once per epoch, or never"},
    ROW(CK_OPT_FLOAT, carry, "carry", 0, 0, 0.99, NULL,
        "fraction of the last epoch's sums that the centers keep (update mean)"),
    ROW(CK_OPT_INT, stage, "stage", -1, -1, 1e9, "none",
        "first epoch of the second stage: averaged centers, several labels per row"),
    ROW(CK_OPT_INT, slots, "slots", 5, 1, 64, NULL, "labels per row in the second stage"),
    ROW(CK_OPT_FLOAT, slot_temperature, "slot-temperature", 0.5, 1e-3, 1e3, NULL,
        "temperature of the weights of these labels"),
    ROW(CK_OPT_FLAG, keep_labels, "keep-labels", 1, 0, 1, NULL, "store one label per row"),
    ROW(CK_OPT_CHOICE, metric, "metric", COKE_METRIC_COSINE, 0, COKE_METRIC_EUCLIDEAN,
        "cosine|euclidean",
        "what makes rows similar: their direction (cosine), or their distance (euclidean)"),
};

const struct ck_option_table *ck_kmeans_option_table(void)
{
    static const struct ck_option_table table = CK_OPTION_TABLE(rows, struct ck_kmeans_options);
    return &table;
}

struct ck_kmeans_options ck_kmeans_options_default(void)
{
    struct ck_kmeans_options o;
    ck_options_default(ck_kmeans_option_table(), &o);
    return o;
}

const struct ck_option_table *ck_heads_option_table(void)
{
    static const struct ck_option row[] = {
        {.name = "k",
         .type = CK_OPT_INTS,
         .min = 1,
         .max = MAX_CLUSTERS,
         .help = "number of clusters; a list (10,20,50) makes several clusterings at once"}};
    static const struct ck_option_table table = CK_OPTION_TABLE(row, struct ck_ints);
    return &table;
}
