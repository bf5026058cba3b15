/* test_damage.c - one flipped bit in any value of the metadata of a checkpoint or an encoder is
 * refused, and so are numbers that contradict the rest of the file. */
#include "as_options.h"
#include "support.h"
#include "io/safetensors.h"
#include "train/checkpoint.h"
#include "train/run_files.h"

#include <fcntl.h>
#include <unistd.h>

static char folder[64], run[96];

static int enter(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/coke-damage-XXXXXX");
    assert_non_null(mkdtemp(folder));
    snprintf(run, sizeof run, "%s/run", folder);
    struct ck_train_options o = test_training();
    struct coke_train_control control = COKE_INIT(struct coke_train_control);
    struct coke_train_summary s = COKE_INIT(struct coke_train_summary);
    struct ck_dataset_options data = ck_dataset_options_default();
    struct coke_dataset *d;
    assert_ok(coke_set_threads(1));
    assert_ok(coke_dataset_open(&d, "synthetic:n=30,size=8", AS(dataset, &data)));
    assert_ok(coke_train_run(d, AS(train, &o), run, &control, NULL, &s));
    coke_dataset_free(d);
    return 0;
}

static int leave(void **state)
{
    (void)state;
    return test_remove_folder(folder);
}

/* ---- bits ---- */

/* A file whose metadata are flipped in place. */
struct target {
    const char *path;
    int fd;
    char *header; /* [n], from byte 8 of the file */
    size_t n;
    int flips;
};

static void open_target(struct target *t, const char *path)
{
    uint64_t n;
    *t = (struct target){.path = path, .fd = open(path, O_RDWR)};
    assert_true(t->fd >= 0);
    assert_int_equal(pread(t->fd, &n, 8, 0), 8);
    t->n = (size_t)n;
    t->header = test_array(t->n + 1, 1);
    assert_int_equal(pread(t->fd, t->header, t->n, 8), t->n);
}

static void assert_flip_is_refused(struct target *t, size_t at, int bit)
{
    struct ck_run r;
    char is = t->header[at], flipped = (char)(is ^ 1 << bit);
    assert_int_equal(pwrite(t->fd, &flipped, 1, (off_t)(8 + at)), 1);
    int rc = ck_run_open(&r, t->path, 0);
    if (rc != COKE_EFORMAT)
        fail_msg("%s: bit %d of byte %zu of the header: %d; near %.40s", t->path, bit, at, rc,
                 t->header + (at < 20 ? 0 : at - 20));
    assert_int_equal(pwrite(t->fd, &is, 1, (off_t)(8 + at)), 1);
    t->flips++;
}

#ifdef __SANITIZE_ADDRESS__
enum { STRIDE = 5 }; /* the sanitizer makes each read ten times as slow */
#else
enum { STRIDE = 1 };
#endif

/* Every bit of every character; of the checksum of a tensor one bit. */
static void flip_value(struct target *t, const char *key, size_t from, size_t to)
{
    if (strncmp(key, "xxh3.", 5) == 0) {
        assert_flip_is_refused(t, from + from % (to - from), (int)(from % 8));
        return;
    }
    for (size_t i = 8 * from; i < 8 * to; i += STRIDE)
        assert_flip_is_refused(t, i / 8, (int)(i % 8));
}

/* The metadata that these files hold have no escaped characters. */
static void flip_metadata(struct target *t)
{
    const char *at = strstr(t->header, "\"__metadata__\":{");
    assert_non_null(at);
    for (at = strchr(at, '{'); at[1] == '"';) {
        const char *key = at + 2, *value = strstr(key, "\":\"") + 3, *end = strchr(value, '"');
        flip_value(t, key, (size_t)(value - t->header), (size_t)(end - t->header));
        at = end + 1;
    }
    assert_int_equal(*at, '}');
}

static void flip_file(const char *name, int at_least)
{
    char path[128];
    struct target t;
    struct ck_run r;
    snprintf(path, sizeof path, "%s/%s", run, name);
    open_target(&t, path);
    flip_metadata(&t);
    print_message("%s: %d flips refused\n", name, t.flips);
    assert_true(t.flips >= at_least);
    assert_ok(ck_run_open(&r, path, 0));
    ck_run_close(&r);
    close(t.fd);
    free(t.header);
}

static void no_flipped_bit_of_a_checkpoint_is_accepted(void **state)
{
    (void)state;
    flip_file("last.safetensors", 119);
}

