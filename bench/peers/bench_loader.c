/* bench_loader.c - augmented views a second, against torchvision's transforms on Pillow images
 * in PyTorch's DataLoader (bench/peers/torch_loader.py), on the same files by the same recipe.
 *
 *     build/bench_loader [--cifar FOLDER] [--jpeg FOLDER] [--only cifar|jpeg224|packed224]
 *                        [--workers N] [--seconds S] [--repeat N] [--python PYTHON]
 *
 * cifar_views: the two-view recipe at 32 pixels on data_batch_1.bin, from memory.
 * jpeg224_views: the two-view recipe at 224 pixels from a folder of photographs.
 * packed224_views: the same from shards that `coke data pack` made of the folder; the peer
 * reads the same 256-pixel JPEGs as files. Without folders pictures are drawn (and it is said),
 * which compress better than photographs. Both sides have as many workers; the best of --repeat
 * runs counts. */
#include "coke.h"
#include "core/clock.h"
#include "core/mem.h"
#include "data/data_options.h"
#include "data/fetch.h"
#include "data/images.h"
#include "data/loader.h"
#include "data/pack.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BATCH = 64, DRAWN = 120, DRAWN_SIDE = 448 };

static struct {
    const char *cifar, *jpeg, *only, *python;
    int workers, repeat;
    double seconds;
} args = {.python = "/usr/bin/python3", .workers = 2, .repeat = 3, .seconds = 4};

static char work[64] = "/tmp/coke-bench-XXXXXX";

static void stop(const char *what)
{
    fprintf(stderr, "bench_loader: %s: %s\n", what, coke_last_error());
    exit(1);
}

/* ---- both sides ---- */

static struct coke_loader *open_loader(struct coke_dataset **data, const char *source,
                                       int32_t recipe)
{
    struct ck_dataset_options d = ck_dataset_options_default();
    struct ck_loader_options o = ck_loader_options_default();
    struct coke_loader *l = NULL;
    d.cache_dir = work;
    o.view.recipe = recipe;
    o.batch = BATCH;
    o.workers = args.workers;
    if (ck_images_new(data, source, &d) || ck_loader_new(&l, *data, &o))
        stop(source);
    return l;
}

static double ours(const char *source, int32_t recipe)
{
    struct coke_dataset *data;
    struct coke_loader *l = open_loader(&data, source, recipe);
    struct coke_batch b = COKE_INIT(struct coke_batch);
    double best = 0;
    for (int r = -1; r < args.repeat; r++) {
        double start = ck_clock_seconds(), limit = r < 0 ? 0.5 : args.seconds, spent;
        int64_t views = 0;
        do {
            if (coke_loader_next(l, &b))
                stop(source);
            views += b.n * b.views;
            spent = ck_clock_seconds() - start;
        } while (spent < limit);
        if (r >= 0 && (double)views / spent > best)
            best = (double)views / spent;
    }
    printf("  coke                  %9.0f views/s, %.0f a core; %.1f MB in the loader\n", best,
           best / args.workers, 1e-6 * (double)coke_loader_bytes(l));
    coke_loader_free(l);
    coke_dataset_free(data);
    return best;
}

static double theirs(const char *kind, const char *source)
{
    char command[4096], line[256];
    double rate = 0;
    snprintf(command, sizeof command,
             "OMP_NUM_THREADS=1 %s bench/peers/torch_loader.py %s '%s' --workers %d --batch %d "
             "--seconds %g --repeat %d",
             args.python, kind, source, args.workers, BATCH, args.seconds, args.repeat);
    FILE *f = popen(command, "r");
    while (f && fgets(line, sizeof line, f))
        sscanf(line, "{\"rate\": %lf", &rate);
    if (!f || pclose(f) != 0 || rate <= 0) {
        fprintf(stderr, "bench_loader: the peer failed: %s\n", command);
        exit(1);
    }
    printf("  torchvision + Pillow  %9.0f views/s, %.0f a core\n", rate, rate / args.workers);
    return rate;
}

/* ---- data ---- */

static void write_file(const char *path, const void *data, size_t size)
{
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(data, 1, size, f) != size || fclose(f) != 0) {
        perror(path);
        exit(1);
    }
}

/* Drawn pictures as a CIFAR file. */
static void draw_cifar(const char *path)
{
    struct ck_dataset_options o = ck_dataset_options_default();
    struct coke_dataset *d;
    struct ck_fetcher f = {0};
    unsigned char record[3073];
    FILE *out = fopen(path, "wb");
    if (!out || ck_images_new(&d, "synthetic:n=10000,size=32", &o))
        stop(path);
    for (int64_t i = 0; i < coke_dataset_count(d); i++) {
        if (ck_fetch_open(&f, d, i))
            stop("synthetic:");
        record[0] = (unsigned char)coke_dataset_label(d, i);
        for (int c = 0; c < 3; c++)
            for (int p = 0; p < 1024; p++)
                record[1 + 1024 * c + p] = f.item.pixels.data[3 * p + c];
        fwrite(record, 1, sizeof record, out);
    }
    fclose(out);
    ck_fetcher_release(&f);
    coke_dataset_free(d);
}

