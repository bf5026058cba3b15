/* misuse.h - wrong calls, counted: M() and its relatives go on after a call that was not refused,
 * and finish() fails the test then. */
#ifndef CK_MISUSE_H
#define CK_MISUSE_H

#include "api_objects.h"

#include <limits.h>

static int calls, wrong;

static void note(int good, const char *call, int rc)
{
    calls++;
    if (good)
        return;
    wrong++;
    print_error("%s: %d, \"%s\"\n", call, rc, coke_last_error());
}

/* COKE_EUSAGE, with a sentence. */
#define M(call)                                                                                \
    do {                                                                                       \
        int rc_ = call;                                                                        \
        note(rc_ == COKE_EUSAGE && coke_last_error()[0], #call, rc_);                          \
    } while (0)
/* Another status. */
#define MS(status, call)                                                                       \
    do {                                                                                       \
        int rc_ = call;                                                                        \
        note(rc_ == (status) && coke_last_error()[0], #call, rc_);                             \
    } while (0)
/* A value. */
#define MV(condition) note(condition, #condition, 0)

static void finish(void)
{
    int found = wrong;
    wrong = 0;
    if (found)
        fail_msg("%d calls were not refused", found);
}

static const int64_t MANY = INT64_MAX;

#endif
