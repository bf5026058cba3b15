/* test_conv_table.c - choice of algorithms: the same bytes everywhere without tuning, and a
 * tuning file that makes measurements repeatable. */
#include "support.h"
#include "core/mem.h"
#include "nn/conv_table.h"
#include "nn/plan.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

enum { N = 2, C = 32, SIZE = 9 };

static char folder[] = "/tmp/coke-tuning-XXXXXX";
static char program[512];

static int enter(void **state)
{
    (void)state;
    coke_set_threads(2);
    return mkdtemp(folder) && chdir(folder) == 0 ? 0 : -1;
}

static int leave(void **state)
{
    char command[128];
    (void)state;
    ck_tuning_open(NULL);
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return chdir("/") || system(command) ? -1 : 0;
}

static int forget(void **state)
{
    (void)state;
    unlink("tuned");
    unlink("tuned.xxh3");
    return ck_tuning_open(NULL);
}

/* ---- a network with 3 convolutions, of which Winograd can do two ---- */

struct job {
    struct ck_net net;
    struct ck_plan *plan;
    float *images, *grad, *out;
    int64_t nout;
};

static int start_job(struct job *j)
{
    memset(j, 0, sizeof *j);
    int x = ck_net_conv(&j->net, "a", ck_net_input(&j->net, C), C, 3, 1, 1);
    x = ck_net_conv(&j->net, "b", ck_net_relu(&j->net, ck_net_norm(&j->net, "n", x)), 48, 3, 1,
                    1);
    x = ck_net_mean(&j->net, ck_net_conv(&j->net, "c", x, 20, 1, 2, 0));
    if (x < 0)
        return x;
    ck_net_init(&j->net, 4);
    struct ck_plan_request r = ck_plan_request_default();
    r.n = N, r.h = r.w = SIZE, r.train = r.backward = r.nwant = r.ngrad = 1;
    r.want[0] = r.grad[0] = x;
    j->nout = N * 20;
    return ck_plan_new(&j->plan, &j->net, &r);
}

static void end_job(struct job *j)
{
    ck_plan_free(j->plan);
    ck_net_release(&j->net);
    free(j->images);
    free(j->grad);
    free(j->out);
}

/* out: the vectors, then the gradients of all parameters. */
static void run_job(struct job *j)
{
    int64_t pixels = N * C * SIZE * SIZE;
    j->images = test_array((size_t)pixels, sizeof(float));
    j->grad = test_array((size_t)j->nout, sizeof(float));
    for (int64_t i = 0; i < pixels; i++)
        j->images[i] = test_normal(1, (uint64_t)i);
    for (int64_t i = 0; i < j->nout; i++)
        j->grad[i] = test_normal(2, (uint64_t)i);
    int64_t at = j->nout;
    j->nout += ck_net_size(&j->net);
    j->out = test_array((size_t)j->nout, sizeof(float));
    assert_ok(ck_plan_forward(j->plan, j->images));
    memcpy(j->out, ck_plan_vector(j->plan, j->net.nnodes - 1), (size_t)at * sizeof(float));
    assert_ok(ck_plan_backward(j->plan, (const float *const *)&j->grad));
    for (int i = 0; i < j->net.nparams; at += j->net.param[i++].size)
        memcpy(j->out + at, j->net.param[i].grad, (size_t)j->net.param[i].size * sizeof(float));
}

/* A whole run; the caller owns the result. */
static float *run(int64_t *n)
{
    struct job j;
    assert_ok(start_job(&j));
    run_job(&j);
    float *out = j.out;
    *n = j.nout;
    j.out = NULL;
    end_job(&j);
    return out;
}

static void assert_runs_near(const float *a, const float *b, int64_t n, double tolerance)
{
    double apart = 0, length = 0;
    for (int64_t i = 0; i < n; i++) {
        apart += ((double)a[i] - (double)b[i]) * ((double)a[i] - (double)b[i]);
        length += (double)b[i] * (double)b[i];
    }
    assert_close(sqrt(apart / length), 0, tolerance);
}

