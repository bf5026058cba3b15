/* loader.c - prefetches batches of augmented views with worker threads, in a deterministic
 * order.
 *
 * Batches are numbered from the loader's start position; batch b uses slot b % slots. Workers
 * claim images in order, a few at a time, and write each one to its place, so the contents of a
 * batch do not depend on which worker made it. The caller holds one slot while the workers fill
 * the others.
 *
 * Threads: the functions of a loader must be called from one thread at a time. Workers share
 * the data set and the recipe, which are read-only; all other shared state is guarded by the
 * lock. A slot's arrays are written without the lock by the workers that claimed the images,
 * and read by the caller once all of them are done. */
#include "core/clock.h"
#include "core/error.h"
#include "core/mem.h"
#include "core/thread.h"
#include "core/vec.h"
#include "core/workers.h"
#include "data/data_options.h"
#include "data/loader.h"
#include "data/sampler.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REPLACE_TRIES = 100 };

/* An unreadable image. */
struct fault {
    int64_t index;
    char sentence[CK_SENTENCE];
};

/* A batch being made or handed out. */
struct slot {
    int64_t epoch, step;
    struct ck_recipe recipe;        /* of the epoch */
    int64_t pixels[COKE_MAX_VIEWS]; /* numbers per image, in its views */
    int64_t n, first, total;        /* images of this rank, and see ck_sampler_get */
    int64_t claimed, done;          /* images; guarded by the lock, as are the faults */
    float *x[COKE_MAX_VIEWS]; /* [max][channels][height][width], room for the largest views */
    int64_t *index;           /* [max] */
    int32_t *label;           /* [max] */
    uint8_t *bad;             /* [max] */
    struct fault *fault;      /* unreadable images of this batch */
    int64_t faults, fault_room;
    int status; /* fatal error, of the lowest-numbered image that has one */
    int64_t status_place;
    char sentence[CK_SENTENCE];
};

/* One thread and its working memory. */
struct worker {
    struct coke_loader *loader;
    struct ck_thread thread;
    struct ck_fetcher fetcher;
    struct ck_canvas canvas;
    float *spare;  /* a view that is not used, of images with partners */
    int64_t bytes; /* of fetcher and canvas, after the last image */
};

struct coke_loader {
    struct coke_dataset *data;
    struct ck_loader_options o;
    struct ck_recipe recipe; /* of the end of the course */
    struct ck_sampler sampler;
    int64_t max;                    /* capacity of a slot, images */
    int64_t pixels[COKE_MAX_VIEWS]; /* of the recipe's views */
    int64_t ring_bytes;
    const int32_t *partner; /* [n][partners], borrowed; NULL = none */
    int64_t partners;
    struct slot *slot; /* [slots] */
    int64_t slots;
    struct worker *worker; /* [workers] */
    int64_t workers;
    int64_t grain; /* images claimed under one lock */

    struct ck_lock lock; /* guards everything below */
    int lock_ready;
    int64_t start;    /* epoch * steps + step of batch 0 */
    int64_t filled;   /* batches whose images are selected */
    int64_t claim;    /* batch that workers claim from */
    int64_t given;    /* batches handed out */
    int64_t released; /* batches that the caller no longer uses: all but the last one given */
    int32_t stop;
    int32_t halted;     /* status if the threads could not be restarted */
    uint8_t *known_bad; /* [n] */
    struct fault *fault;
    int64_t faults, fault_room;
    double waited; /* seconds that the caller spent waiting */
};

/* ---- faults ---- */

static int add_fault(struct fault **list, int64_t *n, int64_t *room, int64_t index,
                     const char *sentence)
{
    CK_RETURN_IF(CK_VEC_RESERVE(*list, *room, *n + 1));
    struct fault *f = &(*list)[(*n)++];
    f->index = index;
    snprintf(f->sentence, sizeof f->sentence, "%s", sentence);
    return COKE_OK;
}

/* Called under the lock. Keeps the error of the lowest-numbered image, independent of thread
 * timing. */
