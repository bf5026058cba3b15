/* test_cluster.c - the whole job: sizes, objective and certificate counted again, the same
 * bytes for any number of threads, bad rows, heads, stops and refusals. */
#include "as_options.h"
#include "support.h"
#include "core/mem.h"

#include <unistd.h>

enum { N = 700, DIM = 11 };

static float *data;

static int set_up(void **state)
{
    (void)state;
    data = test_vectors(N, DIM, 9, 0.7, 6);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    free(data);
    return 0;
}

static struct ck_cluster_options options(int32_t k)
{
    struct ck_cluster_options o = ck_cluster_options_default();
    o.k = (struct ck_ints){.n = 1, .v = {k}};
    o.epochs = 3;
    o.restarts = 2; /* auto would take its second or two in every test */
    return o;
}

static int run_on(struct coke_cluster **out, const float *x, int64_t n, int dim,
                  const struct ck_cluster_options *o, struct coke_cluster_input in,
                  const struct coke_callbacks *cb)
{
    *out = NULL;
    assert_ok(coke_rows_from_array(&in.rows, x, n, dim));
    int rc = coke_cluster_run(out, &in, AS(cluster, o), cb);
    coke_rows_free(in.rows);
    return rc;
}

static int run(struct coke_cluster **out, const struct ck_cluster_options *o)
{
    return run_on(out, data, N, DIM, o, COKE_INIT(struct coke_cluster_input), NULL);
}

/* Everything the summary says, from labels and centers alone. bad[i]: row i was left out. */
static void check_result(const struct coke_cluster *c, int h, const float *x, int64_t n,
                         int dim, const double *weight, const uint8_t *bad)
{
    const struct coke_head_summary *s = coke_cluster_summary(c, h);
    const float *center = coke_cluster_centers(c, h);
    int32_t *label = test_array((size_t)n, sizeof *label);
    int64_t *size = test_array((size_t)s->k, sizeof *size), used = 0;
    int64_t off = 0, may_be_off = 0; /* ties in f32 are neither */
    double primal = 0, nearest = 0, total = 0, mean = 0;
    assert_ok(coke_cluster_labels(c, h, label));
    for (int64_t i = 0; i < n; i++)
        mean += (weight ? weight[i] : 1) / (double)n;
    for (int64_t i = 0; i < n; i++) {
        double best = -2, own = 0, length = 0, w = (weight ? weight[i] : 1) / mean;
        if (bad && bad[i]) {
            assert_int_equal(label[i], -1);
            continue;
        }
        assert_true(label[i] >= 0 && label[i] < s->k);
        size[label[i]]++;
        used++;
        for (int j = 0; j < dim; j++)
            length += (double)x[i * dim + j] * (double)x[i * dim + j];
        for (int64_t k = 0; k < s->k; k++) {
            double v = 0;
            for (int j = 0; j < dim; j++)
                v += (double)x[i * dim + j] * (double)center[k * dim + j];
            v /= sqrt(length);
            best = fmax(best, v);
            own = k == label[i] ? v : own;
        }
        primal += own * w;
        nearest += best * w;
        off += own < best - 2e-6;
        may_be_off += own < best - 3e-7;
        total += w;
    }
    assert_int_equal(s->n, used);
    assert_int_equal(s->skipped, n - used);
    assert_true(s->not_nearest >= off && s->not_nearest <= may_be_off);
    assert_close(s->objective, nearest / total, 1e-6);
    assert_close(s->labels_objective, primal / total, 1e-6);
    assert_close(s->primal, primal, 1e-5 * (double)n);
    int64_t least = n, most = 0;
    for (int64_t k = 0; k < s->k; k++) {
        double length = 0;
        for (int j = 0; j < dim; j++)
            length += (double)center[k * dim + j] * (double)center[k * dim + j];
        assert_close(length, 1, 1e-5);
        least = size[k] < least ? size[k] : least;
        most = size[k] > most ? size[k] : most;
    }
    assert_int_equal(s->size_min, least);
    assert_int_equal(s->size_max, most);
    if (s->repaired) {
        assert_true(s->size_min >= s->lower_bound_min);
        assert_close(s->gap, s->dual - s->primal, 1e-9);
        assert_close(s->gap, 0, 1e-5 * (double)n);
    }
    free(label);
    free(size);
}

