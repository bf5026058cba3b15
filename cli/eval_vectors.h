/* eval_vectors.h - coke eval cluster for a clustering of vectors. */
#ifndef COKE_CLI_EVAL_VECTORS_H
#define COKE_CLI_EVAL_VECTORS_H

#include "args.h"

/* Its options. */
#define ARGS_EVAL_VECTORS                                                                      \
    ARG_TEXT("classes", 0, "FILE",                                                             \
             "of a clustering of vectors: a class per row, as lines of text or a .npy of "     \
             "integers; an empty line or a negative number = unknown"),                        \
        ARG_TEXT("vectors", 0, "FILE",                                                         \
                 "of a clustering of vectors: the files that 'coke cluster' read, for the "    \
                 "silhouette"),                                                                \
        ARG_INT("sample", 5000, 2, 200000, NULL,                                               \
                "rows that the silhouette is computed of, drawn at random")

/* Is one of them given, so that the first operand is the folder of a clustering? */
int eval_vectors_wanted(struct args *a);
/* operands: the folder, and after --vectors further files of vectors. */
int eval_vectors(struct args *a, int n, const char *const *operands);

#endif
