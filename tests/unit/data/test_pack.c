/* test_pack.c - shards made of a data set hold what it held. */
#include "as_options.h"
#include "support.h"
#include "core/mem.h"
#include "data/fetch.h"
#include "io/file.h"
#include "io/tar_write.h"

#include <sys/stat.h>
#include <unistd.h>

static char folder[64];

static int make_folder(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/coke-pack-XXXXXX");
    assert_non_null(mkdtemp(folder));
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    char command[96];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command);
}

static void in_folder(char *path, size_t size, const char *name)
{
    snprintf(path, size, "%s/%s", folder, name);
}

static struct coke_dataset *open_data(const char *source)
{
    struct ck_dataset_options o = ck_dataset_options_default();
    struct coke_dataset *d;
    assert_ok(coke_dataset_open(&d, source, AS(dataset, &o)));
    return d;
}

/* The pixels of image i. */
static void pixels_of(struct coke_dataset *d, int64_t i, struct ck_fetcher *f)
{
    struct ck_box part;
    int scale;
    assert_ok(ck_fetch_open(f, d, i));
    assert_ok(ck_fetch_decode(f, d, NULL, 1, &part, &scale));
}

static void assert_same_images(struct coke_dataset *a, struct coke_dataset *b)
{
    struct ck_fetcher fa = {0}, fb = {0};
    assert_int_equal(coke_dataset_count(a), coke_dataset_count(b));
    for (int64_t i = 0; i < coke_dataset_count(a); i++) {
        pixels_of(a, i, &fa);
        pixels_of(b, i, &fb);
        assert_int_equal(fa.image.width, fb.image.width);
        assert_int_equal(fa.image.height, fb.image.height);
        assert_memory_equal(fa.image.data, fb.image.data,
                            (size_t)(fa.image.width * fa.image.height * 3));
        assert_int_equal(coke_dataset_label(a, i), coke_dataset_label(b, i));
    }
    ck_fetcher_release(&fa);
    ck_fetcher_release(&fb);
}

static void packed_without_loss_is_the_same_data(void **state)
{
    (void)state;
    char prefix[96], shards[160];
    struct coke_pack_summary r = COKE_INIT(struct coke_pack_summary);
    struct ck_pack_options o = ck_pack_options_default();
    struct coke_dataset *d = open_data("synthetic:n=60,size=24"), *back;
    o.shard_size = 20000;
    for (o.format = CK_PACK_PNG; o.format <= CK_PACK_PPM; o.format++) {
        in_folder(prefix, sizeof prefix, o.format == CK_PACK_PNG ? "png" : "ppm");
        assert_ok(coke_dataset_pack(d, prefix, AS(pack, &o), 0, NULL, &r));
        assert_int_equal(r.images, 60);
        assert_int_equal(r.bad, 0);
        assert_true(r.shards > 3);
        snprintf(shards, sizeof shards, "%s-{000000..%06d}.tar", prefix, (int)r.shards - 1);
        back = open_data(shards);
        assert_int_equal(coke_dataset_classes(back), 10);
        assert_same_images(d, back);
        for (int c = 0; c < 10; c++)
            assert_string_equal(coke_dataset_class_name(d, c),
                                coke_dataset_class_name(back, c));
        coke_dataset_free(back);
        assert_fails(coke_dataset_pack(d, prefix, AS(pack, &o), 0, NULL, &r), COKE_EUSAGE,
                     "exists");
        assert_ok(coke_dataset_pack(d, prefix, AS(pack, &o), 1, NULL, &r));
    }
    coke_dataset_free(d);
}

static void a_shorter_run_leaves_no_old_shards(void **state)
{
    (void)state;
    char prefix[96], path[160];
    struct coke_pack_summary r = COKE_INIT(struct coke_pack_summary);
    struct ck_pack_options o = ck_pack_options_default();
    struct coke_dataset *d = open_data("synthetic:n=40,size=16");
    in_folder(prefix, sizeof prefix, "again");
    o.shard_size = 10000;
    assert_ok(coke_dataset_pack(d, prefix, AS(pack, &o), 0, NULL, &r));
    assert_true(r.shards > 1);
    o.shard_size = 1000000;
    assert_ok(coke_dataset_pack(d, prefix, AS(pack, &o), 1, NULL, &r));
    assert_int_equal(r.shards, 1);
    snprintf(path, sizeof path, "%s-000001.tar", prefix);
    assert_int_not_equal(access(path, F_OK), 0);
    coke_dataset_free(d);
}