static void draw_photos(const char *folder)
{
    struct ck_dataset_options o = ck_dataset_options_default();
    struct coke_dataset *d;
    struct ck_fetcher f = {0};
    char source[64], path[512];
    unsigned char *bytes;
    size_t size;
    snprintf(source, sizeof source, "synthetic:n=%d,size=%d", DRAWN, DRAWN_SIDE);
    if (ck_images_new(&d, source, &o))
        stop(source);
    mkdir(folder, 0755);
    for (int i = 0; i < DRAWN; i++) {
        if (ck_fetch_open(&f, d, i) || ck_jpeg_encode(&f.item.pixels, 90, &bytes, &size))
            stop(source);
        snprintf(path, sizeof path, "%s/%04d.jpg", folder, i);
        write_file(path, bytes, size);
        ck_free(bytes);
    }
    ck_fetcher_release(&f);
    coke_dataset_free(d);
}

/* Shards of the folder, and the same files in a folder for the peer. */
static void pack(const char *folder, const char *prefix, const char *files)
{
    struct ck_dataset_options o = ck_dataset_options_default();
    struct ck_pack_options p = ck_pack_options_default();
    struct coke_pack_summary result = COKE_INIT(struct coke_pack_summary);
    struct coke_dataset *d;
    char command[1024];
    if (ck_images_new(&d, folder, &o) || ck_pack(d, prefix, &p, 1, NULL, &result))
        stop(folder);
    coke_dataset_free(d);
    snprintf(command, sizeof command, "mkdir -p '%s' && tar -xf '%s-000000.tar' -C '%s'", files,
             prefix, files);
    if (system(command) != 0)
        exit(1);
}

/* ---- the three ---- */

static double ratio[3];
static const char *const names[3] = {"cifar_views", "jpeg224_views", "packed224_views"};

static int wanted(const char *name)
{
    return !args.only || strcmp(args.only, name) == 0;
}

static void bench_cifar(void)
{
    char path[512];
    if (args.cifar) {
        snprintf(path, sizeof path, "%s/data_batch_1.bin", args.cifar);
        printf("CIFAR-10, two views at 32 pixels\n");
    } else {
        snprintf(path, sizeof path, "%s/data_batch_1.bin", work);
        draw_cifar(path);
        printf("drawn pictures (no --cifar FOLDER), two views at 32 pixels\n");
    }
    double we = ours(path, CK_RECIPE_CIFAR);
    ratio[0] = we / theirs("cifar", path);
}

static void bench_photos(const char *folder)
{
    char prefix[128], files[128], shard[160];
    if (wanted("jpeg224")) {
        printf("JPEG files, two views at 224 pixels\n");
        double we = ours(folder, CK_RECIPE_DOUBLE);
        ratio[1] = we / theirs("photos", folder);
    }
    if (!wanted("packed224"))
        return;
    snprintf(prefix, sizeof prefix, "%s/packed", work);
    snprintf(files, sizeof files, "%s/files", work);
    snprintf(shard, sizeof shard, "%s-000000.tar", prefix);
    pack(folder, prefix, files);
    printf("the same packed at 256 pixels (the peer: as files), two views at 224 pixels\n");
    double we = ours(shard, CK_RECIPE_DOUBLE);
    ratio[2] = we / theirs("photos", files);
}

static void parse(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        const char *a = argv[i], *v = i + 1 < argc ? argv[++i] : "";
        if (strcmp(a, "--cifar") == 0)
            args.cifar = v;
        else if (strcmp(a, "--jpeg") == 0)
            args.jpeg = v;
        else if (strcmp(a, "--only") == 0)
            args.only = v;
        else if (strcmp(a, "--python") == 0)
            args.python = v;
        else if (strcmp(a, "--workers") == 0)
            args.workers = atoi(v);
        else if (strcmp(a, "--repeat") == 0)
            args.repeat = atoi(v);
        else if (strcmp(a, "--seconds") == 0)
            args.seconds = atof(v);
        else {
            fprintf(stderr, "bench_loader: '%s' is no option of this program\n", a);
            exit(2);
        }
    }
}

static void remove_work(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", work);
    if (system(command) != 0)
        fprintf(stderr, "bench_loader: %s stays\n", work);
}

int main(int argc, char **argv)
{
    char drawn[128];
    parse(argc, argv);
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (!mkdtemp(work)) {
        perror(work);
        return 1;
    }
    atexit(remove_work);
    if (wanted("cifar"))
        bench_cifar();
    if (wanted("jpeg224") || wanted("packed224")) {
        if (!args.jpeg) {
            snprintf(drawn, sizeof drawn, "%s/drawn", work);
            draw_photos(drawn);
            printf("drawn pictures, as there is no --jpeg FOLDER\n");
        }
        bench_photos(args.jpeg ? args.jpeg : drawn);
    }
    for (int i = 0; i < 3; i++)
        if (ratio[i] > 0)
            printf("ratio %s %.2f\n", names[i], ratio[i]);
    return 0;
}
