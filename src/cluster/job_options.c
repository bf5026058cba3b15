/* job_options.c - the options of a clustering; --help and the checks come from this table. */
#include "cluster/job_internal.h"
#include "core/option.h"

#define ROW(type, field, name, def, min, max, choices, help)                                   \
    CK_OPT(type, struct coke_cluster_options, field, name, def, min, max, choices, help)

static const struct coke_option rows[] = {
    ROW(COKE_OPT_INTS, k, "k", 0, 1, 1 << 24, NULL,
        "number of clusters; a list (10,20,50) makes several clusterings in one go"),
    ROW(COKE_OPT_FLOAT, ratio, "ratio", 0.4, 0, 1, NULL,
        "least size of every cluster, as a share of n/k; 1 = balanced, 0 = no bound"),
    ROW(COKE_OPT_FLOAT, max_ratio, "max-ratio", 0, 0, 1e9, NULL,
        "largest size of every cluster, as a multiple of n/k; 0 = no bound"),
    ROW(COKE_OPT_INT, epochs, "epochs", 0, 0, 100000, "auto",
        "passes that move the centers; auto = until the objective stands still"),
    ROW(COKE_OPT_INT, max_epochs, "max-epochs", 30, 1, 100000, NULL, "limit of auto epochs"),
    ROW(COKE_OPT_FLOAT, tolerance, "tolerance", 1e-4, 0, 1, NULL,
        "auto epochs end when the relative gain is below this twice"),
    ROW(COKE_OPT_INT, batch, "batch", 0, 0, 1 << 24, "auto", "rows a batch"),
    ROW(COKE_OPT_FLOAT, eta, "eta", 0, 0, 1e6, "auto",
        "step of the duals, which steer the sizes"),
    ROW(COKE_OPT_FLOAT, tau, "tau", 0, 0, 1e6, NULL,
        "keep the sum of the duals within this (Theorem 1); 0 = no limit"),
    ROW(COKE_OPT_FLOAT, inflate, "inflate", 1, 1, 10, NULL,
        "raise the bounds that the duals work towards by this factor"),
    ROW(COKE_OPT_CHOICE, centers, "centers", 1, 0, 2, "running|mean|epoch",
        "how centers move: the authors' running mean, the mean of the epoch so far, or once an "
        "epoch"),
    ROW(COKE_OPT_FLOAT, carry, "carry", 0.1, 0, 0.99, NULL,
        "share of last epoch's sums that centers keep (centers mean)"),
    ROW(COKE_OPT_CHOICE, init, "init", 0, 0, 1, "sample|kmeans++", "first centers"),
    ROW(COKE_OPT_FLAG, repair, "repair", 1, 0, 1, NULL,
        "end with the best assignment that keeps all sizes exactly"),
    ROW(COKE_OPT_CHOICE, bad, "bad", 0, 0, 1, "error|skip",
        "rows with NaN, infinity or only zeros: stop, or leave out (label -1)"),
    ROW(COKE_OPT_CHOICE, shuffle, "shuffle", 0, 0, 3, "auto|full|block|none",
        "order of the rows; auto = full up to 4 GiB, then in blocks"),
    ROW(COKE_OPT_INT, seed, "seed", 1, 0, 9007199254740992.0, NULL,
        "the same seed gives the same bytes, for any number of threads"),
};

static const struct coke_option_table table = {rows, sizeof rows / sizeof rows[0],
                                               sizeof(struct coke_cluster_options)};

const struct coke_option_table *coke_cluster_option_table(void)
{
    return &table;
}

struct coke_cluster_options coke_cluster_options_default(void)
{
    struct coke_cluster_options o;
    coke_options_default(&table, &o);
    return o;
}
