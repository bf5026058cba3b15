/* finetune.c - fine-tuning: every learning rate of the grid with every weight decay. */
#include "eval/finetune.h"
#include "core/callbacks.h"
#include "core/error.h"
#include "core/mem.h"
#include "core/text.h"
#include "data/loader.h"
#include "eval/embed.h"
#include "eval/probe.h"
#include "eval/trials.h"
#include "eval/truth.h"

#include <stdio.h>
#include <string.h>

/* The grid, if the options do not fix rate or decay. */
static const double rates[] = {1, 0.1, 0.01, 0.001};
static const double decays[] = {1e-5, 1e-6, 0};
enum { RATES = sizeof rates / sizeof rates[0], DECAYS = sizeof decays / sizeof decays[0] };

enum { PIECE = 256, BATCH = 16 }; /* images tested at a time, and per batch of the network */

struct finetune {
    const struct ck_finetune_job *job;
    struct coke_classifier_result *out;
    struct ck_trials trials;
    struct ck_classifier *classifier;
    struct ck_features *features; /* for the test images; uses the classifier's weights */
    int32_t *truth;               /* [test images] */
    int dim;
    float *x, *logits; /* [PIECE][dim], [PIECE][classes] */
    int64_t index[PIECE];
    uint8_t bad[PIECE];
};

/* One row of the result per rate and decay. */
static void plan_rows(struct finetune *f)
{
    const struct ck_finetune_options *o = f->job->o;
    struct coke_classifier_result *t = f->out;
    t->epochs = o->epochs;
    t->batch = o->batch;
    t->trials = o->trials;
    t->seed = o->seed;
    t->classes = f->job->train->set->classes;
    for (int r = 0; r < (o->rate > 0 ? 1 : RATES); r++)
        for (int d = 0; d < (o->weight_decay >= 0 ? 1 : DECAYS); d++)
            t->row[t->n++] = (struct coke_eval_row){
                .rate = o->rate > 0 ? o->rate : rates[r],
                .weight_decay = o->weight_decay >= 0 ? o->weight_decay : decays[d]};
}

/* The parts that all rows share; ck_finetune frees them. */
static int make_parts(struct finetune *f)
{
    const struct ck_finetune_job *job = f->job;
    const struct ck_view *v = &job->like->view[0];
    struct coke_dataset *test = job->test;
    CK_RETURN_IF(
        ck_classifier_new(&f->classifier, job->encoder, f->out->classes, v->height, v->width));
    CK_RETURN_IF(ck_features_new(&f->features, ck_classifier_encoder(f->classifier), test,
                                 job->like, BATCH, CK_PRECISION_F32));
    f->dim = ck_features_dim(f->features);
    f->truth = ck_alloc_array((size_t)test->set->n, sizeof *f->truth);
    f->x = ck_alloc_array(PIECE, (size_t)f->dim * sizeof *f->x);
    f->logits = ck_alloc_array(PIECE, (size_t)f->out->classes * sizeof *f->logits);
    if (!f->truth || !f->x || !f->logits)
        return COKE_ENOMEM;
    CK_RETURN_IF(ck_truth_get(test, job->train, f->truth));
    f->out->train = ck_truth_known(job->train->set->label, job->train->set->n);
    f->out->test = ck_truth_known(f->truth, test->set->n);
    if (f->out->test == 0)
        return ck_fail(COKE_EUSAGE, "%s: none of its %lld images has a known class",
                       test->set->source, (long long)test->set->n);
    return COKE_OK;
}

