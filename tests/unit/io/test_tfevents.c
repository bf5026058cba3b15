/* test_tfevents.c - event files: bytes, buckets, names, trimming, failures. */
#include "unit/io/io_test.h"
#include "io/crc32c.h"
#include "io/file.h"
#include "io/tfevents.h"

#include <math.h>
#include <sys/stat.h>

enum { ROOM = 1 << 20, NAMES = 8 };

/* ---- a reader of its own ---- */

static unsigned char content[ROOM];

/* Event files in the folder, sorted by name. */
static int list(char name[NAMES][256])
{
    int n = 0;
    DIR *d = opendir(".");
    for (struct dirent *e = readdir(d); e; e = readdir(d))
        if (strstr(e->d_name, "tfevents") && n < NAMES)
            snprintf(name[n++], 256, "%s", e->d_name);
    closedir(d);
    qsort(name, (size_t)n, 256, (int (*)(const void *, const void *))strcmp);
    return n;
}

static void clear(void)
{
    char name[NAMES][256];
    int n = list(name);
    for (int i = 0; i < n; i++)
        unlink(name[i]);
    assert_int_equal(count_files(), 0);
}

/* CRC bit by bit, as the definition has it. */
static uint32_t slow_crc(const unsigned char *p, size_t n)
{
    uint32_t crc = UINT32_MAX;
    for (size_t i = 0; i < 8 * n; i++) {
        uint32_t bit = (crc ^ (uint32_t)(p[i / 8] >> (i % 8))) & 1;
        crc = crc >> 1 ^ (bit ? 0x82f63b78u : 0);
    }
    crc = ~crc;
    return (crc >> 15 | crc << 17) + 0xa282ead8u;
}

struct message {
    const unsigned char *at, *end;
};

struct field {
    int number, type;
    uint64_t integer; /* also the bits of a double or float */
    struct message bytes;
};

static uint64_t varint(struct message *m)
{
    uint64_t x = 0;
    for (int shift = 0;; shift += 7) {
        assert_true(m->at < m->end && shift < 64);
        x |= (uint64_t)(*m->at & 127) << shift;
        if (*m->at++ < 128)
            return x;
    }
}

static int next_field(struct message *m, struct field *f)
{
    if (m->at == m->end)
        return 0;
    uint64_t key = varint(m), length = 0;
    *f = (struct field){.number = (int)(key >> 3), .type = (int)(key & 7)};
    if (f->type == 0)
        f->integer = varint(m);
    else
        length = f->type == 1 ? 8 : f->type == 5 ? 4 : varint(m);
    assert_true(length <= (uint64_t)(m->end - m->at));
    if (f->type == 1 || f->type == 5)
        memcpy(&f->integer, m->at, length);
    f->bytes = (struct message){m->at, m->at + length};
    m->at += length;
    return 1;
}

/* The field of that number; it must be there. */
static struct field field(struct message m, int number)
{
    struct field f;
    while (next_field(&m, &f))
        if (f.number == number)
            return f;
    fail_msg("no field %d", number);
    return f;
}

static double real(struct message m, int number)
{
    struct field f = field(m, number);
    double d;
    float x;
    memcpy(&d, &f.integer, sizeof d);
    memcpy(&x, &f.integer, sizeof x);
    return f.type == 5 ? (double)x : d;
}

static int has(struct message m, int number)
{
    struct field f;
    while (next_field(&m, &f))
        if (f.number == number)
            return 1;
    return 0;
}

/* The events of a file, which must be whole; returns how many. */
static int read_events(const char *path, struct message *event, int room)
{
    int n = 0;
    size_t size = read_file(path, content, ROOM), at = 0;
    while (at < size) {
        uint64_t length;
        uint32_t crc;
        assert_true(size - at >= 16 && n < room);
        memcpy(&length, content + at, 8);
        memcpy(&crc, content + at + 8, 4);
        assert_int_equal(crc, slow_crc(content + at, 8));
        assert_true(length <= size - at - 16);
        memcpy(&crc, content + at + 12 + length, 4);
        assert_int_equal(crc, slow_crc(content + at + 12, length));
        event[n++] = (struct message){content + at + 12, content + at + 12 + length};
        at += 16 + length;
    }
    return n;
}

