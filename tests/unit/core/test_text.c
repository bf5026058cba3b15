/* test_text.c - text of unknown origin loses what terminals act on, and nothing else.
 * Numbers in locales: tests/unit/api/test_locale.c. */
#include "support.h"
#include "core/error.h"
#include "core/text.h"

static void assert_clean(const char *text, const char *expected)
{
    char out[64];
    ck_text_clean(text, out, sizeof out);
    assert_string_equal(out, expected);
}

static void plain_text_stays(void **state)
{
    (void)state;
    assert_clean("", "");
    assert_clean("a/b c.npy", "a/b c.npy");
    assert_clean("caf\u00e9 \u65e5\u672c \U0001f600", "caf\u00e9 \u65e5\u672c \U0001f600");
}

static void acting_characters_and_other_bytes_become_question_marks(void **state)
{
    (void)state;
    assert_clean("a\033[2J\a\n\r\tb\177", "a?[2J????b?");
    assert_clean("photo\u202egpj.exe", "photo?gpj.exe");
    assert_clean("\u2066x\u2069\u200f\u200e\u061c\u2028\u2029\xc2\x85", "?x???????");
    assert_clean("\xff\xfe"
                 "a\xc3",
                 "??a?");                          /* not UTF-8, cut off */
    assert_clean("\xc0\xaf\xed\xa0\x80", "?????"); /* overlong, a surrogate */
    assert_clean("\xc2\x9b"
                 "31m",
                 "?31m"); /* CSI as one character */
}

static void text_is_cut_between_characters(void **state)
{
    (void)state;
    char out[4];
    ck_text_clean("ab\u00e9", out, sizeof out);
    assert_string_equal(out, "ab");
    ck_text_clean("a\u00e9", out, sizeof out);
    assert_string_equal(out, "a\u00e9");
    ck_text_clean("abc", out, 0);
}

static void sentences_are_clean(void **state)
{
    (void)state;
    char name[2 * CK_SENTENCE];
    assert_int_equal(ck_fail(COKE_EIO, "%s: no", "a\u202eb\xff"), COKE_EIO);
    assert_string_equal(coke_last_error(), "a?b?: no");
    ck_fail_prefix(COKE_EIO, "\033[1m: ");
    assert_string_equal(coke_last_error(), "?[1m: a?b?: no");
    for (size_t i = 0; i + 2 < sizeof name; i += 2)
        memcpy(name + i, "\u00e9", 3);
    ck_fail(COKE_EIO, "x%s", name);
    assert_true(strlen(coke_last_error()) >= CK_SENTENCE - 2);
    assert_fails(ck_fail(COKE_EIO, "%s", ck_last_error()), COKE_EIO, "x\u00e9\u00e9");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_text_stays),
        cmocka_unit_test(acting_characters_and_other_bytes_become_question_marks),
        cmocka_unit_test(text_is_cut_between_characters),
        cmocka_unit_test(sentences_are_clean),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
