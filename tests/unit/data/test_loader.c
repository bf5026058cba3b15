/* test_loader.c - batches whose contents are a function of the options, whoever makes them and
 * whatever goes wrong with single images. */
#include "as_options.h"
#include "support.h"
#include "core/mem.h"
#include "data/fetch.h"
#include "data/loader.h"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { N = 103, SIDE = 20 };

static char folder[64];

/* A folder of small PPM files: cheap to decode, and easy to spoil. */
static void path_of(int i, char *path, size_t size)
{
    snprintf(path, size, "%s/%c/img%03d.ppm", folder, 'a' + i % 3, i);
}

static void write_image(int i)
{
    char path[128];
    unsigned char rgb[SIDE * SIDE * 3];
    path_of(i, path, sizeof path);
    for (int p = 0; p < SIDE * SIDE * 3; p++)
        rgb[p] = (unsigned char)(255 * test_unit((uint64_t)i, (uint64_t)p));
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    fprintf(f, "P6 %d %d 255\n", SIDE, SIDE);
    fwrite(rgb, 1, sizeof rgb, f);
    fclose(f);
}

static void spoil(int i, const char *contents)
{
    char path[128];
    path_of(i, path, sizeof path);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    fputs(contents, f);
    fclose(f);
}

static int make_folder(void **state)
{
    (void)state;
    char path[128];
    snprintf(folder, sizeof folder, "/tmp/coke-loader-XXXXXX");
    assert_non_null(mkdtemp(folder));
    for (int c = 0; c < 3; c++) {
        snprintf(path, sizeof path, "%s/%c", folder, 'a' + c);
        assert_int_equal(mkdir(path, 0755), 0);
    }
    for (int i = 0; i < N; i++)
        write_image(i);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    char command[96];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command);
}

static struct coke_dataset *open_folder(void)
{
    struct ck_dataset_options o = ck_dataset_options_default();
    struct coke_dataset *d;
    assert_ok(coke_dataset_open(&d, folder, AS(dataset, &o)));
    assert_int_equal(coke_dataset_count(d), N);
    assert_int_equal(coke_dataset_classes(d), 3);
    return d;
}

static struct ck_loader_options plain_options(void)
{
    struct ck_loader_options o = ck_loader_options_default();
    o.view.recipe = CK_RECIPE_CIFAR;
    o.view.size = 16;
    o.view.seed = 7;
    o.batch = 10;
    o.workers = 2;
    return o;
}

/* A hash of what `batches` batches hold. */
static uint64_t mix(uint64_t h, const void *data, size_t size)
{
    const unsigned char *p = data;
    for (size_t i = 0; i < size; i++)
        h = (h ^ p[i]) * 0x100000001b3u;
    return h;
}

static uint64_t hash_batch(uint64_t h, const struct coke_batch *b)
{
    h = mix(h, b->index, (size_t)b->n * sizeof *b->index);
    h = mix(h, b->label, (size_t)b->n * sizeof *b->label);
    for (int v = 0; v < b->views; v++)
        h = mix(h, b->x[v],
                (size_t)b->n * (size_t)(b->channels * b->width[v] * b->height[v]) *
                    sizeof(float));
    return h;
}

static uint64_t hash_run(const struct ck_loader_options *o, int64_t epoch, int64_t step,
                         int batches)
{
    struct coke_dataset *d = open_folder();
    struct coke_loader *l;
    struct coke_batch b = COKE_INIT(struct coke_batch);
    uint64_t h = 1;
    assert_ok(coke_loader_new(&l, d, AS(loader, o)));
    if (epoch || step)
        assert_ok(coke_loader_seek(l, epoch, step));
    for (int i = 0; i < batches; i++) {
        assert_ok(coke_loader_next(l, &b));
        h = hash_batch(h, &b);
    }
    coke_loader_free(l);
    coke_dataset_free(d);
    return h;
}