static struct message value_of(struct message event)
{
    return field(field(event, 5).bytes, 1).bytes;
}

static void assert_text(struct message m, const char *text)
{
    assert_int_equal(m.end - m.at, strlen(text));
    assert_memory_equal(m.at, text, strlen(text));
}

static int64_t step_of(struct message event)
{
    return has(event, 2) ? (int64_t)field(event, 2).integer : 0;
}

/* ---- writing ---- */

static void crc_has_the_known_value(void **state)
{
    (void)state;
    assert_int_equal(ck_crc32c("123456789", 9), 0xe3069283u);
    assert_int_equal(ck_crc32c("", 0), 0);
    assert_int_equal(ck_crc32c_masked("abc", 3), slow_crc((const unsigned char *)"abc", 3));
}

static void file_has_the_known_bytes(void **state)
{
    (void)state;
    static const unsigned char want[] =
        "\x18\0\0\0\0\0\0\0\xa3\x7f\x4b\x22\x09\0\0\0\0\0\0\0\0\x1a\x0d"
        "brain.Event:2\xee\xdf\x28\xa3"
        "\x1a\0\0\0\0\0\0\0\x12\x9b\xd8\x2d\x09\0\0\0\0\0\0\xf0\x3f\x10\x07\x2a\x0d\x0a\x0b"
        "\x0a\x04loss\x15\0\0\0\x3f\x86\x2c\x9a\x2f";
    char name[NAMES][256];
    struct ck_tfevents t;
    assert_ok(ck_tfevents_open(&t, ".", 0));
    assert_ok(ck_tfevents_scalar(&t, 1, 7, "loss", 0.5));
    assert_ok(ck_tfevents_close(&t));
    assert_int_equal(list(name), 1);
    assert_int_equal(read_file(name[0], content, ROOM), sizeof want - 1);
    assert_memory_equal(content, want, sizeof want - 1);
    assert_int_equal(strncmp(name[0], "events.out.tfevents.0000000000.", 31), 0);
    clear();
}

static void closed_writer_does_nothing(void **state)
{
    (void)state;
    struct ck_tfevents t = {0};
    assert_ok(ck_tfevents_scalar(&t, 1, 7, "loss", 0.5));
    assert_ok(ck_tfevents_histogram(&t, 1, 7, "sizes", (double[]){1}, 1));
    assert_ok(ck_tfevents_flush(&t));
    assert_ok(ck_tfevents_close(&t));
    assert_int_equal(count_files(), 0);
}

static void all_kinds_are_read_back(void **state)
{
    (void)state;
    static const unsigned char png[300] = "\x89PNG as far as this test is concerned";
    struct ck_tfevents_image image = {64, 1000, 3, png, sizeof png};
    char name[NAMES][256];
    struct message e[6];
    struct ck_tfevents t;
    assert_ok(ck_tfevents_open(&t, ".", 1700000000.5));
    assert_ok(ck_tfevents_scalar(&t, 1700000001.25, 1LL << 40, "a/b", -2.5));
    assert_ok(ck_tfevents_scalar(&t, 2, 0, "nan", NAN));
    assert_ok(ck_tfevents_scalar(&t, 2, -1, "negative", 1));
    assert_ok(ck_tfevents_image(&t, 3, 5, "picture", &image));
    assert_ok(ck_tfevents_histogram(&t, 4, 6, "sizes", (double[]){1, 2}, 2));
    assert_ok(ck_tfevents_close(&t));
    assert_int_equal(list(name), 1);
    assert_int_equal(read_events(name[0], e, 6), 6);
    assert_text(field(e[0], 3).bytes, "brain.Event:2");
    assert_true(real(e[0], 1) == 1700000000.5 && real(e[1], 1) == 1700000001.25);
    assert_int_equal(step_of(e[1]), 1LL << 40);
    assert_text(field(value_of(e[1]), 1).bytes, "a/b");
    assert_true(real(value_of(e[1]), 2) == -2.5);
    assert_true(isnan(real(value_of(e[2]), 2)) && step_of(e[2]) == 0);
    assert_int_equal(step_of(e[3]), -1);
    struct message p = field(value_of(e[4]), 4).bytes;
    assert_true(field(p, 1).integer == 1000 && field(p, 2).integer == 64);
    assert_int_equal(field(p, 3).integer, 3);
    assert_memory_equal(field(p, 4).bytes.at, png, sizeof png);
    assert_int_equal(field(p, 4).bytes.end - field(p, 4).bytes.at, sizeof png);
    assert_true(has(value_of(e[5]), 5));
    clear();
}

