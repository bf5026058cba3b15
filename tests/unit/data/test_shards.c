/* test_shards.c - tar shards: samples, labels, indexes, streams, and what goes wrong. */
#include "unit/data/data_test.h"
#include "io/tar_write.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <time.h>

/* Key and label of each image; two members each. */
static void write_shard(const char *path, int first, int n)
{
    char name[64], text[64];
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    for (int i = first; i < first + n; i++) {
        snprintf(name, sizeof name, "set/%06d.jpg", i);
        snprintf(text, sizeof text, "image %d", i);
        tar_add(f, name, text);
        snprintf(name, sizeof name, "set/%06d.cls", i);
        snprintf(text, sizeof text, "%d\n", i % 7);
        tar_add(f, name, text);
    }
    tar_end(f);
}

static void shards_are_one_set(void **state)
{
    (void)state;
    write_shard("x-009.tar", 0, 5);
    write_shard("x-010.tar", 5, 3);
    write_shard("x-011.tar", 8, 2);
    for (int round = 0; round < 2; round++) { /* without and with indexes */
        struct ck_dataset *d = open_set("x-{009..011}.tar");
        assert_string_equal(d->type->kind, "tar");
        assert_int_equal(d->n, 10);
        assert_int_equal(d->classes, 7);
        assert_string_equal(d->note, "");
        check_item(d, 9, "x-011.tar/set/000009", 2, "image 9");
        check_item(d, 4, "x-009.tar/set/000004", 4, "image 4");
        check_item(d, 5, "x-010.tar/set/000005", 5, "image 5");
        ck_dataset_free(d);
        assert_int_equal(access("x-010.tar.cokeidx", F_OK), 0);
    }
}

/* Two samples, as `coke data pack` writes them. */
static void write_summed(const char *path)
{
    struct ck_writer w = {0};
    assert_ok(ck_writer_open(&w, path, 1));
    assert_ok(ck_tar_add(&w, "a.jpg", "image a", 7, NULL));
    assert_ok(ck_tar_add(&w, "a.cls", "3", 1, NULL));
    assert_ok(ck_tar_add(&w, "b.jpg", "image b", 7, NULL));
    assert_ok(ck_tar_end(&w));
    assert_ok(ck_writer_commit(&w));
}

static int read_images(const char *path, int one_pass)
{
    struct ck_dataset_options o = {.one_pass = one_pass};
    struct ck_dataset *d = NULL;
    struct ck_item item = {0};
    int rc = ck_dataset_open(&d, path, &o);
    for (int i = 0; i < 2 && !rc; i++)
        rc = ck_dataset_read(d, i, &item);
    ck_item_release(&item);
    ck_dataset_free(d);
    return rc;
}

static void flipped_images_and_labels_of_a_pack_are_refused(void **state)
{
    (void)state;
    static const int at[] = {512, 518, 1536, 2560}; /* images at 512 and 2560, label at 1536 */
    write_summed("sum.tar");
    assert_ok(read_images("sum.tar", 0));
    for (int i = 0; i < 4 * 2; i++) {
        FILE *f = fopen("sum.tar", "r+b");
        assert_non_null(f);
        fseek(f, at[i % 4], SEEK_SET);
        int c = getc(f);
        fseek(f, at[i % 4], SEEK_SET);
        putc(c ^ 1, f);
        fclose(f);
        if (i < 4)
            assert_fails(read_images("sum.tar", 0), COKE_EFORMAT, "is damaged");
        else if (system("gzip -kf sum.tar") == 0)
            assert_fails(read_images("sum.tar.gz", 1), COKE_EFORMAT, "is damaged");
        write_summed("sum.tar");
    }
}

