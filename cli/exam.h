/* exam.h - what the commands that judge an encoder share: RUN, DATA and what is said of them.
 */
#ifndef COKE_CLI_EXAM_H
#define COKE_CLI_EXAM_H

#include "emit.h"
#include "progress.h"
#include "trained.h"

#define ARG_TEST                                                                               \
    ARG_TEXT("test", 0, "DATA2", "images to test on, where DATA has no test split of its own")

#define SPLITS                                                                                 \
    "The train split of DATA and its test split (CIFAR, MNIST, synthetic:), or the images "    \
    "of --test, are used; classes go together by their names. "

/* Which split is used follows from the purpose. */
#define EXAM_HIDDEN "split one-pass"

/* What is judged. */
struct exam {
    struct args *a;
    struct coke_eval_input in;
    struct coke_run *run;
    const char *source;
    struct coke_callbacks callbacks;
    struct progress bar;
};

/* Opens RUN, the train split of DATA and, where there are any, the test images. */
int exam_open(struct exam *x, struct args *a, int n, const char *const *operands);
void exam_close(struct exam *x);
/* Opens RUN alone. */
int exam_open_run(struct exam *x, struct args *a, int n, const char *const *operands);
int exam_open_split(struct coke_dataset **out, const struct exam *x, const char *source,
                    const char *split);

/* Weights, data and protocol, as JSON and as text, which ends within a line. test: the value of
 * --test, or NULL. */
void exam_begin_json(struct coke_json *j, const struct exam *x, const char *test,
                     const char *protocol);
void exam_print_about(const struct exam *x);
void exam_print_bad(int64_t bad);

#endif
