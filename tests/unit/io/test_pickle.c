/* test_pickle.c - pickles read without running anything. */
#include "io_test.h"
#include "io/pickle.h"

#define READ(text) read_pickle((text), sizeof(text) - 1)
#define REFUSED(text, words) refused((text), sizeof(text) - 1, (words))

static struct ck_pickle p;

/* From memory that ends with the pickle. */
static int read_pickle(const char *text, size_t n)
{
    static unsigned char *copy;
    size_t used;
    free(copy);
    copy = malloc(n + !n);
    memcpy(copy, text, n);
    ck_pickle_release(&p);
    return ck_pickle_read(&p, "x.pth", copy, n, &used);
}

static void refused(const char *text, size_t n, const char *words)
{
    assert_fails(read_pickle(text, n), COKE_EFORMAT, words);
}

static void data_is_read(void **state)
{
    size_t n;
    (void)state;
    /* {"a": (1, -2, 70000), "b": [True, None, 0.5], "c": "x", "d": 2**40, "e": ()} */
    assert_ok(READ("\x80\x02}q\x00(X\x01\0\0\0aK\x01J\xfe\xff\xff\xffJ\x70\x11\x01\0\x87U\x01"
                   "b](\x88NG?\xe0\0\0\0\0\0\0e\x8c\x01"
                   "cT\x01\0\0\0xX\x01\0\0\0d\x8a\x06\0\0\0\0\0\x01X\x01\0\0\0e)u."));
    int32_t a = ck_pickle_get(&p, p.root, "a");
    assert_int_equal(p.node[a].kind, CK_PICKLE_TUPLE);
    assert_int_equal(p.node[ck_pickle_at(&p, a, 1)].number, -2);
    assert_int_equal(p.node[ck_pickle_at(&p, a, 2)].number, 70000);
    assert_int_equal(ck_pickle_at(&p, a, 3), -1);
    int32_t b = ck_pickle_get(&p, p.root, "b");
    assert_int_equal(p.node[ck_pickle_at(&p, b, 0)].number, 1);
    assert_int_equal(p.node[ck_pickle_at(&p, b, 2)].kind, CK_PICKLE_FLOAT);
    assert_true(ck_pickle_is_text(&p, ck_pickle_get(&p, p.root, "c"), "x"));
    assert_false(ck_pickle_is_text(&p, ck_pickle_get(&p, p.root, "c"), "xy"));
    assert_int_equal(p.node[ck_pickle_get(&p, p.root, "d")].number, (int64_t)1 << 40);
    assert_int_equal(p.node[ck_pickle_get(&p, p.root, "e")].count, 0);
    assert_int_equal(ck_pickle_get(&p, p.root, "f"), -1);
    assert_null(ck_pickle_text(&p, a, &n));
}

static void code_is_refused_by_name(void **state)
{
    (void)state;
    REFUSED("\x80\x02"
            "cos\nsystem\nX\x02\0\0\0ls\x85R.",
            "os.system");
    REFUSED("\x80\x04\x8c\x08"
            "builtins\x8c\x04"
            "eval\x93.",
            "builtins.eval");
    REFUSED("cposix\nsystem\n.", "posix.system");
    REFUSED("ctorch\nFloatTensor\n.", "torch.FloatTensor");
    REFUSED("i", "opcode 0x69"); /* INST */
    REFUSED("(ios\nsystem\n.", "opcode 0x69");
    REFUSED("cos\nsystem\n)\x81.", "os.system"); /* NEWOBJ */
    REFUSED("\x81", "a call without arguments");
    REFUSED("comegaconf\nx\n.", "omegaconf.x");
    REFUSED("\x82\x01", "opcode 0x82"); /* EXT1 */
    REFUSED("ccollections\nOrderedDict\nN\x85R.", "dict from a non-list");
    REFUSED("ctorch\nFloatStorage\n)R.", "call of a storage type");
    REFUSED("N)R.", "not a function");
    REFUSED("ctorch._utils\n_rebuild_parameter\n)R.", "without arguments");
}