static void end_slot(struct slot *s, int64_t place, int status)
{
    if (s->status && s->status_place < place)
        return;
    s->status = status;
    s->status_place = place;
    snprintf(s->sentence, sizeof s->sentence, "%s", ck_last_error());
}

/* True if only this image is defective; failures of the disk or the memory are fatal. */
static int is_fault(const struct coke_loader *l, int status)
{
    return status == COKE_EFORMAT && l->o.bad != CK_BAD_ERROR;
}

/* ---- threads ---- */

/* Makes all views of a partner of the image, of which the last one stays: the others and that of
 * the image itself are made after it. A partner that cannot be read leaves the image's own. */
static int make_partner(struct worker *w, const struct slot *s, int64_t index, float **out)
{
    struct coke_loader *l = w->loader;
    uint64_t draw =
        ck_rng_below((uint64_t)l->o.view.seed, CK_RNG_PARTNER, l->data->set->id[index],
                     (uint32_t)s->epoch, (uint64_t)l->partners);
    int64_t other = l->partner[index * l->partners + (int64_t)draw];
    int rc = ck_recipe_make(&s->recipe, &w->fetcher, &w->canvas, l->data, other, s->epoch, out);
    if (!rc)
        out[l->recipe.views - 1] = w->spare;
    return is_fault(l, rc) ? COKE_OK : rc;
}

/* Makes all views of one image. Without the lock: the place belongs to this worker. */
static int make(struct worker *w, struct slot *s, int64_t place, int64_t index)
{
    struct coke_loader *l = w->loader;
    float *out[COKE_MAX_VIEWS];
    for (int v = 0; v < s->recipe.views; v++)
        out[v] = s->x[v] + place * s->pixels[v];
    if (l->partner)
        CK_RETURN_IF(make_partner(w, s, index, out));
    int rc = ck_recipe_make(&s->recipe, &w->fetcher, &w->canvas, l->data, index, s->epoch, out);
    if (!rc) {
        s->index[place] = index;
        s->label[place] = ck_dataset_label(l->data->set, index);
    }
    return rc;
}

static int note_fault(struct coke_loader *l, struct slot *s, int64_t index)
{
    ck_lock_acquire(&l->lock);
    int rc = add_fault(&s->fault, &s->faults, &s->fault_room, index, ck_last_error());
    ck_lock_unlock(&l->lock);
    return rc;
}

/* Fills the place of an unreadable image with another one; COKE_EFORMAT if that fails as well.
 * The replacement is a function of the epoch and the image it replaces. */
static int make_replacement(struct worker *w, struct slot *s, int64_t place, int64_t index)
{
    struct coke_loader *l = w->loader;
    uint64_t id = l->data->set->id[index];
    int rc = COKE_EFORMAT;
    for (uint32_t t = 0; t < REPLACE_TRIES && rc == COKE_EFORMAT; t++) {
        uint32_t draw = (uint32_t)s->epoch * REPLACE_TRIES + t;
        int64_t other = (int64_t)ck_rng_below((uint64_t)l->o.view.seed, CK_RNG_REPLACE, id,
                                              draw, (uint64_t)l->sampler.n);
        rc = make(w, s, place, other);
        if (is_fault(l, rc) && note_fault(l, s, other))
            rc = COKE_ENOMEM;
    }
    return rc;
}

/* Makes an image; skips or replaces it if it is defective. */
static int make_or_excuse(struct worker *w, struct slot *s, int64_t place)
{
    struct coke_loader *l = w->loader;
    int64_t index = s->index[place];
    int rc = make(w, s, place, index);
    if (!is_fault(l, rc))
        return rc;
    if (note_fault(l, s, index))
        return COKE_ENOMEM;
    rc = l->o.bad == CK_BAD_REPLACE ? make_replacement(w, s, place, index) : COKE_EFORMAT;
    s->bad[place] = rc == COKE_EFORMAT;
    return rc == COKE_EFORMAT ? COKE_OK : rc;
}