static void no_flipped_bit_of_an_encoder_is_accepted(void **state)
{
    (void)state;
    flip_file("final.safetensors", 119);
}

/* ---- contradictions, with a checksum that fits them ---- */

/* Copies last.safetensors with other metadata: what a file without the checksum may hold. */
static void write_changed(const char *key, const char *value, const char *path)
{
    char last[128];
    struct ck_state s;
    int found = 0;
    snprintf(last, sizeof last, "%s/last.safetensors", run);
    assert_ok(ck_safetensors_read(last, &s));
    for (int i = 0; i < s.nmeta; i++)
        if (strcmp(s.meta[i].key, key) == 0) {
            struct ck_state one = {0};
            assert_ok(ck_state_add_meta(&one, key, value));
            struct ck_meta old = s.meta[i];
            s.meta[i] = one.meta[0];
            one.meta[0] = old;
            ck_state_release(&one);
            found++;
        }
    assert_int_equal(found, 1);
    assert_ok(ck_safetensors_write(path, &s, 1));
    ck_state_release(&s);
}

static int resume_from(const char *path)
{
    struct ck_train_options o = test_training();
    struct ck_dataset_options data = ck_dataset_options_default();
    struct coke_dataset *d;
    struct ck_session s;
    struct ck_position at;
    assert_ok(coke_dataset_open(&d, "synthetic:n=30,size=8", AS(dataset, &data)));
    assert_ok(ck_session_init(&s, d, &o));
    int rc = ck_checkpoint_read(path, &s, &at, 1, NULL);
    ck_session_release(&s);
    coke_dataset_free(d);
    return rc;
}

static void numbers_that_contradict_the_file_are_refused(void **state)
{
    static const char *const change[][2] = {
        {"epoch", "abc"},          {"epoch", "3x"},
        {"epoch", " 3"},           {"epoch", ""},
        {"epoch", "100"},          {"epoch", "2"},
        {"epoch", "-1"},           {"step", "1e3"},
        {"step", "999"},           {"step", "-1"},
        {"epoch_images", "31"},    {"epoch_images", "7"},
        {"epoch_loss", "1.5x"},    {"epoch_loss", "nan"},
        {"last_loss", "inf"},      {"metrics_bytes", "-5"},
        {"best", "nan"},           {"head0.epoch", "2"},
        {"head1.epoch", "3.0"},    {"head1.steps", "-1"},
        {"head0.epoch_seen", "5"}, {"head0.inflate", "0.5x"},
        {"head0.ratio", "1.4"},    {"head0.given-bounds", "2"},
    };
    (void)state;
    char path[128];
    snprintf(path, sizeof path, "%s/changed.safetensors", folder);
    for (size_t i = 0; i < sizeof change / sizeof change[0]; i++) {
        write_changed(change[i][0], change[i][1], path);
        int rc = resume_from(path);
        if (rc != COKE_EFORMAT)
            fail_msg("%s '%s': %d, %s", change[i][0], change[i][1], rc, coke_last_error());
    }
    write_changed("epoch", "3", path);
    assert_ok(resume_from(path));
}

static void an_encoder_is_refused_for_what_follows_its_numbers(void **state)
{
    static const char *const change[][2] = {
        {"image.mean", "0.5,0.5,0.5;1"},
        {"image.mean", "0.5,0.5,0.5,"},
        {"image.mean", " 0.5,0.5,0.5"},
        {"image.std", "0.5,0.5,0.5x"},
        {"image.size", "8px"},
        {"epoch", "3 "},
        {"epoch", "4"},
    };
    (void)state;
    char path[128];
    struct ck_run r;
    snprintf(path, sizeof path, "%s/changed.safetensors", folder);
    for (size_t i = 0; i < sizeof change / sizeof change[0]; i++) {
        write_changed(change[i][0], change[i][1], path);
        int rc = ck_run_open(&r, path, 0);
        if (rc != COKE_EFORMAT)
            fail_msg("%s '%s': %d", change[i][0], change[i][1], rc);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_flipped_bit_of_a_checkpoint_is_accepted),
        cmocka_unit_test(no_flipped_bit_of_an_encoder_is_accepted),
        cmocka_unit_test(numbers_that_contradict_the_file_are_refused),
        cmocka_unit_test(an_encoder_is_refused_for_what_follows_its_numbers),
    };
    return cmocka_run_group_tests(tests, enter, leave);
}
