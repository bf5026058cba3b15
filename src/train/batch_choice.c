/* batch_choice.c - chooses batch and accumulate from the number of images and the memory, and the
 * precision by a measurement.
 *
 * The bytes of the plans are those that the planner computes for the very sizes that the session
 * will run. The choice is saved with the options, so that a resume does not depend on the memory
 * that is free then. */
#include "train/batch_choice.h"
#include "core/callbacks.h"
#include "core/error.h"
#include "core/hash.h"
#include "core/mem.h"
#include "core/workers.h"
#include "data/recipe.h"
#include "dist/group.h"
#include "io/record.h"
#include "kernels/amx.h"
#include "nn/encoder.h"
#include "nn/mlp.h"
#include "nn/precision.h"
#include "train/method.h"
#include "train/monitor.h"
#include "train/run_files.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* A batch has at most 256 images, as in the paper's smaller runs, and an epoch at least eight
 * batches; batch norm needs several images in a part. */
enum { MAX_BATCH = 256, MIN_STEPS = 8, MIN_PART = 16 };
/* The rest is for decoders, threads, the page cache and other programs. */
static const double usable = 0.8;

static const char *const precision_name[] = {"f32", "bf16"};

/* ---- the choice ---- */

static int64_t round_to_power(int64_t n)
{
    int64_t p = 1;
    while (2 * p <= n)
        p *= 2;
    return p;
}

static int64_t clamp(int64_t x, int64_t min, int64_t max)
{
    x = x > min ? x : min;
    return x < max ? x : max;
}

/* By the number of images alone. A process needs two images for batch norm. */
static int64_t choose_batch(const struct ck_batch_facts *f)
{
    int64_t least = 2 * f->processes > MIN_PART ? 2 * f->processes : MIN_PART;
    int64_t b = round_to_power(clamp(f->images / MIN_STEPS, 1, MAX_BATCH));
    return clamp(clamp(b, least, f->images), 1, f->images);
}

static int64_t max_parts(const struct ck_train_options *o, int64_t batch, int processes)
{
    const struct ck_method *m = ck_method_row(o);
    int64_t parts = batch / processes / MIN_PART;
    return parts < 1 || (m->whole_batch && m->whole_batch(o)) ? 1 : parts;
}

/* Doubles the parts until the batch fits in `room` bytes; *bytes is what it takes then. */
static int fit_parts(struct ck_train_options *o, const struct ck_batch_facts *f, double room,
                     int64_t *bytes)
{
    int64_t most = max_parts(o, o->loader.batch, f->processes);
    for (o->accumulate = 1;; o->accumulate *= 2) {
        CK_RETURN_IF(f->measure(f->arg, o, bytes));
        if ((double)*bytes <= room || 2 * o->accumulate > most)
            return COKE_OK;
    }
}

static int fail_to_fit(const struct ck_train_options *o, const struct ck_batch_facts *f,
                       int64_t bytes, double room)
{
    return ck_fail(COKE_EUSAGE,
                   "batch: %lld images with accumulate %lld need %.3g GB, and %.3g GB can be "
                   "used (%s); set a smaller batch, a larger accumulate, or smaller images "
                   "(size) or networks (arch, width)",
                   (long long)o->loader.batch, (long long)o->accumulate, (double)bytes / 1e9,
                   room / 1e9, f->memory.what);
}

/* Values that the user has set are refused only if they could never fit. */
static int check_given(const struct ck_train_options *o, const struct ck_batch_facts *f,
                       int64_t *bytes)
{
    CK_RETURN_IF(f->measure(f->arg, o, bytes));
    double room = (double)f->memory.limit;
    return (double)*bytes <= room ? COKE_OK : fail_to_fit(o, f, *bytes, room);
}

int ck_batch_choose(struct ck_train_options *o, const struct ck_batch_facts *f, int64_t *bytes)
{
    int64_t batch = o->loader.batch, accumulate = o->accumulate;
    double room = usable * (double)f->memory.available;
    if (batch > 0 && accumulate > 0)
        return check_given(o, f, bytes);
    if (batch == 0)
        o->loader.batch = choose_batch(f);
    if (o->accumulate > o->loader.batch)
        return ck_fail(COKE_EUSAGE, "accumulate: cannot split a batch of %lld into %lld parts",
                       (long long)o->loader.batch, (long long)o->accumulate);
    for (;;) {
        CK_RETURN_IF(accumulate > 0 ? f->measure(f->arg, o, bytes)
                                    : fit_parts(o, f, room, bytes));
        int64_t half = o->loader.batch / 2, least = accumulate > 2 ? accumulate : 2;
        if ((double)*bytes <= room)
            return COKE_OK;
        if (batch > 0 || half < least * f->processes)
            return fail_to_fit(o, f, *bytes, room);
        o->loader.batch = half;
    }
}

