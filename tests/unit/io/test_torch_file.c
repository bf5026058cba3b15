/* test_torch_file.c - files of torch.save: what we write is read, cut and changed files are
 * refused. tests/py/test_torch_export.py has PyTorch's own. */
#include "io_test.h"
#include "io/torch_file.h"
#include "io/zip.h"

enum { ROOM = 1 << 16 };

static const float weight[6] = {1, 2, 3, 4, 5, 6};
static const int64_t counter = 1 << 20;
static unsigned char bytes[ROOM];
static size_t size;

static int write_form(enum ck_torch_form form)
{
    struct ck_state s = {0};
    struct ck_writer w = {0};
    int rc = ck_state_add(&s, "a.weight", CK_F32, 2, (int64_t[2]){2, 3}, weight);
    if (!rc)
        rc = ck_state_add(&s, "b", CK_I64, 0, NULL, &counter);
    if (!rc)
        rc = ck_writer_open(&w, "x.pth", 1);
    if (!rc)
        rc = ck_torch_write_to(&w, &s, form, "resnet18");
    if (!rc)
        rc = ck_writer_commit(&w);
    ck_writer_abort(&w);
    ck_state_release(&s);
    return rc;
}

static int read_form(struct ck_state *s)
{
    struct ck_map map = {0};
    int rc = ck_map_open(&map, "x.pth");
    if (rc)
        return rc;
    if (!ck_torch_is_file(&map)) {
        ck_map_release(&map);
        return COKE_EUSAGE;
    }
    return ck_torch_read("x.pth", &map, s);
}

static void every_form_is_read(void **state)
{
    (void)state;
    /* Parts of networks keep their name. */
    static const char *const before[] = {
        [CK_TORCH_TEACHER] = "teacher.", [CK_TORCH_VISSL] = "trunk."};
    for (int form = CK_TORCH_FLAT; form <= CK_TORCH_VISSL; form++) {
        struct ck_state s;
        char a[32], b[32];
        snprintf(a, sizeof a, "%sa.weight", before[form] ? before[form] : "");
        snprintf(b, sizeof b, "%sb", before[form] ? before[form] : "");
        assert_ok(write_form((enum ck_torch_form)form));
        assert_ok(read_form(&s));
        assert_int_equal(s.ntensors, 2);
        const struct ck_tensor *t = ck_state_find(&s, a);
        assert_non_null(t);
        assert_int_equal(t->shape[1], 3);
        assert_memory_equal(t->data, weight, sizeof weight);
        assert_memory_equal(ck_state_find(&s, b)->data, &counter, sizeof counter);
        ck_state_release(&s);
    }
}

static void a_file_cut_anywhere_is_refused(void **state)
{
    (void)state;
    assert_ok(write_form(CK_TORCH_FLAT));
    size = read_file("x.pth", bytes, ROOM);
    for (size_t n = 0; n < size; n += n < 200 ? 1 : 13) {
        struct ck_state s;
        write_file("x.pth", bytes, n);
        int rc = read_form(&s);
        assert_true(rc == COKE_EFORMAT || rc == COKE_EUSAGE);
    }
}

/* Any byte may change: an error in words or the same tensors, never anything else. */
static void a_changed_byte_changes_no_tensor(void **state)
{
    (void)state;
    assert_ok(write_form(CK_TORCH_TRAINING));
    size = read_file("x.pth", bytes, ROOM);
    for (size_t i = 4; i < size; i++) {
        struct ck_state s;
        bytes[i] ^= 0x41;
        write_file("x.pth", bytes, size);
        bytes[i] ^= 0x41;
        if (read_form(&s) != COKE_OK)
            continue;
        assert_int_equal(s.ntensors, 2);
        assert_memory_equal(ck_state_find(&s, "a.weight")->data, weight, sizeof weight);
        ck_state_release(&s);
    }
}

/* ---- tensors that lie about their place ---- */

static void write_tensor(const char *pickle, size_t n)
{
    struct ck_writer w = {0};
    struct ck_zip_out z = {.file = &w};
    assert_ok(ck_writer_open(&w, "x.pth", 1));
    assert_ok(ck_zip_add(&z, "archive/data.pkl", pickle, n));
    assert_ok(ck_zip_add(&z, "archive/data/0", weight, sizeof weight));
    assert_ok(ck_zip_end(&z));
    assert_ok(ck_writer_commit(&w));
    ck_zip_out_release(&z);
}

#define TENSOR(type, key, n, offset, shape, stride)                                            \
    "ctorch._utils\n_rebuild_tensor_v2\n((U\7storagectorch\n" type "Storage\nU\1" key          \
    "U\3cpu" n "tQ" offset shape stride "\x89}tR"
#define DICT(tensor) "\x80\2}U\1x" tensor "s."
#define REFUSED(text, words)                                                                   \
    do {                                                                                       \
        struct ck_state s_;                                                                    \
        write_tensor((text), sizeof(text) - 1);                                                \
        assert_fails(read_form(&s_), COKE_EFORMAT, (words));                                   \
    } while (0)
#define HUGE "\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f"

