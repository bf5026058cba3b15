/* trained.h - what the commands that use a trained encoder share: RUN and DATA. */
#ifndef COKE_CLI_TRAINED_H
#define COKE_CLI_TRAINED_H

#include "args.h"

#define ARG_WEIGHTS                                                                            \
    ARG_TEXT("weights", 0, "FILE",                                                             \
             "instead of RUN: safetensors or .pth of a torchvision ResNet-18, 34 or 50")
#define ARGS_TRAINED                                                                           \
    ARG_WEIGHTS, ARG_THREADS_AS("threads; auto = all cores"), ARG_JSON, ARG_QUIET, ARG_CHANNELS
/* What `channels` means where an encoder is used. */
#define ARG_CHANNELS                                                                           \
    ARG_HELP("channels", "images as 1: grey, 3: colour; auto: as the encoder takes them")

#define RUN_IS "RUN is the folder of a training, a checkpoint or an encoder (safetensors). "
#define DATA_IS                                                                                \
    "DATA is whatever 'coke data info' reads: a folder or list of images, tar shards, CIFAR, " \
    "MNIST, .npy, synthetic:. "

/* Opens RUN, or the file of --weights, and tells which operand DATA is. The command has the
 * kinds "use" and "dataset". */
int trained_open(struct coke_run **run, const char **data, struct args *a, int n,
                 const char *const *operands);
/* Opens a data set with options o, grey or colour as the encoder takes it unless they name the
 * channels, and prints its note. */
int trained_open_data(struct coke_dataset **out, const struct args *a,
                      const struct coke_run *run, const char *source,
                      const struct coke_options *o);
/* Prints the library's sentence. A second run would start over, so one that was stopped does
 * not exit with 75. */
int trained_fail(int rc);

#endif