static void large_pictures_shrink_and_small_files_are_copied(void **state)
{
    (void)state;
    char source[96], path[128], prefix[96], shard[128];
    struct ck_image im = {0};
    unsigned char *bytes[2];
    size_t size[2];
    in_folder(source, sizeof source, "photos");
    assert_int_equal(mkdir(source, 0755), 0);
    for (int i = 0; i < 2; i++) {
        assert_ok(ck_image_reshape(&im, i ? 90 : 600, i ? 70 : 300, 3));
        for (int p = 0; p < im.width * im.height * 3; p++)
            im.data[p] = (uint8_t)(p / 50);
        assert_ok(ck_jpeg_encode(&im, 80, &bytes[i], &size[i]));
        snprintf(path, sizeof path, "%s/a.b%d.jpg", source, i);
        FILE *f = fopen(path, "wb");
        fwrite(bytes[i], 1, size[i], f);
        fclose(f);
    }
    struct coke_pack_summary r = COKE_INIT(struct coke_pack_summary);
    struct ck_pack_options o = ck_pack_options_default();
    struct coke_dataset *d = open_data(source), *back;
    struct ck_fetcher f = {0};
    o.size = 100;
    in_folder(prefix, sizeof prefix, "small");
    assert_ok(coke_dataset_pack(d, prefix, AS(pack, &o), 0, NULL, &r));
    snprintf(shard, sizeof shard, "%s-000000.tar", prefix);
    back = open_data(shard);
    assert_int_equal(coke_dataset_count(back), 2);
    assert_ok(ck_fetch_open(&f, back, 0));
    assert_int_equal(f.width, 200);
    assert_int_equal(f.height, 100);
    assert_ok(ck_fetch_open(&f, back, 1));
    assert_int_equal(f.item.size, size[1]);
    assert_memory_equal(f.item.bytes, bytes[1], size[1]);
    ck_fetcher_release(&f);
    coke_dataset_free(back);
    coke_dataset_free(d);
    ck_free(bytes[0]);
    ck_free(bytes[1]);
    ck_image_release(&im);
}

/* "x.ppm" and "x.pgm" are two images, and "-000002.tar" of someone else stays. */
static void no_image_and_no_file_gets_lost(void **state)
{
    (void)state;
    char source[96], path[128], prefix[96], shard[128];
    struct coke_pack_summary r = COKE_INIT(struct coke_pack_summary);
    struct ck_pack_options o = ck_pack_options_default();
    static const char *const names[] = {"x.ppm", "x.pgm", "x.pnm", "x.y.ppm", "x_y.ppm"};
    in_folder(source, sizeof source, "twins");
    assert_int_equal(mkdir(source, 0755), 0);
    for (int i = 0; i < 5; i++) {
        snprintf(path, sizeof path, "%s/%s", source, names[i]);
        FILE *f = fopen(path, "wb");
        fputs("P5 2 1 255\nab", f);
        fclose(f);
    }
    in_folder(prefix, sizeof prefix, "twins");
    in_folder(path, sizeof path, "twins-000007.tar");
    FILE *f = fopen(path, "wb");
    fputs("precious", f);
    fclose(f);
    struct coke_dataset *d = open_data(source), *back;
    assert_fails(coke_dataset_pack(d, prefix, AS(pack, &o), 0, NULL, &r), COKE_EUSAGE,
                 "twins-000007.tar exists");
    assert_int_equal(access(path, F_OK), 0);
    assert_int_equal(unlink(path), 0);
    assert_ok(coke_dataset_pack(d, prefix, AS(pack, &o), 0, NULL, &r));
    assert_int_equal(r.images, 5);
    snprintf(shard, sizeof shard, "%s-000000.tar", prefix);
    back = open_data(shard);
    assert_int_equal(coke_dataset_count(back), 5);
    coke_dataset_free(back);
    coke_dataset_free(d);
}

struct told {
    int64_t index;
    char sentence[200];
};

static void remember(void *user, int64_t i, const char *sentence)
{
    struct told *t = user;
    t->index = i;
    snprintf(t->sentence, sizeof t->sentence, "%s", sentence);
}

