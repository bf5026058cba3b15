/* cmd_eval_learn.c - coke eval linear, finetune: classifiers that begin with an encoder. */
#include "exam.h"
#include "talk.h"

#include <math.h>

/* A classifier is tested on images that it has not seen. */
static int need_test(const struct exam *x)
{
    if (x->in.test)
        return COKE_OK;
    return talk_fail(COKE_EUSAGE, "%s has no test split; --test names images to test on",
                     x->source);
}

/* Percent, with the deviation where there are several trials. */
static void print_share(const char *name, double mean, double deviation, int64_t trials)
{
    if (!isfinite(mean))
        printf("  %s     -", name);
    else if (trials > 1)
        printf("  %s %6.2f +- %.2f", name, 100 * mean, 100 * deviation);
    else
        printf("  %s %6.2f", name, 100 * mean);
}

static void print_row(const struct coke_eval_table *t, int r)
{
    const struct coke_eval_row *row = &t->row[r];
    printf("rate %-7.4g decay %-6.3g", row->rate, row->weight_decay);
    print_share("top-1", row->top1, row->top1_deviation, t->trials);
    if (t->classes > 5)
        print_share("top-5", row->top5, row->top5_deviation, t->trials);
    printf("  loss %.4f%s\n", row->loss, t->n > 1 && r == t->best ? "  <- best" : "");
}

static void print_table(const struct exam *x, const struct exam_options *c,
                        const struct coke_eval_table *t, const char *protocol)
{
    exam_print_about(x);
    printf(": %lld images to learn, %lld of %s to test; %d classes\n", (long long)t->train,
           (long long)t->test, c->test ? c->test : "its test split", t->classes);
    printf("%-10s%s; %lld epochs, batch %lld, seed %lld", "protocol", protocol,
           (long long)t->epochs, (long long)t->batch, (long long)t->seed);
    if (t->trials > 1)
        printf(", %lld trials", (long long)t->trials);
    putchar('\n');
    exam_print_bad(t->bad);
    for (int r = 0; r < t->n; r++)
        print_row(t, r);
    if (t->n > 1)
        puts("the best one is chosen on the test images");
}

static void emit_row(struct coke_json *j, const struct coke_eval_row *r, int64_t trials)
{
    coke_json_begin_object(j, NULL);
    coke_json_put_real(j, "rate", r->rate);
    coke_json_put_real(j, "weight_decay", r->weight_decay);
    coke_json_put_real(j, "top1", r->top1);
    coke_json_put_real(j, "top5", r->top5);
    coke_json_put_real(j, "loss", r->loss);
    if (trials > 1) {
        coke_json_put_real(j, "top1_deviation", r->top1_deviation);
        coke_json_put_real(j, "top5_deviation", r->top5_deviation);
        coke_json_put_real(j, "loss_deviation", r->loss_deviation);
    }
    coke_json_end(j);
}

static int emit_table(struct coke_json *j, const struct coke_eval_table *t)
{
    coke_json_put_int(j, "seed", t->seed);
    coke_json_put_int(j, "trials", t->trials);
    coke_json_put_int(j, "train_images", t->train);
    coke_json_put_int(j, "test_images", t->test);
    coke_json_put_int(j, "bad", t->bad);
    coke_json_put_int(j, "classes", t->classes);
    coke_json_put_int(j, "epochs", t->epochs);
    coke_json_put_int(j, "batch", t->batch);
    coke_json_begin_array(j, "rows");
    for (int r = 0; r < t->n; r++)
        emit_row(j, &t->row[r], t->trials);
    coke_json_end(j);
    coke_json_put_int(j, "best", t->best);
    coke_json_put_real(j, "top1", t->best < 0 ? (double)NAN : t->row[t->best].top1);
    return emit_close(j);
}

