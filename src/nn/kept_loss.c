/* kept_loss.c - cross-entropy of unit vectors to the centers of a head, where images without a
 * label are left out. Views are taken one by one, which bounds the scratch. */
#include "nn/kept_loss.h"
#include "kernels/matrix.h"
#include "nn/class_loss.h"
#include "nn/prototype_loss.h"

#include <stddef.h>

int64_t ck_kept_scratch(int64_t n, int64_t k, int dim)
{
    return 2 * n * k + k * dim;
}

double ck_kept_loss(const struct ck_kept_input *in, const struct ck_kept_head *head,
                    double *scratch, double *accuracy, double *grad)
{
    int64_t one = in->n * in->dim, k = head->k, scores = in->n * k;
    double *score = scratch, *slope = score + scores, *center = slope + scores;
    double loss = 0, scale = head->weight / (in->temperature * in->views);
    for (int64_t i = 0; i < k * in->dim; i++)
        center[i] = (double)head->center[i];
    *accuracy = 0;
    for (int v = 0; v < in->views; v++) {
        ck_prototype_scores(in->proj + v * one, in->n, center, k, in->dim, score);
        for (int64_t i = 0; i < scores; i++)
            score[i] /= in->temperature;
        loss += ck_label_cross_entropy(score, in->n, (int)k, head->label, NULL, slope);
        *accuracy += ck_class_accuracy(score, in->n, (int)k, head->label) / in->views;
        for (int64_t i = 0; i < scores; i++)
            slope[i] *= scale;
        ck_matrix_product(in->n, in->dim, k, (struct ck_operand){slope, k, 1},
                          (struct ck_operand){center, in->dim, 1}, 1, grad + v * one, in->dim);
    }
    return loss / in->views;
}