static void sizes_and_certificate_hold_in_every_form(void **state)
{
    (void)state;
    for (int form = 0; form < 3; form++)
        for (int variant = 0; variant < 6; variant++) {
            struct ck_cluster_options o = options(20);
            struct coke_cluster *c;
            o.kmeans.update = form;
            o.kmeans.ratio = variant == 0 ? 0 : variant == 1 ? 1 : 0.5;
            o.kmeans.max_ratio = variant == 2 ? 1.2 : 0;
            o.kmeans.inflate = variant == 3 ? 1.3 : 1;
            o.kmeans.tau = variant == 4 ? 2 : 0;
            o.init = variant == 5;
            assert_ok(run(&c, &o));
            check_result(c, 0, data, N, DIM, NULL, NULL);
            const struct coke_head_summary *s = coke_cluster_summary(c, 0);
            assert_int_equal(s->repaired, variant != 0);
            assert_int_equal(s->lower_bound_min, variant == 0 ? 0 : variant == 1 ? 35 : 17);
            if (variant == 1)
                assert_true(s->size_min == 35 && s->size_max == 35);
            if (variant == 2)
                assert_true(s->size_max <= 42);
            assert_int_equal(s->upper_bound_min, variant == 2 ? 42 : -1);
            assert_int_equal(s->upper_bound_max, variant == 2 ? 42 : -1);
            assert_int_equal(s->epochs, 3);
            coke_cluster_free(c);
        }
}

static void bounds_of_each_cluster_are_kept(void **state)
{
    (void)state;
    struct ck_cluster_options o = options(5);
    int64_t low[5] = {300, 0, 10, 50, 100}, high[5] = {700, 20, 30, 700, 150};
    struct coke_cluster *c;
    int64_t size[5] = {0};
    int32_t label[N];
    assert_ok(run_on(&c, data, N, DIM, &o,
                     (struct coke_cluster_input){.size = sizeof(struct coke_cluster_input),
                                                 .min_sizes = low,
                                                 .max_sizes = high},
                     NULL));
    check_result(c, 0, data, N, DIM, NULL, NULL);
    assert_ok(coke_cluster_labels(c, 0, label));
    for (int i = 0; i < N; i++)
        size[label[i]]++;
    for (int k = 0; k < 5; k++)
        assert_true(size[k] >= low[k] && size[k] <= high[k]);
    coke_cluster_free(c);
}

static void weights_weigh_but_sizes_count_points(void **state)
{
    (void)state;
    struct ck_cluster_options o = options(6);
    double weight[N];
    struct coke_cluster *c;
    for (int i = 0; i < N; i++)
        weight[i] = i % 50 ? 0.2 + test_unit(1, (uint64_t)i) : 40;
    o.kmeans.ratio = 0.9;
    assert_ok(run_on(&c, data, N, DIM, &o,
                     (struct coke_cluster_input){.size = sizeof(struct coke_cluster_input),
                                                 .weights = weight},
                     NULL));
    check_result(c, 0, data, N, DIM, weight, NULL);
    assert_true(coke_cluster_summary(c, 0)->size_min >= 105);
    coke_cluster_free(c);
}

static void rows_without_weight_go_to_their_nearest_center(void **state)
{
    (void)state;
    struct ck_cluster_options o = options(6);
    double weight[N], own = 0, best = 0;
    int32_t label[N];
    struct coke_cluster *c;
    for (int i = 0; i < N; i++)
        weight[i] = i % 3 == 0;
    o.kmeans.ratio = 0;
    assert_ok(run_on(&c, data, N, DIM, &o,
                     (struct coke_cluster_input){.size = sizeof(struct coke_cluster_input),
                                                 .weights = weight},
                     NULL));
    assert_ok(coke_cluster_labels(c, 0, label));
    for (int i = 0; i < N; i++) {
        double top = -2, v[6] = {0};
        for (int k = 0; k < 6; k++) {
            for (int j = 0; j < DIM; j++)
                v[k] +=
                    (double)data[i * DIM + j] * (double)coke_cluster_centers(c, 0)[k * DIM + j];
            top = fmax(top, v[k]);
        }
        own += v[label[i]];
        best += top;
    }
    assert_close(own, best, 1e-3);
    coke_cluster_free(c);
}

