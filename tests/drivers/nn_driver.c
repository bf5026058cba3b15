/* nn_driver.c - encoders for test_torch_weights.py: evaluates weights that PyTorch wrote, and
 * writes weights for PyTorch.
 *
 * nn_driver eval|new|train WEIGHTS INPUT BATCH SIZE LOGITS PRED OPTION=VALUE...
 * eval reads WEIGHTS; new writes first weights, train those after a few steps. INPUT is raw
 * f32 [BATCH][channels][SIZE][SIZE]; LOGITS.npy gets the head's output in evaluation, and
 * PRED.npy ("-": there is none) the prediction, both [BATCH][dim]. */
#include "coke.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct job {
    struct coke_encoder *e;
    struct coke_plan *pass;
    struct coke_optimizer *optimizer;
    int64_t batch, size, dim;
    float *images;
    const char *logits, *pred;
};

static int fail(const char *words)
{
    fprintf(stderr, "nn_driver: %s\n", words);
    return 1;
}

static int set_options(struct coke_options *o, char **word, int n)
{
    for (int i = 0; i < n; i++) {
        char *value = strchr(word[i], '=');
        if (!value)
            return fail(word[i]);
        *value++ = 0;
        if (coke_options_set(o, word[i], value))
            return fail(coke_last_error());
    }
    return 0;
}

static int read_images(struct job *j, const char *path, int64_t channels)
{
    size_t n = (size_t)(j->batch * channels * j->size * j->size);
    FILE *f = fopen(path, "rb");
    j->images = malloc(n * sizeof *j->images);
    if (!f || !j->images)
        return fail(path);
    size_t got = fread(j->images, sizeof *j->images, n, f);
    fclose(f);
    return got == n ? 0 : fail("the input is too short");
}

static int make_pass(struct job *j, int train)
{
    struct coke_options *o = NULL;
    coke_plan_free(j->pass);
    j->pass = NULL;
    int rc =
        coke_options_new(&o, "plan") || coke_options_set_int(o, "batch", j->batch) ||
        coke_options_set_int(o, "height", j->size) ||
        coke_options_set_int(o, "width", j->size) || coke_options_set_int(o, "train", train) ||
        coke_options_set_int(o, "backward", train) || coke_plan_new(&j->pass, j->e, o, NULL);
    coke_options_free(o);
    return rc ? fail(coke_last_error()) : 0;
}

/* Towards a fixed direction: only that weights and running statistics move. */
static int train(struct job *j)
{
    int64_t dim = j->dim;
    float *grad = calloc((size_t)(j->batch * dim), sizeof *grad);
    struct coke_gradients grads = {.size = sizeof grads, .proj = grad, .pred = grad};
    int rc = !grad || make_pass(j, 1) || coke_optimizer_new(&j->optimizer, j->e, NULL);
    for (int64_t i = 0; grad && i < j->batch * dim; i++)
        grad[i] = i % 3 ? 0.1f : -0.1f;
    for (int i = 0; i < 3 && !rc; i++) {
        coke_encoder_zero_grad(j->e);
        rc = coke_plan_forward(j->pass, j->images) || coke_plan_backward(j->pass, &grads) ||
             coke_optimizer_step(j->optimizer, 0.5);
    }
    free(grad);
    return rc ? fail(coke_last_error()) : 0;
}

static int write_output(struct job *j, enum coke_output which, const char *path)
{
    int32_t dim;
    const float *x = coke_plan_output(j->pass, which, &dim);
    if (strcmp(path, "-") == 0)
        return 0;
    if (!x)
        return fail("this output is not there");
    return coke_npy_write_f32(path, x, j->batch, dim, 1) ? fail(coke_last_error()) : 0;
}

static int evaluate(struct job *j)
{
    if (make_pass(j, 0))
        return 1;
    if (coke_plan_forward(j->pass, j->images))
        return fail(coke_last_error());
    return write_output(j, COKE_OUTPUT_LOGITS, j->logits) ||
           write_output(j, COKE_OUTPUT_PRED, j->pred);
}

static int get_weights(struct job *j, const char *command, const char *path)
{
    if (strcmp(command, "eval") == 0)
        return coke_encoder_load_weights(j->e, path, NULL) ? fail(coke_last_error()) : 0;
    if (strcmp(command, "train") == 0 && train(j))
        return 1;
    return coke_encoder_save(j->e, path, 1) ? fail(coke_last_error()) : 0;
}

int main(int argc, char **argv)
{
    struct job j = {0};
    struct coke_options *o = NULL;
    int64_t channels = 0;
    if (argc < 8)
        return fail("eval|new|train WEIGHTS INPUT BATCH SIZE LOGITS PRED OPTION=VALUE...");
    j.batch = atoll(argv[4]);
    j.size = atoll(argv[5]);
    j.logits = argv[6];
    j.pred = argv[7];
    if (coke_options_new(&o, "encoder"))
        return fail(coke_last_error());
    int rc = set_options(o, argv + 8, argc - 8) ||
             coke_options_get_int(o, "channels", &channels) ||
             coke_options_get_int(o, "dim", &j.dim) || read_images(&j, argv[3], channels);
    if (!rc && coke_encoder_new(&j.e, o))
        rc = fail(coke_last_error());
    if (!rc)
        rc = get_weights(&j, argv[1], argv[2]) || evaluate(&j);
    coke_options_free(o);
    coke_optimizer_free(j.optimizer);
    coke_plan_free(j.pass);
    coke_encoder_free(j.e);
    free(j.images);
    return rc;
}