/* Writes one histogram and reads it back; 0 = none was written. */
static int round_trip(const double *x, int64_t n, double limit[30], double count[30],
                      struct message *out)
{
    char name[NAMES][256];
    struct message e[2];
    struct ck_tfevents t;
    assert_ok(ck_tfevents_open(&t, ".", 0));
    assert_ok(ck_tfevents_histogram(&t, 0, 1, "h", x, n));
    assert_ok(ck_tfevents_close(&t));
    list(name);
    int events = read_events(name[0], e, 2);
    clear();
    if (events == 1)
        return 0;
    *out = field(value_of(e[1]), 5).bytes;
    struct message l = field(*out, 6).bytes, c = field(*out, 7).bytes;
    assert_int_equal(l.end - l.at, c.end - c.at);
    assert_true(l.end - l.at <= 240);
    memcpy(limit, l.at, (size_t)(l.end - l.at));
    memcpy(count, c.at, (size_t)(c.end - c.at));
    return (int)(l.end - l.at) / 8;
}

static void histogram_counts_every_value_once(void **state)
{
    (void)state;
    enum { N = 1000 };
    double x[N], limit[30], count[30], sum = 0, squares = 0;
    struct message h;
    for (int i = 0; i < N; i++) {
        x[i] = sin(i) * 3 + 1;
        sum += x[i];
        squares += x[i] * x[i];
    }
    x[0] = -2.5;
    sum -= 1 + 2.5;
    squares += -1 + 2.5 * 2.5;
    assert_int_equal(round_trip(x, N, limit, count, &h), 30);
    assert_true(real(h, 1) == -2.5);
    assert_true(real(h, 3) == N && fabs(real(h, 4) - sum) < 1e-9);
    assert_true(fabs(real(h, 5) - squares) < 1e-8);
    assert_true(limit[29] == real(h, 2));
    for (int b = 0; b < 30; b++) {
        double left = b ? limit[b - 1] : real(h, 1), low = 0, high = 0;
        for (int i = 0; i < N; i++) { /* an edge may fall to either side */
            low += x[i] > left + 1e-9 && x[i] < limit[b] - 1e-9;
            high += x[i] > left - 1e-9 && x[i] < limit[b] + 1e-9;
        }
        assert_true(left < limit[b] && count[b] >= low && count[b] <= high);
    }
}

static void odd_histograms_stay_sound(void **state)
{
    (void)state;
    double limit[30], count[30];
    struct message h;
    assert_int_equal(round_trip((double[]){7, 7, 7}, 3, limit, count, &h), 1);
    assert_true(limit[0] == 7 && count[0] == 3 && real(h, 1) == 7 && real(h, 2) == 7);
    assert_int_equal(round_trip((double[]){NAN, 1, INFINITY, 2}, 4, limit, count, &h), 30);
    assert_true(real(h, 3) == 2 && count[0] == 1 && count[29] == 1);
    assert_int_equal(round_trip((double[]){-1.7e308, 0, 1.7e308}, 3, limit, count, &h), 30);
    assert_true(count[0] == 1 && count[15] == 1 && count[29] == 1 && limit[29] == 1.7e308);
    assert_int_equal(round_trip((double[]){0, 5e-324}, 2, limit, count, &h), 1);
    assert_true(count[0] == 2);
    assert_int_equal(round_trip((double[]){NAN}, 1, limit, count, &h), 0);
    assert_int_equal(round_trip(NULL, 0, limit, count, &h), 0);
}