static void image_and_label_of_a_sample(void **state)
{
    (void)state;
    FILE *f = fopen("w.tar", "wb");
    tar_add(f, "a.depth.png", "depth");
    tar_add(f, "a.jpg", "photo");
    tar_add(f, "a.json", "{}");
    tar_add(f, "b.txt", "a sample without an image");
    tar_add(f, "c.cls", " 3 ");
    tar_add(f, "c.left.jpg", "left");
    tar_add(f, "c.right.jpg", "right");
    tar_add(f, "dir.with.dots/d.bin", "\xff\xd8\xff by content");
    tar_add(f, "dir.with.dots/e", "\x89PNG\r\n\x1a\n too");
    tar_add(f, "._a.jpg", "of another system");
    tar_add(f, "../../f.JPG", "");
    tar_end(f);
    struct ck_dataset *d = open_set("w.tar");
    assert_int_equal(d->n, 5);
    check_item(d, 0, "w.tar/a", -1, "photo");
    check_item(d, 1, "w.tar/c", 3, "left");
    check_item(d, 2, "w.tar/dir.with.dots/d", -1, "\xff\xd8\xff by content");
    check_item(d, 3, "w.tar/dir.with.dots/e", -1, "\x89PNG\r\n\x1a\n too");
    check_item(d, 4, "w.tar/../../f", -1, "");
    assert_int_equal(d->classes, 4);
    assert_non_null(strstr(d->note, "1 samples without an image"));
    assert_non_null(strstr(d->note, "2 images are left out"));
    assert_non_null(strstr(d->note, "4 of 5 images have no label"));
    ck_dataset_free(d);
    struct ck_dataset_options once = {.one_pass = 1};
    struct ck_item item = {0};
    assert_int_equal(system("gzip -k w.tar"), 0);
    assert_ok(ck_dataset_open(&d, "w.tar.gz", &once));
    for (int i = 0; i < 5; i++) {
        assert_ok(ck_dataset_read(d, i, &item));
        assert_int_equal(ck_dataset_label(d, i), i == 1 ? 3 : -1);
        assert_memory_equal(item.bytes, i == 0 ? "photo" : i == 1 ? "left" : "", i < 2 ? 4 : 0);
    }
    assert_int_equal(item.size, 0);
    assert_ok(ck_dataset_read(d, 5, &item));
    assert_null(item.bytes);
    assert_non_null(strstr(d->note, "2 images are left out"));
    ck_item_release(&item);
    ck_dataset_free(d);
}

static void class_names_come_from_the_file_beside(void **state)
{
    (void)state;
    write_shard("n-000.tar", 0, 5);
    write_shard("n-001.tar", 5, 3);
    put("n-classes.txt", "ant\nbee\ncat\ndog\neel\nfox\r\ngnu\nhen");
    struct ck_dataset *d = open_set("n-{000..001}.tar");
    assert_int_equal(d->classes, 8); /* though no image is a hen */
    assert_string_equal(d->class_name[5], "fox");
    assert_string_equal(d->class_name[7], "hen");
    ck_dataset_free(d);
    put("n-classes.txt", "ant\nbee\n");
    d = open_set("n-{000..001}.tar");
    assert_int_equal(d->classes, 7);
    assert_string_equal(d->class_name[1], "1");
    assert_non_null(strstr(d->note, "has 2 lines for 7 classes"));
    ck_dataset_free(d);
    write_shard("plain.tar", 0, 1);
    put("plain-classes.txt", "ant\n");
    d = open_set("plain.tar");
    assert_string_equal(d->class_name[0], "ant");
    ck_dataset_free(d);
}

static void bad_labels_and_empty_archives_are_refused(void **state)
{
    static const char *const bad[] = {"",
                                      "cat",
                                      "3 4",
                                      "-2",
                                      "1048576",
                                      "99999999999999999999",
                                      "000000000000000000000000000000000000000"};
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        FILE *f = fopen("bad.tar", "wb");
        tar_add(f, "a.jpg", "x");
        tar_add(f, "a.cls", bad[i]);
        tar_end(f);
        assert_fails(open_fails("bad.tar"), COKE_EFORMAT, "bad.tar: a.cls is not a label");
    }
    FILE *f = fopen("bad.tar", "wb");
    tar_add(f, "a.txt", "x");
    tar_end(f);
    assert_fails(open_fails("bad.tar"), COKE_EFORMAT, "bad.tar: no images in it");
}

static void missing_shards_are_named(void **state)
{
    (void)state;
    write_shard("m-00.tar", 0, 1);
    write_shard("m-02.tar", 1, 1);
    assert_fails(open_fails("m-{00..02}.tar"), COKE_EIO, "m-01.tar: No such file");
    assert_fails(open_fails("m-{00..05}.tar"), COKE_EIO, "4 of 6 shards are missing");
    struct ck_dataset *d = open_set("m-{00,02}.tar");
    assert_int_equal(d->n, 2);
    ck_dataset_free(d);
    assert_fails(open_fails("m-{5..1}.tar"), COKE_EUSAGE, "is not a range such as");
    assert_fails(open_fails("m-{0..z}.tar"), COKE_EUSAGE, "is not a range such as");
    assert_fails(open_fails("m-{0..9999999}.tar"), COKE_EUSAGE, "more than 100000 files");
    assert_fails(open_fails("m-{1"), COKE_EUSAGE, "the { has no }");
    write_shard("{odd}.tar", 0, 2); /* a name like any other, when it is there */
    d = open_set("{odd}.tar");
    assert_int_equal(d->n, 2);
    ck_dataset_free(d);
}