static void an_epoch_holds_every_image_once_with_its_label(void **state)
{
    (void)state;
    struct ck_loader_options o = plain_options();
    struct coke_dataset *d = open_folder();
    struct coke_loader *l;
    struct coke_batch b = COKE_INIT(struct coke_batch);
    int seen[N] = {0};
    assert_ok(coke_loader_new(&l, d, AS(loader, &o)));
    assert_int_equal(coke_loader_steps(l), 11);
    for (int64_t e = 0; e < 2; e++)
        for (int64_t s = 0; s < 11; s++) {
            assert_ok(coke_loader_next(l, &b));
            assert_int_equal(b.epoch, e);
            assert_int_equal(b.step, s);
            assert_int_equal(b.steps, 11);
            assert_int_equal(b.views, 2);
            assert_int_equal(b.n, s < 10 ? 10 : 3);
            assert_int_equal(b.total, b.n);
            for (int64_t i = 0; i < b.n; i++) {
                seen[b.index[i]]++;
                assert_int_equal(b.label[i], coke_dataset_label(d, b.index[i]));
            }
        }
    for (int i = 0; i < N; i++)
        assert_int_equal(seen[i], 2);
    assert_int_equal(coke_loader_bad_count(l), 0);
    assert_true(coke_loader_waited(l) > 0);
    /* Four slots of ten images, two views each of 3 x 16 x 16 floats, and the threads' memory.
     */
    int64_t ring = 4 * 10 * 2 * 3 * 16 * 16 * 4;
    assert_in_range(coke_loader_bytes(l), ring, ring + 200000);
    coke_loader_free(l);
    coke_dataset_free(d);
}

static void threads_and_prefetching_change_no_byte(void **state)
{
    (void)state;
    struct ck_loader_options o = plain_options();
    o.workers = 1;
    o.prefetch = 1;
    uint64_t h = hash_run(&o, 0, 0, 25);
    static const int64_t ways[][2] = {{2, 1}, {2, 3}, {5, 2}, {8, 30}};
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        o.workers = ways[i][0];
        o.prefetch = ways[i][1];
        assert_true(hash_run(&o, 0, 0, 25) == h);
    }
    o.view.seed++;
    assert_true(hash_run(&o, 0, 0, 25) != h);
}

/* 0 = the loader of the parent is refused, and a new one works. */
static int use_in_child(struct coke_loader *old, struct coke_dataset *d,
                        const struct ck_loader_options *o)
{
    struct coke_loader *l;
    struct coke_batch b = COKE_INIT(struct coke_batch);
    if (coke_loader_next(old, &b) != COKE_EUSAGE || !strstr(coke_last_error(), "fork()") ||
        coke_loader_seek(old, 0, 0) != COKE_EUSAGE || coke_loader_bytes(old) <= 0)
        return 1;
    coke_loader_free(old);
    if (coke_loader_new(&l, d, AS(loader, o)) || coke_loader_next(l, &b) || b.n != 10)
        return 2;
    coke_loader_free(l);
    return 0;
}

static void a_child_of_fork_needs_a_loader_of_its_own(void **state)
{
    (void)state;
    struct coke_dataset *d = open_folder();
    struct ck_loader_options o = plain_options();
    struct coke_loader *l;
    struct coke_batch b = COKE_INIT(struct coke_batch);
    int status;
    assert_ok(coke_loader_new(&l, d, AS(loader, &o)));
    assert_ok(coke_loader_next(l, &b));
    pid_t child = fork();
    if (child == 0) {
        alarm(20);
        _exit(use_in_child(l, d, &o));
    }
    assert_true(waitpid(child, &status, 0) == child);
    assert_int_equal(status, 0);
    assert_ok(coke_loader_next(l, &b));
    coke_loader_free(l);
    coke_dataset_free(d);
}

