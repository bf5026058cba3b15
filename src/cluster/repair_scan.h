/* repair_scan.h - a pass over all rows at fixed prices, in chunks, for repair.c; several
 * processes may share it (repair_share.c). */
#ifndef CK_REPAIR_SCAN_H
#define CK_REPAIR_SCAN_H

#include "cluster/exact.h"
#include "cluster/repair.h"
#include "core/first_error.h"

#include <stdatomic.h>

enum {
    CK_REPAIR_CHUNK =
        1024,           /* rows a thread takes at a time; results are merged in this order */
    CK_REPAIR_CALM = 8, /* a calm price may rise by this part of the margin */
};

struct ck_repair_active {
    int64_t id;
    int32_t label;
    float score; /* x.c */
};

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
    int only_far; /* second look: nearest centers of rows whose label's price exceeds the margin
                   */
    int workers;
    struct ck_repair_worker *worker;
    struct ck_repair_part *part;
    int64_t chunks, first_chunk;
    struct ck_share share; /* the processes that share them */
    float *bias;           /* [k] prices of this pass */
    float *fall;           /* [k] how far they may fall */
    float *rise;           /* [k] how far they may rise beyond margin / CK_REPAIR_CALM */
    uint8_t *calm;         /* [k] price 0, and likely to stay there */
    float reach;           /* at most this many margins */
    float *look;           /* [k] how far behind rows look for their nearest center */
    float *push;           /* [k] how far the box moves on */
    float lowest;          /* of them */
    int full_passes;
    double fraction;              /* of the rows that are looked at; 1 = all */
    int64_t *min_size, *max_size; /* [k] bounds for that fraction */
    struct ck_first_error error;  /* of the team */
    /* merged */
    int64_t n, narcs;
    int64_t *id, *start, *base, *choices;
    int32_t *label;
    float *score;
    struct ck_arc *arc;
    struct ck_choice *choice;
};

int ck_repair_scan_init(struct ck_repair_scan *p, struct ck_repair *r);
void ck_repair_scan_release(struct ck_repair_scan *p);
/* The widest margin (a power of two) at which a row has at most `limit` centers within it on
 * average. */
int ck_repair_scan_choose_margin(struct ck_repair_scan *p, double limit);
int ck_repair_scan_run(struct ck_repair_scan *p);
/* After a pass: similarities of all rows to their nearest centers, without prices. */
int ck_repair_scan_nearest(struct ck_repair_scan *p);

/* ---- between repair_scan.c and repair_share.c ---- */

void ck_repair_scan_release_found(struct ck_repair_scan *p);

/* Several processes have a run of chunks each: those of process `rank` begin here. */
int64_t ck_repair_scan_chunks_before(const struct ck_repair_scan *p, int rank);
/* After all have run theirs: every process gets what one alone would have found. */
int ck_repair_scan_merge_ranks(struct ck_repair_scan *p);

#endif
