/* run_eval.c - judges the encoder and the clusters of a run. */
#include "train/run_eval.h"
#include "cluster/kmeans.h"
#include "core/error.h"
#include "core/mem.h"
#include "core/option.h"
#include "eval/agreement.h"
#include "eval/bank.h"
#include "eval/eval_options.h"
#include "eval/finetune.h"
#include "eval/knn.h"
#include "eval/linear.h"
#include "eval/membership.h"
#include "eval/truth.h"

#include <string.h>

static int check(const struct coke_eval_input *in, int needs_train)
{
    if (needs_train)
        CK_RETURN_IF(ck_truth_check(in->train));
    if (!in->test)
        return needs_train ? COKE_OK : ck_fail(COKE_EUSAGE, "images to judge are missing");
    if (in->test->set->n == 0)
        return ck_fail(COKE_EUSAGE, "%s: no images to test on", in->test->set->source);
    /* A test set of one class is fine where the classes are those of the training images. */
    if (!needs_train)
        CK_RETURN_IF(ck_truth_check(in->test));
    else if (!in->test->set->label)
        return ck_fail(COKE_EUSAGE, "%s has no labels: there is nothing to test against",
                       in->test->set->source);
    return COKE_OK;
}

/* The options of the run for vectors of so many views. */
static struct ck_use_options with_views(const struct coke_eval_input *in, int64_t views)
{
    struct ck_use_options o = in->run->o;
    o.views = views;
    return o;
}

/* What is evaluated, and by how many views of each image. */
struct bank_of {
    struct coke_dataset *data;
    const struct coke_dataset *classes_of;
    enum coke_output output;
    int64_t views;
    const char *phase;
};

static int load_bank(struct ck_bank *b, const struct coke_eval_input *in,
                     const struct bank_of *of)
{
    struct ck_embed_job job = {.output = of->output,
                               .skip = in->run->o.bad,
                               .callbacks = in->callbacks,
                               .phase = of->phase};
    struct ck_use_options o = with_views(in, of->views);
    int rc = COKE_OK;
    CK_TRY(ck_use_features(&in->run->r, of->data, &o, &job.features));
    CK_TRY(ck_bank_init(b, &job, of->data, of->classes_of));
done:
    ck_features_free(job.features);
    return rc;
}

/* ---- k-NN ---- */

static int set_neighbours(struct ck_knn_job *job, const struct ck_knn_options *o)
{
    if (o->neighbours.n > CK_KNN_MAX_K)
        return ck_fail(COKE_EUSAGE, "neighbours: %d numbers, at most %d can be tried at once",
                       o->neighbours.n, CK_KNN_MAX_K);
    if (o->neighbours.n)
        job->nk = o->neighbours.n;
    for (int i = 0; i < o->neighbours.n; i++)
        job->k[i] = o->neighbours.v[i];
    job->temperature = o->temperature;
    return COKE_OK;
}

static int ask(struct ck_knn_job *job, const struct ck_bank *bank, const struct ck_bank *query,
               struct coke_knn_result *out)
{
    struct ck_knn_result r;
    job->dim = bank->dim;
    job->bank = bank->x;
    job->bank_label = bank->label;
    job->nbank = bank->n;
    if (query) {
        job->query = query->x;
        job->query_label = query->label;
        job->nquery = query->n;
    }
    int rc = ck_knn(job, NULL, &r);
    out->bank = bank->known;
    out->bad = bank->bad + (query ? query->bad : 0);
    out->asked = r.asked;
    out->n = job->nk;
    for (int i = 0; i < job->nk && !rc; i++) {
        out->k[i] = job->k[i];
        out->accuracy[i] = r.accuracy[i];
    }
    return rc;
}

static int ask_with_views(struct ck_knn_job job, const struct coke_eval_input *in,
                          int64_t views, struct coke_knn_result *out)
{
    int rc = COKE_OK;
    struct ck_bank bank = {0}, query = {0};
    struct bank_of train = {in->train, in->train, COKE_OUTPUT_FEATURES, views, "train"};
    struct bank_of test = {in->test, in->train, COKE_OUTPUT_FEATURES, views, "test"};
    CK_TRY(load_bank(&bank, in, &train));
    if (in->test)
        CK_TRY(load_bank(&query, in, &test));
    out->classes = job.classes = in->train->set->classes;
    out->leave_one_out = !in->test;
    CK_TRY(ask(&job, &bank, in->test ? &query : NULL, out));
done:
    ck_bank_release(&bank);
    ck_bank_release(&query);
    return rc;
}

int ck_run_eval_knn(const struct coke_eval_input *in, const struct ck_knn_options *options,
                    struct coke_knn_result *out)
{
    struct ck_knn_job job = ck_knn_job_default();
    struct coke_knn_result more = {0};
    memset(out, 0, sizeof *out);
    CK_RETURN_IF(ck_options_check(ck_knn_option_table(), options));
    CK_RETURN_IF(set_neighbours(&job, options));
    CK_RETURN_IF(check(in, 1));
    CK_RETURN_IF(ask_with_views(job, in, 1, out));
    out->views = in->run->o.views;
    if (out->views > 1)
        CK_RETURN_IF(ask_with_views(job, in, out->views, &more));
    memcpy(out->views_accuracy, more.accuracy, sizeof more.accuracy);
    return COKE_OK;
}

