/* trained.h - shared by the commands that use a trained encoder: opening RUN and DATA. */
#ifndef COKE_CLI_TRAINED_H
#define COKE_CLI_TRAINED_H

#include "args.h"

#define ARG_WEIGHTS                                                                            \
    ARG_TEXT("weights", 0, "FILE",                                                             \
             "instead of RUN: .safetensors or .pth of a torchvision ResNet-18, 34 or 50")
#define ARGS_TRAINED                                                                           \
    ARG_WEIGHTS, ARG_THREADS_AS("number of threads; auto = all cores"), ARG_JSON, ARG_QUIET,   \
        ARG_CHANNELS
/* Help text of `channels` for commands that use an encoder. */
#define ARG_CHANNELS                                                                           \
    ARG_HELP("channels", "image channels, 1: gray, 3: color; auto: as the encoder expects")

#define RUN_IS "RUN is the folder of a training, a checkpoint or an encoder (safetensors). "
#define DATA_IS                                                                                \
    "DATA is anything that 'coke data info' reads: a folder or list of images, tar shards, "   \
    "CIFAR, "                                                                                  \
    "MNIST, .npy, synthetic:. "

/* Opens RUN, or the file of --weights, and sets *data to the operand DATA. The command has the
 * kinds "use" and "dataset". Also applies --threads. The caller frees *run. */
int trained_open(struct coke_run **run, const char **data, struct args *a, int n,
                 const char *const *operands);
/* Opens a data set with options o, converted to the channels of the encoder unless they are
 * given, and prints its note. */
int trained_open_data(struct coke_dataset **out, const struct args *a,
                      const struct coke_run *run, const char *source,
                      const struct coke_options *o);
/* Prints the library's message. Exit code 75 would promise that a second run resumes; these
 * commands start over, so a stop becomes 1. */
int trained_fail(int rc);

#endif
