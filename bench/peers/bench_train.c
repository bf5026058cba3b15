/* bench_train.c - images a second of a whole training, data loading included, against the same
 * training in PyTorch with torchvision on Pillow (bench/peers/torch_train.py).
 *
 *     build/bench_train [--cifar FOLDER] [--batch N] [--width W] [--seconds S] [--repeat N]
 *                       [--python PYTHON] [--precision f32|bf16]
 *
 * CIFAR-10 (data_batch_1.bin), two views without blur, ResNet-18 of a quarter of the width, ten
 * heads of 10 to 100 clusters, SGD; the peer computes in f32. Both sides use two threads for arithmetic and two for
 * data, and their waiting threads spin briefly (docs/decisions/007). An image
 * counts once, however many views it has. The best of --repeat times. */
#include "core/clock.h"
#include "coke.h"
#include "data/images.h"
#include "kernels/amx.h"
#include "train/session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct {
    const char *cifar, *python, *precision;
    int batch, repeat;
    double width, seconds;
} args = {.cifar = "build/bench-data/cifar10",
          .python = "/usr/bin/python3",
          .precision = "f32",
          .batch = 128,
          .repeat = 2,
          .width = 0.25,
          .seconds = 20};

static void stop(const char *what)
{
    fprintf(stderr, "bench_train: %s: %s\n", what, coke_last_error());
    exit(1);
}

static int is_bf16(void)
{
    return strcmp(args.precision, "bf16") == 0;
}

static struct ck_train_options options(void)
{
    struct ck_train_options o = ck_train_options_default();
    if (ck_train_preset(&o, "cifar10-literal"))
        stop("cifar10-literal");
    o.loader.view.recipe = CK_RECIPE_CIFAR_SMALL;
    o.loader.batch = args.batch;
    o.loader.workers = 2;
    o.encoder.width = args.width;
    o.rate = 0.05;
    o.precision = is_bf16() ? CK_PRECISION_BF16 : CK_PRECISION_F32;
    return o;
}

static void run_step(struct ck_session *s, int64_t *images)
{
    struct coke_batch b = COKE_INIT(struct coke_batch);
    struct ck_step step;
    if (coke_loader_next(s->loader, &b) || ck_session_step(s, &b, &step))
        stop("step");
    *images += b.n;
    if (b.step + 1 == b.steps && ck_heads_epoch_end(&s->heads))
        stop("epoch");
}

/* Epoch 0, which only clusters, is not timed. */
static double ours(const char *file)
{
    struct ck_train_options o = options();
    struct coke_dataset *data;
    struct ck_session s;
    double best = 0;
    if (ck_images_new(&data, file, &o.data) || ck_session_init(&s, data, &o))
        stop(file);
    int64_t images = 0;
    for (int64_t i = 0; i < s.steps + 3; i++)
        run_step(&s, &images);
    double waited = coke_loader_waited(s.loader), all = 0;
    for (int r = 0; r < args.repeat; r++) {
        double start = ck_clock_seconds(), spent = 0;
        for (images = 0; spent < args.seconds; spent = ck_clock_seconds() - start)
            run_step(&s, &images);
        best = (double)images / spent > best ? (double)images / spent : best;
        all += spent;
    }
    printf("  coke     %7.0f images/s, %.1f %% of the time waiting for data\n", best,
           100 * (coke_loader_waited(s.loader) - waited) / all);
    ck_session_release(&s);
    coke_dataset_free(data);
    return best;
}

static double theirs(const char *file)
{
    char command[2048], line[256];
    double rate = 0;
    snprintf(command, sizeof command,
             "OMP_NUM_THREADS=2 %s bench/peers/torch_train.py '%s' --batch %d --width %g "
             "--seconds %g "
             "--repeat %d",
             args.python, file, args.batch, args.width, args.seconds, args.repeat);
    FILE *f = popen(command, "r");
    while (f && fgets(line, sizeof line, f))
        sscanf(line, "{\"rate\": %lf", &rate);
    if (!f || pclose(f) != 0 || rate <= 0) {
        fprintf(stderr, "bench_train: the peer failed: %s\n", command);
        exit(1);
    }
    printf("  PyTorch  %7.0f images/s\n", rate);
    return rate;
}

static void parse(int argc, char **argv)
{
    for (int i = 1; i + 1 < argc; i += 2) {
        const char *a = argv[i], *v = argv[i + 1];
        if (strcmp(a, "--cifar") == 0)
            args.cifar = v;
        else if (strcmp(a, "--python") == 0)
            args.python = v;
        else if (strcmp(a, "--batch") == 0)
            args.batch = atoi(v);
        else if (strcmp(a, "--repeat") == 0)
            args.repeat = atoi(v);
        else if (strcmp(a, "--width") == 0)
            args.width = atof(v);
        else if (strcmp(a, "--precision") == 0)
            args.precision = v;
        else if (strcmp(a, "--seconds") == 0)
            args.seconds = atof(v);
        else
            argc = 0;
    }
    if (argc % 2 == 0) {
        fprintf(stderr,
                "usage: bench_train [--cifar FOLDER] [--batch N] [--width W] [--seconds S] "
                "[--repeat N] [--python PYTHON] [--precision f32|bf16]\n"
                "'scripts/get-data cifar10 FOLDER' fetches it\n");
        exit(2);
    }
}

/* The OpenMP runtime reads it when it is loaded; the peer inherits it. */
static void spin_briefly(char **argv)
{
    if (getenv("GOMP_SPINCOUNT") || setenv("GOMP_SPINCOUNT", "20000", 1))
        return;
    execv("/proc/self/exe", argv);
    fprintf(stderr, "bench_train: cannot start itself again; threads will spin for long\n");
}

int main(int argc, char **argv)
{
    char file[1024];
    parse(argc, argv);
    spin_briefly(argv);
    setvbuf(stdout, NULL, _IOLBF, 0);
    snprintf(file, sizeof file, "%s/data_batch_1.bin", args.cifar);
    printf("CIFAR-10, two views, ResNet-18 x %g, ten heads, batch %d, %s\n", args.width,
           args.batch, args.precision);
    double we = ours(file), they = theirs(file);
    printf("ratio coke_epoch%s %.2f\n", is_bf16() ? "_bf16" : "", we / they);
    if (ck_amx() != CK_AMX_UNIT)
        printf("bf16 on the matrix unit (AMX): not measured here\n");
    return 0;
}
