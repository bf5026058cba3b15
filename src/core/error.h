/* error.h - status codes, and one error message (sentence) per thread.
 *
 * A function that fails sets the message of its thread and returns a status; callers pass the
 * status up. Workers hand theirs over with core/first_error.h. */
#ifndef CK_ERROR_H
#define CK_ERROR_H

#include "coke/types.h"

enum { CK_SENTENCE = 1024 }; /* bytes of an error sentence with its 0 */

/* One sentence about this thread's last failure; valid until its next one. */
const char *ck_last_error(void);

/* Names and bytes of files may be in a sentence: it holds valid UTF-8 that no terminal acts on
 * (ck_text_clean). */

/* Stores the sentence for ck_last_error() and returns status. */
__attribute__((format(printf, 2, 3))) int ck_fail(int status, const char *fmt, ...);

/* Prepends to the stored sentence, such as "FILE: " to the message of a lower layer; truncates
 * at the end. */
__attribute__((format(printf, 2, 3))) int ck_fail_prefix(int status, const char *fmt, ...);

/* Fails in a function that owns something: `rc` keeps the status, `done:` releases. */
#define CK_FAIL(status, ...)                                                                   \
    do {                                                                                       \
        rc = ck_fail((status), __VA_ARGS__);                                                   \
        goto done;                                                                             \
    } while (0)

/* The same with a status whose sentence is already set, as by the functions of core/mem.h. */
#define CK_LEAVE(status)                                                                       \
    do {                                                                                       \
        rc = (status);                                                                         \
        goto done;                                                                             \
    } while (0)

/* Returns a failure at once: for functions that have nothing to release. */
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