static void tensors_outside_of_their_storage_are_refused(void **state)
{
    (void)state;
    REFUSED(DICT(TENSOR("Float", "1", "K\6", "K\0", "K\6\x85", "K\1\x85")), "'data/1'");
    REFUSED(DICT(TENSOR("Float", "0", "K\7", "K\0", "K\6\x85", "K\1\x85")), "not 7 elements");
    REFUSED(DICT(TENSOR("Float", "0", HUGE, "K\0", "K\6\x85", "K\1\x85")), "elements of F32");
    REFUSED(DICT(TENSOR("Float", "0", "K\6", "K\1", "K\6\x85", "K\1\x85")),
            "exceeds its storage");
    REFUSED(DICT(TENSOR("Float", "0", "K\6", "K\0", "K\7\x85", "K\1\x85")),
            "exceeds its storage");
    REFUSED(DICT(TENSOR("Float", "0", "K\6", "K\0", "K\3\x85", "K\3\x85")),
            "exceeds its storage");
    REFUSED(DICT(TENSOR("Float", "0", "K\6", HUGE, "K\3\x85", "K\1\x85")),
            "exceeds its storage");
    REFUSED(DICT(TENSOR("Float", "0", "K\6", "J\xff\xff\xff\xff", "K\3\x85", "K\1\x85")),
            "exceeds its storage");
    REFUSED(DICT(TENSOR("Float", "0", "K\6", "K\0", "K\3\x85", "J\xff\xff\xff\xff\x85")),
            "exceeds its storage");
    REFUSED(DICT(TENSOR("Float", "0", "K\6", "K\0", "K\3" HUGE "\x86", "K\0K\0\x86")),
            "exceeds its storage");
    REFUSED(DICT(TENSOR("Float", "0", "K\6", "K\0", "J\0\0\0\x7f\x85", "K\0\x85")),
            "more elements than its storage");
    REFUSED(DICT(TENSOR("Double", "0", "K\6", "K\0", "K\6\x85", "K\1\x85")), "elements of F64");
    REFUSED(
        "\x80\2}(U\1x" TENSOR("Float", "0", "K\6", "K\0", "K\6\x85", "K\1\x85") "q\0U\1xh\0u.",
        "'x' occurs twice");
    REFUSED("\x80\2}K\1" TENSOR("Float", "0", "K\6", "K\0", "K\6\x85", "K\1\x85") "s.",
            "not text");
    REFUSED("\x80\2]" TENSOR("Float", "0", "K\6", "K\0", "K\6\x85", "K\1\x85") "a.",
            "no dict of tensors");
}

static void scattered_tensors_are_put_in_order(void **state)
{
    static const char text[] =
        DICT(TENSOR("Float", "0", "K\6", "K\0", "K\3K\2\x86", "K\1K\3\x86"));
    static const float turned[6] = {1, 4, 2, 5, 3, 6};
    struct ck_state s;
    (void)state;
    write_tensor(text, sizeof text - 1);
    assert_ok(read_form(&s));
    assert_memory_equal(s.tensor[0].data, turned, sizeof turned);
    ck_state_release(&s);
}

/* Copies of one storage, again and again, would outgrow the file. */
static void many_copies_of_one_storage_are_refused(void **state)
{
    enum { COPIES = 300 };
    static const char tensor[] = TENSOR("Float", "0", "K\6", "K\0", "K\3K\2\x86", "K\1K\3\x86");
    char *text = malloc(1 << 16), *t = text;
    struct ck_state s;
    (void)state;
    memcpy(t, "\x80\2}(U\1x", 7);
    t += 7;
    memcpy(t, tensor, sizeof tensor - 1);
    t += sizeof tensor - 1;
    memcpy(t, "q\0", 2);
    t += 2;
    for (int i = 0; i < COPIES; i++) {
        t += sprintf(t, "U\3%03d", i);
        memcpy(t, "h\0", 2);
        t += 2;
    }
    memcpy(t, "u.", 2);
    write_tensor(text, (size_t)(t + 2 - text));
    free(text);
    assert_fails(read_form(&s), COKE_EFORMAT, "more elements than its storage");
}

static int write_job(void)
{
    return write_form(CK_TORCH_TRAINING);
}

static int read_job(void)
{
    struct ck_state s;
    int rc = read_form(&s);
    if (!rc)
        ck_state_release(&s);
    return rc;
}

static void every_allocation_fails_in_words(void **state)
{
    static const char text[] =
        DICT(TENSOR("Float", "0", "K\6", "K\0", "K\3K\2\x86", "K\1K\3\x86"));
    (void)state;
    every_allocation_may_fail(write_job);
    every_allocation_may_fail(read_job);
    write_tensor(text, sizeof text - 1);
    every_allocation_may_fail(read_job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_form_is_read),
        cmocka_unit_test(a_file_cut_anywhere_is_refused),
        cmocka_unit_test(a_changed_byte_changes_no_tensor),
        cmocka_unit_test(tensors_outside_of_their_storage_are_refused),
        cmocka_unit_test(scattered_tensors_are_put_in_order),
        cmocka_unit_test(many_copies_of_one_storage_are_refused),
        cmocka_unit_test(every_allocation_fails_in_words),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