/* ---- what a training takes ---- */

/* Built once for all measurements of a choice. */
struct model {
    struct coke_dataset *data;
    struct ck_recipe recipe;
    struct coke_encoder encoder;
    int processes;
};

/* The plan of view v for n images. */
static struct ck_plan_request request_of(const struct model *m,
                                         const struct ck_train_options *o, int v, int64_t n)
{
    struct ck_plan_request r = ck_plan_request_default();
    r.n = n;
    r.h = m->recipe.view[v].height;
    r.w = m->recipe.view[v].width;
    r.dtype = ck_precision_dtype((enum ck_precision)o->precision);
    r.train = r.backward = 1;
    r.want[r.nwant++] = r.grad[r.ngrad++] = m->encoder.node[COKE_OUTPUT_PROJ];
    if (ck_has_predictor(&o->encoder))
        r.want[r.nwant++] = r.grad[r.ngrad++] = m->encoder.node[COKE_OUTPUT_PRED];
    return r;
}

/* Bytes of the plans of all views for n images. */
static int measure_plans(struct model *m, const struct ck_train_options *o, int64_t n,
                         int64_t *sum)
{
    const struct ck_method *method = ck_method_row(o);
    size_t bytes;
    for (int v = method->skip ? method->skip(o) : 0; v < m->recipe.views; v++) {
        struct ck_plan_request r = request_of(m, o, v, n);
        CK_RETURN_IF(ck_plan_measure(&m->encoder.net, &r, &bytes));
        *sum += (int64_t)bytes;
    }
    if (method->teacher) { /* one plan for all of its views, without gradients */
        struct ck_plan_request r = request_of(m, o, 0, n);
        r.backward = r.ngrad = 0;
        CK_RETURN_IF(ck_plan_measure(&m->encoder.net, &r, &bytes));
        *sum += (int64_t)bytes;
    }
    return COKE_OK;
}

/* Bytes of the monitor's plan, which has no gradients. */
static int measure_monitor(struct model *m, const struct ck_train_options *o, int64_t *sum)
{
    struct ck_plan_request r = ck_plan_request_default();
    size_t bytes;
    if (o->monitor == 0)
        return COKE_OK;
    r.n = ck_monitor_batch(o);
    r.h = o->embed_size ? o->embed_size : m->recipe.view[0].height;
    r.w = o->embed_size ? o->embed_size : m->recipe.view[0].width;
    r.dtype = ck_precision_dtype((enum ck_precision)o->precision);
    r.want[r.nwant++] = m->encoder.node[COKE_OUTPUT_FEATURES];
    r.want[r.nwant++] = m->encoder.node[COKE_OUTPUT_PROJ];
    CK_RETURN_IF(ck_plan_measure(&m->encoder.net, &r, &bytes));
    *sum += (int64_t)bytes;
    return COKE_OK;
}

/* A batch of `all` images runs in parts of at most two sizes on this process; adds those that
 * `size` [n] lacks. */
static int add_sizes(int64_t all, int64_t parts, int processes, int64_t *size, int n)
{
    int64_t local = (all + processes - 1) / processes;
    parts = parts < local ? parts : local;
    for (int64_t extra = 0; extra < 1 + (local % parts > 0); extra++) {
        int known = 0;
        for (int i = 0; i < n; i++)
            known |= size[i] == local / parts + extra;
        if (!known)
            size[n++] = local / parts + extra;
    }
    return n;
}

/* Everything that grows with the batch: the plans that the session keeps, full batches and the
 * last one, and the monitor's; the loader's batches; weights with gradients, momentum and the
 * two layouts that convolutions copy them to; a teacher and averaged weights have no momentum. */