static void names_sort_in_the_order_of_opening(void **state)
{
    (void)state;
    static const double at[] = {5000, 5000.9, 4000, 9000};
    static const char *const want[] = {"0000005000.", "0000005001.", "0000005002.",
                                       "0000009000."};
    char name[NAMES][256];
    for (int i = 0; i < 4; i++) {
        struct ck_tfevents t;
        assert_ok(ck_tfevents_open(&t, ".", at[i]));
        assert_ok(ck_tfevents_scalar(&t, 0, i, "x", i));
        assert_ok(ck_tfevents_close(&t));
    }
    assert_int_equal(list(name), 4);
    for (int i = 0; i < 4; i++) {
        struct message e[2];
        assert_int_equal(strncmp(name[i] + 20, want[i], 11), 0);
        assert_int_equal(read_events(name[i], e, 2), 2);
        assert_int_equal(step_of(e[1]), i);
    }
    clear();
}

static void records_reach_the_file_in_time(void **state)
{
    (void)state;
    enum { IMAGE = 100000 };
    unsigned char *png = calloc(IMAGE, 1);
    struct ck_tfevents_image image = {1, 1, 1, png, IMAGE};
    struct ck_tfevents t;
    struct stat st;
    assert_ok(ck_tfevents_open(&t, ".", 0));
    stat(t.path, &st);
    assert_int_equal(st.st_size, 40);
    assert_ok(ck_tfevents_scalar(&t, 0, 1, "x", 1));
    stat(t.path, &st);
    assert_int_equal(st.st_size, 40);
    assert_ok(ck_tfevents_flush(&t));
    stat(t.path, &st);
    assert_int_equal(st.st_size, 40 + 39);
    assert_ok(ck_tfevents_image(&t, 0, 2, "y", &image));
    stat(t.path, &st);
    assert_true(st.st_size > IMAGE);
    assert_ok(ck_tfevents_close(&t));
    free(png);
    clear();
}

/* ---- trimming ---- */

/* A file with the steps from..to, opened at time `at`. */
static void write_steps(double at, int from, int to)
{
    struct ck_tfevents t;
    assert_ok(ck_tfevents_open(&t, ".", at));
    for (int i = from; i <= to; i++)
        assert_ok(ck_tfevents_scalar(&t, at + i, i, "x", i));
    assert_ok(ck_tfevents_close(&t));
}

static void assert_steps(const char *name, int from, int to)
{
    struct message e[64];
    int n = read_events(name, e, 64);
    assert_int_equal(n, to - from + 2);
    assert_true(has(e[0], 3));
    for (int i = 1; i < n; i++) {
        assert_int_equal(step_of(e[i]), from + i - 1);
        assert_true(real(value_of(e[i]), 2) == from + i - 1);
    }
}

static void trim_cuts_all_files_after_the_step(void **state)
{
    (void)state;
    char name[NAMES][256];
    struct stat before, after;
    write_steps(100, 0, 9);
    write_steps(200, 10, 19);
    write_steps(300, 20, 29);
    write_file("events.out.other", "kept", 4);
    list(name);
    stat(name[0], &before);
    assert_ok(ck_tfevents_trim(".", 14, NULL, NULL));
    assert_int_equal(list(name), 2);
    assert_steps(name[0], 0, 9);
    assert_steps(name[1], 10, 14);
    stat(name[0], &after);
    assert_true(before.st_ino == after.st_ino); /* nothing to change, nothing changed */
    write_steps(150, 15, 17);
    assert_ok(ck_tfevents_trim(".", 16, NULL, NULL));
    assert_int_equal(list(name), 3);
    assert_steps(name[2], 15, 16);
    assert_int_equal(unlink("events.out.other"), 0);
    assert_ok(ck_tfevents_trim(".", -1, NULL, NULL));
    assert_int_equal(count_files(), 0);
}

