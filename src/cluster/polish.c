/* polish.c - how much is spent on small data, and the means of the labelled rows. */
#include "cluster/descent.h"
#include "cluster/job_internal.h"
#include "cluster/start.h"
#include "core/callbacks.h"
#include "core/error.h"
#include "core/first_error.h"
#include "core/mem.h"
#include "core/workers.h"

#include <math.h>

/* ---- what is affordable: estimates, because results must not depend on the clock ---- */

enum {
    EPOCHS = 20,      /* of one start, about */
    ROUNDS = 15,      /* of polish until nothing changes, about */
    SHORT = 15,       /* the same from centers most of which stay */
    DENSE = 4,        /* scans that a round of a descent costs */
    MOST_STARTS = 16, /* with restarts=auto */
    PATIENCE = 6,     /* starts without success, after which auto ends */
    MOST_ROUNDS = 300,
};

/* Products that one thread computes in a second or two, overhead included. */
static const double SECONDS = 5e10;

/* Bounds that are far from what the rows would choose. Then centers belong where the rows are
 * dense, and k-means++ would spread them too far. */
static int is_tight(const struct ck_job *j)
{
    const struct ck_kmeans_options *o = &j->c->o.kmeans;
    return o->ratio > 0.6 || (o->max_ratio > 0 && o->max_ratio < 2) || j->input->min_sizes ||
           j->input->max_sizes;
}

static int is_bounded(const struct ck_job *j)
{
    return is_tight(j) || j->c->o.kmeans.ratio > 0 || j->c->o.kmeans.max_ratio > 0;
}

/* Of one assignment of all rows. The constants are for what does not grow with k and dim. */
static double scan_cost(const struct ck_job *j, int h)
{
    return (double)j->usable * ((double)j->c->o.k.v[h] + 16) * ((double)j->c->scan.ld + 16);
}

/* Of one round: the repair costs two scans and an effort per row, large where sizes are tight. */
static double round_cost(const struct ck_job *j, int h)
{
    double solver = j->c->o.kmeans.ratio > 0.9 ? 6e5 : is_tight(j) ? 2e5 : 1e4;
    return is_bounded(j) ? 2 * scan_cost(j, h) + solver * (double)j->usable : scan_cost(j, h);
}

enum ck_init ck_polish_init(const struct ck_job *j, int h)
{
    enum ck_init given = (enum ck_init)j->c->o.init;
    if (given != CK_INIT_AUTO)
        return given;
    int cheap = ck_start_is_cheap(&j->c->scan, j->c->o.k.v[h]);
    return cheap && !is_tight(j) ? CK_INIT_PLUSPLUS : CK_INIT_SAMPLE;
}

/* Of a descent. */
int64_t ck_polish_most_rounds(const struct ck_job *j)
{
    return j->c->o.polish < 0 ? MOST_ROUNDS : j->c->o.polish;
}

/* Is there no polish, because the centers are to stay, or not more than one round? Without a repair
 * prices stay where they are, and more rounds would not improve them. */
static int stays(const struct ck_job *j)
{
    return j->from || (j->input->model && j->c->o.polish < 0) ||
           (is_bounded(j) && !j->c->o.repair);
}

/* The search for a path takes k^2 per row that changes its cluster. */
int ck_polish_in_memory(const struct ck_job *j, int h)
{
    const double most_bytes = 32 << 20, most_pairs = 2e8;
    double n = (double)j->usable, k = (double)j->c->o.k.v[h];
    return !stays(j) && ck_polish_most_rounds(j) > 1 && !j->c->scan.rows->one_pass &&
           ck_job_levels(j, h) == 1 &&
           ck_descent_bytes(&j->c->scan, j->usable, j->c->o.k.v[h]) <= most_bytes &&
           (!is_bounded(j) || n * k * k <= most_pairs);
}

int64_t ck_polish_starts(const struct ck_job *j, int h)
{
    if (j->c->scan.rows->one_pass || ck_job_most_starts(j, 2) == 1 || ck_job_levels(j, h) == 2)
        return 1;
    if (j->c->o.restarts)
        return j->c->o.restarts;
    double round = ck_polish_in_memory(j, h) ? DENSE * scan_cost(j, h) : round_cost(j, h);
    double first = EPOCHS * scan_cost(j, h) + ROUNDS * round;
    double more = floor((SECONDS - first) / (SHORT * round));
    return 1 + (int64_t)fmax(0, fmin(MOST_STARTS - 1, more));
}

int ck_polish_gives_up(const struct ck_job *j, int h)
{
    return !j->c->o.restarts && j->failures[h] >= PATIENCE;
}

/* The centers of a fit on other rows stay, and those of a model remember its rows. */
int64_t ck_polish_rounds(const struct ck_job *j, int h)
{
    int64_t rounds = j->c->o.polish;
    if (j->from || (j->input->model && rounds < 0))
        return 0;
    if (rounds < 0)
        rounds = (int64_t)fmax(1, fmin(MOST_ROUNDS, floor(SECONDS / round_cost(j, h))));
    return stays(j) && rounds > 1 ? 1 : rounds;
}

