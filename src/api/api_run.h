/* api_run.h - what stands behind coke_run. */
#ifndef CK_API_RUN_H
#define CK_API_RUN_H

#include "train/run_use.h"
#include "train/use_options.h"

struct coke_run {
    struct ck_run r;
    struct ck_use_options o;
};

#endif
