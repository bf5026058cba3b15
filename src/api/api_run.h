/* api_run.h - what stands behind coke_run. */
#ifndef CK_API_RUN_H
#define CK_API_RUN_H

#include "train/run_use.h"

struct coke_run {
    struct ck_run r;
    struct coke_use_options o;
};

#endif