static void seeking_gives_what_running_would_have(void **state)
{
    (void)state;
    struct ck_loader_options o = plain_options();
    struct coke_dataset *d = open_folder();
    struct coke_loader *l;
    struct coke_batch b = COKE_INIT(struct coke_batch);
    uint64_t want = 1, got = 1;
    assert_ok(coke_loader_new(&l, d, AS(loader, &o)));
    for (int i = 0; i < 30; i++) {
        assert_ok(coke_loader_next(l, &b));
        if (i >= 17) /* epoch 1, step 6 */
            want = hash_batch(want, &b);
    }
    assert_ok(coke_loader_seek(l, 1, 6));
    for (int i = 17; i < 30; i++) {
        assert_ok(coke_loader_next(l, &b));
        got = hash_batch(got, &b);
    }
    assert_true(want == got);
    assert_true(hash_run(&o, 1, 6, 13) == want);
    assert_fails(coke_loader_seek(l, 1, 11), COKE_EUSAGE, "step 11");
    assert_fails(coke_loader_seek(l, INT64_MAX, 3), COKE_EUSAGE, "is too large");
    assert_fails(coke_loader_seek(l, INT64_MAX / 11, 3), COKE_EUSAGE, "is too large");
    coke_loader_free(l);
    coke_dataset_free(d);
}

static void ranks_share_the_batches_of_one_process(void **state)
{
    (void)state;
    struct ck_loader_options o = plain_options();
    struct coke_dataset *d = open_folder();
    struct coke_loader *one, *part[3];
    struct coke_batch whole = COKE_INIT(struct coke_batch), b = whole;
    assert_ok(coke_loader_new(&one, d, AS(loader, &o)));
    for (o.rank = 0, o.ranks = 3; o.rank < 3; o.rank++)
        assert_ok(coke_loader_new(&part[o.rank], d, AS(loader, &o)));
    for (int s = 0; s < 22; s++) {
        int64_t at = 0;
        assert_ok(coke_loader_next(one, &whole));
        for (int r = 0; r < 3; r++) {
            assert_ok(coke_loader_next(part[r], &b));
            assert_int_equal(b.first, at);
            assert_int_equal(b.total, whole.n);
            size_t image = (size_t)(3 * 16 * 16);
            assert_memory_equal(b.index, whole.index + at, (size_t)b.n * sizeof *b.index);
            for (int v = 0; v < 2; v++)
                assert_memory_equal(b.x[v], whole.x[v] + (size_t)at * image,
                                    (size_t)b.n * image * sizeof(float));
            at += b.n;
        }
        assert_int_equal(at, whole.n);
    }
    coke_loader_free(one);
    for (int r = 0; r < 3; r++)
        coke_loader_free(part[r]);
    coke_dataset_free(d);
}

static void adding_a_file_leaves_the_views_of_others_alone(void **state)
{
    (void)state;
    struct ck_loader_options o = plain_options();
    struct coke_batch b = COKE_INIT(struct coke_batch);
    float *before = test_array(N * 3 * 16 * 16, sizeof *before);
    char name[64], path[128];
    o.shuffle = 0;
    o.batch = N + 1;
    for (int added = 0; added < 2; added++) {
        struct ck_dataset_options data_options = ck_dataset_options_default();
        struct coke_dataset *d;
        struct coke_loader *l;
        snprintf(path, sizeof path, "%s/b/img000.ppm", folder); /* sorts before its class */
        if (added) {
            FILE *f = fopen(path, "wb");
            fprintf(f, "P5 1 1 255\nx");
            fclose(f);
        }
        assert_ok(coke_dataset_open(&d, folder, AS(dataset, &data_options)));
        assert_ok(coke_loader_new(&l, d, AS(loader, &o)));
        assert_ok(coke_loader_next(l, &b));
        for (int64_t i = 0; i < b.n; i++) {
            coke_dataset_name(d, b.index[i], name, sizeof name);
            int which = atoi(name + strlen("a/img"));
            if (added && strcmp(name, "b/img000.ppm") == 0)
                continue;
            float *keep = before + which * 3 * 16 * 16;
            if (added)
                assert_memory_equal(keep, b.x[0] + i * 3 * 16 * 16, 3 * 16 * 16 * sizeof *keep);
            else
                memcpy(keep, b.x[0] + i * 3 * 16 * 16, 3 * 16 * 16 * sizeof *keep);
        }
        coke_loader_free(l);
        coke_dataset_free(d);
    }
    unlink(path);
    free(before);
}