static void write_text(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

static size_t read_text(const char *path, char *text, size_t room)
{
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    size_t n = fread(text, 1, room - 1, f);
    text[n] = 0;
    fclose(f);
    return n;
}

static int count_files(void)
{
    int n = 0;
    DIR *d = opendir(".");
    for (struct dirent *e = readdir(d); e; e = readdir(d))
        n += e->d_name[0] != '.';
    closedir(d);
    return n;
}

/* ---- without tuning ---- */

/* Started with an argument, the program prints its result instead of testing. */
static int print_result(void)
{
    int64_t n;
    coke_set_threads(2);
    float *out = run(&n);
    size_t wrote = fwrite(out, sizeof *out, (size_t)n, stdout);
    free(out);
    return wrote != (size_t)n;
}

static void two_processes_give_the_same_bytes(void **state)
{
    int64_t n;
    char command[600];
    (void)state;
    float *here = run(&n), *there = test_array((size_t)n + 1, sizeof *there);
    snprintf(command, sizeof command, "'%s' print", program);
    FILE *f = popen(command, "r");
    assert_non_null(f);
    assert_int_equal(fread(there, sizeof *there, (size_t)n + 1, f), n);
    assert_int_equal(pclose(f), 0);
    assert_memory_equal(here, there, (size_t)n * sizeof *here);
    free(here);
    free(there);
}

/* ---- with tuning ---- */

/* Three forward, three backward weights, two backward data (the images' gradient is not
 * wanted). */
static void the_file_has_one_line_a_convolution_and_pass(void **state)
{
    static const char *const lines[] = {
        "f32 forward 2 32 9 9 32 3 1 1 ", "f32 weights 2 32 9 9 32 3 1 1 ",
        "f32 forward 2 32 9 9 48 3 1 1 ", "f32 weights 2 32 9 9 48 3 1 1 ",
        "f32 data 2 32 9 9 48 3 1 1 ",    "f32 forward 2 48 9 9 20 1 2 0 ",
        "f32 weights 2 48 9 9 20 1 2 0 ", "f32 data 2 48 9 9 20 1 2 0 ",
    };
    char text[4096];
    struct job j;
    (void)state;
    assert_ok(ck_tuning_open("tuned"));
    assert_int_not_equal(access("tuned", F_OK), 0);
    assert_ok(start_job(&j)); /* the file exists before the first step */
    size_t n = read_text("tuned", text, sizeof text);
    end_job(&j);
    assert_int_equal(strncmp(text, "coke-tuning 1\n", 14), 0);
    assert_int_equal(text[n - 1], '\n');
    int found = 0;
    for (size_t i = 0; i < n; i++)
        found += text[i] == '\n';
    assert_int_equal(found, 9);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        if (!strstr(text, lines[i]))
            fail_msg("no line \"%s\" in:\n%s", lines[i], text);
    assert_int_equal(count_files(), 2); /* its checksum, and no temporary file */
}

static void what_is_frozen_measures_nothing_and_writes_nothing(void **state)
{
    int64_t n;
    char before[4096], after[4096];
    (void)state;
    float *untuned = run(&n);
    assert_ok(ck_tuning_open("tuned"));
    ck_tuning_freeze();
    float *frozen = run(&n);
    assert_memory_equal(untuned, frozen, (size_t)n * sizeof *frozen);
    assert_int_not_equal(access("tuned", F_OK), 0);
    assert_ok(ck_tuning_open("tuned"));
    float *a = run(&n);
    read_text("tuned", before, sizeof before);
    assert_ok(ck_tuning_open("tuned"));
    ck_tuning_freeze();
    float *b = run(&n); /* with the file's choices */
    read_text("tuned", after, sizeof after);
    assert_string_equal(before, after);
    assert_memory_equal(a, b, (size_t)n * sizeof *a);
    free(untuned);
    free(frozen);
    free(a);
    free(b);
}

static void a_second_run_reads_the_file_and_gives_the_same_bytes(void **state)
{
    int64_t n;
    char before[4096], after[4096];
    struct stat first, second;
    (void)state;
    assert_ok(ck_tuning_open("tuned"));
    float *a = run(&n);
    read_text("tuned", before, sizeof before);
    assert_int_equal(stat("tuned", &first), 0);
    assert_ok(ck_tuning_open(NULL));
    assert_ok(ck_tuning_open("tuned"));
    float *b = run(&n);
    read_text("tuned", after, sizeof after);
    assert_int_equal(stat("tuned", &second), 0);
    assert_string_equal(before, after);
    assert_true(first.st_ino == second.st_ino); /* not rewritten */
    assert_memory_equal(a, b, (size_t)n * sizeof *a);
    assert_ok(ck_tuning_open(NULL));
    float *untuned = run(&n);
    assert_runs_near(a, untuned, n, 1e-5);
    free(a);
    free(b);
    free(untuned);
}

/* Any algorithm that a file may name: the results agree up to rounding. */
static void every_way_gives_the_same_numbers(void **state)
{
    static const char *const way[CK_F32_WAYS] = {"direct", "winograd"};
    int64_t n;
    (void)state;
    float *want = run(&n);
    for (int i = 0; i < CK_F32_WAYS; i++) {
        char text[1024];
        snprintf(text, sizeof text,
                 "coke-tuning 1\n"
                 "f32 forward 2 32 9 9 32 3 1 1 %s\nf32 weights 2 32 9 9 32 3 1 1 %s\n"
                 "f32 forward 2 32 9 9 48 3 1 1 %s\nf32 weights 2 32 9 9 48 3 1 1 %s\n"
                 "f32 data 2 32 9 9 48 3 1 1 %s\nf32 forward 2 48 9 9 20 1 2 0 %s\n"
                 "f32 weights 2 48 9 9 20 1 2 0 %s\nf32 data 2 48 9 9 20 1 2 0 %s\n",
                 way[i], way[i], way[i], way[i], way[i], way[i], way[i], way[i]);
        write_text("tuned", text);
        assert_ok(ck_tuning_open("tuned"));
        /* 1x1 has no Winograd: falls back to direct, whatever the file says. */
        float *got = run(&n);
        assert_runs_near(got, want, n, 1e-5);
        free(got);
    }
    free(want);
}

static void a_file_that_knows_some_shapes_is_completed(void **state)
{
    char text[4096];
    int64_t n;
    (void)state;
    write_text("tuned", "coke-tuning 1\nf32 forward 2 32 9 9 32 3 1 1 direct\n"
                        "bf16 data 9 9 9 9 9 9 9 9 direct\n");
    assert_ok(ck_tuning_open("tuned"));
    free(run(&n));
    read_text("tuned", text, sizeof text);
    assert_non_null(strstr(text, "f32 forward 2 32 9 9 32 3 1 1 direct\n"));
    assert_non_null(strstr(text, "bf16 data 9 9 9 9 9 9 9 9 direct\n"));
    assert_non_null(strstr(text, "f32 data 2 48 9 9 20 1 2 0 direct\n"));
}

static void broken_files_are_errors_that_name_file_and_line(void **state)
{
    static const struct {
        const char *text, *words;
    } bad[] = {
        {"", "tuned: empty"},
        {"something else\n", "tuned: not a tuning file"},
        {"coke-tuning 2\n", "tuned: not a tuning file"},
        {"coke-tuning 1", "tuned: line 1 is truncated"},
        {"coke-tuning 1\nf32 forward 2 32 9 9 32 3 1 1 direct\nf32 data 2 3",
         "line 3 is truncated"},
        {"coke-tuning 1\nf32 forward 2 32 9 9 32 3 1 1 sideways\n", "tuned: line 2"},
        {"coke-tuning 1\n\n", "tuned: line 2"},
        {"coke-tuning 1\ndirect\n", "tuned: line 2"},
        {"coke-tuning 1\nhello direct\n", "tuned: line 2"},
        {"coke-tuning 1\nf32 forward 2 32 9 9 32 3 1 direct\n", "tuned: line 2"},
        {"coke-tuning 1\nf32 forward 2 32 9 9 32 3 1 1 1 direct\n", "tuned: line 2"},
        {"coke-tuning 1\nf32 upward 2 32 9 9 32 3 1 1 direct\n", "tuned: line 2"},
    };
    char line[400];
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        write_text("tuned", bad[i].text);
        assert_fails(ck_tuning_open("tuned"), COKE_EFORMAT, bad[i].words);
    }
    memset(line, 'x', sizeof line);
    memcpy(line, "coke-tuning 1\n", 14);
    memcpy(line + 390, " direct\n", 9);
    write_text("tuned", line);
    assert_fails(ck_tuning_open("tuned"), COKE_EFORMAT, "tuned: line 2 is too long");
    /* A failure leaves tuning off. */
    unlink("tuned");
    int64_t n;
    free(run(&n));
    assert_int_not_equal(access("tuned", F_OK), 0);
}

