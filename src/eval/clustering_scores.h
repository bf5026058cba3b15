/* clustering_scores.h - judges the clusterings in a folder of 'coke cluster': by known classes,
 * and by the silhouette. */
#ifndef CK_CLUSTERING_SCORES_H
#define CK_CLUSTERING_SCORES_H

#include "coke/types.h"
#include "io/rows_options.h"

/* in and the paths in it are borrowed; `rows` stands for in->rows. Fills *out; what was not asked
 * for is NaN. */
int ck_clustering_scores(const struct coke_clustering_input *in,
                         const struct ck_rows_options *rows,
                         struct coke_clustering_result *out);

#endif
