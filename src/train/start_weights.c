/* start_weights.c - a training that starts from the weights of another encoder. */
#include "train/start_weights.h"
#include "core/callbacks.h"
#include "core/error.h"
#include "core/option.h"
#include "data/loader.h"
#include "train/run_use.h"

#include <stdio.h>
#include <string.h>

/* Options of the backbone, which the file must share with the training. */
static const char *const shared[] = {"arch", "stem", "width", "channels"};
enum { SHARED = sizeof shared / sizeof shared[0], TEXT = 64 };

/* Fails with the options to set. */
static int check_backbone(const struct ck_run *r, const struct ck_session *s)
{
    const struct ck_option_table *t = ck_encoder_option_table();
    char theirs[TEXT], ours[TEXT], list[256] = "";
    for (int i = 0; i < SHARED; i++) {
        size_t used = strlen(list);
        CK_RETURN_IF(ck_options_get(t, &r->encoder.o, shared[i], theirs, sizeof theirs));
        CK_RETURN_IF(ck_options_get(t, &s->encoder.o, shared[i], ours, sizeof ours));
        if (strcmp(theirs, ours) != 0)
            snprintf(list + used, sizeof list - used, "%s%s %s", used ? ", " : "", shared[i],
                     theirs);
    }
    if (!list[0])
        return COKE_OK;
    return ck_fail(COKE_EUSAGE, "init: the encoder in %s needs other options: set %s",
                   r->weights, list);
}

static int has_shape_of(const struct ck_param *a, const struct ck_param *b)
{
    return a->ndim == b->ndim &&
           memcmp(a->shape, b->shape, (size_t)a->ndim * sizeof a->shape[0]) == 0;
}

/* Copies the tensors that both have; returns how many values. */
static int64_t copy_values(struct ck_param *to, int n, const struct coke_encoder *from)
{
    int64_t values = 0;
    for (int i = 0; i < n; i++) {
        const struct ck_param *p = ck_encoder_find(from, to[i].name);
        if (!p || to[i].fixed || !has_shape_of(p, &to[i]))
            continue;
        memcpy(to[i].value, p->value, (size_t)p->size * sizeof(float));
        to[i].version++;
        values += p->size;
    }
    return values;
}

static void say_norms(const struct ck_run *r, const struct ck_session *s,
                      const struct coke_callbacks *messages)
{
    const struct ck_recipe *recipe = ck_loader_recipe(s->loader);
    size_t bytes = (size_t)r->normed * sizeof(float);
    if (r->normed &&
        (memcmp(r->mean, recipe->mean, bytes) || memcmp(r->std, recipe->std, bytes)))
        ck_say(messages,
               "init: the images of that encoder had another mean and deviation; option "
               "normalize sets them");
}

int ck_session_start_from(struct ck_session *s, const char *path,
                          const struct coke_callbacks *messages)
{
    struct ck_use_options last = ck_use_options_default();
    struct ck_net *net = &s->encoder.net;
    struct ck_run r;
    int rc = COKE_OK;
    rc = ck_use_open(&r, path, &last);
    if (rc)
        return ck_fail_prefix(rc, "init: ");
    CK_TRY(check_backbone(&r, s));
    int64_t values = copy_values(net->param, net->nparams, &r.encoder);
    copy_values(net->buffer, net->nbuffers, &r.encoder);
    ck_say(messages, "starting from %s: %lld of %lld weights%s", r.weights, (long long)values,
           (long long)ck_net_size(net),
           values < ck_net_size(net) ? ", the others of projector and predictor are random"
                                     : "");
    say_norms(&r, s, messages);
done:
    ck_run_close(&r);
    return rc;
}
