/* job_options.c - the options of a whole clustering: those of k-means, and its own. */
#include "cluster/job_options.h"
#include "cluster/tree.h"
#include "cluster/start.h"
#include "core/thread.h"

#define OWN struct ck_cluster_options
#define ROW(type, field, name, def, min, max, choices, help)                                   \
    CK_OPT(type, OWN, field, name, def, min, max, choices, help)

/* The job sets n, k and dim of each head, stores labels itself and has one stage. */
static const struct ck_option_override of_kmeans[] = {
    {"n", .drop = 1},
    {"k", .drop = 1},
    {"dim", .drop = 1},
    {"stage", .drop = 1},
    {"slots", .drop = 1},
    {"slot-temperature", .drop = 1},
    {"keep-labels", .drop = 1},
    {"eta", .help = "step of the duals, which control the sizes"},
    {"update", CK_NEW_DEF(CK_UPDATE_MEAN), CK_NEW_BOUNDS(0, CK_UPDATE_EPOCH),
     .choices = "running|mean|epoch",
     .help = "how centers move: running mean (the authors' way), mean of the epoch so far, or "
             "once per epoch"},
    {"carry", CK_NEW_DEF(0.1)},
    {.name = NULL},
};

static const struct ck_option own[] = {
    ROW(CK_OPT_INT, epochs, "epochs", 0, 1, 100000, "auto",
        "epochs (scans of all rows that move the centers); auto = until the objective "
        "converges"),
    ROW(CK_OPT_INT, max_epochs, "max-epochs", 30, 1, 100000, NULL,
        "maximum number of epochs with epochs=auto"),
    ROW(CK_OPT_FLOAT, tolerance, "tolerance", 1e-4, 0, 1, NULL,
        "epochs=auto ends when the relative gain is below this in two consecutive epochs"),
    ROW(CK_OPT_INT, batch, "batch", 0, 1, 1 << 24, "auto", "rows per batch"),
    ROW(CK_OPT_CHOICE, init, "init", CK_INIT_AUTO, 0, CK_INIT_PLUSPLUS, "auto|sample|kmeans++",
        "initial centers: random rows, or greedy k-means++ on a sample (auto: where it takes "
        "at "
        "most as long as an epoch, unless the sizes are tight)"),
    ROW(CK_OPT_INT, restarts, "restarts", 0, 1, 1000, "auto",
        "starts, of which the best counts; auto = up to 16 while they take a second or two"),
    ROW(CK_OPT_INT, polish, "polish", -1, 0, 100000, "auto",
        "rounds of assignment and means after the epochs; auto = until nothing changes, as far "
        "as a second or two suffice, at least 1"),
    ROW(CK_OPT_FLAG, balanced, "balanced", 0, 0, 1, NULL,
        "all sizes n/k, rounded down or up; instead of ratio and max-ratio"),
    ROW(CK_OPT_CHOICE, levels, "levels", 0, 0, 2, "auto|1|2",
        "1 = rows are compared with all centers; 2 = with those of the nearest groups, for "
        "many "
        "clusters; auto = 2 where an epoch of 1 takes long"),
    ROW(CK_OPT_INT, probes, "probes", 8, 1, CK_TREE_PROBES, NULL,
        "two levels: compare a row with the clusters of this many nearest groups; fewer are "
        "faster and a little worse"),
    ROW(CK_OPT_CHOICE, repair, "repair", CK_REPAIR_NEAR, 0, CK_REPAIR_EXACT, "off|near|exact",
        "end with labels that satisfy all size bounds: near the best possible ones (option "
        "gap), "
        "exactly the best, or leave it out"),
    ROW(CK_OPT_FLOAT, gap, "gap", 1e-4, 1e-9, 1, NULL,
        "repair=near aims at this distance from the best possible labels, as a fraction of the "
        "total similarity; the certificate tells what it reached"),
    ROW(CK_OPT_CHOICE, bad, "bad", CK_BAD_ERROR, 0, CK_BAD_SKIP, "error|skip",
        "rows with NaN, infinity or, by cosine, only zeros: fail, or skip them (label -1)"),
    ROW(CK_OPT_CHOICE, shuffle, "shuffle", 0, 0, 3, "auto|full|block|none",
        "order of the rows; auto = full up to 4 GiB, then in blocks"),
    ROW(CK_OPT_INT, seed, "seed", 1, 0, 9007199254740992.0, NULL,
        "the same seed gives the same bytes, for any number of threads"),
    ROW(CK_OPT_INT, fit_rows, "fit-rows", 0, 1, 1e15, "all",
        "fit the centers on a random sample of this many rows; all rows get labels, and sizes "
        "hold for all"),
};

enum { PARTS = 3, ROWS = 32 };

static struct ck_option rows[ROWS];
static struct ck_option_part parts[PARTS];
static struct ck_option_table table;

/* Static storage, filled once under ck_once: option objects refer to it until the process
 * ends. */
static void join(void)
{
    static const struct ck_option_table own_table = CK_OPTION_TABLE(own, OWN);
    parts[0] = (struct ck_option_part){ck_heads_option_table(), offsetof(OWN, k), NULL};
    parts[1] =
        (struct ck_option_part){ck_kmeans_option_table(), offsetof(OWN, kmeans), of_kmeans};
    parts[2] = (struct ck_option_part){&own_table, 0, NULL};
    ck_option_join(&table, rows, ROWS, sizeof(OWN), parts, PARTS);
}

const struct ck_option_table *ck_cluster_option_table(void)
{
    static struct ck_once once = CK_ONCE;
    ck_once(&once, join);
    return &table;
}

struct ck_cluster_options ck_cluster_options_default(void)
{
    struct ck_cluster_options o;
    ck_options_default(ck_cluster_option_table(), &o);
    return o;
}