/* ---- indexes ---- */

static void stale_index_is_made_again(void **state)
{
    (void)state;
    write_shard("s.tar", 0, 2);
    ck_dataset_free(open_set("s.tar"));
    write_shard("s.tar", 10, 3); /* another size */
    struct ck_dataset *d = open_set("s.tar");
    assert_int_equal(d->n, 3);
    check_item(d, 0, "s.tar/set/000010", 3, "image 10");
    ck_dataset_free(d);
    write_shard("s.tar", 20, 3); /* another time */
    struct timespec times[2] = {{.tv_sec = 1000}, {.tv_sec = 1000, .tv_nsec = 5000}};
    assert_int_equal(utimensat(AT_FDCWD, "s.tar", times, 0), 0);
    d = open_set("s.tar");
    check_item(d, 0, "s.tar/set/000020", 6, "image 20");
    ck_dataset_free(d);
}

static void damaged_index_is_made_again(void **state)
{
    unsigned char bytes[4096], again[4096];
    (void)state;
    write_shard("d.tar", 0, 2);
    ck_dataset_free(open_set("d.tar"));
    size_t n = read_file("d.tar.cokeidx", bytes, sizeof bytes);
    for (size_t at = 0; at < n; at += 3) {
        bytes[at] ^= 0x40;
        write_file("d.tar.cokeidx", bytes, n);
        bytes[at] ^= 0x40;
        struct ck_dataset *d = open_set("d.tar");
        assert_int_equal(d->n, 2);
        check_item(d, 1, "d.tar/set/000001", 1, "image 1");
        ck_dataset_free(d);
        assert_int_equal(read_file("d.tar.cokeidx", again, sizeof again), n);
        assert_memory_equal(again, bytes, n);
    }
    for (size_t cut = 1; cut <= n; cut += 9) {
        write_file("d.tar.cokeidx", bytes, n - cut);
        ck_dataset_free(open_set("d.tar"));
        assert_int_equal(read_file("d.tar.cokeidx", again, sizeof again), n);
    }
}

static int count_in(const char *dir)
{
    int n = 0;
    DIR *d = opendir(dir);
    for (struct dirent *e = d ? readdir(d) : NULL; e; e = readdir(d))
        n += e->d_name[0] != '.';
    if (d)
        closedir(d);
    return n;
}

static void index_goes_where_it_can(void **state)
{
    (void)state;
    struct ck_dataset_options o = {.cache_dir = "my/cache"};
    struct ck_dataset *d;
    mkdir("my", 0777);
    write_shard("c.tar", 0, 2);
    assert_ok(ck_dataset_open(&d, "c.tar", &o));
    ck_dataset_free(d);
    assert_int_equal(access("c.tar.cokeidx", F_OK), -1);
    assert_int_equal(count_in("my/cache"), 1);
    assert_ok(ck_dataset_open(&d, "./c.tar", &o)); /* the same file */
    ck_dataset_free(d);
    assert_int_equal(count_in("my/cache"), 1);
    /* A folder in the way stands for one that cannot be written. */
    mkdir("c.tar.cokeidx", 0777);
    d = open_set("c.tar");
    assert_non_null(strstr(d->note, "index could not be written"));
    check_item(d, 1, "c.tar/set/000001", 1, "image 1");
    ck_dataset_free(d);
    char cache[128];
    snprintf(cache, sizeof cache, "%s/xdg/deep", io_dir);
    setenv("XDG_CACHE_HOME", cache, 1);
    for (int round = 0; round < 2; round++) {
        d = open_set("c.tar");
        assert_string_equal(d->note, "");
        ck_dataset_free(d);
        assert_int_equal(count_in("xdg/deep/coke"), 1);
    }
    setenv("XDG_CACHE_HOME", "/dev/null/cache", 1);
    rmdir("c.tar.cokeidx");
}

