/* exam.h - shared by the commands that evaluate an encoder: opening RUN and DATA, and the
 * first lines of the result. */
#ifndef COKE_CLI_EXAM_H
#define COKE_CLI_EXAM_H

#include "emit.h"
#include "progress.h"
#include "trained.h"

#define ARG_TEST ARG_TEXT("test", 0, "DATA2", "test images, if DATA has no test split")

#define SPLITS                                                                                 \
    "Uses the train split of DATA and its test split (CIFAR, MNIST, synthetic:), or the "      \
    "images of --test; classes are matched by name. "

/* Hidden options: the command itself selects the splits, and reads more than once. */
#define EXAM_HIDDEN "split one-pass"

/* One evaluation. Owns the run and the data sets in `in`; exam_close frees them. */
struct exam {
    struct args *a;
    struct coke_eval_input in;
    struct coke_run *run;
    const char *source;
    struct coke_callbacks callbacks;
    struct progress bar;
};

/* Opens RUN, the train split of DATA and the test images if there are any. Call exam_close also
 * after a failure. */
int exam_open(struct exam *x, struct args *a, int n, const char *const *operands);
void exam_close(struct exam *x);
/* Opens RUN only, for commands that choose the split themselves. */
int exam_open_run(struct exam *x, struct args *a, int n, const char *const *operands);
/* A data set with the options of the command, except for the split. The caller frees *out. */
int exam_open_split(struct coke_dataset **out, const struct exam *x, const char *source,
                    const char *split);

/* Weights, data and protocol, as JSON (the object stays open) and as text (the line stays
 * open). test: the value of --test, or NULL. */
void exam_begin_json(struct coke_json *j, const struct exam *x, const char *test,
                     const char *protocol);
void exam_print_about(const struct exam *x);
/* One line if images were skipped. */
void exam_print_bad(int64_t bad);

#endif
