/* start_from.h - where coke cluster starts: centers of a file, or a model to continue. */
#ifndef COKE_CLI_START_FROM_H
#define COKE_CLI_START_FROM_H

#include "args.h"

/* Owned; the members that are not needed stay NULL. */
struct start_from {
    float *centers; /* [k][dim] */
    struct coke_model *model;
    int keep_bounds;
};

/* Does --init name a file, or is there --continue? */
int start_from_is_given(struct args *a);
/* Reads them and, where -k is not given, sets the option k. rows are those to be clustered. */
int start_from_open(struct start_from *s, struct args *a, const struct coke_rows *rows);
void start_from_release(struct start_from *s);

#endif
