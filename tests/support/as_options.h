/* as_options.h - public options from the plain struct of their kind, for tests.
 *
 * Tests fill structs, whose fields the compiler checks, and pass AS(kind, &values) to the public
 * functions. Nothing is allocated: the object borrows the struct, and lives until AS was used 16
 * more times. */
#ifndef CK_AS_OPTIONS_H
#define CK_AS_OPTIONS_H

#include "cluster/job_options.h"
#include "coke.h"
#include "core/options.h"
#include "data/data_options.h"
#include "eval/eval_options.h"
#include "io/rows_options.h"
#include "nn/mlp.h"
#include "nn/nn_options.h"
#include "nn/optimizer.h"
#include "nn/resnet.h"
#include "report/report_options.h"
#include "train/train_options.h"
#include "train/use_options.h"

static inline const struct coke_options *
as_options(const char *kind, const struct ck_option_table *t, const void *values)
{
    static struct coke_options pool[16];
    static unsigned next;
    struct coke_options *o = &pool[next++ % 16];
    *o = (struct coke_options){.kind = kind, .table = t, .values = (void *)(uintptr_t)values};
    return o;
}

#define AS(kind, values) as_options(#kind, ck_##kind##_option_table(), values)

#endif