/* ---- bad images ---- */

static void bad_images_are_left_out_counted_and_listed(void **state)
{
    (void)state;
    struct ck_loader_options o = plain_options();
    o.max_bad = 0.05;
    spoil(17, "P6 20 20 255\nshort");
    spoil(60, "");
    spoil(61, "no image at all");
    struct coke_dataset *d = open_folder();
    struct coke_loader *l;
    struct coke_batch b = COKE_INIT(struct coke_batch);
    int64_t count = 0;
    const char *sentence;
    assert_ok(coke_loader_new(&l, d, AS(loader, &o)));
    for (int s = 0; s < 22; s++) {
        assert_ok(coke_loader_next(l, &b));
        count += b.n;
        for (int64_t i = 0; i < b.n; i++)
            assert_true(b.index[i] >= 0 && b.label[i] == coke_dataset_label(d, b.index[i]));
    }
    assert_int_equal(count, 2 * (N - 3));
    assert_int_equal(coke_loader_bad_count(l), 3);
    int found = 0;
    for (int i = 0; i < 3; i++) {
        coke_loader_bad(l, i, &sentence);
        found += strstr(sentence, "img017.ppm") || strstr(sentence, "img060.ppm") ||
                 strstr(sentence, "img061.ppm");
    }
    assert_int_equal(found, 3);
    coke_loader_free(l);
    coke_dataset_free(d);
    uint64_t h = hash_run(&o, 0, 0, 22);
    o.workers = 7;
    assert_true(hash_run(&o, 0, 0, 22) == h);
    write_image(17);
    write_image(60);
    write_image(61);
}

/* In time a rank meets all bad images, not only its share of one epoch. */
static void ranks_bear_as_many_bad_images_as_one_process(void **state)
{
    (void)state;
    struct ck_loader_options o = plain_options();
    o.max_bad = 0.05;
    o.ranks = 4;
    int few = (int)(0.04 * N), many = N / 4, rc = COKE_OK;
    for (int i = 0; i < many; i++) {
        spoil(i, "");
        if (i != few - 1 && i != many - 1)
            continue;
        struct coke_dataset *d = open_folder();
        struct coke_loader *l;
        struct coke_batch b = COKE_INIT(struct coke_batch);
        assert_ok(coke_loader_new(&l, d, AS(loader, &o)));
        int64_t steps = 20 * coke_loader_steps(l);
        for (int64_t s = 0; s < steps && !(rc = coke_loader_next(l, &b)); s++)
            ;
        assert_int_equal(rc, i < few ? COKE_OK : COKE_EFORMAT);
        if (i < few)
            assert_int_equal(coke_loader_bad_count(l), few);
        coke_loader_free(l);
        coke_dataset_free(d);
    }
    for (int i = 0; i < many; i++)
        write_image(i);
}

static void bad_images_are_replaced_when_asked(void **state)
{
    (void)state;
    struct ck_loader_options o = plain_options();
    o.max_bad = 0.05;
    o.bad = CK_BAD_REPLACE;
    spoil(17, "");
    spoil(60, "");
    struct coke_dataset *d = open_folder();
    struct coke_loader *l;
    struct coke_batch b = COKE_INIT(struct coke_batch);
    int64_t seen[N] = {0}, bad[2], count = 0;
    assert_ok(coke_loader_new(&l, d, AS(loader, &o)));
    for (int s = 0; s < 11; s++) {
        assert_ok(coke_loader_next(l, &b));
        count += b.n;
        for (int64_t i = 0; i < b.n; i++) {
            seen[b.index[i]]++;
            assert_int_equal(b.label[i], coke_dataset_label(d, b.index[i]));
        }
    }
    assert_int_equal(count, N);
    assert_int_equal(coke_loader_bad_count(l), 2);
    for (int i = 0; i < 2; i++) {
        bad[i] = coke_loader_bad(l, i, NULL);
        assert_int_equal(seen[bad[i]], 0);
    }
    coke_loader_free(l);
    coke_dataset_free(d);
    uint64_t h = hash_run(&o, 0, 0, 22);
    o.workers = 5;
    assert_true(hash_run(&o, 0, 0, 22) == h);
    write_image(17);
    write_image(60);
}