static int measure(void *arg, const struct ck_train_options *o, int64_t *bytes)
{
    struct model *m = arg;
    int64_t size[4], images = m->data->set->n, batch = o->loader.batch, pixels = 0;
    int64_t full = batch < images ? batch : images, last = images % full;
    int n = add_sizes(full, o->accumulate, m->processes, size, 0);
    if (last > 0) /* one image alone joins the batch before it */
        n = add_sizes(last == 1 ? full + 1 : last, o->accumulate, m->processes, size, n);
    *bytes = 0;
    for (int i = 0; i < n; i++)
        CK_RETURN_IF(measure_plans(m, o, size[i], bytes));
    CK_RETURN_IF(measure_monitor(m, o, bytes));
    for (int v = 0; v < m->recipe.views; v++)
        pixels += (int64_t)m->recipe.view[v].width * m->recipe.view[v].height;
    *bytes += (o->loader.prefetch + 1) * (batch / m->processes + 1) * pixels *
              m->recipe.channels * (int64_t)sizeof(float);
    int copies = 5 + (ck_method_row(o)->teacher ? 4 : 0) + (o->ema > 0 ? 2 : 0);
    if (m->processes == 1 && ck_lanes_pay(m->recipe.views, ck_threads()))
        copies += 3 * (m->recipe.views - 1);
    for (int i = 0; i < m->encoder.net.nparams; i++)
        *bytes += copies * m->encoder.net.param[i].size * (int64_t)sizeof(float);
    return COKE_OK;
}

/* ---- of a run that is resumed ---- */

static int take_config(void *arg, struct ck_record r)
{
    struct ck_train_options *o = arg;
    double batch = ck_record_number(r, "batch"), parts = ck_record_number(r, "accumulate");
    if (o->loader.batch == 0 && batch >= 1 && batch <= 1 << 20)
        o->loader.batch = (int64_t)batch;
    if (o->accumulate == 0 && parts >= 1 && parts <= 1 << 16)
        o->accumulate = (int64_t)parts;
    if (o->precision == CK_PRECISION_AUTO && ck_record_has(r, "precision"))
        o->precision = strcmp(ck_record_text(r, "precision"), precision_name[1]) == 0;
    return COKE_OK;
}

/* Is there a run to resume, with all of the choice? Without a checkpoint config.json may be a file
 * of the user. One that cannot be read leaves the choice open; the checkpoint is compared with it
 * in any case. */
static int take_earlier(struct ck_train_options *o, const char *run)
{
    char path[CK_RUN_PATH];
    int n = snprintf(path, sizeof path, "%s/last.safetensors", run);
    if (n >= (int)sizeof path || access(path, F_OK) != 0)
        return 0;
    snprintf(path, sizeof path, "%s/config.json", run);
    if (access(path, R_OK) != 0 || ck_record_read(path, take_config, o) != COKE_OK)
        return 0;
    return o->loader.batch > 0 && o->accumulate > 0 && o->precision != CK_PRECISION_AUTO;
}

/* ---- a group of processes ---- */

/* What each process reports: its memory and its machine. */
struct member {
    int64_t available, limit;
    uint64_t host;
};

/* The least memory that a process has, when those of a machine divide it. */
static int share_memory(struct ck_group *g, struct ck_memory_left *m)
{
    char host[256] = "";
    int size = ck_group_size(g), rc = COKE_OK;
    gethostname(host, sizeof host - 1);
    struct member mine = {m->available, m->limit, ck_hash_text(host)};
    struct member *all = ck_alloc_array((size_t)size, sizeof *all);
    if (!all)
        return COKE_ENOMEM;
    CK_TRY(ck_group_gather_equal(g, &mine, all, sizeof mine));
    for (int r = 0; r < size; r++) {
        int sharers = 0;
        for (int s = 0; s < size; s++)
            sharers += all[s].host == all[r].host;
        int64_t available = all[r].available / sharers, limit = all[r].limit / sharers;
        m->available = available < m->available ? available : m->available;
        m->limit = limit < m->limit ? limit : m->limit;
    }
done:
    ck_free(all);
    return rc;
}

/* ---- the whole ---- */

