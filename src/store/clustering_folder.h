/* clustering_folder.h - reads the folder of 'coke cluster': summary.json, labels and models. */
#ifndef CK_CLUSTERING_FOLDER_H
#define CK_CLUSTERING_FOLDER_H

#include "coke/types.h"
#include "data/names.h"

enum { CK_CLUSTERING_PATH = 4096 };

struct ck_clustering_head {
    int64_t k;
    double objective, labels_objective; /* NaN = unknown */
    double gap;                         /* of the certificate; NaN = none */
    int32_t *label;                     /* [n] 0..k-1, -1 = skipped */
    float *center;                      /* [k][dim] */
    float *price;                       /* [k] */
    int64_t *min_size;                  /* [k] */
    int64_t *max_size;                  /* [k]; NULL = no upper bounds */
};

/* Owns everything; zeroed = empty. */
struct ck_clustering {
    char source[CK_CLUSTERING_PATH]; /* the folder */
    int64_t n;                       /* rows, skipped ones included */
    int32_t dim;
    int euclidean;           /* else cosine */
    int64_t epochs;          /* of the first head; -1 = unknown */
    double seconds, speed;   /* NaN = unknown */
    struct ck_names options; /* name, value, ... */
    int heads;
    struct ck_clustering_head head[COKE_MAX_HEADS];
};

/* Reads summary.json and the labels of all heads; with models also centers, prices and bounds.
 * The files may be anything: every number is validated before it sizes an allocation. On failure
 * *c is released. */
int ck_clustering_read(struct ck_clustering *c, const char *folder, int models);
void ck_clustering_release(struct ck_clustering *c);

#endif
