/* trained.h - what the commands that use a trained encoder share: RUN and DATA. */
#ifndef COKE_CLI_TRAINED_H
#define COKE_CLI_TRAINED_H

#include "command.h"

/* Options that all of them have. */
struct trained {
    struct coke_use_options use;
    const char *weights, *cache;
    int64_t threads;
    int32_t json, quiet;
};

#define ARG_WEIGHTS(struct_)                                                                   \
    ARG_TEXT(struct_, t.weights, "weights", 0, "FILE",                                         \
             "instead of RUN: safetensors or .pth of a torchvision ResNet-18, 34 or 50")
#define ARG_CACHE_DIR(struct_)                                                                 \
    ARG_TEXT(struct_, t.cache, "cache", 0, "DIR",                                              \
             "folder for indexes of tar files, otherwise written beside them")
#define ARGS_TRAINED(struct_)                                                                  \
    ARG_WEIGHTS(struct_), ARG_CACHE_DIR(struct_),                                              \
        ARG_INT(struct_, t.threads, "threads", 0, 0, 0, 1024, "auto",                          \
                "threads; auto = all cores"),                                                  \
        ARG_FLAG(struct_, t.json, "json", 0, "print the result as JSON"),                      \
        ARG_FLAG(struct_, t.quiet, "quiet", 'q', "no progress and no remarks; warnings stay")

#define RUN_IS "RUN is the folder of a training, a checkpoint or an encoder (safetensors). "
#define DATA_IS                                                                                \
    "DATA is whatever 'coke data info' reads: a folder or list of images, tar shards, CIFAR, " \
    "MNIST, .npy, synthetic:. "

/* coke_dataset_option_table, with what `channels` means here. */
const struct coke_option_table *trained_data_table(void);

/* Opens RUN, or the file of --weights, and says which operand DATA is. */
int trained_open(struct coke_run **run, const char **data, const struct trained *t, int n,
                 const char *const *operands);
/* Opens a data set, grey or in colours as the encoder wants it if the options do not say, and
 * says its note. */
int trained_open_data(struct coke_dataset **out, const struct trained *t,
                      const struct coke_run *run, const char *source,
                      const struct coke_dataset_options *o);
/* The library's sentence. A second run would begin again: no 75 for one that was stopped. */
int trained_fail(int rc);

#endif
