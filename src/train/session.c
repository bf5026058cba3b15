/* session.c - builds and owns the parts of a training.
 *
 * The order in ck_session_init matters: the ranks compare options and data before anything is
 * built from them, the loader knows steps and views, and the encoder comes before what holds
 * its parameters (optimizer, buckets). */
#include "train/session.h"
#include "core/error.h"
#include "core/hash.h"
#include "core/mem.h"
#include "core/workers.h"
#include "data/content.h"
#include "data/loader.h"
#include "nn/mlp.h"
#include "nn/precision.h"
#include "train/averaged.h"

#include <string.h>

/* What ck_train_options_check cannot know: the sizes of the data set and the group. */
static int check_against_data(const struct ck_train_options *o, const struct coke_dataset *d)
{
    int64_t n = d->set->n;
    int size = ck_group_size(ck_group());
    if (o->loader.batch < size)
        return ck_fail(COKE_EUSAGE,
                       "batch: %lld images are too few for %d processes; set a larger batch",
                       (long long)o->loader.batch, size);
    if (o->round > 0 && o->round < o->loader.batch)
        return ck_fail(COKE_EUSAGE,
                       "round: %lld images are less than a batch of %lld; set a larger round",
                       (long long)o->round, (long long)o->loader.batch);
    if (o->loader.batch > n)
        return ck_fail(
            COKE_EUSAGE,
            "batch: %lld is more than the %lld images of %s; set a smaller batch, or auto",
            (long long)o->loader.batch, (long long)n, d->set->source);
    for (int i = 0; i < o->k.n; i++)
        if (o->k.v[i] > n)
            return ck_fail(
                COKE_EUSAGE,
                "k: %d clusters are more than the %lld images of %s; set a smaller k",
                o->k.v[i], (long long)n, d->set->source);
    return COKE_OK;
}

/* A method of class scores: as many projections as classes, which are the clusters of its one
 * head. */
static int set_classes(struct ck_session *s)
{
    int64_t classes;
    CK_RETURN_IF(s->method->classes(&s->o, s->data, &classes));
    s->o.encoder.dim = classes;
    s->o.k = (struct ck_ints){.n = 1, .v = {(int32_t)classes}};
    s->dim = (int)classes;
    return COKE_OK;
}

/* Channels follow from the data and the seed is that of the training, whatever the options of
 * the encoder say. The optimizer borrows the parameters of the encoder. */
static int make_encoder(struct ck_session *s)
{
    s->o.encoder.channels = s->data->channels;
    s->o.encoder.seed = s->o.loader.view.seed;
    CK_RETURN_IF(ck_encoder_init(&s->encoder, &s->o.encoder));
    s->encoder_ready = 1;
    CK_RETURN_IF(ck_averaged_init(s));
    CK_RETURN_IF(ck_optimizer_new(&s->optimizer, s->encoder.net.param, s->encoder.net.nparams,
                                  &s->o.optimizer));
    return s->o.predictor_rate == CK_RATE_CONSTANT
               ? ck_optimizer_hold_rate(s->optimizer, "predictor.", ck_train_rate(&s->o))
               : COKE_OK;
}

/* A zero image, as large as the largest view. */
static float *make_blank(const struct ck_recipe *r)
{
    size_t largest = 0;
    for (int v = 0; v < r->views; v++) {
        size_t pixels = (size_t)r->view[v].width * (size_t)r->view[v].height;
        largest = pixels > largest ? pixels : largest;
    }
    return ck_calloc_array(largest, (size_t)r->channels * sizeof(float));
}

/* All buffers of a step, so that steps allocate nothing. */
static int make_buffers(struct ck_session *s)
{
    size_t rows = (size_t)s->views * (size_t)s->max_local * (size_t)s->dim;
    s->proj = ck_alloc_array(rows, sizeof(float));
    s->grad_proj = ck_alloc_array(rows, sizeof(float));
    s->projections = ck_alloc_array((size_t)s->max_batch * (size_t)s->dim, sizeof(float));
    s->feature_sum = ck_calloc_array((size_t)s->dim, sizeof(double));
    s->ids = ck_alloc_array((size_t)s->max_batch, sizeof *s->ids);
    if (!s->proj || !s->grad_proj || !s->projections || !s->feature_sum || !s->ids)
        return COKE_ENOMEM;
    if (s->ranks.size > 1) {
        s->blank = make_blank(ck_loader_recipe(s->loader));
        if (!s->blank)
            return COKE_ENOMEM;
    }
    if (!ck_has_predictor(&s->o.encoder))
        return COKE_OK;
    s->pred = ck_alloc_array(rows, sizeof(float));
    s->grad_pred = ck_alloc_array(rows, sizeof(float));
    return s->pred && s->grad_pred ? COKE_OK : COKE_ENOMEM;
}