/* Labels and centers of a run, one after the other. */
static unsigned char *bytes_of(const struct coke_cluster *c, size_t *n)
{
    size_t at = 0;
    unsigned char *b = test_array(1 << 20, 1);
    for (int h = 0; h < coke_cluster_heads(c); h++) {
        const struct coke_head_summary *s = coke_cluster_summary(c, h);
        size_t centers = (size_t)(s->k * s->dim) * sizeof(float);
        assert_ok(coke_cluster_labels(c, h, (int32_t *)(void *)(b + at)));
        at += N * sizeof(int32_t);
        memcpy(b + at, coke_cluster_centers(c, h), centers);
        at += centers;
        memcpy(b + at, &s->primal, 3 * sizeof(double)); /* primal, dual, gap */
        at += 3 * sizeof(double);
    }
    *n = at;
    return b;
}

static void bytes_do_not_depend_on_the_threads(void **state)
{
    (void)state;
    const int threads[] = {1, 2, 5};
    for (int form = 0; form < 3; form++)
        for (int shuffle = 1; shuffle <= 3; shuffle++) {
            unsigned char *first = NULL;
            size_t n = 0, again = 0;
            for (int t = 0; t < 3; t++) {
                struct ck_cluster_options o = options(12);
                struct coke_cluster *c;
                o.k = (struct ck_ints){.n = 2, .v = {12, 30}};
                o.kmeans.update = form;
                o.shuffle = shuffle;
                o.kmeans.ratio = 0.8;
                o.polish = 2;
                coke_set_threads(threads[t]);
                assert_ok(run(&c, &o));
                coke_set_threads(1);
                unsigned char *b = bytes_of(c, &again);
                coke_cluster_free(c);
                if (!first) {
                    first = b;
                    n = again;
                    continue;
                }
                assert_int_equal(n, again);
                assert_memory_equal(first, b, n);
                free(b);
            }
            free(first);
        }
}

static void seeds_give_different_results(void **state)
{
    (void)state;
    struct ck_cluster_options o = options(12);
    struct coke_cluster *a, *b;
    assert_ok(run(&a, &o));
    o.seed = 2;
    assert_ok(run(&b, &o));
    assert_true(memcmp(coke_cluster_centers(a, 0), coke_cluster_centers(b, 0),
                       12 * DIM * sizeof(float)) != 0);
    coke_cluster_free(a);
    coke_cluster_free(b);
}

static void bad_rows_are_refused_or_left_out(void **state)
{
    (void)state;
    struct ck_cluster_options o = options(4);
    struct coke_cluster *c;
    float *x = test_array(N * DIM, sizeof *x);
    uint8_t bad[N] = {0};
    memcpy(x, data, N * DIM * sizeof *x);
    x[17 * DIM + 3] = NAN;
    assert_fails(run_on(&c, x, N, DIM, &o, COKE_INIT(struct coke_cluster_input), NULL),
                 COKE_ENUMERIC, "row 17, column 3 is NaN");
    x[17 * DIM + 3] = INFINITY;
    assert_fails(run_on(&c, x, N, DIM, &o, COKE_INIT(struct coke_cluster_input), NULL),
                 COKE_ENUMERIC, "row 17, column 3 is infinite");
    memset(x + 17 * DIM, 0, DIM * sizeof *x);
    assert_fails(run_on(&c, x, N, DIM, &o, COKE_INIT(struct coke_cluster_input), NULL),
                 COKE_ENUMERIC, "row 17 is a zero vector");
    o.bad = 1;
    bad[17] = 1;
    for (int i = 0; i < N; i += 9) {
        x[i * DIM] = NAN;
        bad[i] = 1;
    }
    for (int shuffle = 1; shuffle <= 3; shuffle++) {
        o.shuffle = shuffle;
        assert_ok(run_on(&c, x, N, DIM, &o, COKE_INIT(struct coke_cluster_input), NULL));
        check_result(c, 0, x, N, DIM, NULL, bad);
        coke_cluster_free(c);
    }
    for (int i = 0; i < N - 3; i++)
        x[i * DIM] = NAN;
    assert_fails(run_on(&c, x, N, DIM, &o, COKE_INIT(struct coke_cluster_input), NULL),
                 COKE_EUSAGE, "4 clusters for 3 usable rows");
    free(x);
}

