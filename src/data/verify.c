/* verify.c - decodes every image of a data set. */
#include "data/verify.h"
#include "core/callbacks.h"
#include "data/sweep.h"

#include <string.h>

/* All borrowed for the call. */
struct verify {
    struct coke_dataset *data;
    const struct coke_callbacks *callbacks;
    struct coke_verify_summary *result;
};

/* On any thread of the team. strict: damage that decoders tolerate is an error, too. */
static int decode(void *arg, struct ck_fetcher *f, int64_t i, int place, int worker)
{
    struct verify *v = arg;
    struct ck_box part;
    int scale;
    (void)i;
    (void)place;
    (void)worker;
    f->strict = 1;
    return ck_fetch_decode(f, v->data, NULL, 1, &part, &scale);
}

/* On the calling thread, in order. */
static int judge(void *arg, int64_t i, int place, int status, const char *sentence)
{
    struct verify *v = arg;
    (void)place;
    v->result->good += status == COKE_OK;
    v->result->bad += status != COKE_OK;
    if (status)
        ck_bad_image(v->callbacks, i, sentence);
    return COKE_OK;
}

int ck_verify(struct coke_dataset *d, const struct coke_callbacks *callbacks,
              struct coke_verify_summary *out)
{
    struct verify v = {d, callbacks, out};
    struct ck_sweep sweep = {.data = d,
                             .callbacks = callbacks,
                             .phase = "verify",
                             .arg = &v,
                             .make = decode,
                             .take = judge};
    memset(out, 0, sizeof *out);
    return ck_sweep_run(&sweep);
}
