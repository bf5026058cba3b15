/* linear.c - the linear probe: a linear classifier on the features of a frozen backbone.
 *
 * Without augmentation the features are computed once. All learning rates of a sweep are
 * trained together on the same batches. */
#include "eval/linear.h"
#include "core/callbacks.h"
#include "core/error.h"
#include "core/mem.h"
#include "core/rng.h"
#include "data/loader.h"
#include "eval/bank.h"
#include "eval/probe.h"
#include "eval/trials.h"
#include "eval/truth.h"

#include <string.h>

/* Defaults of each protocol. */
static const struct {
    double rate;
    int64_t epochs, batch;
} protocols[] = {[CK_LINEAR_PAPER] = {0.3, 90, 1024}, [CK_LINEAR_ABLATION] = {1, 100, 256}};

/* Multiples of the rate in a sweep. */
static const double multiples[] = {0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30};

struct linear {
    const struct ck_linear_job *job;
    struct coke_classifier_result *out;
    struct ck_trials trials;
    struct ck_bank train, test; /* train: only without augmentation */
    int64_t *known;             /* [nknown] images of the train bank with a class */
    int64_t nknown;
    struct ck_probe *probe[COKE_EVAL_ROWS];
    int failed[COKE_EVAL_ROWS]; /* diverged in this trial */
    float *x;                   /* [max][dim] features of a batch */
    int32_t *label;             /* [max] */
    int64_t max;
    int dim;
};

static double rate_of(const struct linear *l, int row, int64_t epoch)
{
    double rate = l->out->row[row].rate;
    int64_t epochs = l->out->epochs;
    if (l->job->o->protocol == CK_LINEAR_PAPER)
        return ck_cosine_rate(rate, epoch, epochs);
    /* at 60 and 80 of 100 epochs */
    return rate * (5 * epoch >= 4 * epochs ? 0.01 : 5 * epoch >= 3 * epochs ? 0.1 : 1);
}

static void plan_rows(struct linear *l)
{
    const struct ck_linear_options *o = l->job->o;
    struct coke_classifier_result *t = l->out;
    double rate = o->rate > 0 ? o->rate : protocols[o->protocol].rate;
    t->epochs = o->epochs ? o->epochs : protocols[o->protocol].epochs;
    t->batch = o->batch ? o->batch : protocols[o->protocol].batch;
    t->trials = o->trials;
    t->seed = o->seed;
    t->classes = l->job->train->set->classes;
    t->n = o->sweep ? (int32_t)(sizeof multiples / sizeof multiples[0]) : 1;
    for (int i = 0; i < t->n; i++) {
        t->row[i].rate = o->sweep ? rate * multiples[i] : rate;
        t->row[i].weight_decay = o->weight_decay;
    }
}

static int load_bank(struct linear *l, struct ck_bank *b, struct coke_dataset *d,
                     struct ck_features *f, const char *phase)
{
    struct ck_embed_job embed = {.features = f,
                                 .output = COKE_OUTPUT_FEATURES,
                                 .skip = l->job->skip,
                                 .callbacks = l->job->callbacks,
                                 .phase = phase};
    int rc = ck_bank_init(b, &embed, d, l->job->train);
    l->out->bad += b->bad;
    return rc;
}

static int list_known(struct linear *l)
{
    l->known = ck_alloc_array((size_t)l->train.n, sizeof *l->known);
    if (!l->known)
        return COKE_ENOMEM;
    for (int64_t i = 0; i < l->train.n; i++)
        if (l->train.label[i] >= 0)
            l->known[l->nknown++] = i;
    return COKE_OK;
}

/* ---- one batch ---- */

/* Numeric failure (too high a rate) stops this probe only, unless it is the only one. */
static int step_all(struct linear *l, int64_t n, int64_t epoch)
{
    struct ck_score ignored = {0};
    for (int r = 0; r < l->out->n; r++) {
        if (l->failed[r] || n == 0)
            continue;
        int rc = ck_probe_step(l->probe[r], l->x, l->label, n, rate_of(l, r, epoch), &ignored);
        l->failed[r] = rc == COKE_ENUMERIC;
        if (rc && (rc != COKE_ENUMERIC || l->out->n == 1))
            return rc;
    }
    return COKE_OK;
}

/* One epoch on the features in memory. */
static int cached_epoch(struct linear *l, int64_t epoch, uint64_t seed)
{
    struct ck_perm perm;
    ck_perm_init(&perm, seed, CK_RNG_ORDER, (uint64_t)epoch, (uint64_t)l->nknown);
    for (int64_t at = 0; at < l->nknown; at += l->out->batch) {
        int64_t n = l->nknown - at < l->out->batch ? l->nknown - at : l->out->batch;
        for (int64_t i = 0; i < n; i++) {
            int64_t from = l->known[ck_perm_at(&perm, (uint64_t)(at + i))];
            memcpy(l->x + i * l->dim, l->train.x + from * l->dim,
                   (size_t)l->dim * sizeof *l->x);
            l->label[i] = l->train.label[from];
        }
        CK_RETURN_IF(step_all(l, n, epoch));
    }
    return COKE_OK;
}

