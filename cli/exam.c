/* exam.c - shared by the commands that evaluate an encoder: RUN and DATA. */
#include "exam.h"
#include "talk.h"

/* ---- opening ---- */

/* A copy of the options: the same command opens several splits. */
int exam_open_split(struct coke_dataset **out, const struct exam *x, const char *source,
                    const char *split)
{
    struct coke_options *o = NULL;
    int rc = coke_options_copy(&o, args_options(x->a, "dataset"));
    if (!rc)
        rc = coke_options_set(o, "split", split);
    if (rc)
        talk_fail_library(rc);
    else
        rc = trained_open_data(out, x->a, x->run, source, o);
    coke_options_free(o);
    return rc;
}

/* --test names a data set of its own: its train split is read, which is everything if it has no
 * splits. */
static int open_parts(struct exam *x)
{
    const char *test = args_text(x->a, "test");
    int rc = exam_open_split(&x->in.train, x, x->source, "train");
    if (rc)
        return rc;
    if (test)
        return exam_open_split(&x->in.test, x, test, "train");
    return coke_dataset_has_split(x->in.train)
               ? exam_open_split(&x->in.test, x, x->source, "test")
               : COKE_OK;
}

/* progress_init also when opening fails: exam_close and progress_end may follow in any case. */
int exam_open_run(struct exam *x, struct args *a, int n, const char *const *operands)
{
    x->a = a;
    x->in.size = sizeof x->in;
    int rc = trained_open(&x->run, &x->source, a, n, operands);
    x->in.run = x->run;
    progress_init(&x->bar, args_flag(a, "quiet"));
    x->callbacks = progress_callbacks(&x->bar);
    x->in.callbacks = &x->callbacks;
    return rc;
}

int exam_open(struct exam *x, struct args *a, int n, const char *const *operands)
{
    int rc = exam_open_run(x, a, n, operands);
    return rc ? rc : open_parts(x);
}

void exam_close(struct exam *x)
{
    coke_dataset_free(x->in.train);
    coke_dataset_free(x->in.test);
    coke_run_free(x->run);
}

/* ---- printing ---- */

static int64_t image_size(const struct exam *x)
{
    return coke_run_image_size(x->run, x->in.train ? x->in.train : x->in.test);
}

void exam_begin_json(struct coke_json *j, const struct exam *x, const char *test,
                     const char *protocol)
{
    coke_json_begin_object(j, NULL);
    coke_json_put_text(j, "protocol", protocol);
    coke_json_put_text(j, "weights", coke_run_weights(x->run));
    coke_json_put_int(j, "epoch", coke_run_epoch(x->run));
    coke_json_put_int(j, "image_size", image_size(x));
    coke_json_put_text(j, "data", x->source);
    if (x->in.test)
        coke_json_put_text(j, "test", test ? test : x->source);
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
        printf("%-10s%lld unreadable images\n", "skipped", (long long)bad);
}
