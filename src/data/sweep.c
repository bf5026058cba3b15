/* sweep.c - visits every image of a data set once: processed by all threads, delivered in
 * order. */
#include "data/sweep.h"
#include "core/callbacks.h"
#include "core/error.h"
#include "core/mem.h"
#include "core/workers.h"

#include <stdio.h>

/* The images that are processed in parallel. Each thread writes only the entries of its
 * images. */
struct block {
    const struct ck_sweep *sweep;
    struct ck_fetcher *fetcher; /* [threads], owned by ck_sweep_run */
    int64_t first;
    int count, ended;
    int status[CK_SWEEP_BLOCK];
    char sentence[CK_SWEEP_BLOCK][CK_SENTENCE];
};

static void make_one(void *arg, int64_t place, int worker)
{
    struct block *b = arg;
    const struct ck_sweep *s = b->sweep;
    struct ck_fetcher *f = &b->fetcher[worker];
    int64_t i = b->first + place;
    int rc = ck_fetch_open(f, s->data, i);
    if (!rc && f->width == 0) {
        b->ended = 1; /* only in a stream, whose blocks have one image */
        return;
    }
    if (!rc)
        rc = s->make(s->arg, f, i, (int)place, worker);
    b->status[place] = rc;
    if (rc)
        snprintf(b->sentence[place], CK_SENTENCE, "%s", ck_last_error());
}

/* Delivers the results in order, on the calling thread. */
static int take_all(const struct block *b)
{
    const struct ck_sweep *s = b->sweep;
    for (int p = 0; p < b->count; p++) {
        int status = b->status[p];
        if (status == COKE_ENOMEM)
            return ck_fail(status, "%s", b->sentence[p]);
        int rc = s->take(s->arg, b->first + p, p, status, status ? b->sentence[p] : "");
        if (rc)
            return rc;
    }
    return COKE_OK;
}

int ck_sweep_run(const struct ck_sweep *s)
{
    int rc = COKE_OK, threads = ck_threads();
    int64_t n = s->data->set->n, end = s->max && (n < 0 || s->max < n) ? s->max : n;
    struct block *b = ck_calloc_array(1, sizeof *b);
    struct ck_fetcher *f = ck_calloc_array((size_t)threads, sizeof *f);
    if (!b || !f)
        CK_LEAVE(COKE_ENOMEM);
    b->sweep = s;
    b->fetcher = f;
    while (end < 0 || b->first < end) {
        b->count = n < 0 ? 1 : CK_SWEEP_BLOCK;
        if (end >= 0 && end - b->first < b->count)
            b->count = (int)(end - b->first);
        ck_parallel(b->count, make_one, b);
        if (b->ended)
            break;
        CK_TRY(take_all(b));
        b->first += b->count;
        CK_TRY(
            ck_progress_count(s->callbacks, s->phase, b->first, end < 0 ? 0 : end, "images"));
    }
    if (b->first == 0)
        CK_FAIL(COKE_EFORMAT, "%s: no images in it", s->data->set->source);
done:
    for (int i = 0; f && i < threads; i++)
        ck_fetcher_release(&f[i]);
    ck_free(f);
    ck_free(b);
    return rc;
}