/* Objects of settings beside the weights: what they hold is left out. */
static void settings_are_left_out(void **state)
{
    (void)state;
    assert_ok(READ("}(X\4\0\0\0argscargparse\nNamespace\n)\x81}X\2\0\0\0lrK\1sb"
                   "X\1\0\0\0bK\7X\1\0\0\0ccomegaconf.nodes\nAnyNode\n)R(K\1K\2e"
                   "X\1\0\0\0dcbuiltins\ndict\n)R(K\1K\2uu."));
    assert_int_equal(p.node[ck_pickle_get(&p, p.root, "args")].kind, CK_PICKLE_SETTINGS);
    assert_int_equal(p.node[ck_pickle_get(&p, p.root, "b")].number, 7);
    assert_int_equal(p.node[ck_pickle_get(&p, p.root, "c")].kind, CK_PICKLE_SETTINGS);
    assert_int_equal(p.node[ck_pickle_get(&p, p.root, "d")].kind, CK_PICKLE_SETTINGS);
    assert_int_equal(ck_pickle_get(&p, p.root, "lr"), -1);
}

static void nonsense_is_refused(void **state)
{
    (void)state;
    REFUSED("", "in the middle");
    REFUSED(".", "not end with exactly one object");
    REFUSED("NN.", "not end with exactly one object");
    REFUSED("(N.", "not end with exactly one object");
    REFUSED("K", "in the middle");
    REFUSED("X\xff\xff\xff\xff", "in the middle");
    REFUSED("\x8d\xff\xff\xff\xff\xff\xff\xff\xff", "in the middle");
    REFUSED("\x95\x01", "in the middle");
    REFUSED("cno newline", "in the middle");
    REFUSED("t", "a mark is missing");
    REFUSED("e", "items are missing");
    REFUSED("}(Nu.", "items are missing");
    REFUSED("NNa.", "neither a list nor a dict");
    REFUSED("}Na.", "neither a list nor a dict");
    REFUSED("]NNs.", "neither a list nor a dict");
    REFUSED("N(a", "items are missing"); /* not below a mark */
    REFUSED("N(\x85", "items are missing");
    REFUSED("q\0", "memo put with an empty stack");
    REFUSED("N(q\0", "memo put with an empty stack");
    REFUSED("h\0", "undefined memo index");
    REFUSED("Nr\xff\xff\xff\xff", "memo index larger");
    REFUSED("Nr\x03\0\0\0h\x01.", "undefined memo index");
    REFUSED("NNb", "not a dict");
    REFUSED("NQ", "not a tuple");
    REFUSED("NN\x93.", "not text");
    REFUSED("]]R", "not a function");
}

/* A list of a list of ...: nothing here recurses. */
static void depth_does_not_matter(void **state)
{
    enum { DEEP = 300000 };
    char *text = malloc(2 * DEEP);
    (void)state;
    memset(text, ']', DEEP);
    memset(text + DEEP, 'a', DEEP - 1);
    text[2 * DEEP - 1] = '.';
    assert_ok(read_pickle(text, 2 * DEEP));
    free(text);
}

/* One long list made into dicts again and again: the items would grow with the square. */
static void memo_bombs_are_refused(void **state)
{
    enum { PAIRS = 20000, CALLS = 2000 };
    struct ck_mem_stats before;
    char *text = malloc(64 + PAIRS + 16 * CALLS), *t = text;
    (void)state;
    t += sprintf(t, "ccollections\nOrderedDict\n") + 0;
    memcpy(t, "q\0(](", 5);
    t += 5;
    memcpy(t, "]q\1(NNe", 7); /* one pair, remembered */
    t += 7;
    for (int i = 0; i < PAIRS; i++, t += 2)
        memcpy(t, "h\1", 2);
    memcpy(t, "e\x85q\2", 4);
    t += 4;
    for (int i = 0; i < CALLS; i++, t += 5)
        memcpy(t, "h\0h\2R", 5);
    *t++ = '.';
    ck_pickle_release(&p);
    before = ck_mem_stats();
    ck_mem_reset_peak();
    refused(text, (size_t)(t - text), "more items than bytes");
    assert_true(ck_mem_stats().peak_bytes - before.live_bytes < 100 * (t - text));
    free(text);
}

