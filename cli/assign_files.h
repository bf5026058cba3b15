/* assign_files.h - the output files of 'coke assign' for vectors, and the arrays in them. */
#ifndef COKE_CLI_ASSIGN_FILES_H
#define COKE_CLI_ASSIGN_FILES_H

#include "args.h"

/* Owns the arrays; those that nobody asked for stay NULL. [n] rows, k clusters. */
struct assign_files {
    int64_t n, k;
    int32_t *labels, *second;
    float *scores, *margins;
    int64_t *sorted, *offsets, *medoids;
};

/* The options of these files, except the labels'. */
#define ARGS_ASSIGN_FILES                                                                      \
    ARG_TEXT("scores", 0, "FILE",                                                              \
             "vectors: also the cosine to the label's center, a .npy of float32 [n][1]"),      \
        ARG_TEXT("second", 0, "FILE",                                                          \
                 "vectors: also the second choice, the nearest center but the label's, a "     \
                 ".npy of int32 [n]"),                                                         \
        ARG_TEXT("margins", 0, "FILE",                                                         \
                 "vectors: also the lead of the label over the second choice, a .npy of "      \
                 "float32 [n][1]; 0 = undecided"),                                             \
        ARG_TEXT("sorted", 0, "FILE",                                                          \
                 "vectors: also the rows of each cluster, the closest first: row numbers, a "  \
                 ".npy of int64, and FILE-offsets.npy, where each cluster begins"),            \
        ARG_TEXT("medoids", 0, "FILE",                                                         \
                 "vectors: also the row number of each cluster's closest member, a .npy of "   \
                 "int64 [k]; -1 = empty")

/* The name of the first of these options that is set, or NULL. */
const char *assign_files_given(struct args *a);
/* Before any work: refuses what could not be written afterwards. Prints why. */
int assign_files_check(struct args *a);
/* Allocates what was asked for. Prints a failure. */
int assign_files_reserve(struct assign_files *f, struct args *a, int64_t n, int64_t k);
/* The labels come last: if they exist, all files do. A failure leaves none. */
int assign_files_write(struct assign_files *f, struct args *a);
void assign_files_release(struct assign_files *f);

#endif
