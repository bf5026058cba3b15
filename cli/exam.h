/* exam.h - what the commands that judge an encoder share: RUN, DATA and what is said of them.
 */
#ifndef COKE_CLI_EXAM_H
#define COKE_CLI_EXAM_H

#include "emit.h"
#include "progress.h"
#include "trained.h"

/* Options that all of them have. */
struct exam_options {
    struct trained t;
    struct coke_dataset_options d;
    const char *test;
};

#define ARG_TEST(struct_)                                                                      \
    ARG_TEXT(struct_, c.test, "test", 0, "DATA2",                                              \
             "images to test on, where DATA has no test split of its own")
#define ARGS_EXAM(struct_)                                                                     \
    ARG_TEXT(struct_, c.t.weights, "weights", 0, "FILE",                                       \
             "instead of RUN: safetensors or .pth of a torchvision ResNet-18, 34 or 50"),      \
        ARG_TEXT(struct_, c.t.cache, "cache", 0, "DIR",                                        \
                 "folder for indexes of tar files, otherwise written beside them"),            \
        ARG_INT(struct_, c.t.threads, "threads", 0, 0, 0, 1024, "auto",                        \
                "threads; auto = all cores"),                                                  \
        ARG_FLAG(struct_, c.t.json, "json", 0, "print the result as JSON"),                    \
        ARG_FLAG(struct_, c.t.quiet, "quiet", 'q',                                             \
                 "no progress and no remarks; warnings stay")

#define SPLITS                                                                                 \
    "The train split of DATA and its test split (CIFAR, MNIST, synthetic:), or the images "    \
    "of --test, are used; classes go together by their names. "

/* The options of data sets without the split: which part is used follows from what for. */
const struct coke_option_table *exam_data_table(void);

/* What is judged. */
struct exam {
    struct coke_eval_input in;
    struct coke_run *run;
    const char *source;
    struct coke_callbacks callbacks;
    struct progress bar;
};

/* Opens RUN, the train split of DATA and, where there are any, the test images. */
int exam_open(struct exam *x, const struct exam_options *c, int n, const char *const *operands);
void exam_close(struct exam *x);
/* Opens RUN alone. */
int exam_open_run(struct exam *x, const struct exam_options *c, int n,
                  const char *const *operands);
int exam_open_split(struct coke_dataset **out, const struct exam_options *c,
                    const struct coke_run *run, const char *source, enum coke_split split);

/* Which weights, data and protocol, as JSON and for people; these end within a line. */
void exam_begin_json(struct coke_json *j, const struct exam *x, const struct exam_options *c,
                     const char *protocol);
void exam_print_about(const struct exam *x);
void exam_print_bad(int64_t bad);

#endif
