/* method_emp.c - EMP-SSL: many views agree with their mean, and the images of a view need many
 * bits. */
#include "core/error.h"
#include "data/recipe.h"
#include "nn/coding_loss.h"
#include "train/batch_loss.h"

static int check(const struct ck_train_options *o)
{
    if (ck_recipe_has_small(o->loader.view.recipe))
        return ck_fail(COKE_EUSAGE, "recipe: method emp has no small views");
    if (ck_train_views(o) < 2)
        return ck_fail(COKE_EUSAGE, "views: method emp compares views; use at least 2");
    return ck_batch_loss_check_two(o);
}

static int init(struct ck_session *s)
{
    return ck_batch_loss_init(s, ck_coding_scratch(s->views, s->max_batch));
}

static int loss(struct ck_session *s, const struct coke_batch *b, struct ck_part part,
                double *sums)
{
    struct ck_batch_loss *l = s->own;
    const struct ck_method_options *o = &s->o.own;
    (void)b;
    CK_RETURN_IF(ck_batch_loss_gather(s, part));
    double value = ck_coding_loss(l->proj, s->views, s->ranks.total, s->dim,
                                  o->agreement_weight, o->coding_eps, l->scratch, l->grad);
    return ck_batch_loss_take(s, part, value, 0, sums);
}

static const char *const options[] = {"agreement-weight", "coding-eps", NULL};

const struct ck_method ck_method_emp = {
    .name = "emp",
    .about = "EMP-SSL: many views agree with their mean, images need many bits",
    .options = options,
    .predictor = CK_PREDICTOR_NONE,
    .check = check,
    .whole_batch = ck_batch_loss_whole,
    .init = init,
    .release = ck_batch_loss_release,
    .loss = loss,
};