static void full_disk_only_costs_the_index(void **state)
{
    (void)state;
    write_shard("f.tar", 0, 2);
    ck_file_fail_write_at(1);
    struct ck_dataset *d = open_set("f.tar");
    assert_int_equal(d->n, 2);
    assert_int_equal(access("f.tar.cokeidx", F_OK), -1);
    assert_non_null(strstr(d->note, "index could not be written"));
    ck_dataset_free(d);
}

/* ---- ids ---- */

static void ids_survive_more_shards_and_other_shards(void **state)
{
    (void)state;
    write_shard("i-0.tar", 0, 4);
    write_shard("i-1.tar", 4, 4);
    write_shard("i-2.tar", 0, 4); /* keys of i-0 again */
    write_shard("all.tar", 0, 8);
    struct ck_dataset *two = open_set("i-{0..1}.tar"), *three = open_set("i-{0..2}.tar");
    struct ck_dataset *one = open_set("all.tar");
    for (int i = 0; i < 8; i++) {
        assert_true(two->id[i] == three->id[i]);
        assert_true(two->id[i] == one->id[i]);
    }
    for (int i = 8; i < 12; i++)
        for (int j = 0; j < i; j++)
            assert_true(three->id[i] != three->id[j]);
    ck_dataset_free(one);
    ck_dataset_free(two);
    ck_dataset_free(three);
}

/* ---- descriptors, and files that change ---- */

static void few_descriptors_are_enough(void **state)
{
    struct rlimit before, few;
    char name[32];
    (void)state;
    for (int i = 0; i < 60; i++) {
        snprintf(name, sizeof name, "r-%02d.tar", i);
        write_shard(name, i, 1);
    }
    getrlimit(RLIMIT_NOFILE, &before);
    few = before;
    few.rlim_cur = 40;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    struct ck_dataset *d = open_set("r-{00..59}.tar");
    check_item(d, 59, "r-59.tar/set/000059", 3, "image 59");
    check_item(d, 0, "r-00.tar/set/000000", 0, "image 0");
    /* kept open: gone and there all the same; opened each time: an error */
    unlink("r-00.tar");
    unlink("r-59.tar");
    check_item(d, 0, "r-00.tar/set/000000", 0, "image 0");
    assert_fails(read_fails(d, 59), COKE_EIO, "r-59.tar: No such file");
    write_shard("r-59.tar", 0, 9);
    assert_fails(read_fails(d, 59), COKE_EIO, "r-59.tar: has 19456 bytes, had 3072 before");
    assert_int_equal(truncate("r-01.tar", 600), 0);
    check_item(d, 2, "r-02.tar/set/000002", 2, "image 2");
    assert_int_equal(truncate("r-01.tar", 515), 0);
    assert_fails(read_fails(d, 1), COKE_EIO,
                 "r-01.tar: truncated at byte 515: the file changed");
    ck_dataset_free(d);
    setrlimit(RLIMIT_NOFILE, &before);
}

/* ---- streams ---- */

static void check_stream(struct ck_dataset *d, const char *shard, int n)
{
    struct ck_item item = {0};
    char name[128], want[128];
    assert_int_equal(d->n, -1);
    assert_null(d->id);
    assert_null(d->label);
    for (int i = 0; i < n; i++) {
        assert_ok(ck_dataset_read(d, i, &item));
        snprintf(want, sizeof want, "image %d", i);
        assert_int_equal(item.size, strlen(want));
        assert_memory_equal(item.bytes, want, item.size);
        assert_int_equal(ck_dataset_label(d, i), i % 7);
        ck_dataset_name(d, i, name, sizeof name);
        snprintf(want, sizeof want, "%s/set/%06d", shard ? shard : "", i);
        if (shard)
            assert_string_equal(name, want);
    }
    for (int i = 0; i < 2; i++) {
        assert_ok(ck_dataset_read(d, n + i, &item));
        assert_null(item.bytes);
        assert_int_equal(item.pixels.width, 0);
    }
    assert_fails(ck_dataset_read(d, 0, &item), COKE_EUSAGE, "be read only once, in order");
    ck_item_release(&item);
    ck_dataset_free(d);
}

