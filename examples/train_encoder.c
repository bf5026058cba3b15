/* train_encoder.c - a small ResNet learns from its own clusters: one view, one head.
 * Build: cc train_encoder.c $(pkg-config --cflags --libs coke) -lm
 *
 * The images are stripes of four directions with random colours and offsets. The program
 * prints the loss of every epoch and, at the end, how much of each cluster is of one direction.
 */
#include <coke.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N = 512, BATCH = 64, SIZE = 16, PIXELS = 3 * SIZE * SIZE, K = 8, DIM = 32, EPOCHS = 12 };

static float images[N * PIXELS]; /* [N][3][SIZE][SIZE] */

static double uniform(void)
{
    return rand() / (RAND_MAX + 1.0);
}

static void draw(float *image, int direction)
{
    double angle = direction * 0.7853981633974483, offset = 6.28 * uniform();
    for (int c = 0; c < 3; c++) {
        double colour = 0.5 + uniform();
        for (int i = 0; i < SIZE * SIZE; i++) {
            double along = cos(angle) * (i % SIZE) + sin(angle) * (i / SIZE);
            *image++ = (float)(colour * sin(1.2 * along + offset) + 0.2 * uniform());
        }
    }
}

struct session {
    struct coke_encoder *encoder;
    struct coke_plan *plan;
    struct coke_optimizer *optimizer;
    struct coke_loss *loss;
    struct coke_kmeans *clusters;
    float centers[K * DIM];
    int32_t labels[N]; /* of the last epoch */
};

/* Options of a kind from "name=value name=value ...". */
static int make_options(struct coke_options **out, const char *kind, const char *text)
{
    char name[32], value[32];
    int used, rc = coke_options_new(out, kind);
    while (!rc && sscanf(text, " %31[^=]=%31s%n", name, value, &used) == 2) {
        rc = coke_options_set(*out, name, value);
        text += used;
    }
    return rc;
}

static int set_up(struct session *s)
{
    struct coke_options *e = NULL, *p = NULL, *sgd = NULL, *l = NULL, *k = NULL;
    float first[K * DIM];
    for (int i = 0; i < K * DIM; i++)
        first[i] = (float)(uniform() - 0.5);
    int rc = make_options(&e, "encoder", "stem=cifar width=0.125 dim=32 predictor=off");
    if (!rc)
        rc = make_options(&p, "plan", "batch=64 height=16 width=16");
    if (!rc)
        rc = make_options(&sgd, "optimizer", "optimizer=sgd momentum=0.9 weight-decay=1e-4");
    if (!rc)
        rc = make_options(&l, "loss", "k=8 batch=64 dim=32 beta=0");
    if (!rc)
        rc = make_options(&k, "kmeans", "n=512 k=8 dim=32 ratio=0.8 eta=0.5 update=running");
    if (!rc)
        rc = coke_encoder_new(&s->encoder, e);
    if (!rc)
        rc = coke_plan_new(&s->plan, s->encoder, p, NULL);
    if (!rc)
        rc = coke_optimizer_new(&s->optimizer, s->encoder, sgd);
    if (!rc)
        rc = coke_loss_new(&s->loss, l);
    if (!rc)
        rc = coke_kmeans_new(&s->clusters, k, first, NULL, NULL);
    coke_options_free(e);
    coke_options_free(p);
    coke_options_free(sgd);
    coke_options_free(l);
    coke_options_free(k);
    return rc;
}

/* Batch b: labels and centers of the last epoch teach, this epoch's are made for the next. */
static int step(struct session *s, int epoch, int b, double *total)
{
    static float grad[BATCH * DIM];
    int64_t ids[BATCH];
    int32_t now[BATCH];
    double rate = 0;
    const float *centers = s->centers;
    struct coke_loss_input in = {.size = sizeof in, .n = BATCH, .centers = &centers};
    struct coke_loss_output out = {.size = sizeof out, .grad_proj = grad};
    struct coke_gradients grads = {.size = sizeof grads, .proj = grad};
    for (int i = 0; i < BATCH; i++)
        ids[i] = b * BATCH + i;
    int rc = coke_schedule_rate(0.03, EPOCHS, -1, N / BATCH, epoch, b, &rate);
    if (!rc)
        rc = coke_plan_forward(s->plan, images + (size_t)b * BATCH * PIXELS);
    in.proj = rc ? NULL : coke_plan_output(s->plan, COKE_OUTPUT_PROJ, NULL);
    in.labels = s->labels + b * BATCH;
    if (!rc && epoch > 0)
        rc = coke_loss_step(s->loss, &in, &out);
    if (!rc)
        rc = coke_kmeans_step(s->clusters, in.proj, ids, BATCH, now);
    memcpy(s->labels + b * BATCH, now, sizeof now);
    if (rc || epoch == 0)
        return rc;
    *total += out.loss * BATCH / N;
    coke_encoder_zero_grad(s->encoder);
    rc = coke_plan_backward(s->plan, &grads);
    return rc ? rc : coke_optimizer_step(s->optimizer, rate);
}

static double purity(const struct session *s)
{
    int count[K][4] = {{0}}, sum = 0;
    for (int i = 0; i < N; i++)
        count[s->labels[i]][i % 4]++;
    for (int k = 0; k < K; k++) {
        int most = 0;
        for (int d = 0; d < 4; d++)
            most = count[k][d] > most ? count[k][d] : most;
        sum += most;
    }
    return (double)sum / N;
}

int main(void)
{
    struct session s = {0};
    for (int i = 0; i < N; i++)
        draw(images + (size_t)i * PIXELS, i % 4);
    int rc = set_up(&s);
    for (int epoch = 0; epoch < EPOCHS && !rc; epoch++) {
        double loss = 0;
        for (int b = 0; b < N / BATCH && !rc; b++)
            rc = step(&s, epoch, b, &loss);
        if (!rc)
            rc = coke_kmeans_epoch_end(s.clusters);
        if (!rc)
            rc = coke_kmeans_copy(s.clusters, COKE_ARRAY_PREVIOUS, s.centers, K * DIM);
        if (!rc && epoch)
            printf("epoch %2d  loss %.3f\n", epoch, loss);
    }
    if (rc)
        fprintf(stderr, "%s\n", coke_last_error());
    else
        printf("purity %.2f\n", purity(&s));
    coke_kmeans_free(s.clusters);
    coke_loss_free(s.loss);
    coke_optimizer_free(s.optimizer);
    coke_plan_free(s.plan);
    coke_encoder_free(s.encoder);
    return -rc;
}
