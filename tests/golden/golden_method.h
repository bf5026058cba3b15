/* golden_method.h - what the replays of recorded methods share. */
#ifndef CK_GOLDEN_METHOD_H
#define CK_GOLDEN_METHOD_H

#include "golden_data.h"

/* Of the largest entry: as suggested with the recordings for double and float32. */
#define GOLDEN_F64 1e-10
#define GOLDEN_F32 5e-6

struct replay {
    const struct golden_case *c;
    struct golden_report *r;
    int64_t n; /* images */
    int dim, views;
    const char *name; /* of the sub-case; "" = arrays of all of them */
};

double *replay_room(int64_t n); /* zeros; NULL for 0 */

/* The array <case>_<what>_f64 or _f32, both within their tolerances: 0, or -1 with the first
 * difference. */
int replay_close(struct replay *p, const char *what, const double *got);
int replay_close_run(struct replay *p, const char *what, const char *run, const double *got,
                     double tolerance);

/* An array of n values by its whole name; NULL if it is missing or of another size. */
double *replay_read(const struct replay *p, int64_t n, const char *name);
/* hyper.<case>_<key> */
double replay_number(const struct replay *p, const char *key);

/* Rows [rows][dim] brought to length 1, and the gradient g of those as that of the raw ones. */
double *replay_unit(const double *raw, int64_t rows, int dim);
void replay_through_length(const double *raw, int64_t rows, int dim, double *g);

/* The methods of other files. */
int golden_replay_average(struct replay *p);
int golden_replay_byol(struct replay *p);
int golden_replay_mocov2(struct replay *p);
int golden_replay_mocov3(struct replay *p);
int golden_replay_nnclr(struct replay *p);
int golden_replay_swav(struct replay *p);
int golden_replay_dino(struct replay *p);
int golden_replay_msn(struct replay *p);

#endif