static void trim_mends_a_file_cut_anywhere(void **state)
{
    (void)state;
    unsigned char whole[1000];
    char name[NAMES][256];
    write_steps(100, 1, 3);
    list(name);
    size_t size = read_file(name[0], whole, sizeof whole), record = (size - 40) / 3;
    for (size_t n = 0; n <= size; n++) {
        write_file(name[0], whole, n);
        assert_ok(ck_tfevents_trim(".", 2, NULL, NULL));
        size_t left = n < 40 ? 0 : (n - 40) / record;
        if (left == 0)
            assert_int_equal(count_files(), 0);
        else
            assert_steps(name[0], 1, left > 2 ? 2 : (int)left);
    }
    clear();
}

static void trim_cuts_before_any_damage(void **state)
{
    (void)state;
    unsigned char whole[1000];
    char name[NAMES][256];
    write_steps(100, 1, 3);
    list(name);
    size_t size = read_file(name[0], whole, sizeof whole), record = (size - 40) / 3;
    for (size_t at = 0; at < size; at++) {
        whole[at] ^= 64;
        write_file(name[0], whole, size);
        assert_ok(ck_tfevents_trim(".", 9, NULL, NULL));
        if (at < 40) { /* what this is cannot be known: left alone */
            assert_int_equal(read_file(name[0], content, ROOM), size);
            assert_memory_equal(content, whole, size);
        } else if (at < 40 + record) {
            assert_int_equal(count_files(), 0);
        } else {
            assert_steps(name[0], 1, (int)((at - 40) / record));
        }
        whole[at] ^= 64;
    }
    clear();
}

/* Frames data [n], whatever they are. */
static size_t frame(unsigned char *out, const void *data, size_t n)
{
    uint64_t length = n;
    memcpy(out, &length, 8);
    uint32_t crc = slow_crc(out, 8);
    memcpy(out + 8, &crc, 4);
    memcpy(out + 12, data, n);
    crc = slow_crc(out + 12, n);
    memcpy(out + 12 + n, &crc, 4);
    return n + 16;
}

/* Records of other writers, or that are no events at all, have no step and stay. */
static void trim_keeps_records_it_does_not_understand(void **state)
{
    (void)state;
    static const char *const odd[] = {
        "",
        "\x10",
        "\x07",
        "\x12\xff",
        "\x09zz",
        "\x15z",
        "\x13\x10",
        "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
        "\x12\x03xyz\x10\x02",
    };
    unsigned char file[512];
    char name[NAMES][256];
    size_t n = 0;
    for (int i = 0; i < 9; i++)
        n += frame(file + n, odd[i], strlen(odd[i]));
    size_t kept = n;
    n += frame(file + n, "\x10\x63", 2); /* step 99 */
    write_file("events.out.tfevents.1.x", file, n);
    assert_ok(ck_tfevents_trim(".", 50, NULL, NULL));
    assert_int_equal(list(name), 1);
    assert_int_equal(read_file(name[0], content, ROOM), kept);
    assert_memory_equal(content, file, kept);
    /* lengths that lie */
    memset(file, 0xff, 64);
    write_file("events.out.tfevents.1.x", file, 64);
    assert_ok(ck_tfevents_trim(".", 50, NULL, NULL));
    uint64_t huge = UINT64_MAX - 8;
    memcpy(file, &huge, 8);
    uint32_t crc = slow_crc(file, 8);
    memcpy(file + 8, &crc, 4);
    write_file("events.out.tfevents.1.x", file, 64);
    assert_ok(ck_tfevents_trim(".", 50, NULL, NULL));
    assert_int_equal(read_file(name[0], content, ROOM), 64);
    clear();
}

/* ---- failures ---- */