static int report(const struct linear *l, int64_t epoch, int64_t done, int64_t total,
                  const char *unit)
{
    return ck_progress(l->job->callbacks, &(struct coke_progress){.phase = "probe",
                                                                  .epoch = epoch,
                                                                  .epochs = l->out->epochs,
                                                                  .done = done,
                                                                  .total = total,
                                                                  .unit = unit});
}

/* One epoch on fresh views, whose features are computed per batch. */
static int augmented_epoch(struct linear *l, struct coke_loader *loader, int64_t epoch)
{
    struct coke_batch b = {.steps = 1};
    for (int64_t step = 0; step < b.steps; step++) {
        CK_RETURN_IF(ck_loader_next(loader, &b));
        CK_RETURN_IF(ck_features_run(l->job->train_features, b.x[0], b.n, l->x, NULL));
        memcpy(l->label, b.label, (size_t)b.n * sizeof *l->label);
        CK_RETURN_IF(step_all(l, b.n, epoch));
        CK_RETURN_IF(report(l, epoch, step + 1, b.steps, "steps"));
    }
    return COKE_OK;
}

/* ---- trials ---- */

static void free_probes(struct linear *l)
{
    for (int r = 0; r < COKE_EVAL_ROWS; r++) {
        ck_probe_free(l->probe[r]);
        l->probe[r] = NULL;
        l->failed[r] = 0;
    }
}

static int make_probes(struct linear *l, uint64_t seed)
{
    struct ck_probe_shape shape = {l->dim, l->out->classes, l->max};
    int rc = COKE_OK;
    free_probes(l);
    for (int r = 0; r < l->out->n && !rc; r++)
        rc = ck_probe_new(&l->probe[r], &shape, l->out->row[r].weight_decay, seed);
    return rc;
}

static int learn(struct linear *l, int64_t seed)
{
    const struct ck_linear_job *job = l->job;
    struct coke_loader *loader = NULL;
    int rc = COKE_OK;
    if (job->o->augment)
        CK_TRY(
            ck_trials_loader(&loader, job->train, job->like, l->out->batch, job->skip, seed));
    for (int64_t e = 0; e < l->out->epochs; e++) {
        CK_TRY(loader ? augmented_epoch(l, loader, e) : cached_epoch(l, e, (uint64_t)seed));
        if (!loader)
            CK_TRY(report(l, e, e + 1, l->out->epochs, "epochs"));
    }
done:
    ck_loader_free(loader);
    return rc;
}

static int judge(struct linear *l, int64_t trial)
{
    for (int r = 0; r < l->out->n; r++) {
        struct ck_score s = {0};
        if (!l->failed[r])
            CK_RETURN_IF(ck_probe_judge(l->probe[r], l->test.x, l->test.label, l->test.n, &s));
        ck_trials_put(&l->trials, r, trial, l->failed[r] ? NULL : &s);
    }
    return COKE_OK;
}

static int make_buffers(struct linear *l)
{
    l->dim = ck_features_dim(l->job->train_features);
    l->max = l->out->batch + 1; /* a single leftover image joins the last batch */
    l->x = ck_alloc_array((size_t)l->max, (size_t)l->dim * sizeof *l->x);
    l->label = ck_alloc_array((size_t)l->max, sizeof *l->label);
    return l->x && l->label ? COKE_OK : COKE_ENOMEM;
}

static void release(struct linear *l)
{
    free_probes(l);
    ck_bank_release(&l->train);
    ck_bank_release(&l->test);
    ck_free(l->known);
    ck_free(l->x);
    ck_free(l->label);
    ck_free(l);
}

int ck_linear(const struct ck_linear_job *job, struct coke_classifier_result *out)
{
    int rc = COKE_OK;
    struct linear *l = ck_calloc_array(1, sizeof *l);
    memset(out, 0, sizeof *out);
    if (!l)
        return COKE_ENOMEM;
    l->job = job;
    l->out = out;
    plan_rows(l);
    CK_TRY(make_buffers(l));
    if (!job->o->augment) {
        CK_TRY(load_bank(l, &l->train, job->train, job->train_features, "train"));
        CK_TRY(list_known(l));
    }
    CK_TRY(load_bank(l, &l->test, job->test, job->test_features, "test"));
    out->train = job->o->augment ? ck_truth_known(job->train->set->label, job->train->set->n)
                                 : l->nknown;
    out->test = l->test.known;
    for (int64_t t = 0; t < out->trials; t++) {
        CK_TRY(make_probes(l, (uint64_t)(out->seed + t)));
        CK_TRY(learn(l, out->seed + t));
        CK_TRY(judge(l, t));
    }
    ck_trials_sum_up(&l->trials, out);
done:
    release(l);
    return rc;
}