int ck_session_init(struct ck_session *s, struct coke_dataset *data,
                    const struct ck_train_options *o)
{
    memset(s, 0, sizeof *s);
    s->o = *o;
    ck_train_settle_size(&s->o);
    s->o.loader.course = ck_train_course(o);
    s->o.accumulate = o->accumulate > 0 ? o->accumulate : 1;
    s->data = data;
    s->dim = (int)ck_projector_dim(&o->encoder);
    s->method = ck_method_row(o);
    s->output = s->method->any_length ? COKE_OUTPUT_LOGITS : COKE_OUTPUT_PROJ;
    CK_RETURN_IF(ck_train_options_check(o));
    if (s->method->classes)
        CK_RETURN_IF(set_classes(s));
    s->max_batch = o->loader.batch + 1; /* the last batch may take one image more */
    CK_RETURN_IF(ck_ranks_init(&s->ranks));
    if (s->ranks.size > 1)
        CK_RETURN_IF(ck_session_read_content(s));
    CK_RETURN_IF(ck_ranks_check(&s->ranks, o, data, s->content));
    CK_RETURN_IF(check_against_data(o, data));
    s->o.loader.rank = s->ranks.rank;
    s->o.loader.ranks = s->ranks.size;
    s->max_local = (s->max_batch + s->ranks.size - 1) / s->ranks.size;
    CK_RETURN_IF(ck_loader_new(&s->loader, data, &s->o.loader));
    s->steps = ck_loader_steps(s->loader);
    s->skip = s->method->skip ? s->method->skip(o) : 0;
    s->views = ck_loader_recipe(s->loader)->views - s->skip;
    s->large = ck_loader_recipe(s->loader)->large - s->skip;
    CK_RETURN_IF(
        ck_schedule_init(&s->schedule, ck_train_rate(o), o->epochs, o->warmup, s->steps));
    CK_RETURN_IF(make_encoder(s));
    s->plans.lanes = s->ranks.size == 1 && ck_lanes_pay(s->views, ck_threads());
    CK_RETURN_IF(ck_ranks_add_net(&s->ranks, &s->encoder.net));
    CK_RETURN_IF(make_buffers(s));
    return s->method->init(s);
}

/* Also after a failed ck_session_init: what was not built is NULL. The loader goes first, since
 * its threads use the data set. */
void ck_session_release(struct ck_session *s)
{
    ck_loader_free(s->loader);
    ck_plan_cache_release(&s->plans);
    if (s->method && s->method->release)
        s->method->release(s);
    ck_loss_free(s->loss);
    ck_heads_release(&s->heads);
    ck_optimizer_free(s->optimizer);
    if (s->encoder_ready)
        ck_encoder_release(&s->encoder);
    ck_averaged_release(s);
    ck_free(s->proj);
    ck_free(s->pred);
    ck_free(s->grad_proj);
    ck_free(s->grad_pred);
    ck_free(s->projections);
    ck_free(s->feature_sum);
    ck_free(s->content);
    ck_free(s->ids);
    ck_free(s->blank);
    ck_ranks_release(&s->ranks);
    memset(s, 0, sizeof *s);
}

int ck_session_read_content(struct ck_session *s)
{
    if (s->content)
        return COKE_OK;
    s->content =
        ck_calloc_array((size_t)ck_content_count(s->data->set) + 1, sizeof *s->content);
    return s->content ? ck_content_hash(s->data->set, s->content) : COKE_ENOMEM;
}

static uint64_t hash_params(const struct ck_param *p, int n, uint64_t h)
{
    for (int i = 0; i < n; i++)
        h = ck_hash(p[i].value, (size_t)p[i].size * sizeof(float), h);
    return h;
}

int ck_session_hash(const struct ck_session *s, uint64_t *out)
{
    const struct ck_net *net = &s->encoder.net, *average = &s->average.net;
    uint64_t h = hash_params(net->param, net->nparams, 0);
    h = hash_params(net->buffer, net->nbuffers, h);
    h = hash_params(average->param, average->nparams, h);
    h = hash_params(average->buffer, average->nbuffers, h);
    for (int i = 0; i < s->heads.n; i++)
        h = ck_kmeans_hash(s->heads.head[i], h);
    *out = h;
    return ck_method_hash(s, out);
}

/* ---- plans ---- */

int ck_session_plans(struct ck_session *s, const struct coke_batch *b, int64_t n,
                     struct ck_plans **out)
{
    struct ck_plan_request r = ck_plan_request_default();
    r.dtype = ck_precision_dtype((enum ck_precision)s->o.precision);
    r.train = r.backward = 1;
    r.want[r.nwant++] = r.grad[r.ngrad++] = s->encoder.node[s->output];
    if (s->output != COKE_OUTPUT_PROJ)
        r.want[r.nwant++] = s->encoder.node[COKE_OUTPUT_PROJ];
    if (s->pred)
        r.want[r.nwant++] = r.grad[r.ngrad++] = s->encoder.node[COKE_OUTPUT_PRED];
    return ck_plan_cache_get(&s->plans, &s->encoder.net, &r, b, s->skip, s->views, n, out);
}

const float *ck_session_view(const struct ck_session *s, const struct coke_batch *b,
                             struct ck_part part, int v)
{
    int64_t floats = (int64_t)b->channels * b->width[v] * b->height[v];
    return part.n > 0 ? b->x[v] + part.from * floats : s->blank;
}