static void count_pixels(const struct ck_recipe *r, int64_t *pixels)
{
    for (int v = 0; v < r->views; v++)
        pixels[v] = (int64_t)r->channels * r->view[v].width * r->view[v].height;
}

/* Called under the lock: selects the images of a batch and how they are made. */
static void fill_slot(struct coke_loader *l, struct slot *s, int64_t batch)
{
    int64_t steps = ck_sampler_steps(&l->sampler), at = l->start + batch;
    s->epoch = at / steps;
    s->step = at % steps;
    ck_recipe_at(&l->recipe, &l->o.course, s->epoch, &s->recipe);
    count_pixels(&s->recipe, s->pixels);
    s->n = ck_sampler_get(&l->sampler, s->epoch, s->step, s->index, &s->first, &s->total);
    s->claimed = s->done = s->faults = 0;
    s->status = COKE_OK;
    memset(s->bad, 0, (size_t)s->n);
}

/* Called under the lock, which it may release while waiting: the next images [*from, *to) to
 * make, or NULL when the loader stops. */
static struct slot *claim(struct coke_loader *l, int64_t *from, int64_t *to)
{
    while (!l->stop) {
        if (l->claim == l->filled && l->filled < l->released + l->slots) {
            fill_slot(l, &l->slot[l->filled % l->slots], l->filled);
            l->filled++;
        }
        if (l->claim == l->filled) {
            ck_lock_wait(&l->lock);
            continue;
        }
        struct slot *s = &l->slot[l->claim % l->slots];
        *from = s->claimed;
        *to = *from + l->grain < s->n ? *from + l->grain : s->n;
        s->claimed = *to;
        l->claim += *to == s->n;
        if (*from < *to)
            return s;
        ck_lock_notify(&l->lock); /* a rank without images in this batch is done at once */
    }
    return NULL;
}

static int64_t worker_bytes(const struct worker *w)
{
    const struct ck_fetcher *f = &w->fetcher;
    const struct ck_canvas *c = &w->canvas;
    size_t bytes = f->item.capacity + f->item.pixels.capacity + f->image.capacity +
                   f->spare.capacity + f->decoder.spare.capacity + c->planes.capacity +
                   c->spare.capacity + c->blurrer.bytes;
    for (size_t i = 0; i < sizeof c->resizer.bytes / sizeof c->resizer.bytes[0]; i++)
        bytes += c->resizer.bytes[i];
    return (int64_t)bytes;
}

/* The body of a worker thread: holds the lock except while it makes images. */
static void work(void *arg)
{
    struct worker *w = arg;
    struct coke_loader *l = w->loader;
    struct slot *s;
    int64_t from = 0, to = 0;
    ck_lock_acquire(&l->lock);
    while ((s = claim(l, &from, &to))) {
        int rc = COKE_OK;
        int64_t i = from;
        ck_lock_unlock(&l->lock);
        for (; i < to && !rc; i++)
            rc = make_or_excuse(w, s, i);
        ck_lock_acquire(&l->lock);
        if (rc)
            end_slot(s, i - 1, rc);
        w->bytes = worker_bytes(w);
        s->done += to - from;
        if (s->done == s->n)
            ck_lock_notify(&l->lock);
    }
    ck_lock_unlock(&l->lock);
}

/* Joins all workers; afterwards the loader's state may be changed without the lock. */
static void stop_workers(struct coke_loader *l)
{
    if (!l->lock_ready)
        return;
    ck_lock_acquire(&l->lock);
    l->stop = 1;
    ck_lock_notify(&l->lock);
    ck_lock_unlock(&l->lock);
    for (int64_t i = 0; i < l->workers; i++)
        ck_thread_join(&l->worker[i].thread);
    l->stop = 0;
}

static int start_workers(struct coke_loader *l)
{
    int rc = COKE_OK;
    for (int64_t i = 0; i < l->workers && !rc; i++)
        rc = ck_thread_start(&l->worker[i].thread, work, &l->worker[i]);
    if (rc)
        stop_workers(l);
    return rc;
}

