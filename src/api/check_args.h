/* check_args.h - argument checks of the public functions.
 *
 * Every coke_* function with a status checks its arguments with these macros and then calls a
 * ck_* function below, which may rely on them. Functions without a status (getters, *_free, JSON)
 * test their pointers themselves and return 0, NULL or "". The macros return from the calling function; they run before
 * anything is allocated, so there is nothing to release. */
#ifndef CK_CHECK_ARGS_H
#define CK_CHECK_ARGS_H

#include "api/api_options.h"
#include "coke.h"
#include "core/error.h"

#include <string.h>

/* ---- pointers ---- */

/* COKE_OK, or COKE_EUSAGE with a message that names the function and the first NULL among arg
 * [n]. names: the arguments as in the source, separated by commas. */
int ck_args_check(const char *function, const char *names, const void *const *arg, int n);

/* The same for a list of n texts; a NULL in it is COKE_EUSAGE, too. */
int ck_args_check_list(const char *function, const char *name, const char *const *list, int n);

/* Returns COKE_EUSAGE from the calling function if one of the pointers is NULL. */
#define CK_ARGS(...)                                                                           \
    do {                                                                                       \
        const void *const arg_[] = {__VA_ARGS__};                                              \
        CK_RETURN_IF(                                                                          \
            ck_args_check(__func__, #__VA_ARGS__, arg_, (int)(sizeof arg_ / sizeof *arg_)));   \
    } while (0)

/* The same for constructors: also sets *out to NULL, which it stays unless they succeed. */
#define CK_ARGS_OUT(out)                                                                       \
    do {                                                                                       \
        CK_ARGS(out);                                                                          \
        *(out) = NULL;                                                                         \
    } while (0)

/* ---- options ---- */

/* Declares `o`, the values of the options as the struct of their kind; defaults if options is
 * NULL. Returns COKE_EUSAGE if they are of another kind. o is borrowed from options. */
#define CK_OPTIONS(o, kind, options)                                                           \
    struct ck_##kind##_options o##_default_;                                                   \
    const struct ck_##kind##_options *o =                                                      \
        ck_options_as(options, ck_##kind##_option_table(), &o##_default_);                     \
    if (!o)                                                                                    \
    return COKE_EUSAGE

/* ---- structs that begin with their size ---- */

/* Copies a caller's struct into `full` [known bytes]. A caller compiled with an older header
 * has a smaller struct: the missing fields become 0. from NULL: all fields are 0. Fails if the
 * size is impossible or beyond `known` (a newer header). */
int ck_args_read(const char *function, const char *name, void *full, size_t known,
                 const void *from);
/* Copies the fields of `full` that the caller's struct has; its size stays. to NULL:
 * nothing. */
void ck_args_write(void *to, const void *full);

/* Reads a struct that may be NULL into `full`. */
#define CK_READ(full, from)                                                                    \
    CK_RETURN_IF(ck_args_read(__func__, #from, &(full), sizeof(full), from))
/* Checks the size of a result, which may be NULL, and zeroes `full`. */
#define CK_RESULT(full, out)                                                                   \
    do {                                                                                       \
        CK_READ(full, out);                                                                    \
        memset(&(full), 0, sizeof(full));                                                      \
    } while (0)
/* Returns the status of the call after copying the result, also on failure: fields that are
 * known by then are useful to callers. */
#define CK_RETURN_RESULT(out, full, call)                                                      \
    do {                                                                                       \
        int rc_ = (call);                                                                      \
        ck_args_write(out, &(full));                                                           \
        return rc_;                                                                            \
    } while (0)

#endif