static void streams_are_read_in_a_single_pass(void **state)
{
    struct ck_dataset_options once = {.one_pass = 1};
    struct ck_dataset *d;
    (void)state;
    write_shard("p.tar", 0, 5);
    assert_int_equal(system("gzip -k p.tar && cp p.tar.gz p.tgz && cp p.tar.gz odd.tar"), 0);
    assert_fails(open_fails("p.tar.gz"), COKE_EUSAGE,
                 "p.tar.gz: compressed, so it can be read only once");
    assert_fails(open_fails("odd.tar"), COKE_EUSAGE, "gunzip it, or pack it into shards");
    assert_fails(open_fails("-"), COKE_EUSAGE, "-: a pipe, so it can be read only once");
    assert_ok(ck_dataset_open(&d, "p.tar.gz", &once));
    check_stream(d, "p.tar.gz", 5);
    assert_ok(ck_dataset_open(&d, "p.tgz", &once));
    check_stream(d, "p.tgz", 5);
    assert_ok(ck_dataset_open(&d, "odd.tar", &once));
    check_stream(d, "odd.tar", 5);
    write_shard("q.tar", 5, 5);
    assert_int_equal(system("gzip -k q.tar"), 0);
    assert_ok(ck_dataset_open(&d, "{p,q}.tar.gz", &once));
    check_stream(d, NULL, 10);
    assert_int_equal(mkfifo("fifo", 0666), 0);
    assert_fails(open_fails("fifo"), COKE_EUSAGE, "fifo: a pipe");
    assert_int_equal(system("cat p.tar > fifo &"), 0);
    assert_ok(ck_dataset_open(&d, "fifo", &once));
    check_stream(d, "fifo", 5);
    int in = dup(0), file = open("p.tar", O_RDONLY);
    assert_int_equal(dup2(file, 0), 0);
    assert_ok(ck_dataset_open(&d, "-", &once));
    check_stream(d, "-", 5);
    assert_int_equal(dup2(in, 0), 0);
    close(in);
    close(file);
}

static void stream_that_breaks_off_is_an_error_then_ends(void **state)
{
    struct ck_dataset_options once = {.one_pass = 1};
    struct ck_dataset *d;
    struct ck_item item = {0};
    (void)state;
    FILE *f = fopen("b.tar", "wb");
    tar_add(f, "a.jpg", "x");
    tar_add(f, "b.txt", "no image");
    tar_add(f, "c.jpg", "cut off");
    fclose(f);
    assert_int_equal(truncate("b.tar", 4 * 512 + 512 + 3), 0);
    assert_int_equal(system("gzip -k b.tar"), 0);
    assert_ok(ck_dataset_open(&d, "b.tar.gz", &once));
    assert_ok(ck_dataset_read(d, 0, &item));
    assert_fails(ck_dataset_read(d, 1, &item), COKE_EFORMAT, "b.tar.gz: ends within a member");
    assert_null(item.bytes);
    assert_ok(ck_dataset_read(d, 2, &item));
    assert_null(item.bytes);
    assert_non_null(strstr(d->note, "1 samples without an image"));
    ck_item_release(&item);
    ck_dataset_free(d);
    assert_fails(open_fails("b.tar"), COKE_EFORMAT, "b.tar: ends within a member");
}

/* Each error once, and then the end. */
static void damaged_compression_is_an_error_then_ends(void **state)
{
    struct ck_dataset_options once = {.one_pass = 1};
    struct ck_item item = {0};
    static const char *const harm[] = {"head -c 150 g.tar.gz > h.tar.gz",
                                       "{ head -c 60 g.tar.gz; echo harm; } > h.tar.gz",
                                       "head -c 20000 /dev/urandom | gzip > h.tar.gz"};
    (void)state;
    FILE *f = fopen("g.tar", "wb");
    for (int i = 0; i < 9; i++)
        tar_add(f, (char[]){(char)('a' + i), '.', 'j', 'p', 'g', 0}, "abcdefghijklmnopqrstuvw");
    fclose(f);
    assert_int_equal(system("gzip -kf g.tar"), 0);
    for (size_t c = 0; c < sizeof harm / sizeof harm[0]; c++) {
        struct ck_dataset *d;
        int errors = 0, ended = 0;
        assert_int_equal(system(harm[c]), 0);
        assert_ok(ck_dataset_open(&d, "h.tar.gz", &once));
        for (int i = 0; i < 20 && !ended; i++) {
            int rc = ck_dataset_read(d, i, &item);
            errors += rc != COKE_OK;
            ended = rc == COKE_OK && !item.bytes;
        }
        assert_int_equal(errors, 1);
        assert_true(ended);
        ck_dataset_free(d);
    }
    ck_item_release(&item);
}