static int run_epoch(const struct ck_loader_options *o)
{
    struct coke_dataset *d = open_folder();
    struct coke_loader *l;
    struct coke_batch b = COKE_INIT(struct coke_batch);
    int rc = COKE_OK;
    assert_ok(coke_loader_new(&l, d, AS(loader, o)));
    for (int64_t s = 0; s < coke_loader_steps(l) && !rc; s++)
        rc = coke_loader_next(l, &b);
    if (rc) /* and it stays so */
        assert_int_equal(coke_loader_next(l, &b), rc);
    coke_loader_free(l);
    coke_dataset_free(d);
    return rc;
}

static void too_many_bad_images_stop_with_the_first_one_named(void **state)
{
    (void)state;
    struct ck_loader_options o = plain_options();
    spoil(17, "");
    assert_ok(run_epoch(&o)); /* 1 of 103 */
    spoil(60, "");
    assert_fails(run_epoch(&o), COKE_EFORMAT, "2 of 103 images cannot be read, more than 1 %");
    assert_non_null(strstr(coke_last_error(), ".ppm"));
    o.max_bad = 1;
    o.bad = CK_BAD_ERROR;
    assert_fails(run_epoch(&o), COKE_EFORMAT, ".ppm");
    write_image(17);
    write_image(60);
}

/* The disk goes away under a running epoch. */
static void vanishing_files_stop_with_their_name(void **state)
{
    (void)state;
    struct ck_loader_options o = plain_options();
    char path[128], away[128];
    o.prefetch = 1;
    struct coke_dataset *d = open_folder();
    struct coke_loader *l;
    struct coke_batch b = COKE_INIT(struct coke_batch);
    assert_ok(coke_loader_new(&l, d, AS(loader, &o)));
    assert_ok(coke_loader_next(l, &b));
    snprintf(path, sizeof path, "%s/a", folder);
    snprintf(away, sizeof away, "%s/away", folder);
    assert_int_equal(rename(path, away), 0);
    int rc = COKE_OK;
    for (int s = 1; s < 11 && !rc; s++)
        rc = coke_loader_next(l, &b);
    assert_int_equal(rc, COKE_EIO);
    assert_non_null(strstr(coke_last_error(), ".ppm"));
    coke_loader_free(l);
    coke_dataset_free(d);
    assert_int_equal(rename(away, path), 0);
}

/* ---- refusals and failures ---- */

static void an_unreadable_first_image_does_not_choose_the_recipe(void **state)
{
    (void)state;
    struct ck_loader_options o = plain_options();
    o.view.recipe = CK_RECIPE_AUTO;
    o.view.size = 0;
    spoil(0, "");
    assert_ok(run_epoch(&o));
    write_image(0);
}

static void options_that_cannot_be_are_refused(void **state)
{
    (void)state;
    struct coke_dataset *d = open_folder();
    struct coke_loader *l;
    struct ck_loader_options o = plain_options();
    o.batch = 0;
    assert_fails(coke_loader_new(&l, d, AS(loader, &o)), COKE_EUSAGE, "batch");
    o = plain_options();
    o.rank = 2;
    o.ranks = 2;
    assert_fails(coke_loader_new(&l, d, AS(loader, &o)), COKE_EUSAGE,
                 "rank: 2 is not within 0..1");
    o = plain_options();
    o.view.small_views = 2;
    assert_fails(coke_loader_new(&l, d, AS(loader, &o)), COKE_EUSAGE,
                 "small-views: recipe cifar has no small views");
    o = plain_options();
    o.view.recipe = CK_RECIPE_MULTI;
    o.view.views = 3;
    assert_fails(coke_loader_new(&l, d, AS(loader, &o)), COKE_EUSAGE,
                 "views: the views of recipe multi cannot be repeated");
    o = plain_options();
    o.view.recipe = 99;
    assert_fails(coke_loader_new(&l, d, AS(loader, &o)), COKE_EUSAGE, "recipe");
    coke_dataset_free(d);
}

