/* trials.c - results of a grid of learning rates and weight decays. */
#include "eval/trials.h"
#include "core/error.h"
#include "data/data_options.h"
#include "data/loader.h"

#include <math.h>

void ck_trials_put(struct ck_trials *t, int row, int64_t trial, const struct ck_score *score)
{
    double asked = score ? (double)score->asked : NAN;
    t->top1[row][trial] = score ? (double)score->top1 / asked : NAN;
    t->top5[row][trial] = score ? (double)score->top5 / asked : NAN;
    t->loss[row][trial] = score ? score->loss / asked : NAN;
}

/* A diverged trial makes its row NaN, which is never the best. */
void ck_trials_sum_up(const struct ck_trials *t, struct coke_classifier_result *out)
{
    out->best = -1;
    for (int r = 0; r < out->n; r++) {
        struct coke_eval_row *row = &out->row[r];
        ck_mean_deviation(t->top1[r], out->trials, &row->top1, &row->top1_deviation);
        ck_mean_deviation(t->top5[r], out->trials, &row->top5, &row->top5_deviation);
        ck_mean_deviation(t->loss[r], out->trials, &row->loss, &row->loss_deviation);
        if (row->top1 >= 0 && (out->best < 0 || row->top1 > out->row[out->best].top1))
            out->best = r;
    }
}

double ck_cosine_rate(double rate, int64_t epoch, int64_t epochs)
{
    return rate / 2 * (1 + cos(3.14159265358979323846 * (double)epoch / (double)epochs));
}

int ck_trials_loader(struct coke_loader **out, struct coke_dataset *d,
                     const struct ck_recipe *like, int64_t batch, int skip, int64_t seed)
{
    struct ck_loader_options o = ck_loader_options_default();
    const struct ck_view *v = &like->view[0];
    o.view.recipe = CK_RECIPE_LINEAR;
    o.view.size = v->width;
    o.view.min_scale = v->kind == CK_VIEW_CROP ? v->scale[0] : 0;
    o.view.filter = v->filter == CK_BICUBIC;
    o.view.decode = like->exact;
    o.view.seed = seed;
    o.batch = batch;
    o.bad = skip ? CK_BAD_SKIP : CK_BAD_ERROR;
    o.max_bad = 1;
    return ck_loader_new_like(out, d, &o, like);
}