/* ---- clusters ---- */

static int judge_head(const struct coke_kmeans *km, const struct ck_bank *b, int32_t classes,
                      int32_t *label, struct coke_head_scores *out)
{
    struct ck_agreement a;
    CK_RETURN_IF(ck_membership(km, b->x, b->n, label, NULL, NULL));
    CK_RETURN_IF(ck_agreement(b->label, label, b->n, classes, (int32_t)ck_kmeans_k(km), &a));
    *out = (struct coke_head_scores){ck_kmeans_k(km), a.accuracy, a.many_to_one, a.nmi, a.ari};
    return COKE_OK;
}

static int judge_heads(const struct coke_eval_input *in, int64_t views,
                       struct coke_clusters_result *out, struct coke_head_scores *head)
{
    int rc = COKE_OK;
    struct ck_bank b = {0};
    int32_t *label = NULL;
    const struct ck_run *r = &in->run->r;
    struct bank_of images = {in->test, in->test, COKE_OUTPUT_PROJ, views, "images"};
    CK_TRY(load_bank(&b, in, &images));
    label = ck_alloc_array((size_t)b.n, sizeof *label);
    if (!label)
        CK_FAIL(COKE_ENOMEM, "out of memory");
    out->images = b.known;
    out->bad = b.bad;
    out->classes = in->test->set->classes;
    out->heads = r->heads;
    out->matched = ck_use_match(in->run, out->classes);
    for (int h = 0; h < r->heads; h++)
        CK_TRY(judge_head(r->head[h], &b, out->classes, label, &head[h]));
done:
    ck_free(label);
    ck_bank_release(&b);
    return rc;
}

int ck_run_eval_cluster(const struct coke_eval_input *in, struct coke_clusters_result *out)
{
    memset(out, 0, sizeof *out);
    CK_RETURN_IF(ck_use_check_heads(in->run));
    CK_RETURN_IF(check(in, 0));
    CK_RETURN_IF(judge_heads(in, 1, out, out->head));
    out->views = in->run->o.views;
    return out->views > 1 ? judge_heads(in, out->views, out, out->views_head) : COKE_OK;
}

/* ---- classifiers ---- */

static int check_test(const struct coke_eval_input *in)
{
    return in->test ? check(in, 1)
                    : ck_fail(COKE_EUSAGE, "%s: images to test on are missing",
                              in->train->set->source);
}

static int probe_with_views(const struct coke_eval_input *in,
                            const struct ck_linear_options *options, int64_t views,
                            struct coke_classifier_result *out)
{
    int rc = COKE_OK;
    struct ck_recipe like;
    struct ck_run *r = &in->run->r;
    struct ck_use_options use = with_views(in, views);
    struct ck_linear_job job = {.train = in->train,
                                .test = in->test,
                                .like = &like,
                                .o = options,
                                .skip = in->run->o.bad,
                                .callbacks = in->callbacks};
    CK_TRY(ck_use_recipe(r, in->train, &use, &like));
    CK_TRY(ck_use_features(r, in->train, &use, &job.train_features));
    CK_TRY(ck_use_features(r, in->test, &use, &job.test_features));
    CK_TRY(ck_linear(&job, out));
done:
    ck_features_free(job.train_features);
    ck_features_free(job.test_features);
    return rc;
}

int ck_run_eval_linear(const struct coke_eval_input *in,
                       const struct ck_linear_options *options,
                       struct coke_classifier_result *out)
{
    int64_t views = in->run->o.views;
    CK_RETURN_IF(ck_options_check(ck_linear_option_table(), options));
    CK_RETURN_IF(check_test(in));
    CK_RETURN_IF(probe_with_views(in, options, 1, out));
    out->views = views;
    if (views == 1)
        return COKE_OK;
    struct coke_classifier_result more;
    CK_RETURN_IF(probe_with_views(in, options, views, &more));
    memcpy(out->views_row, more.row, sizeof more.row);
    out->views_best = more.best;
    return COKE_OK;
}

int ck_run_eval_finetune(const struct coke_eval_input *in,
                         const struct ck_finetune_options *options,
                         struct coke_classifier_result *out)
{
    struct ck_recipe like;
    struct ck_run *r = &in->run->r;
    struct ck_finetune_job job = {.encoder = &r->encoder,
                                  .train = in->train,
                                  .test = in->test,
                                  .like = &like,
                                  .o = options,
                                  .skip = in->run->o.bad,
                                  .callbacks = in->callbacks};
    CK_RETURN_IF(ck_options_check(ck_finetune_option_table(), options));
    CK_RETURN_IF(check_test(in));
    if (in->run->o.views > 1)
        return ck_fail(COKE_EUSAGE, "views: fine-tuning judges single views; use views 1");
    CK_RETURN_IF(
        ck_use_recipe(r, in->test, &in->run->o, &like)); /* are they of this encoder's kind? */
    CK_RETURN_IF(ck_use_recipe(r, in->train, &in->run->o, &like));
    return ck_finetune(&job, out);
}
