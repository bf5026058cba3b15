/* repair_scan.h - a scan over all rows at fixed prices, in chunks, for repair.c; several
 * processes may divide it (repair_share.c). */
#ifndef CK_REPAIR_SCAN_H
#define CK_REPAIR_SCAN_H

#include "cluster/exact.h"
#include "cluster/repair.h"
#include "cluster/repair_crowds.h"
#include "core/first_error.h"

#include <stdatomic.h>

enum {
    CK_REPAIR_CHUNK =
        1024,           /* rows a thread takes at a time; results are merged in this order */
    CK_REPAIR_CALM = 8, /* a calm price may rise by margin / CK_REPAIR_CALM */
    CK_REPAIR_SAMPLE = 512, /* rows that size the margin */
};

/* What is known of a row, in ck_repair_scan.mark. */
enum {
    CK_ROW_OFF = 1,   /* nearer to another center than to that of its label */
    CK_ROW_FAR = 2,   /* its nearest center is not known */
    CK_ROW_MOVED = 4, /* whether it is off is not known */
    CK_ROW_CUT = 8,   /* its list was cut */
};

/* A row with a choice. */
struct ck_repair_active {
    int64_t id;
    int32_t label;
    float score;   /* x.c */
    float nearest; /* to the nearest center; unless CK_ROW_FAR */
    uint32_t mark;
};

/* Rows with a choice, and their choices, as one thread found them. */
struct ck_repair_found {
    int64_t n, room;
    struct ck_repair_active *item;
    int64_t narcs, arcs_room;
    struct ck_repair_arc {
        int32_t point; /* within its chunk */
        int32_t k;
        float score;
    } * arc;
};

/* One chunk: which thread scanned it, where its rows are in that thread's lists, and sums over
 * its rows. Merging in the order of chunks makes the result independent of the team. */
struct ck_repair_part {
    int worker;
    int64_t first, n, first_arc, narcs;
    double primal, nearest, weight, square;
};

struct ck_repair_worker {
    float *x; /* [CK_ASSIGN_BLOCK + CK_TILE][ld] */
    struct ck_near_list near;
    struct ck_repair_found found;
    int64_t *size; /* [k] rows without a choice */
};

/* Where rows would rather be. */
struct ck_repair_wish {
    int32_t *nearest;  /* [rows] the nearest center, -1 = not known */
    float *best, *own; /* [rows] the score there, and with the label */
};

struct ck_repair_scan {
    struct ck_repair *r;
    float margin;
    double listed;   /* centers per row at the least margin, about */
    int only_marked; /* scan only rows that are FAR or MOVED, or with `valuing` CUT */
    int valuing;     /* add up the best values at r->price */
    uint8_t tied[CK_REPAIR_SAMPLE]; /* rows of the sample with long lists at the least margin */
    float tie;                      /* values that differ by no more count as equal */
    _Atomic int64_t cut;            /* rows of the last scan whose lists were cut */
    int workers;
    struct ck_repair_worker *worker;
    struct ck_repair_part *part;
    uint8_t *mark; /* [rows] CK_ROW_..., for the rows of this process */
    int64_t chunks, first_chunk;
    struct ck_share share; /* the processes that divide the chunks */
    float *bias;           /* [k] prices of this scan */
    float *fall;           /* [k] how far they may fall */
    float *rise;           /* [k] how far they may rise beyond margin / CK_REPAIR_CALM */
    uint8_t *calm;         /* [k] price 0, and likely to stay there */
    float reach;           /* limit of fall, in margins */
    float *look;           /* [k] how far behind their best rows search for the nearest */
    float *push;           /* [k] last step of the box, signed */
    float lowest;          /* lowest of bias */
    float guide;    /* margin of the lists that led to prices for near copies; 0 = none did */
    int full_scans; /* since then */
    int copies;     /* many rows are copies of others */
    struct ck_crowds crowds;      /* except these */
    struct ck_repair_wish *wish;  /* of the marked rows of a scan, or NULL */
    double trust;                 /* how far prices may move from one scan to the next */
    double fraction;              /* of the rows that are scanned; 1 = all */
    int64_t *min_size, *max_size; /* [k] bounds for that fraction */
    struct ck_first_error error;  /* of the team */
    /* merged lists of all threads and processes, in the order of the rows; owned */
    int64_t n, narcs;
    int64_t *id, *start, *base, *choices;
    int32_t *label;
    float *score, *nearest;
    uint8_t *active_mark; /* as in `mark`, of the active rows of all processes */
    struct ck_arc *arc;
    struct ck_choice *choice;
};

int ck_repair_scan_init(struct ck_repair_scan *p, struct ck_repair *r);
void ck_repair_scan_release(struct ck_repair_scan *p);
/* Sets the widest margin (a power of two) at which rows list at most `limit` centers on average,
 * measured on a sample. */
int ck_repair_scan_choose_margin(struct ck_repair_scan *p, double limit);
/* The lead of the nearest center over the second that a quarter of the rows stays below, without
 * those that tie: the scale on which prices act; 0 if all rows tie. Measured on a sample. */
int ck_repair_scan_lead(struct ck_repair_scan *p, double *lead);
/* Labels the rows at r->price and merges the rows with a choice. Sets sizes and sums in r. */
int ck_repair_scan_run(struct ck_repair_scan *p);
/* After the last scan: completes r->nearest by the rows whose nearest center is far behind their
 * label at the prices of the scan, and counts r->off. Rows of crowds that are only nearly equal
 * have labels in no order: if there are any, rows first move to their nearest centers as far as
 * the bounds allow. */
