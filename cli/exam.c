/* exam.c - what the commands that judge an encoder share: RUN, DATA and what is said of them.
 */
#include "exam.h"
#include "talk.h"

#include <assert.h>
#include <string.h>

enum { DATA_ROWS = 16 };

const struct coke_option_table *exam_data_table(void)
{
    static struct coke_option row[DATA_ROWS];
    static struct coke_option_table t;
    const struct coke_option_table *all = trained_data_table();
    int n = 0;
    assert(all->n <= DATA_ROWS);
    for (int i = 0; i < all->n; i++)
        if (strcmp(all->row[i].name, "split") != 0)
            row[n++] = all->row[i];
    t = (struct coke_option_table){row, n, all->size, NULL, 0};
    return &t;
}

/* ---- opening ---- */

int exam_open_split(struct coke_dataset **out, const struct exam_options *c,
                    const struct coke_run *run, const char *source, enum coke_split split)
{
    struct coke_dataset_options o = c->d;
    o.split = (int32_t)split;
    return trained_open_data(out, &c->t, run, source, &o);
}

/* The train images, and the test images where there are any. */
static int open_parts(struct exam *x, const struct exam_options *c)
{
    int rc = exam_open_split(&x->in.train, c, x->run, x->source, COKE_SPLIT_TRAIN);
    if (rc)
        return rc;
    if (c->test)
        return exam_open_split(&x->in.test, c, x->run, c->test, COKE_SPLIT_TRAIN);
    return coke_dataset_has_split(x->in.train)
               ? exam_open_split(&x->in.test, c, x->run, x->source, COKE_SPLIT_TEST)
               : COKE_OK;
}

int exam_open_run(struct exam *x, const struct exam_options *c, int n,
                  const char *const *operands)
{
    int rc = trained_open(&x->run, &x->source, &c->t, n, operands);
    x->in.run = x->run;
    progress_init(&x->bar, c->t.quiet);
    x->callbacks = progress_callbacks(&x->bar);
    x->in.callbacks = &x->callbacks;
    return rc;
}

int exam_open(struct exam *x, const struct exam_options *c, int n, const char *const *operands)
{
    int rc = exam_open_run(x, c, n, operands);
    return rc ? rc : open_parts(x, c);
}

void exam_close(struct exam *x)
{
    coke_dataset_free(x->in.train);
    coke_dataset_free(x->in.test);
    coke_run_free(x->run);
}

/* ---- printing ---- */

static const char *test_name(const struct exam *x, const struct exam_options *c)
{
    return c->test ? c->test : x->source;
}

static int64_t image_size(const struct exam *x)
{
    return coke_run_image_size(x->run, x->in.train ? x->in.train : x->in.test);
}

void exam_begin_json(struct coke_json *j, const struct exam *x, const struct exam_options *c,
                     const char *protocol)
{
    coke_json_begin_object(j, NULL);
    coke_json_put_text(j, "protocol", protocol);
    coke_json_put_text(j, "weights", coke_run_weights(x->run));
    coke_json_put_int(j, "epoch", coke_run_epoch(x->run));
    coke_json_put_int(j, "image_size", image_size(x));
    coke_json_put_text(j, "data", x->source);
    if (x->in.test)
        coke_json_put_text(j, "test", test_name(x, c));
}

void exam_print_about(const struct exam *x)
{
    printf("%-10s%s", "weights", coke_run_weights(x->run));
    if (coke_run_epoch(x->run) >= 0)
        printf(", %lld epochs", (long long)coke_run_epoch(x->run));
    printf(", images of %lld pixels\n%-10s%s", (long long)image_size(x), "data", x->source);
}

void exam_print_bad(int64_t bad)
{
    if (bad)
        printf("%-10s%lld images could not be read\n", "left out", (long long)bad);
}