static void unnormalised_rows_are_as_good(void **state)
{
    (void)state;
    struct ck_cluster_options o = options(8);
    struct coke_cluster *c;
    float *x = test_array(N * DIM, sizeof *x);
    for (int i = 0; i < N * DIM; i++)
        x[i] = data[i] * (float)pow(10, i / DIM % 60 - 30);
    assert_ok(run_on(&c, x, N, DIM, &o, COKE_INIT(struct coke_cluster_input), NULL));
    check_result(c, 0, x, N, DIM, NULL, NULL);
    coke_cluster_free(c);
    free(x);
}

static void extreme_shapes_work(void **state)
{
    (void)state;
    static const struct {
        int64_t n;
        int dim;
        int32_t k;
        double ratio;
    } t[] = {{1, 1, 1, 1},   {5, 3, 5, 1},     {5, 3, 1, 0.4},      {64, 1, 2, 0.5},
             {65, 2, 65, 1}, {300, 200, 3, 1}, {129, 16, 100, 0.9}, {1000, 3, 250, 1}};
    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        struct ck_cluster_options o = options(t[i].k);
        struct coke_cluster *c;
        float *x = test_vectors(t[i].n, t[i].dim, 0, 0, 5);
        o.kmeans.ratio = t[i].ratio;
        assert_ok(
            run_on(&c, x, t[i].n, t[i].dim, &o, COKE_INIT(struct coke_cluster_input), NULL));
        check_result(c, 0, x, t[i].n, t[i].dim, NULL, NULL);
        coke_cluster_free(c);
        free(x);
    }
}

static void equal_rows_are_shared_out(void **state)
{
    (void)state;
    struct coke_cluster *c;
    float *x = test_array(N * DIM, sizeof *x);
    for (int i = 0; i < N; i++)
        memcpy(x + i * DIM, data, DIM * sizeof *x);
    for (int init = 0; init < 2; init++) {
        struct ck_cluster_options o = options(7);
        o.kmeans.ratio = 1;
        o.init = init;
        assert_ok(run_on(&c, x, N, DIM, &o, COKE_INIT(struct coke_cluster_input), NULL));
        check_result(c, 0, x, N, DIM, NULL, NULL);
        assert_int_equal(coke_cluster_summary(c, 0)->size_min, 100);
        coke_cluster_free(c);
    }
    free(x);
}

static void without_repair_the_frozen_labels_are_returned(void **state)
{
    (void)state;
    for (int balanced = 0; balanced < 2; balanced++) {
        struct ck_cluster_options o = options(15);
        struct coke_cluster *c;
        o.repair = 0;
        o.polish = 0; /* else the centers are moved after the labels were made */
        o.kmeans.ratio = balanced ? 1 : 0.4;
        assert_ok(run(&c, &o));
        assert_int_equal(coke_cluster_summary(c, 0)->repaired, 0);
        check_result(c, 0, data, N, DIM, NULL, NULL);
        coke_cluster_free(c);
    }
}

static void it_stops_by_itself(void **state)
{
    (void)state;
    struct ck_cluster_options o = options(9);
    struct coke_cluster *c;
    o.epochs = 0;
    assert_ok(run(&c, &o));
    const struct coke_head_summary *s = coke_cluster_summary(c, 0);
    assert_true(s->converged ? s->epochs < 30 : s->epochs == 30);
    coke_cluster_free(c);
    o.max_epochs = 2;
    o.polish = 1; /* until nothing changes would be convergence, too */
    assert_ok(run(&c, &o));
    assert_int_equal(coke_cluster_summary(c, 0)->epochs, 2);
    assert_int_equal(coke_cluster_summary(c, 0)->converged, 0);
    coke_cluster_free(c);
}

struct listener {
    int calls, stop_at, said, warned;
    char last[512];
};

static int progress(void *user, const struct coke_progress *p)
{
    struct listener *l = user;
    assert_true(p->done >= 0 && p->done <= p->total);
    return ++l->calls == l->stop_at;
}

static void say(void *user, const char *line)
{
    (void)line;
    ((struct listener *)user)->said++;
}

