/* monitor.c - a look at the features every few epochs, where labels are known. */
#include "train/monitor.h"
#include "core/error.h"
#include "core/mem.h"
#include "core/rng.h"
#include "data/loader.h"
#include "eval/agreement.h"
#include "eval/features.h"
#include "eval/knn.h"

enum { BANK = 4000, ASKED = 1000, BATCH = 100 };

struct ck_watch {
    struct ck_session *s;
    struct ck_features *features;
    int64_t n, bank; /* the first `bank` of the n images vote, the others are asked */
    int64_t *index;  /* [n] */
    int32_t *truth;  /* [n] */
    int32_t *label;  /* [n] */
    uint8_t *bad;    /* [n] images that could not be read */
    float *x, *proj; /* [n][dim] */
    int matched;
};

/* The head with as many clusters as there are classes. */
static int find_head(const struct ck_session *s)
{
    for (int h = 0; h < s->heads.n; h++)
        if (s->heads.head[h]->k == s->data->set->classes)
            return h;
    return -1;
}

static void choose_images(struct ck_watch *w)
{
    const struct ck_dataset *set = w->s->data->set;
    struct ck_perm perm;
    ck_perm_init(&perm, (uint64_t)w->s->o.loader.view.seed, CK_RNG_SAMPLE, 1, (uint64_t)set->n);
    w->n = set->n < BANK + ASKED ? set->n : BANK + ASKED;
    w->bank = set->n < BANK + ASKED ? set->n - set->n / 5 : BANK;
    for (int64_t i = 0; i < w->n; i++) {
        w->index[i] = (int64_t)ck_perm_at(&perm, (uint64_t)i);
        w->truth[i] = set->label[w->index[i]];
    }
}

int ck_watch_new(struct ck_watch **out, struct ck_session *s)
{
    int rc = COKE_OK;
    struct ck_watch *w = NULL;
    *out = NULL;
    if (s->o.monitor == 0 || !s->data->set->label || s->data->set->classes < 2)
        return COKE_OK;
    w = ck_calloc_array(1, sizeof *w);
    if (!w)
        return COKE_ENOMEM;
    w->s = s;
    w->matched = find_head(s);
    CK_TRY(ck_features_new(&w->features, &s->encoder, s->data, ck_loader_recipe(s->loader),
                           BATCH));
    size_t most = BANK + ASKED, dim = (size_t)ck_features_dim(w->features);
    w->index = ck_alloc_array(most, sizeof *w->index);
    w->truth = ck_alloc_array(most, sizeof *w->truth);
    w->label = ck_alloc_array(most, sizeof *w->label);
    w->bad = ck_alloc_array(most, sizeof *w->bad);
    w->x = ck_alloc_array(most * dim, sizeof *w->x);
    w->proj = ck_alloc_array(most * (size_t)s->dim, sizeof *w->proj);
    if (!w->index || !w->truth || !w->label || !w->bad || !w->x || !w->proj)
        CK_FAIL(COKE_ENOMEM, "out of memory");
    choose_images(w);
    *out = w;
    w = NULL;
done:
    ck_watch_free(w);
    return rc;
}

void ck_watch_free(struct ck_watch *w)
{
    if (!w)
        return;
    ck_features_free(w->features);
    ck_free(w->index);
    ck_free(w->truth);
    ck_free(w->label);
    ck_free(w->bad);
    ck_free(w->x);
    ck_free(w->proj);
    ck_free(w);
}

static int ask_neighbours(struct ck_watch *w, struct ck_epoch_report *r)
{
    struct ck_knn_job job = ck_knn_job_default();
    struct ck_knn_result result;
    int dim = ck_features_dim(w->features);
    job.dim = dim;
    job.classes = w->s->data->set->classes;
    job.bank = w->x;
    job.bank_label = w->truth;
    job.nbank = w->bank;
    job.query = w->x + w->bank * dim;
    job.query_label = w->truth + w->bank;
    job.nquery = w->n - w->bank;
    int rc = ck_knn(&job, NULL, &result);
    r->knn20 = result.accuracy[0];
    r->knn200 = result.accuracy[1];
    return rc;
}

int ck_watch_look(struct ck_watch *w, struct ck_epoch_report *r)
{
    int rc = COKE_OK;
    struct ck_agreement a;
    const struct ck_session *s = w->s;
    CK_TRY(ck_features_try(w->features, w->index, w->n, w->x, w->proj, w->bad));
    for (int64_t i = 0; i < w->n; i++)
        if (w->bad[i])
            w->truth[i] = -1; /* neither votes nor is asked */
    CK_TRY(ask_neighbours(w, r));
    r->monitored = 1;
    r->matched = w->matched;
    if (w->matched < 0)
        goto done;
    CK_TRY(coke_kmeans_predict(s->heads.head[w->matched], w->proj, w->n, w->label, NULL));
    CK_TRY(ck_agreement(w->truth, w->label, w->n, s->data->set->classes, s->data->set->classes,
                        &a));
    r->accuracy = a.accuracy;
    r->nmi = a.nmi;
    r->ari = a.ari;
done:
    return rc;
}