/* Trains one row from the encoder's weights. Trials differ in the seed only. */
static int learn(struct finetune *f, int row, int64_t trial)
{
    const struct ck_finetune_job *job = f->job;
    struct coke_classifier_result *t = f->out;
    struct coke_loader *loader = NULL;
    struct coke_batch b;
    char detail[64];
    int rc = COKE_OK;
    ck_format(detail, sizeof detail, "rate %g, decay %g (%d of %d)", t->row[row].rate,
              t->row[row].weight_decay, row + 1, t->n);
    CK_TRY(ck_classifier_begin(f->classifier, job->encoder, t->row[row].weight_decay,
                               (uint64_t)(t->seed + trial)));
    CK_TRY(
        ck_trials_loader(&loader, job->train, job->like, t->batch, job->skip, t->seed + trial));
    int64_t steps = ck_loader_steps(loader);
    for (int64_t i = 0; i < t->epochs * steps; i++) {
        struct ck_score score = {0};
        CK_TRY(ck_loader_next(loader, &b));
        CK_TRY(ck_classifier_step(f->classifier, b.x[0], b.label, b.n,
                                  ck_cosine_rate(t->row[row].rate, b.epoch, t->epochs),
                                  &score));
        CK_TRY(ck_progress(job->callbacks, &(struct coke_progress){.phase = "finetune",
                                                                   .epoch = b.epoch,
                                                                   .epochs = t->epochs,
                                                                   .done = b.step + 1,
                                                                   .total = steps,
                                                                   .unit = "steps",
                                                                   .detail = detail}));
    }
done:
    ck_loader_free(loader);
    return rc;
}

/* Evaluates the test images: features by the plan of evaluation, then the last layer. */
static int judge(struct finetune *f, struct ck_score *score)
{
    struct coke_encoder *e = ck_classifier_encoder(f->classifier);
    const float *weight = ck_net_param(&e->net, "fc.weight")->value;
    const float *bias = ck_net_param(&e->net, "fc.bias")->value;
    struct ck_probe_shape shape = {f->dim, f->out->classes, PIECE};
    int64_t total = f->job->test->set->n, nbad = 0;
    int32_t label[PIECE];
    for (int64_t at = 0; at < total; at += PIECE) {
        int64_t n = total - at < PIECE ? total - at : PIECE;
        for (int64_t i = 0; i < n; i++)
            f->index[i] = at + i;
        memset(f->bad, 0, sizeof f->bad);
        CK_RETURN_IF(ck_features_try(f->features, f->index, n, f->x, NULL,
                                     f->job->skip ? f->bad : NULL));
        for (int64_t i = 0; i < n; i++) {
            label[i] = f->bad[i] ? -1 : f->truth[at + i];
            nbad += f->bad[i];
        }
        CK_RETURN_IF(ck_linear_logits(weight, bias, &shape, f->x, n, f->logits));
        CK_RETURN_IF(ck_score(f->logits, label, n, f->out->classes, NULL, score));
    }
    f->out->bad = nbad;
    return COKE_OK;
}

/* Numeric failure (too high a rate) ends this row only, unless it is the only one. */
static int run_row(struct finetune *f, int row, int64_t trial)
{
    struct ck_score score = {0};
    int rc = learn(f, row, trial);
    if (!rc)
        rc = judge(f, &score);
    ck_trials_put(&f->trials, row, trial, rc ? NULL : &score);
    return rc == COKE_ENUMERIC && f->out->n > 1 ? COKE_OK : rc;
}

int ck_finetune(const struct ck_finetune_job *job, struct coke_classifier_result *out)
{
    int rc = COKE_OK;
    struct finetune *f = ck_calloc_array(1, sizeof *f);
    memset(out, 0, sizeof *out);
    if (!f)
        return COKE_ENOMEM;
    f->job = job;
    f->out = out;
    plan_rows(f);
    CK_TRY(make_parts(f));
    for (int r = 0; r < out->n; r++)
        for (int64_t t = 0; t < out->trials; t++)
            CK_TRY(run_row(f, r, t));
    ck_trials_sum_up(&f->trials, out);
done:
    ck_features_free(f->features);
    ck_classifier_free(f->classifier);
    ck_free(f->truth);
    ck_free(f->x);
    ck_free(f->logits);
    ck_free(f);
    return rc;
}