static void warn(void *user, const char *line)
{
    struct listener *l = user;
    l->warned++;
    snprintf(l->last, sizeof l->last, "%s", line);
}

static void a_caller_can_stop_it_anywhere(void **state)
{
    (void)state;
    int64_t live = ck_mem_stats().live;
    struct ck_cluster_options o = options(6);
    o.restarts = o.polish = 2;
    for (int stop = 1;; stop++) {
        struct listener l = {.stop_at = stop};
        struct coke_callbacks cb = {
            .size = sizeof cb, .user = &l, .progress = progress, .say = say, .warn = warn};
        struct coke_cluster *c;
        int rc = run_on(&c, data, N, DIM, &o, COKE_INIT(struct coke_cluster_input), &cb);
        if (rc == COKE_OK) {
            assert_true(stop > 10 && l.said >= 2);
            coke_cluster_free(c);
            break;
        }
        assert_int_equal(rc, COKE_ESTOPPED);
        assert_int_equal(ck_mem_stats().live, live);
    }
    assert_int_equal(ck_mem_stats().live, live);
}

static void sorted_rows_are_warned_about(void **state)
{
    (void)state;
    struct coke_cluster *c;
    struct ck_cluster_options o = options(9);
    float *x = test_array(N * DIM, sizeof *x);
    for (int i = 0; i < N; i++) /* test_vectors deals the groups in turn; here one by one */
        memcpy(x + i * DIM, data + (i % 77 * 9 + i / 77 % 9) % N * DIM, DIM * sizeof *x);
    for (int shuffle = 1; shuffle <= 3; shuffle += 2) {
        struct listener l = {0};
        struct coke_callbacks cb = {.size = sizeof cb, .user = &l, .warn = warn};
        o.shuffle = shuffle;
        assert_ok(run_on(&c, x, N, DIM, &o, COKE_INIT(struct coke_cluster_input), &cb));
        assert_int_equal(l.warned, shuffle == 3);
        if (l.warned)
            assert_non_null(strstr(l.last, "sorted"));
        coke_cluster_free(c);
    }
    free(x);
}

static void what_cannot_be_is_refused_in_words(void **state)
{
    (void)state;
    struct coke_cluster *c;
    struct ck_cluster_options o = options(4);
    int64_t low[4] = {1, 2, 3, 4};
    double w[N];
    struct coke_cluster_input in = {.size = sizeof(struct coke_cluster_input),
                                    .min_sizes = low};
    low[2] = 700;
    assert_fails(run_on(&c, data, N, DIM, &o, in, NULL), COKE_EUSAGE,
                 "minimum sizes sum to 707");
    low[2] = -1;
    assert_fails(run_on(&c, data, N, DIM, &o, in, NULL), COKE_EUSAGE, "minimum size 2 is -1");
    low[2] = 3;
    o.k = (struct ck_ints){.n = 2, .v = {4, 4}};
    assert_fails(run_on(&c, data, N, DIM, &o, in, NULL), COKE_EUSAGE,
                 "a single k, not 2 of them");
    o.k.n = 0;
    assert_fails(run(&c, &o), COKE_EUSAGE, "number of clusters is missing");
    o.k = (struct ck_ints){.n = 1, .v = {N + 1}};
    assert_fails(run(&c, &o), COKE_EUSAGE, "701 clusters for 700 rows");
    o = options(4);
    o.kmeans.max_ratio = 0.9;
    assert_fails(run(&c, &o), COKE_EUSAGE, "too few for 700 rows");
    o = options(4);
    o.kmeans.ratio = -1;
    assert_fails(run(&c, &o), COKE_EUSAGE, "ratio");
    o = options(4);
    for (int i = 0; i < N; i++)
        w[i] = i == 5 ? -1 : 1;
    in = (struct coke_cluster_input){.size = sizeof(struct coke_cluster_input), .weights = w};
    assert_fails(run_on(&c, data, N, DIM, &o, in, NULL), COKE_EUSAGE, "weight 5 is -1");
    memset(w, 0, sizeof w);
    assert_fails(run_on(&c, data, N, DIM, &o, in, NULL), COKE_EUSAGE, "all weights are 0");
}