static void say(const struct ck_train_options *given, const struct ck_train_options *o,
                int64_t bytes, const struct ck_memory_left *memory,
                const struct coke_callbacks *cb)
{
    char parts[64] = "";
    if (o->accumulate > 1)
        snprintf(parts, sizeof parts, " in %lld parts (accumulate %lld)",
                 (long long)o->accumulate, (long long)o->accumulate);
    if (given->loader.batch == 0 || o->accumulate > 1)
        ck_say(cb, "batch %lld%s, chosen from images and memory: takes about %.3g of %.3g GB",
               (long long)o->loader.batch, parts, (double)bytes / 1e9,
               (double)memory->available / 1e9);
}

/* That print about three digits of x, and never an exponent. */
static int decimals(double x)
{
    return x >= 100 ? 0 : x >= 10 ? 1 : 2;
}

/* Settles auto, and warns of a bf16 that does not pay. On the matrix unit it always does. */
static int choose_precision(struct ck_train_options *o, struct model *m,
                            const struct coke_callbacks *cb)
{
    double seconds[2];
    int chosen = o->precision == CK_PRECISION_AUTO;
    struct ck_plan_request like = request_of(m, o, 0, 1);
    CK_RETURN_IF(ck_precision_choose(&o->precision, &m->encoder.net, &like, seconds));
    if (chosen && seconds[0] > 0)
        ck_say(cb, "precision %s: measured %.*f images/s in f32, %.*f in bf16",
               precision_name[o->precision], decimals(1 / seconds[0]), 1 / seconds[0],
               decimals(1 / seconds[1]), 1 / seconds[1]);
    else if (chosen)
        ck_say(cb, "precision f32: this CPU has no instructions for bf16");
    if (chosen || o->precision != CK_PRECISION_BF16 || ck_amx() == CK_AMX_UNIT)
        return COKE_OK;
    CK_RETURN_IF(ck_precision_measure(&m->encoder.net, &like, seconds));
    if (seconds[CK_PRECISION_BF16] > seconds[CK_PRECISION_F32])
        ck_say(cb, "precision bf16 is slower than f32 on this CPU: %.*f against %.*f images/s",
               decimals(1 / seconds[1]), 1 / seconds[1], decimals(1 / seconds[0]),
               1 / seconds[0]);
    return COKE_OK;
}

/* The first process of a group chooses for all. */
static int choose(struct ck_train_options *o, struct coke_dataset *data,
                  const struct ck_memory_left *memory, const struct coke_callbacks *cb)
{
    struct ck_train_options given = *o;
    struct model m = {.data = data, .processes = ck_group_size(ck_group())};
    struct ck_batch_facts facts = {data->set->n, m.processes, *memory, measure, &m};
    struct ck_encoder_options e = o->encoder;
    int64_t bytes;
    int rc = COKE_OK;
    CK_RETURN_IF(ck_recipe_init(&m.recipe, data, &o->loader.view, &o->loader.normalize));
    e.channels = data->channels;
    CK_RETURN_IF(ck_encoder_init(&m.encoder, &e));
    CK_TRY(choose_precision(o, &m, cb));
    CK_TRY(ck_batch_choose(o, &facts, &bytes));
    if (given.loader.batch == 0 || given.accumulate == 0)
        say(&given, o, bytes, memory, cb);
done:
    ck_encoder_release(&m.encoder);
    return rc;
}

int ck_batch_resolve(struct ck_train_options *o, struct coke_dataset *data, const char *run,
                     const struct coke_callbacks *cb)
{
    struct ck_group *g = ck_group();
    ck_train_settle_size(o);
    int64_t workers = o->loader.workers > 0 ? o->loader.workers : ck_threads();
    struct ck_memory_left memory = ck_memory_left((int)workers + ck_threads());
    int writer = ck_group_rank(g) == 0, several = ck_group_size(g) > 1;
    CK_RETURN_IF(ck_train_options_check(o));
    if (several)
        CK_RETURN_IF(share_memory(g, &memory));
    if (writer && !(run && take_earlier(o, run)))
        CK_RETURN_IF(choose(o, data, &memory, cb));
    int64_t chosen[3] = {o->loader.batch, o->accumulate, o->precision};
    if (several)
        CK_RETURN_IF(ck_group_broadcast(g, chosen, sizeof chosen, 0));
    if (o->loader.batch == 0)
        o->loader.batch = chosen[0];
    if (o->accumulate == 0)
        o->accumulate = chosen[1];
    o->precision = (int32_t)chosen[2];
    return COKE_OK;
}
