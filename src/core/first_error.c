/* first_error.c - the error of the first thread of a team that fails. */
#include "core/first_error.h"

#include <stdio.h>

/* Only the thread that wins the exchange writes the sentence; the end of the team publishes
 * it. */
void ck_first_error_keep(struct ck_first_error *e, int status)
{
    int none = COKE_OK;
    if (status && atomic_compare_exchange_strong(&e->status, &none, status))
        snprintf(e->sentence, sizeof e->sentence, "%s", ck_last_error());
}

int ck_first_error_raise(const struct ck_first_error *e)
{
    return e->status ? ck_fail(e->status, "%s", e->sentence) : COKE_OK;
}
