/* export_driver.c - what an encoder says, for test_torch_export.py and test_onnx_export.py.
 *
 * export_driver ENCODER INPUT BATCH SIZE FEATURES PROJECTION
 * ENCODER is a file of coke; INPUT is raw f32 [BATCH][channels][SIZE][SIZE]; FEATURES.npy and
 * PROJECTION.npy ("-": none) are written in evaluation. */
#include "coke.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int fail(const char *words)
{
    fprintf(stderr, "export_driver: %s\n", words);
    return 1;
}

static float *read_images(const char *path, size_t n)
{
    FILE *f = fopen(path, "rb");
    float *x = malloc(n * sizeof *x);
    size_t got = f && x ? fread(x, sizeof *x, n, f) : 0;
    if (f)
        fclose(f);
    if (got == n)
        return x;
    free(x);
    return NULL;
}

static int write_output(struct coke_plan *p, int64_t batch, enum coke_output which,
                        const char *path)
{
    int32_t dim;
    if (strcmp(path, "-") == 0)
        return 0;
    const float *x = coke_plan_output(p, which, &dim);
    if (!x)
        return fail("this output is not there");
    return coke_npy_write_f32(path, x, batch, dim, 1) ? fail(coke_last_error()) : 0;
}

/* The encoder compiled for evaluation of batches of images of size x size pixels. */
static int make_plan(struct coke_plan **out, struct coke_encoder *e, int64_t batch,
                     int64_t size)
{
    struct coke_options *o = NULL;
    int rc = coke_options_new(&o, "plan") || coke_options_set_int(o, "batch", batch) ||
             coke_options_set_int(o, "height", size) ||
             coke_options_set_int(o, "width", size) || coke_options_set(o, "train", "off") ||
             coke_options_set(o, "backward", "off") || coke_plan_new(out, e, o, NULL);
    coke_options_free(o);
    return rc;
}

static int64_t channels_of(const struct coke_encoder *e)
{
    struct coke_options *o = NULL;
    int64_t channels = 0;
    if (coke_encoder_options(e, &o) || coke_options_get_int(o, "channels", &channels))
        channels = 0;
    coke_options_free(o);
    return channels;
}

int main(int argc, char **argv)
{
    struct coke_encoder *e = NULL;
    struct coke_plan *plan = NULL;
    if (argc != 7)
        return fail("ENCODER INPUT BATCH SIZE FEATURES PROJECTION");
    int64_t batch = atoll(argv[3]), size = atoll(argv[4]);
    if (coke_encoder_open(&e, argv[1]))
        return fail(coke_last_error());
    float *x = read_images(argv[2], (size_t)(batch * channels_of(e) * size * size));
    int rc = !x || make_plan(&plan, e, batch, size) || coke_plan_forward(plan, x)
                 ? fail(x ? coke_last_error() : argv[2])
                 : 0;
    if (!rc)
        rc = write_output(plan, batch, COKE_OUTPUT_FEATURES, argv[5]) ||
             write_output(plan, batch, COKE_OUTPUT_PROJ, argv[6]);
    coke_plan_free(plan);
    coke_encoder_free(e);
    free(x);
    return rc;
}