static void archives_without_an_end_mark_are_noted(void **state)
{
    struct ck_dataset *d;
    (void)state;
    FILE *f = fopen("u.tar", "wb");
    tar_add(f, "a.jpg", "x");
    tar_add(f, "b.jpg", "x");
    fclose(f);
    assert_ok(ck_dataset_open(&d, "u.tar", NULL));
    assert_non_null(strstr(d->note, "1 tar files have no end mark"));
    ck_dataset_free(d);
}

static void lying_size_in_a_stream_costs_no_memory(void **state)
{
    struct ck_dataset_options once = {.one_pass = 1};
    struct ck_dataset *d;
    struct ck_item item = {0};
    unsigned char h[512];
    (void)state;
    FILE *f = fopen("l.tar", "wb");
    tar_header(h, "a.jpg", '0', (size_t)1 << 29);
    fwrite(h, 1, 512, f);
    tar_header(h, "b.jpg", '0', (size_t)1 << 32);
    fwrite(h, 1, 512, f);
    fclose(f);
    assert_int_equal(system("gzip -k l.tar"), 0);
    ck_mem_reset_peak();
    assert_ok(ck_dataset_open(&d, "l.tar.gz", &once));
    assert_fails(ck_dataset_read(d, 0, &item), COKE_EFORMAT, "ends within a member");
    assert_true(ck_mem_stats().peak_bytes < 4 << 20);
    ck_dataset_free(d);
    tar_header(h, "b.jpg", '0', (size_t)1 << 31);
    write_file("l.tar", h, 512);
    assert_int_equal(system("gzip -kf l.tar"), 0);
    assert_ok(ck_dataset_open(&d, "l.tar.gz", &once));
    assert_fails(ck_dataset_read(d, 0, &item), COKE_EFORMAT, "b.jpg has 2147483648 bytes");
    ck_dataset_free(d);
    ck_item_release(&item);
}

/* ---- allocations ---- */

static int open_and_read(const char *source, int one_pass)
{
    struct ck_dataset_options o = {.one_pass = one_pass};
    struct ck_dataset *d = NULL;
    struct ck_item item = {0};
    int rc = ck_dataset_open(&d, source, &o);
    for (int i = 0; i < 5 && !rc; i++)
        rc = ck_dataset_read(d, i, &item);
    ck_item_release(&item);
    ck_dataset_free(d);
    return rc;
}

static int job_index(void)
{
    unlink("j-0.tar.cokeidx");
    return open_and_read("j-{0..1}.tar", 0);
}

static int job_indexed(void)
{
    return open_and_read("j-{0..1}.tar", 0);
}

static int job_stream(void)
{
    return open_and_read("j-0.tar.gz", 1);
}

static void every_allocation_failing_is_an_error(void **state)
{
    (void)state;
    write_shard("j-0.tar", 0, 4);
    write_shard("j-1.tar", 0, 3);
    put("j-classes.txt", "a\nb\nc\nd\n");
    FILE *f = fopen("j-1.tar", "r+b");
    tar_add(f, "without.txt", "");
    tar_add(f, "last.jpg", "unlabelled");
    tar_end(f);
    assert_int_equal(system("gzip -k j-0.tar"), 0);
    every_allocation_may_fail(job_index);
    every_allocation_may_fail(job_indexed);
    every_allocation_may_fail(job_stream);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shards_are_one_set),
        cmocka_unit_test(flipped_images_and_labels_of_a_pack_are_refused),
        cmocka_unit_test(image_and_label_of_a_sample),
        cmocka_unit_test(class_names_come_from_the_file_beside),
        cmocka_unit_test(bad_labels_and_empty_archives_are_refused),
        cmocka_unit_test(missing_shards_are_named),
        cmocka_unit_test(stale_index_is_made_again),
        cmocka_unit_test(damaged_index_is_made_again),
        cmocka_unit_test(index_goes_where_it_can),
        cmocka_unit_test(full_disk_only_costs_the_index),
        cmocka_unit_test(ids_survive_more_shards_and_other_shards),
        cmocka_unit_test(few_descriptors_are_enough),
        cmocka_unit_test(streams_are_read_in_a_single_pass),
        cmocka_unit_test(stream_that_breaks_off_is_an_error_then_ends),
        cmocka_unit_test(damaged_compression_is_an_error_then_ends),
        cmocka_unit_test(archives_without_an_end_mark_are_noted),
        cmocka_unit_test(lying_size_in_a_stream_costs_no_memory),
        cmocka_unit_test(every_allocation_failing_is_an_error),
    };
    return cmocka_run_group_tests_name("shards", tests, enter, leave_folder);
}