static void bad_pictures_are_left_out_and_told(void **state)
{
    (void)state;
    char source[96], path[128], prefix[96];
    struct told told = {-1, ""};
    struct coke_callbacks callbacks = {
        .size = sizeof(struct coke_callbacks), .user = &told, .bad_image = remember};
    struct coke_pack_summary r = COKE_INIT(struct coke_pack_summary);
    struct coke_verify_summary v = COKE_INIT(struct coke_verify_summary);
    struct ck_pack_options o = ck_pack_options_default();
    in_folder(source, sizeof source, "mixed");
    assert_int_equal(mkdir(source, 0755), 0);
    for (int i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s/%d.ppm", source, i);
        FILE *f = fopen(path, "wb");
        fputs(i == 1 ? "P5 9 9 255\nshort" : "P5 2 1 255\nab", f);
        fclose(f);
    }
    struct coke_dataset *d = open_data(source);
    assert_ok(coke_dataset_verify(d, &callbacks, &v));
    assert_int_equal(v.good, 2);
    assert_int_equal(v.bad, 1);
    assert_int_equal(told.index, 1);
    assert_non_null(strstr(told.sentence, "1.ppm"));
    told.index = -1;
    in_folder(prefix, sizeof prefix, "mixed");
    assert_ok(coke_dataset_pack(d, prefix, AS(pack, &o), 0, &callbacks, &r));
    assert_int_equal(r.images, 2);
    assert_int_equal(r.bad, 1);
    assert_int_equal(told.index, 1);
    coke_dataset_free(d);
}

/* Whatever fails, no shard with its own name is there that is not whole. */
static void failing_writes_and_allocations_leave_nothing_half_done(void **state)
{
    (void)state;
    char prefix[96], shard[128];
    struct coke_pack_summary r = COKE_INIT(struct coke_pack_summary);
    struct ck_pack_options o = ck_pack_options_default();
    struct coke_dataset *d = open_data("synthetic:n=5,size=16");
    in_folder(prefix, sizeof prefix, "fails");
    snprintf(shard, sizeof shard, "%s-000000.tar", prefix);
    assert_ok(coke_set_threads(1));
    ck_file_fail_write_at(1);
    assert_fails(coke_dataset_pack(d, prefix, AS(pack, &o), 0, NULL, &r), COKE_EIO, "No space");
    assert_int_not_equal(access(shard, F_OK), 0);
    int64_t live = ck_mem_stats().live;
    int done = 0;
    for (int nth = 1; nth < 400 && !done; nth++) {
        ck_mem_fail_at(nth);
        int rc = coke_dataset_pack(d, prefix, AS(pack, &o), 0, NULL, &r);
        ck_mem_fail_at(0);
        done = rc == COKE_OK;
        assert_true(done || rc == COKE_ENOMEM);
        assert_int_equal(ck_mem_stats().live, live);
        if (!done && access(shard, F_OK) == 0) { /* complete, only its companion failed */
            struct coke_dataset *whole = open_data(shard);
            assert_int_equal(coke_dataset_count(whole), 5);
            coke_dataset_free(whole);
            unlink(shard);
            live = ck_mem_stats().live;
        }
    }
    assert_true(done);
    coke_dataset_free(d);
}

static void long_names_survive_in_tar_files(void **state)
{
    (void)state;
    static const int lengths[] = {1, 99, 100, 101, 150, 255, 256, 300, 2000};
    char path[96], command[256], name[2048], text[4096];
    in_folder(path, sizeof path, "names.tar");
    for (size_t c = 0; c < 2 * sizeof lengths / sizeof lengths[0]; c++) {
        int n = lengths[c / 2];
        struct ck_writer w = {0};
        for (int i = 0; i < n; i++) /* with and without folders to cut at */
            name[i] = (char)(c % 2 && i % 40 == 20 ? '/' : 'a' + i % 26);
        name[n] = 0;
        assert_ok(ck_writer_open(&w, path, 1));
        assert_ok(ck_tar_add(&w, name, "hello", 5, NULL));
        assert_ok(ck_tar_end(&w));
        assert_ok(ck_writer_commit(&w));
        snprintf(command, sizeof command, "tar -tf %s", path);
        FILE *f = popen(command, "r");
        assert_non_null(fgets(text, sizeof text, f));
        text[strcspn(text, "\n")] = 0;
        assert_int_equal(pclose(f), 0);
        assert_string_equal(text, name);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(packed_without_loss_is_the_same_data),
        cmocka_unit_test(a_shorter_run_leaves_no_old_shards),
        cmocka_unit_test(large_pictures_shrink_and_small_files_are_copied),
        cmocka_unit_test(no_image_and_no_file_gets_lost),
        cmocka_unit_test(bad_pictures_are_left_out_and_told),
        cmocka_unit_test(long_names_survive_in_tar_files),
        cmocka_unit_test(failing_writes_and_allocations_leave_nothing_half_done),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