static void large_pickles_are_refused(void **state)
{
    size_t n = CK_PICKLE_MAX + 10;
    char *text = malloc(n);
    (void)state;
    memset(text, 'N', n);
    refused(text, n, "limit of 2097152 bytes");
    free(text);
}

#define STORAGE(type, key, n) "(U\7storagectorch\n" type "\nU\1" key "U\3cpuK" n "tQ"
#define TENSOR(storage, offset, shape, stride)                                                 \
    "ctorch._utils\n_rebuild_tensor_v2\n(" storage "K" offset shape stride "\x89}tR."

static void tensors_are_described(void **state)
{
    struct ck_pickle_tensor t;
    (void)state;
    assert_ok(
        READ(TENSOR(STORAGE("HalfStorage", "7", "\x18"), "\2", "K\2K\3\x86", "K\3K\1\x86")));
    assert_ok(ck_pickle_tensor(&p, p.root, &t));
    assert_int_equal(t.storage.dtype, CK_F16);
    assert_int_equal(t.storage.elements, 24);
    assert_memory_equal(t.storage.key, "7", t.storage.key_size);
    assert_int_equal(t.offset, 2);
    assert_int_equal(t.ndim, 2);
    assert_int_equal(t.shape[1], 3);
    assert_int_equal(t.stride[0], 3);
    assert_ok(READ(TENSOR("N", "\2", ")", ")")));
    assert_fails(ck_pickle_tensor(&p, p.root, &t), COKE_EFORMAT, "without a storage");
    assert_ok(READ(TENSOR(STORAGE("HalfStorage", "7", "\x18"), "\2", "K\2\x85", ")")));
    assert_fails(ck_pickle_tensor(&p, p.root, &t), COKE_EFORMAT, "shape is not described");
    assert_ok(READ(TENSOR(STORAGE("HalfStorage", "7", "\x18"), "\2", "N\x85", "N\x85")));
    assert_fails(ck_pickle_tensor(&p, p.root, &t), COKE_EFORMAT, "shape is not described");
    assert_ok(READ(TENSOR(STORAGE("Size", "7", "\x18"), "\2", ")", ")")));
    assert_fails(ck_pickle_tensor(&p, p.root, &t), COKE_EFORMAT, "storage is not described");
    assert_ok(READ(TENSOR(")Q", "\2", ")", ")")));
    assert_fails(ck_pickle_tensor(&p, p.root, &t), COKE_EFORMAT, "storage is not described");
    assert_ok(READ(TENSOR("(U\7storagectorch\nFloatStorage\nU\1"
                          "0U\3cpuK\1U\1vtQ",
                          "\0", ")", ")")));
    assert_fails(ck_pickle_tensor(&p, p.root, &t), COKE_EFORMAT, "view");
}

static void dicts_of_python_2_are_read(void **state)
{
    (void)state;
    assert_ok(READ("ccollections\nOrderedDict\n](](U\1aK\1e](U\1bK\2ee\x85R."));
    assert_int_equal(p.node[ck_pickle_get(&p, p.root, "b")].number, 2);
    REFUSED("ccollections\nOrderedDict\n](](U\1aee\x85R.", "not a pair");
}

static int job(void)
{
    int rc = READ("\x80\2}q\0(X\1\0\0\0a(K\1K\2tu.");
    ck_pickle_release(&p);
    return rc;
}

static void every_allocation_fails_in_words(void **state)
{
    (void)state;
    ck_pickle_release(&p);
    every_allocation_may_fail(job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(data_is_read),
        cmocka_unit_test(code_is_refused_by_name),
        cmocka_unit_test(settings_are_left_out),
        cmocka_unit_test(nonsense_is_refused),
        cmocka_unit_test(depth_does_not_matter),
        cmocka_unit_test(memo_bombs_are_refused),
        cmocka_unit_test(large_pickles_are_refused),
        cmocka_unit_test(tensors_are_described),
        cmocka_unit_test(dicts_of_python_2_are_read),
        cmocka_unit_test(every_allocation_fails_in_words),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