int ck_repair_scan_nearest(struct ck_repair_scan *p);

/* Sum over the rows whose lists were cut of their best values at r->price. */
int ck_repair_scan_value(struct ck_repair_scan *p, double *sum);
/* CK_ROW_OFF or 0: is the nearest center nearer than that of the label? */
uint32_t ck_repair_off_mark(const struct ck_repair_scan *p, float score, float nearest);
/* Reports progress through the callbacks; COKE_ESTOPPED if the caller asks to stop. */
int ck_repair_scan_report(const struct ck_repair *r, const char *phase, int64_t done,
                          int64_t total);

/* ---- repair_sample.c ---- */

/* Moves r->price towards the optimum by up to `rounds` scans of this fraction of the rows. e->size
 * then has the sizes in the sample, p->min_size and p->max_size its bounds. Collective. */
int ck_repair_sample_prices(struct ck_repair_scan *p, struct ck_exact *e, double fraction,
                            int rounds);
/* The same where crowds decide the prices. */
int ck_repair_crowd_prices(struct ck_repair_scan *p, struct ck_exact *e);
/* Sets r->price to prices that suit the lists of the last scan, within p->trust of those of the
 * scan, whether the lists still bound the rows there or not: for another scan. to: the last scale
 * of ck_newton_run. */
int ck_repair_free_prices(struct ck_repair_scan *p, struct ck_exact *e, double to);
/* Root mean square by which r->price differs from the prices of the last scan. */
double ck_repair_price_change(const struct ck_repair_scan *p);

/* ---- repair_prices.c ---- */

/* Moves r->price towards the optimum by one visit to all rows. lead: as above. spread: rows go to
 * centers within `lead` at random. Collective. */
int ck_repair_refine_prices(struct ck_repair_scan *p, double lead, int spread);
/* Are many rows, within about 1e-4, copies of others? Without those of crowds. Measured on a
 * sample. */
int ck_repair_has_copies(struct ck_repair_scan *p, int *copies);
/* A number in [0, 1) for (row, center). */
float ck_repair_random(const struct ck_repair *r, int64_t id, int32_t k);

/* ---- between repair.c, repair_near.c and repair_fill.c ---- */

/* No slack: sizes are bounded on both sides, or the minimum sizes leave few rows free. */
int ck_repair_is_tight(const struct ck_repair *r);
/* Keeps prices where labels do not depend on a common offset, and within the range of scores. */
void ck_repair_make_prices_valid(struct ck_repair *r);
/* Clusters of more than `spare` times their minimum size need no price, and will not need one when
 * neighboring prices move a little: they are calm. If one does after all, it reaches the edge of
 * the box. */
void ck_repair_find_calm(struct ck_repair_scan *p, const int64_t *size, const int64_t *min_size,
                         double spare);
/* Gives the lists of the last scan to the solver; the box is around the prices of the scan. */
void ck_repair_load_solver(struct ck_repair_scan *p, struct ck_exact *e);
/* Sets the next prices where the box limited one; needs another scan. */
void ck_repair_move_box(struct ck_repair_scan *p, const struct ck_exact *e);
/* Copies sizes, prices and labels of the active rows to the result. */
void ck_repair_keep_solution(struct ck_repair_scan *p, const struct ck_exact *e);
/* The sum of the scores of all rows that have a choice, those of crowds included. */
double ck_repair_choice_primal(const struct ck_repair_scan *p);
/* The upper bound of every assignment within the bounds, at the prices of e; primal: sum of the
 * similarities of the present labels; value: of the rows whose lists were cut, see
 * ck_repair_scan_value. NAN: out of memory. */
double ck_repair_dual_value(const struct ck_repair_scan *p, const struct ck_exact *e,
                            double primal, double value);

/* Clusters outside their bounds, and rows by which they are. */
struct ck_repair_misfit {
    int64_t below, above, missing, surplus;
};
struct ck_repair_misfit ck_repair_misfit(const struct ck_repair *r, const int64_t *size);
/* Rows by which these sizes [k] are off their bounds. */
int64_t ck_repair_off_bounds(const struct ck_repair *r, const int64_t *size);
/* Sets r->below, above and missing from r->size. */
void ck_repair_count_violations(struct ck_repair *r);

/* Labels within the bounds at bounded cost, see ck_repair_run. */
int ck_repair_near(struct ck_repair_scan *p, struct ck_exact *e);
/* Moves rows, cheapest first, until all sizes are within their bounds. Always succeeds where the
 * bounds are feasible. If the total may fall by `allowed`, a sample of the rows may do.
 * Collective. */
int ck_repair_fill(struct ck_repair_scan *p, double allowed);

/* ---- between repair_scan.c and repair_share.c ---- */

void ck_repair_scan_release_found(struct ck_repair_scan *p);

/* Each process has a contiguous run of chunks: that of process `rank` begins here. */
int64_t ck_repair_scan_chunks_before(const struct ck_repair_scan *p, int rank);
/* words [n] of 4 bytes, one per row: all processes get what each computed for its chunks.
 * Collective. */
int ck_repair_scan_share_words(struct ck_repair_scan *p, void *words);
/* After each process scanned its chunks: all get what one process alone would have found.
 * Collective. */
int ck_repair_scan_merge_ranks(struct ck_repair_scan *p);

#endif
