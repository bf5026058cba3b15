/* error.h - one status and one sentence per thread. */
#ifndef CK_ERROR_H
#define CK_ERROR_H

#include "coke/types.h"

enum { CK_SENTENCE = 1024 }; /* bytes of an error sentence with its 0 */

/* One sentence about this thread's last failure; valid until its next one. */
const char *ck_last_error(void);

/* Stores the sentence for ck_last_error() and returns status. */
__attribute__((format(printf, 2, 3))) int ck_fail(int status, const char *fmt, ...);

/* Puts words in front of the stored sentence: "FILE: " before what a lower layer said. */
__attribute__((format(printf, 2, 3))) int ck_fail_prefix(int status, const char *fmt, ...);

#define CK_FAIL(status, ...)                                                                   \
    do {                                                                                       \
        rc = ck_fail((status), __VA_ARGS__);                                                   \
        goto done;                                                                             \
    } while (0)

/* Leaves with a status whose sentence is set already, as the functions of core/mem.h do. */
#define CK_LEAVE(status)                                                                       \
    do {                                                                                       \
        rc = (status);                                                                         \
        goto done;                                                                             \
    } while (0)

/* Passes a failure up at once: for functions that have nothing to release. */
#define CK_RETURN_IF(call)                                                                     \
    do {                                                                                       \
        int rc_ = (call);                                                                      \
        if (rc_ != COKE_OK)                                                                    \
            return rc_;                                                                        \
    } while (0)

/* The same for functions that own something: `rc` keeps the status, `done:` releases. */
#define CK_TRY(call)                                                                           \
    do {                                                                                       \
        rc = (call);                                                                           \
        if (rc != COKE_OK)                                                                     \
            goto done;                                                                         \
    } while (0)

#endif