static void places_that_cannot_be_are_named(void **state)
{
    (void)state;
    struct ck_tfevents t;
    assert_fails(ck_tfevents_open(&t, "gone", 0), COKE_EIO, "gone: No such file");
    assert_fails(ck_tfevents_trim("gone", 0, NULL, NULL), COKE_EIO, "gone: No such file");
    assert_int_equal(mkdir("events.out.tfevents.1", 0700), 0);
    assert_fails(ck_tfevents_trim(".", 0, NULL, NULL), COKE_EIO,
                 "events.out.tfevents.1: Is a directory");
    rmdir("events.out.tfevents.1");
    if (geteuid() == 0)
        return; /* root may write anywhere */
    assert_int_equal(mkdir("locked", 0500), 0);
    assert_fails(ck_tfevents_open(&t, "locked", 0), COKE_EIO, "Permission denied");
    rmdir("locked");
}

static int write_and_trim(void)
{
    unsigned char png[100] = {0};
    struct ck_tfevents_image image = {1, 1, 1, png, sizeof png};
    struct ck_tfevents t = {0};
    clear();
    int rc = ck_tfevents_open(&t, ".", 10);
    for (int i = 0; i < 3 && !rc; i++)
        rc = ck_tfevents_image(&t, 1, i, "x", &image);
    int closed = ck_tfevents_close(&t);
    if (!rc && !closed)
        rc = ck_tfevents_trim(".", 1, NULL, NULL);
    return rc ? rc : closed;
}

static void every_allocation_fails_cleanly(void **state)
{
    (void)state;
    every_allocation_may_fail(write_and_trim);
    clear();
}

static void full_disk_leaves_whole_records(void **state)
{
    (void)state;
    char name[NAMES][256];
    struct ck_tfevents t;
    ck_file_fail_write_at(1);
    assert_fails(ck_tfevents_open(&t, ".", 0), COKE_EIO, "No space left");
    assert_int_equal(count_files(), 0);
    assert_ok(ck_tfevents_open(&t, ".", 0));
    assert_ok(ck_tfevents_scalar(&t, 0, 1, "x", 1));
    ck_file_fail_write_at(1);
    assert_fails(ck_tfevents_flush(&t), COKE_EIO, "No space left");
    assert_ok(ck_tfevents_scalar(&t, 0, 2, "x", 2));
    assert_ok(ck_tfevents_close(&t)); /* there is room again */
    list(name);
    assert_steps(name[0], 1, 2);
    ck_file_fail_write_at(1);
    assert_fails(ck_tfevents_trim(".", 1, NULL, NULL), COKE_EIO, "No space left");
    assert_int_equal(count_files(), 1);
    assert_steps(name[0], 1, 2);
    assert_ok(ck_tfevents_open(&t, ".", 9));
    assert_ok(ck_tfevents_scalar(&t, 0, 3, "x", 3));
    ck_file_fail_write_at(1);
    assert_fails(ck_tfevents_close(&t), COKE_EIO, "No space left");
    assert_null(t.path);
    ck_file_fail_write_at(0);
    clear();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(crc_has_the_known_value),
        cmocka_unit_test(file_has_the_known_bytes),
        cmocka_unit_test(closed_writer_does_nothing),
        cmocka_unit_test(all_kinds_are_read_back),
        cmocka_unit_test(histogram_counts_every_value_once),
        cmocka_unit_test(odd_histograms_stay_sound),
        cmocka_unit_test(names_sort_in_the_order_of_opening),
        cmocka_unit_test(records_reach_the_file_in_time),
        cmocka_unit_test(trim_cuts_all_files_after_the_step),
        cmocka_unit_test(trim_mends_a_file_cut_anywhere),
        cmocka_unit_test(trim_cuts_before_any_damage),
        cmocka_unit_test(trim_keeps_records_it_does_not_understand),
        cmocka_unit_test(places_that_cannot_be_are_named),
        cmocka_unit_test(every_allocation_fails_cleanly),
        cmocka_unit_test(full_disk_leaves_whole_records),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