static void files_that_cannot_be_are_errors(void **state)
{
    struct job j;
    (void)state;
    assert_fails(ck_tuning_open("."), COKE_EIO, "directory");
    assert_ok(ck_tuning_open("missing/tuned"));
    assert_fails(start_job(&j), COKE_EIO, "missing/tuned");
    end_job(&j);
    assert_fails(start_job(&j), COKE_EIO, "missing/tuned"); /* and again */
    end_job(&j);
    assert_int_equal(mkdir("locked", 0500), 0);
    assert_ok(ck_tuning_open("locked/tuned"));
    int rc = start_job(&j);
    end_job(&j);
    if (geteuid() == 0) /* root may write everywhere */
        assert_int_equal(rc, COKE_OK);
    else
        assert_fails(rc, COKE_EIO, "locked/tuned");
    unlink("locked/tuned");
    rmdir("locked");
}

/* ---- memory ---- */

static int tune_once(void)
{
    struct job j;
    memset(&j, 0, sizeof j);
    int rc = ck_tuning_open("tuned");
    if (!rc)
        rc = start_job(&j);
    end_job(&j);
    ck_tuning_open(NULL);
    return rc;
}

static void tuning_survives_every_failed_allocation(void **state)
{
    (void)state;
    for (int64_t i = 1;; i++) {
        unlink("tuned");
        struct ck_mem_stats before = ck_mem_stats();
        ck_mem_fail_at(i);
        int rc = tune_once();
        ck_mem_fail_at(0);
        assert_int_equal(ck_mem_stats().live, before.live);
        if (ck_mem_stats().calls - before.calls < i) {
            assert_ok(rc);
            return;
        }
        if (rc != COKE_ENOMEM)
            fail_msg("allocation %lld: %d, \"%s\"", (long long)i, rc, coke_last_error());
        assert_true(i < 2000);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(two_processes_give_the_same_bytes, forget),
        cmocka_unit_test_teardown(the_file_has_one_line_a_convolution_and_pass, forget),
        cmocka_unit_test_teardown(what_is_frozen_measures_nothing_and_writes_nothing, forget),
        cmocka_unit_test_teardown(a_second_run_reads_the_file_and_gives_the_same_bytes, forget),
        cmocka_unit_test_teardown(every_way_gives_the_same_numbers, forget),
        cmocka_unit_test_teardown(a_file_that_knows_some_shapes_is_completed, forget),
        cmocka_unit_test_teardown(broken_files_are_errors_that_name_file_and_line, forget),
        cmocka_unit_test_teardown(files_that_cannot_be_are_errors, forget),
        cmocka_unit_test_teardown(tuning_survives_every_failed_allocation, forget),
    };
    if (argc > 1)
        return print_result();
    if (!realpath(argv[0], program))
        return 1;
    return cmocka_run_group_tests(tests, enter, leave);
}
