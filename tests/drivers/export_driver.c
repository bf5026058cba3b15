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
    int64_t dim;
    if (strcmp(path, "-") == 0)
        return 0;
    const float *x = coke_plan_output(p, which, &dim);
    if (!x)
        return fail("this output is not there");
    return coke_npy_write_f32(path, x, batch, dim, 1) ? fail(coke_last_error()) : 0;
}

int main(int argc, char **argv)
{
    struct coke_encoder *e = NULL;
    struct coke_plan *pass = NULL;
    struct coke_plan_options o = coke_plan_options_default();
    if (argc != 7)
        return fail("ENCODER INPUT BATCH SIZE FEATURES PROJECTION");
    o.batch = atoll(argv[3]);
    o.height = o.width = atoll(argv[4]);
    o.train = o.backward = 0;
    if (coke_encoder_open(&e, argv[1]))
        return fail(coke_last_error());
    float *x = read_images(
        argv[2], (size_t)(o.batch * coke_encoder_options_of(e).channels * o.height * o.width));
    int rc = !x || coke_plan_new(&pass, e, &o) || coke_plan_forward(pass, x)
                 ? fail(x ? coke_last_error() : argv[2])
                 : 0;
    if (!rc)
        rc = write_output(pass, o.batch, COKE_FEATURES, argv[5]) ||
             write_output(pass, o.batch, COKE_PROJ, argv[6]);
    coke_plan_free(pass);
    coke_encoder_free(e);
    free(x);
    return rc;
}