/* ---- models ---- */

static void model_labels_new_rows(void **state)
{
    (void)state;
    char dir[] = "/tmp/coke-model-XXXXXX", path[128];
    struct ck_cluster_options o = options(10);
    struct coke_cluster *c;
    struct coke_model *m;
    struct coke_rows *rows;
    struct coke_head_summary s = COKE_INIT(struct coke_head_summary);
    enum { NEW = 333 };
    float *x = test_vectors(NEW, DIM, 3, 0.5, 50), score[NEW];
    int32_t label[NEW];
    int64_t size[10];
    assert_non_null(mkdtemp(dir));
    o.kmeans.ratio = 0.8;
    o.kmeans.max_ratio = 1.5;
    assert_ok(run(&c, &o));
    assert_ok(coke_cluster_write(c, dir, 0));
    assert_ok(coke_model_load(&m, dir));
    assert_int_equal(coke_model_k(m), 10);
    assert_int_equal(coke_model_dim(m), DIM);
    assert_ok(coke_rows_from_array(&rows, x, NEW, DIM));
    struct coke_assign_job job = {
        .size = sizeof job, .rows = rows, .labels = label, .scores = score};
    for (int constrained = 0; constrained < 2; constrained++) {
        const float *center = coke_cluster_centers(c, 0);
        memset(size, 0, sizeof size);
        job.constrained = constrained;
        assert_ok(coke_model_assign(m, &job, &s));
        for (int i = 0; i < NEW; i++) {
            double own = 0, best = -2;
            for (int k = 0; k < 10; k++) {
                double v = 0;
                for (int j = 0; j < DIM; j++)
                    v += (double)x[i * DIM + j] * (double)center[k * DIM + j];
                best = fmax(best, v);
                own = k == label[i] ? v : own;
            }
            size[label[i]]++;
            assert_close((double)score[i], own, 1e-6);
            if (!constrained)
                assert_close(own, best, 1e-6);
        }
        for (int k = 0; constrained && k < 10; k++) /* 56 .. 105 of 700, for 333 */
            assert_true(size[k] >= 26 && size[k] <= 50);
    }
    for (int bad = 0; bad < 2; bad++) {
        x[5 * DIM] = NAN;
        job.constrained = 0;
        job.bad = bad ? COKE_BAD_SKIP : COKE_BAD_ERROR;
        int rc = coke_model_assign(m, &job, &s);
        assert_int_equal(rc, bad ? COKE_OK : COKE_ENUMERIC);
        if (bad)
            assert_true(label[5] == -1 && isnan(score[5]) && s.skipped == 1);
    }
    coke_rows_free(rows);
    coke_model_free(m);
    coke_cluster_free(c);
    free(x);
    const char *const files[] = {"labels.npy", "centers.npy", "model.safetensors",
                                 "summary.json", "checksums.xxh3"};
    for (int i = 0; i < 5; i++) {
        snprintf(path, sizeof path, "%s/%s", dir, files[i]);
        assert_int_equal(unlink(path), 0);
    }
    assert_int_equal(rmdir(dir), 0);
}

int main(void)
{
    coke_set_threads(1); /* but where a test says otherwise: small jobs would only wait */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_and_certificate_hold_in_every_form),
        cmocka_unit_test(bounds_of_each_cluster_are_kept),
        cmocka_unit_test(weights_weigh_but_sizes_count_points),
        cmocka_unit_test(rows_without_weight_go_to_their_nearest_center),
        cmocka_unit_test(bytes_do_not_depend_on_the_threads),
        cmocka_unit_test(seeds_give_different_results),
        cmocka_unit_test(bad_rows_are_refused_or_left_out),
        cmocka_unit_test(unnormalised_rows_are_as_good),
        cmocka_unit_test(extreme_shapes_work),
        cmocka_unit_test(equal_rows_are_shared_out),
        cmocka_unit_test(without_repair_the_frozen_labels_are_returned),
        cmocka_unit_test(it_stops_by_itself),
        cmocka_unit_test(a_caller_can_stop_it_anywhere),
        cmocka_unit_test(sorted_rows_are_warned_about),
        cmocka_unit_test(what_cannot_be_is_refused_in_words),
        cmocka_unit_test(model_labels_new_rows),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