/* In a child of fork() the threads are missing; what they worked on may be incomplete, and the
 * lock may be held for ever. */
static int is_lost(const struct coke_loader *l)
{
    return l->worker && l->workers && ck_thread_lost(&l->worker[0].thread);
}

static int check_process(const struct coke_loader *l)
{
    if (is_lost(l))
        return ck_fail(COKE_EUSAGE, "the loader was made before fork(), and its threads are "
                                    "not in this process; make a new loader");
    return COKE_OK;
}

/* ---- making and ending ---- */

static int check(const struct ck_loader_options *o, const struct coke_dataset *d)
{
    int rc = ck_loader_options_check(o);
    if (rc || d->set->n >= 0)
        return rc;
    return ck_fail(
        COKE_EUSAGE,
        "%s can be read only once, in order, but random access is needed; unpack it, or "
        "pack it into shards",
        d->set->source);
}

static int make_slot(struct coke_loader *l, struct slot *s)
{
    size_t max = (size_t)l->max;
    s->index = ck_alloc_array(max, sizeof *s->index);
    s->label = ck_alloc_array(max, sizeof *s->label);
    s->bad = ck_alloc_array(max, 1);
    if (!s->index || !s->label || !s->bad)
        return COKE_ENOMEM;
    l->ring_bytes += (int64_t)(max * (sizeof *s->index + sizeof *s->label + 1));
    for (int v = 0; v < l->recipe.views; v++) {
        size_t numbers = max * (size_t)l->pixels[v];
        s->x[v] = ck_alloc_array(numbers, sizeof(float));
        if (!s->x[v])
            return COKE_ENOMEM;
        l->ring_bytes += (int64_t)(numbers * sizeof(float));
    }
    return COKE_OK;
}

static int make_parts(struct coke_loader *l)
{
    int rc = COKE_OK;
    int64_t largest = 0;
    count_pixels(&l->recipe, l->pixels);
    for (int v = 0; v < l->recipe.views; v++)
        largest = l->pixels[v] > largest ? l->pixels[v] : largest;
    l->grain = largest > 64 * 64 * 3 ? 1 : 8; /* making a small image is cheaper than locking */
    l->max = ck_sampler_max(&l->sampler);
    l->slots = l->o.prefetch + 1;
    l->workers = l->o.workers ? l->o.workers : ck_threads();
    l->slot = ck_calloc_array((size_t)l->slots, sizeof *l->slot);
    l->worker = ck_calloc_array((size_t)l->workers, sizeof *l->worker);
    l->known_bad = ck_calloc_array((size_t)l->sampler.n, 1);
    if (!l->slot || !l->worker || !l->known_bad)
        return COKE_ENOMEM;
    l->ring_bytes += l->sampler.n;
    for (int64_t i = 0; i < l->workers; i++)
        l->worker[i].loader = l;
    for (int64_t i = 0; i < l->slots && !rc; i++)
        rc = make_slot(l, &l->slot[i]);
    return rc;
}

int ck_loader_new(struct coke_loader **out, struct coke_dataset *data,
                  const struct ck_loader_options *options)
{
    return ck_loader_new_like(out, data, options, NULL);
}

int ck_loader_new_like(struct coke_loader **out, struct coke_dataset *data,
                       const struct ck_loader_options *options, const struct ck_recipe *normed)
{
    int rc = COKE_OK;
    struct coke_loader *l = NULL;
    *out = NULL;
    CK_TRY(check(options, data));
    l = ck_calloc_array(1, sizeof *l);
    if (!l)
        return COKE_ENOMEM;
    l->data = data;
    l->o = *options;
    l->sampler = (struct ck_sampler){.n = data->set->n,
                                     .batch = options->batch,
                                     .rank = (int)options->rank,
                                     .ranks = options->ranks ? (int)options->ranks : 1,
                                     .shuffle = options->shuffle,
                                     .seed = (uint64_t)options->view.seed};
    CK_TRY(ck_recipe_init(&l->recipe, data, &options->view, &options->normalize));
    if (normed)
        ck_recipe_match(&l->recipe, normed);
    CK_TRY(make_parts(l));
    CK_TRY(ck_lock_init(&l->lock));
    l->lock_ready = 1;
    CK_TRY(start_workers(l));
    *out = l;
    l = NULL;
done:
    ck_loader_free(l);
    return rc;
}

