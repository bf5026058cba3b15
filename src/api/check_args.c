/* check_args.c - argument checks of the public functions. */
#include "api/check_args.h"

/* names is the text of the macro's arguments: "km, x, labels". */
int ck_args_check(const char *function, const char *names, const void *const *arg, int n)
{
    for (int i = 0; i < n; i++) {
        size_t length = strcspn(names, ",");
        if (!arg[i])
            return ck_fail(COKE_EUSAGE, "%s: argument is NULL (%.*s)", function, (int)length,
                           names);
        names += length;
        names += strspn(names, ", ");
    }
    return COKE_OK;
}

int ck_args_check_list(const char *function, const char *name, const char *const *list, int n)
{
    if (n < 0)
        return ck_fail(COKE_EUSAGE, "%s: %s has %d elements", function, name, n);
    for (int i = 0; i < n; i++)
        if (!list || !list[i])
            return ck_fail(COKE_EUSAGE, "%s: argument is NULL (%s)", function, name);
    return COKE_OK;
}

static int fail_size(const char *function, const char *name, size_t size, size_t known)
{
    return ck_fail(COKE_EUSAGE,
                   "%s: %s->size is %zu, not within %zu..%zu: set it to sizeof, as COKE_INIT "
                   "does; a coke.h that is newer than the library is an error too",
                   function, name, size, sizeof size, known);
}

/* memcpy, because the caller's struct may be shorter than the type says. */
int ck_args_read(const char *function, const char *name, void *full, size_t known,
                 const void *from)
{
    size_t size;
    memset(full, 0, known);
    if (!from)
        return COKE_OK;
    memcpy(&size, from, sizeof size);
    if (size < sizeof size || size > known)
        return fail_size(function, name, size, known);
    memcpy(full, from, size);
    return COKE_OK;
}

void ck_args_write(void *to, const void *full)
{
    size_t size;
    if (!to)
        return;
    memcpy(&size, to, sizeof size);
    memcpy((char *)to + sizeof size, (const char *)full + sizeof size, size - sizeof size);
}
