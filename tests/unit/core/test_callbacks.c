/* test_callbacks.c - progress, choices and warnings reach the caller. */
#include "support.h"
#include "core/callbacks.h"

struct heard {
    int answer;
    int64_t done;
    char said[3000], warned[3000];
};

static int progress(void *user, const struct coke_progress *p)
{
    struct heard *h = user;
    h->done = p->done;
    return h->answer;
}

static void say(void *user, const char *line)
{
    snprintf(((struct heard *)user)->said, 3000, "%s", line);
}

static void warn(void *user, const char *line)
{
    snprintf(((struct heard *)user)->warned, 3000, "%s", line);
}

static void callbacks_may_be_missing(void **state)
{
    (void)state;
    const struct coke_callbacks none = COKE_INIT(struct coke_callbacks);
    const struct coke_progress p = {.phase = "epoch"};
    assert_int_equal(ck_progress_ask(NULL, &p), 0);
    assert_int_equal(ck_progress_ask(&none, &p), 0);
    assert_ok(ck_progress(NULL, &p));
    ck_say(NULL, "a");
    ck_say(&none, "a");
    ck_warn(NULL, "a");
    ck_warn(&none, "a");
}

static void a_stop_says_how_far_it_came(void **state)
{
    (void)state;
    struct heard h = {0};
    const struct coke_callbacks cb = {
        .size = sizeof(struct coke_callbacks), .user = &h, .progress = progress};
    struct coke_progress p = {.phase = "embed", .done = 30, .total = 100, .unit = "images"};
    assert_ok(ck_progress(&cb, &p));
    assert_int_equal(h.done, 30);
    h.answer = 2;
    assert_int_equal(ck_progress_ask(&cb, &p), 2);
    assert_fails(ck_progress(&cb, &p), COKE_ESTOPPED, "stopped after 30 images");
    assert_fails(ck_progress_count(&cb, "sort", 7, 9, "files"), COKE_ESTOPPED,
                 "stopped after 7 files");
    assert_int_equal(h.done, 7);
    p.unit = NULL;
    assert_fails(ck_progress(&cb, &p), COKE_ESTOPPED, "stopped after 30 rows");
    p.epoch = 4;
    p.epochs = 10;
    assert_fails(ck_progress(&cb, &p), COKE_ESTOPPED, "stopped in epoch 4");
}

static void lines_are_formatted_and_cut(void **state)
{
    (void)state;
    struct heard h = {0};
    const struct coke_callbacks cb = {
        .size = sizeof(struct coke_callbacks), .user = &h, .say = say, .warn = warn};
    char text[3000];
    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = 0;
    ck_say(&cb, "%d of %s", 3, "five");
    assert_string_equal(h.said, "3 of five");
    ck_warn(&cb, "%s", text);
    assert_int_equal(strlen(h.warned), 2047);
    assert_string_equal(h.said, "3 of five");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(callbacks_may_be_missing),
        cmocka_unit_test(a_stop_says_how_far_it_came),
        cmocka_unit_test(lines_are_formatted_and_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