/* One of the protocols, with its own options o, from the operands to the table. */
static int judge(const struct exam_options *c, int n, const char *const *operands,
                 int (*eval)(const struct coke_eval_input *in, const void *o,
                             struct coke_eval_table *out),
                 const void *o, const char *protocol)
{
    struct exam x = {0};
    struct coke_eval_table table;
    int rc = exam_open(&x, c, n, operands);
    if (!rc)
        rc = need_test(&x);
    if (rc)
        goto done;
    rc = eval(&x.in, o, &table);
    progress_end(&x.bar);
    if (rc) {
        rc = trained_fail(rc);
    } else if (c->t.json) {
        struct coke_json *j = coke_json_open(stdout, COKE_JSON_PRETTY);
        exam_begin_json(j, &x, c, protocol);
        rc = emit_table(j, &table);
    } else {
        print_table(&x, c, &table, protocol);
    }
done:
    exam_close(&x);
    return rc;
}

/* ---- linear ---- */

struct linear_options {
    struct exam_options c;
    struct coke_linear_options o;
};

static const struct arg linear_args[] = {
    ARG_TEST(struct linear_options),
    ARGS_EXAM(struct linear_options),
};

static int eval_linear(const struct coke_eval_input *in, const void *o,
                       struct coke_eval_table *out)
{
    return coke_eval_linear(in, o, out);
}

static int run_linear(const void *options, int n, const char *const *operands)
{
    const struct linear_options *o = options;
    char protocol[96];
    snprintf(protocol, sizeof protocol, "linear, %s, %s",
             o->o.protocol == COKE_LINEAR_PAPER ? "paper (cosine)"
                                                : "ablation (a tenth at 60 and 80 %)",
             o->o.augment ? "crops and flips" : "features computed once");
    return judge(&o->c, n, operands, eval_linear, &o->o, protocol);
}

const struct command cmd_eval_linear = {
    .name = "eval linear",
    .usage = "RUN DATA [--test DATA2] [options]",
    .summary = "judge an encoder by a linear classifier on its features",
    .about =
        "The backbone stays as it is; a linear layer learns the classes of the train "
        "images by SGD with momentum .9 and is tested on the others. " SPLITS RUN_IS DATA_IS,
    .examples = "coke eval linear run data/cifar10\tfeatures computed once: minutes\n"
                "coke eval linear run data/cifar10 --augment\tthe published protocol\n"
                "coke eval linear run data/cifar10 --sweep --trials 3\teight learning rates",
    .group = {{coke_linear_option_table, offsetof(struct linear_options, o)},
              {coke_use_option_table, offsetof(struct linear_options, c.t.use)},
              {exam_data_table, offsetof(struct linear_options, c.d)}},
    .arg = linear_args,
    .nargs = ARG_COUNT(linear_args),
    .size = sizeof(struct linear_options),
    .run = run_linear,
};

/* ---- finetune ---- */

struct finetune_options {
    struct exam_options c;
    struct coke_finetune_options o;
};

static const struct arg finetune_args[] = {
    ARG_TEST(struct finetune_options),
    ARGS_EXAM(struct finetune_options),
};

static int eval_finetune(const struct coke_eval_input *in, const void *o,
                         struct coke_eval_table *out)
{
    return coke_eval_finetune(in, o, out);
}

static int run_finetune(const void *options, int n, const char *const *operands)
{
    const struct finetune_options *o = options;
    return judge(&o->c, n, operands, eval_finetune, &o->o,
                 "finetune, whole network, last layer 10 x rate, cosine");
}

const struct command cmd_eval_finetune = {
    .name = "eval finetune",
    .usage = "RUN DATA [--test DATA2] [options]",
    .summary = "judge an encoder by training all of it as a classifier",
    .about = "Begins with the encoder's weights and a new last layer, which learns 10 times as "
             "fast; SGD with momentum .9, crops and flips, a rate that follows half a cosine. "
             "Every rate of the grid is tried with every weight decay: 12 trainings. The run "
             "itself is not changed. " SPLITS RUN_IS DATA_IS,
    .examples = "coke eval finetune run data/cifar10\tthe whole grid\n"
                "coke eval finetune run data/cifar10 --rate 0.01 --weight-decay 0\tone of it",
    .group = {{coke_finetune_option_table, offsetof(struct finetune_options, o)},
              {coke_use_option_table, offsetof(struct finetune_options, c.t.use)},
              {exam_data_table, offsetof(struct finetune_options, c.d)}},
    .arg = finetune_args,
    .nargs = ARG_COUNT(finetune_args),
    .size = sizeof(struct finetune_options),
    .run = run_finetune,
};