static void images_of_other_sizes_are_named_by_recipe_none(void **state)
{
    (void)state;
    struct ck_loader_options o = plain_options();
    o.view.recipe = CK_RECIPE_NONE;
    o.view.size = 0;
    o.bad = CK_BAD_ERROR;
    assert_ok(run_epoch(&o));
    spoil(50, "P5 3 2 255\nabcdef");
    assert_fails(run_epoch(&o), COKE_EFORMAT, "img050.ppm: 3 x 2 pixels, not 20 x 20");
    write_image(50);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    struct ck_loader_options o = plain_options();
    struct coke_dataset *d = open_folder();
    o.workers = 1;
    int64_t live = ck_mem_stats().live;
    int done = 0;
    for (int nth = 1; nth < 300 && !done; nth++) {
        struct coke_loader *l = NULL;
        struct coke_batch b = COKE_INIT(struct coke_batch);
        ck_mem_fail_at(nth);
        int rc = coke_loader_new(&l, d, AS(loader, &o));
        for (int i = 0; i < 3 && !rc; i++)
            rc = coke_loader_next(l, &b);
        done = rc == COKE_OK;
        assert_true(done || rc == COKE_ENOMEM);
        ck_mem_fail_at(0);
        coke_loader_free(l);
        assert_int_equal(ck_mem_stats().live, live);
    }
    assert_true(done);
    coke_dataset_free(d);
}

/* Batches are made ahead over the end of an epoch, in the size of their own epoch; and a loader
 * that is moved there makes the same. */
static void views_follow_the_course(void **state)
{
    (void)state;
    struct ck_loader_options o = plain_options();
    struct coke_dataset *d = open_folder();
    struct coke_loader *l, *moved;
    struct coke_batch a = COKE_INIT(struct coke_batch), b = COKE_INIT(struct coke_batch);
    o.batch = 40;
    o.course = (struct ck_course){.epochs = 4, .ramp = 1, .size = {2, {12, 16}}};
    assert_ok(ck_loader_new(&l, d, &o));
    assert_ok(ck_loader_new(&moved, d, &o));
    for (int64_t i = 0; i < 4 * ck_loader_steps(l); i++) {
        assert_ok(ck_loader_next(l, &a));
        assert_int_equal(a.width[0], a.epoch < 2 ? 12 : 16);
        assert_int_equal(a.height[1], a.width[0]);
        assert_ok(ck_loader_seek(moved, a.epoch, a.step));
        assert_ok(ck_loader_next(moved, &b));
        assert_int_equal(a.n, b.n);
        for (int v = 0; v < a.views; v++)
            assert_memory_equal(a.x[v], b.x[v],
                                (size_t)(a.n * 3 * a.width[v] * a.height[v]) * sizeof(float));
    }
    ck_loader_free(l);
    ck_loader_free(moved);
    coke_dataset_free(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_epoch_holds_every_image_once_with_its_label),
        cmocka_unit_test(threads_and_prefetching_change_no_byte),
        cmocka_unit_test(a_child_of_fork_needs_a_loader_of_its_own),
        cmocka_unit_test(seeking_gives_what_running_would_have),
        cmocka_unit_test(ranks_share_the_batches_of_one_process),
        cmocka_unit_test(adding_a_file_leaves_the_views_of_others_alone),
        cmocka_unit_test(bad_images_are_left_out_counted_and_listed),
        cmocka_unit_test(ranks_bear_as_many_bad_images_as_one_process),
        cmocka_unit_test(bad_images_are_replaced_when_asked),
        cmocka_unit_test(too_many_bad_images_stop_with_the_first_one_named),
        cmocka_unit_test(vanishing_files_stop_with_their_name),
        cmocka_unit_test(an_unreadable_first_image_does_not_choose_the_recipe),
        cmocka_unit_test(options_that_cannot_be_are_refused),
        cmocka_unit_test(images_of_other_sizes_are_named_by_recipe_none),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(views_follow_the_course),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