static void release_slot(struct slot *s)
{
    for (int v = 0; v < COKE_MAX_VIEWS; v++)
        ck_free(s->x[v]);
    ck_free(s->index);
    ck_free(s->label);
    ck_free(s->bad);
    ck_free(s->fault);
}

void ck_loader_free(struct coke_loader *l)
{
    if (!l || is_lost(l)) /* lost: its memory belongs to threads that never finished */
        return;
    stop_workers(l);
    for (int64_t i = 0; i < l->workers && l->worker; i++) {
        ck_fetcher_release(&l->worker[i].fetcher);
        ck_canvas_release(&l->worker[i].canvas);
        ck_free(l->worker[i].spare);
    }
    for (int64_t i = 0; i < l->slots && l->slot; i++)
        release_slot(&l->slot[i]);
    if (l->lock_ready)
        ck_lock_release(&l->lock);
    ck_free(l->worker);
    ck_free(l->slot);
    ck_free(l->known_bad);
    ck_free(l->fault);
    ck_free(l);
}

int64_t ck_loader_steps(const struct coke_loader *l)
{
    return ck_sampler_steps(&l->sampler);
}

int ck_loader_seek(struct coke_loader *l, int64_t epoch, int64_t step)
{
    int64_t steps = ck_sampler_steps(&l->sampler);
    CK_RETURN_IF(check_process(l));
    if (epoch < 0 || step < 0 || step >= steps)
        return ck_fail(COKE_EUSAGE, "there is no step %lld of epoch %lld; an epoch has %lld",
                       (long long)step, (long long)epoch, (long long)steps);
    /* half the range: the loader counts on from here */
    if (epoch >= INT64_MAX / 2 / steps)
        return ck_fail(
            COKE_EUSAGE, "epoch %lld is too large: at most %lld with %lld steps each",
            (long long)epoch, (long long)(INT64_MAX / 2 / steps - 1), (long long)steps);
    stop_workers(l);
    l->start = epoch * steps + step;
    l->filled = l->claim = l->given = l->released = 0;
    l->halted = start_workers(l);
    return l->halted;
}

int ck_loader_set_partners(struct coke_loader *l, const int32_t *partner, int64_t m,
                           int64_t epoch, int64_t step)
{
    int64_t pixels = l->pixels[l->recipe.views - 1];
    CK_RETURN_IF(check_process(l));
    stop_workers(l);
    for (int64_t i = 0; partner && i < l->workers; i++)
        if (!l->worker[i].spare) {
            l->worker[i].spare = ck_alloc_array((size_t)pixels, sizeof(float));
            if (!l->worker[i].spare)
                return COKE_ENOMEM;
        }
    l->partner = partner;
    l->partners = m;
    return ck_loader_seek(l, epoch, step);
}

/* ---- the next batch ---- */

static int by_index(const void *a, const void *b)
{
    int64_t x = ((const struct fault *)a)->index, y = ((const struct fault *)b)->index;
    return (x > y) - (x < y);
}

/* Expected number of distinct images that this rank has seen, given an order that changes every
 * epoch: all of them with one rank. */
static double images_met(const struct coke_loader *l, int64_t epoch)
{
    int64_t epochs = epoch - l->start / ck_sampler_steps(&l->sampler) + 1;
    return (double)l->sampler.n * (1 - pow(1 - 1.0 / l->sampler.ranks, (double)epochs));
}

/* Called under the lock. Adds images that failed for the first time to the loader's list; fails
 * if there are too many. */