/* ---- progress ---- */

/* A bar that fills over the starts; how many rounds each will have is not known. */
static int report_round(void *user, const struct coke_progress *p)
{
    const struct ck_job *j = user;
    int64_t most = 1, round = j->round_number < ROUNDS ? j->round_number : ROUNDS - 1;
    for (int h = 0; h < j->c->heads; h++)
        most = j->starts[h] > most ? j->starts[h] : most;
    return ck_progress_ask(j->cb, &(struct coke_progress){.phase = "polish",
                                                          .epochs = p->epochs,
                                                          .done = j->start * ROUNDS + round,
                                                          .total = most * ROUNDS,
                                                          .unit = "rounds"});
}

int ck_polish_report(const struct ck_job *j, int h, int64_t round)
{
    int64_t tried = j->c->summary[h].restarts, starts = ck_polish_starts(j, h);
    int64_t done = tried * ROUNDS + (round < ROUNDS ? round : ROUNDS - 1);
    return ck_progress_count(j->cb, "polish", done, starts * ROUNDS, "rounds");
}

void ck_polish_announce(struct ck_job *j, int h)
{
    j->round_number = j->c->summary[h].polish;
    j->polishing = (struct coke_callbacks){
        .size = sizeof j->polishing, .user = j, .progress = report_round};
    j->round = j->start == 0 && j->round_number == 0 ? j->cb : &j->polishing;
}

/* ---- means ---- */

/* A part of the rows, read on all threads, then added by cluster. */
struct part {
    const struct ck_scan *scan;
    int64_t n;
    int64_t *id;    /* [room] */
    float *x;       /* [room + tile][ld] */
    int32_t *label; /* [room] */
    struct ck_first_error error;
};

static void read_block(void *arg, int64_t block, int worker)
{
    (void)worker;
    struct part *p = arg;
    int64_t at = block * CK_ASSIGN_BLOCK, left = p->n - at;
    int n = (int)(left < CK_ASSIGN_BLOCK ? left : CK_ASSIGN_BLOCK);
    int rc = ck_scan_get(p->scan, p->id + at, n, p->x + at * p->scan->ld);
    if (rc)
        ck_first_error_keep(&p->error, rc);
}

/* Rows whose values are about a megabyte; a few clusters per thread get some of them. */
static int64_t part_rows(const struct ck_job *j)
{
    int64_t rows = (1 << 20) / j->c->scan.ld;
    rows = rows < 256 ? 256 : rows;
    return rows < j->c->n ? rows : j->c->n;
}

/* Adds the rows of this process to the sums of the head. */
static int add_rows(struct ck_job *j, struct coke_kmeans *km, struct part *p, int64_t room)
{
    int64_t end = ck_share_first(j->c->n, j->share.rank + 1, j->share.size);
    int64_t row = ck_share_first(j->c->n, j->share.rank, j->share.size);
    while (row < end) {
        for (p->n = 0; row < end && p->n < room; row++) {
            p->id[p->n] = row;
            p->label[p->n] = ck_labels_get(&km->labels, row);
            p->n += p->label[p->n] >= 0;
        }
        ck_parallel((p->n + CK_ASSIGN_BLOCK - 1) / CK_ASSIGN_BLOCK, read_block, p);
        CK_RETURN_IF(ck_first_error_raise(&p->error));
        ck_kmeans_add(km, p->x, p->n, p->label);
        CK_RETURN_IF(ck_progress_count(j->round, "means", row, j->c->n, NULL));
    }
    return COKE_OK;
}

int ck_polish_move(struct ck_job *j, int h, double *fit, int *moved)
{
    struct coke_kmeans *km = j->c->head[h];
    const struct ck_scan *scan = &j->c->scan;
    int64_t room = part_rows(j);
    int rc = COKE_ENOMEM;
    struct part p = {.scan = scan};
    p.id = ck_alloc_array((size_t)room, sizeof *p.id);
    p.label = ck_alloc_array((size_t)room, sizeof *p.label);
    p.x = ck_calloc_array((size_t)room + CK_TILE, (size_t)scan->ld * sizeof *p.x);
    if (!p.id || !p.label || !p.x)
        goto done;
    CK_TRY(ck_kmeans_reserve(km, room));
    ck_kmeans_forget(km);
    CK_TRY(add_rows(j, km, &p, room));
    if (j->share.size > 1) {
        CK_TRY(j->share.sum_i64(j->share.arg, km->sum, km->k * km->ld));
        CK_TRY(j->share.sum_i64(j->share.arg, km->count, km->k));
    }
    *fit = ck_kmeans_move_to_means(km, moved);
done:
    ck_free(p.id);
    ck_free(p.label);
    ck_free(p.x);
    return rc;
}
