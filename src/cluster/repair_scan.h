/* repair_scan.h - a scan over all rows at fixed prices, in chunks, for repair.c; several
 * processes may divide it (repair_share.c). */
#ifndef CK_REPAIR_SCAN_H
#define CK_REPAIR_SCAN_H

#include "cluster/exact.h"
#include "cluster/repair.h"
#include "core/first_error.h"

#include <stdatomic.h>

enum {
    CK_REPAIR_CHUNK =
        1024,           /* rows a thread takes at a time; results are merged in this order */
    CK_REPAIR_CALM = 8, /* a calm price may rise by margin / CK_REPAIR_CALM */
};

/* A row with a choice. */
struct ck_repair_active {
    int64_t id;
    int32_t label;
    float score; /* x.c */
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
    double primal, nearest, weight;
};

struct ck_repair_worker {
    float *x; /* [CK_ASSIGN_BLOCK + CK_TILE][ld] */
    struct ck_near_list near;
    struct ck_repair_found found;
    int64_t *size; /* [k] rows without a choice */
};

struct ck_repair_scan {
    struct ck_repair *r;
    float margin;
    int only_far; /* scan only rows whose nearest center may be beyond what they looked at */
    int workers;
    struct ck_repair_worker *worker;
    struct ck_repair_part *part;
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
    int full_scans;
    double fraction;              /* of the rows that are scanned; 1 = all */
    int64_t *min_size, *max_size; /* [k] bounds for that fraction */
    struct ck_first_error error;  /* of the team */
    /* merged lists of all threads and processes, in the order of the rows; owned */
    int64_t n, narcs;
    int64_t *id, *start, *base, *choices;
    int32_t *label;
    float *score;
    struct ck_arc *arc;
    struct ck_choice *choice;
};

int ck_repair_scan_init(struct ck_repair_scan *p, struct ck_repair *r);
void ck_repair_scan_release(struct ck_repair_scan *p);
/* Sets the widest margin (a power of two) at which rows list at most `limit` centers on average,
 * measured on a sample. */
int ck_repair_scan_choose_margin(struct ck_repair_scan *p, double limit);
/* Labels the rows at r->price and merges the rows with a choice. Sets sizes and sums in r. */
int ck_repair_scan_run(struct ck_repair_scan *p);
/* After a scan: adds the similarities of all rows to their nearest centers, without prices, to
 * r->nearest. */
int ck_repair_scan_nearest(struct ck_repair_scan *p);

/* ---- between repair_scan.c and repair_share.c ---- */

void ck_repair_scan_release_found(struct ck_repair_scan *p);

/* Each process has a contiguous run of chunks: that of process `rank` begins here. */
int64_t ck_repair_scan_chunks_before(const struct ck_repair_scan *p, int rank);
/* After each process scanned its chunks: all get what one process alone would have found.
 * Collective. */
int ck_repair_scan_merge_ranks(struct ck_repair_scan *p);

#endif