static int collect_faults(struct coke_loader *l, struct slot *s)
{
    if (s->faults)
        qsort(s->fault, (size_t)s->faults, sizeof *s->fault, by_index);
    for (int64_t i = 0; i < s->faults; i++) {
        const struct fault *f = &s->fault[i];
        if (l->known_bad[f->index])
            continue;
        l->known_bad[f->index] = 1;
        int rc = add_fault(&l->fault, &l->faults, &l->fault_room, f->index, f->sentence);
        if (rc)
            return rc;
    }
    double met = images_met(l, s->epoch), max = l->o.max_bad * met;
    if (l->sampler.ranks > 1)
        max += 3 * sqrt(max); /* which ones a rank sees is random: three deviations */
    if ((double)l->faults > max)
        return ck_fail(COKE_EFORMAT,
                       "%lld of %.0f images cannot be read, more than %g %%; the first: %s",
                       (long long)l->faults, met, 100 * l->o.max_bad, l->fault[0].sentence);
    return COKE_OK;
}

/* Moves the readable images together; s->n becomes their number. */
static void close_gaps(struct slot *s)
{
    int64_t to = 0;
    for (int64_t i = 0; i < s->n; i++) {
        if (s->bad[i])
            continue;
        for (int v = 0; v < s->recipe.views && to < i; v++)
            memcpy(s->x[v] + to * s->pixels[v], s->x[v] + i * s->pixels[v],
                   (size_t)s->pixels[v] * sizeof(float));
        s->index[to] = s->index[i];
        s->label[to++] = s->label[i];
    }
    s->n = to;
}

/* The batch borrows the slot's arrays until the next coke_loader_next. */
static void describe(const struct coke_loader *l, const struct slot *s, struct coke_batch *b)
{
    *b = (struct coke_batch){.epoch = s->epoch,
                             .step = s->step,
                             .steps = ck_sampler_steps(&l->sampler),
                             .n = s->n,
                             .first = s->first,
                             .total = s->total,
                             .views = s->recipe.views,
                             .channels = s->recipe.channels,
                             .index = s->index,
                             .label = s->label};
    for (int v = 0; v < b->views; v++) {
        b->width[v] = s->recipe.view[v].width;
        b->height[v] = s->recipe.view[v].height;
        b->x[v] = s->x[v];
    }
}

int ck_loader_next(struct coke_loader *l, struct coke_batch *out)
{
    double begin = ck_clock_seconds();
    CK_RETURN_IF(check_process(l));
    if (l->halted)
        return ck_fail(l->halted, "the loader's threads could not be started");
    ck_lock_acquire(&l->lock);
    l->released = l->given;
    ck_lock_notify(&l->lock);
    struct slot *s = &l->slot[l->given % l->slots];
    while (l->filled <= l->given || s->done < s->n)
        ck_lock_wait(&l->lock);
    int rc = s->status ? ck_fail(s->status, "%s", s->sentence) : collect_faults(l, s);
    if (!rc) {
        close_gaps(s);
        l->given++;
        describe(l, s, out);
    }
    l->waited += ck_clock_seconds() - begin;
    ck_lock_unlock(&l->lock);
    return rc;
}

const struct ck_recipe *ck_loader_recipe(const struct coke_loader *l)
{
    return &l->recipe;
}

double ck_loader_waited(const struct coke_loader *l)
{
    return l->waited;
}

int64_t ck_loader_bytes(const struct coke_loader *l)
{
    struct ck_lock *m = (struct ck_lock *)&l->lock;
    int64_t bytes = l->ring_bytes;
    if (is_lost(l))
        return bytes;
    ck_lock_acquire(m);
    for (int64_t i = 0; i < l->workers; i++)
        bytes += l->worker[i].bytes;
    ck_lock_unlock(m);
    return bytes;
}

int64_t ck_loader_bad_count(const struct coke_loader *l)
{
    return l->faults;
}

int64_t ck_loader_bad(const struct coke_loader *l, int64_t i, const char **sentence)
{
    int known = i >= 0 && i < l->faults;
    if (sentence)
        *sentence = known ? l->fault[i].sentence : NULL;
    return known ? l->fault[i].index : -1;
}
