/* train_driver.c - training steps on given images, for comparison with another program.
 *
 *     train_driver FOLDER EPOCHS OPTION=VALUE...
 *
 * FOLDER/views.f32 [views][n][channels][size][size], FOLDER/order.i64 [epochs][n]. Writes
 * first.safetensors, the method's state as method.safetensors, centers0.f32 and so on,
 * last.safetensors, and for every step to steps.f64: the loss and for each head the labels [batch]
 * and the duals [k]. */
#include "core/mem.h"
#include "coke.h"
#include "data/images.h"
#include "io/safetensors.h"
#include "train/session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void stop(const char *what)
{
    fprintf(stderr, "train_driver: %s: %s\n", what, coke_last_error());
    exit(1);
}

static void *read_all(const char *folder, const char *name)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "rb");
    if (!f)
        stop(path);
    fseek(f, 0, SEEK_END);
    size_t size = (size_t)ftell(f);
    rewind(f);
    void *data = malloc(size);
    if (!data || fread(data, 1, size, f) != size)
        stop(path);
    fclose(f);
    return data;
}

static void save(const struct ck_session *s, const char *folder, const char *name)
{
    char path[512];
    struct ck_state state = {0};
    snprintf(path, sizeof path, "%s/%s", folder, name);
    if (ck_encoder_save(&s->encoder, &state) || ck_safetensors_write(path, &state, 1))
        stop(path);
    ck_state_release(&state);
}

static void save_method(const struct ck_session *s, const char *folder)
{
    char path[512];
    struct ck_state state = {0};
    snprintf(path, sizeof path, "%s/method.safetensors", folder);
    if (ck_method_save(s, &state) || ck_safetensors_write(path, &state, 1))
        stop(path);
    ck_state_release(&state);
}

static void save_centers(const struct ck_session *s, const char *folder)
{
    char path[512];
    for (int h = 0; h < s->heads.n; h++) {
        snprintf(path, sizeof path, "%s/centers%d.f32", folder, h);
        FILE *f = fopen(path, "wb");
        if (!f)
            stop(path);
        fwrite(s->heads.center[h], sizeof(float),
               (size_t)(ck_kmeans_k(s->heads.head[h]) * s->dim), f);
        fclose(f);
    }
}

static void record(const struct ck_session *s, const struct ck_step *step, FILE *out)
{
    fwrite(&step->loss, sizeof step->loss, 1, out);
    for (int h = 0; h < s->heads.n; h++) {
        for (int64_t i = 0; i < step->images; i++) {
            double label = s->heads.label[h * step->images + i];
            fwrite(&label, sizeof label, 1, out);
        }
        for (int64_t k = 0; k < ck_kmeans_k(s->heads.head[h]); k++) {
            double rho = (double)ck_kmeans_duals(s->heads.head[h])[k];
            fwrite(&rho, sizeof rho, 1, out);
        }
    }
}

/* The images of a batch, one after the other. */
static float *gather(const float *all, const int64_t *index, int64_t n, size_t floats)
{
    float *x = malloc((size_t)n * floats * sizeof *x);
    for (int64_t i = 0; x && i < n; i++)
        memcpy(x + (size_t)i * floats, all + (size_t)index[i] * floats, floats * sizeof *x);
    return x;
}

int main(int argc, char **argv)
{
    struct ck_train_options o = ck_train_options_default();
    struct coke_dataset *data;
    struct ck_session s;
    char path[512], source[64];
    int64_t n = 0;
    for (int i = 3; i < argc; i++) {
        char *value = strchr(argv[i], '=');
        *value++ = 0;
        if (strcmp(argv[i], "n") == 0)
            n = atoi(value);
        else if (ck_options_set(ck_train_option_table(), &o, argv[i], value))
            stop(argv[i]);
    }
    snprintf(source, sizeof source, "synthetic:n=%lld,size=16", (long long)n);
    if (ck_images_new(&data, source, &o.data) || ck_session_init(&s, data, &o))
        stop(source);
    float *views = read_all(argv[1], "views.f32");
    int64_t *order = read_all(argv[1], "order.i64"), batch = o.loader.batch;
    int32_t side = (int32_t)o.loader.view.size;
    size_t floats = (size_t)(3 * side * side);
    snprintf(path, sizeof path, "%s/steps.f64", argv[1]);
    FILE *out = fopen(path, "wb");
    save(&s, argv[1], "first.safetensors");
    save_method(&s, argv[1]);
    save_centers(&s, argv[1]);
    for (int64_t e = 0; e < atoi(argv[2]); e++) {
        if (s.method->begin_epoch)
            s.method->begin_epoch(&s, e);
        for (int64_t t = 0; t < s.steps; t++) {
            struct coke_batch b = {.size = sizeof(struct coke_batch),
                                   .epoch = e,
                                   .step = t,
                                   .steps = s.steps,
                                   .n = batch,
                                   .total = batch,
                                   .views = s.skip + s.views,
                                   .channels = 3};
            struct ck_step step;
            b.index = order + e * n + t * batch;
            for (int v = 0; v < b.views; v++) {
                b.width[v] = b.height[v] = side;
                b.x[v] = gather(views + (size_t)v * (size_t)n * floats, b.index, batch, floats);
            }
            if (ck_session_step(&s, &b, &step))
                stop("step");
            record(&s, &step, out);
            for (int v = 0; v < b.views; v++)
                free((void *)(uintptr_t)b.x[v]);
        }
        if (s.heads.n > 0 && ck_heads_epoch_end(&s.heads))
            stop("epoch");
    }
    save(&s, argv[1], "last.safetensors");
    fclose(out);
    ck_session_release(&s);
    coke_dataset_free(data);
    free(views);
    free(order);
    return 0;
}
