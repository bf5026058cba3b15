/* cmd_eval_learn.c - coke eval linear, finetune: classifiers trained on top of an encoder.
 *
 * The two commands differ in one library function, the options and the name of the protocol;
 * everything from operands to table is common. */
#include "exam.h"
#include "talk.h"

#include <math.h>

/* A classifier must be tested on images that it has not seen. */
static int need_test(const struct exam *x)
{
    if (x->in.test)
        return COKE_OK;
    return talk_fail(COKE_EUSAGE, "%s has no test split: use --test DATA2", x->source);
}

/* Prints a fraction in percent, with the deviation if there are several trials; "-" if it is
 * not known. */
static void print_percent(const char *name, double mean, double deviation, int64_t trials)
{
    if (!isfinite(mean))
        printf("  %s     -", name);
    else if (trials > 1)
        printf("  %s %6.2f +- %.2f", name, 100 * mean, 100 * deviation);
    else
        printf("  %s %6.2f", name, 100 * mean);
}

/* Top-5 is meaningless with five classes or fewer. */
static void print_row(const struct coke_classifier_result *t, const struct coke_eval_row *row,
                      int best)
{
    printf("rate %-7.4g decay %-6.3g", row->rate, row->weight_decay);
    print_percent("top-1", row->top1, row->top1_deviation, t->trials);
    if (t->classes > 5)
        print_percent("top-5", row->top5, row->top5_deviation, t->trials);
    printf("  loss %.4f%s\n", row->loss, t->n > 1 && best ? "  <- best" : "");
}

/* The best row is selected on the test images, which is optimistic: the note says so. */
static void print_table(const struct exam *x, const struct coke_classifier_result *t,
                        const char *protocol)
{
    const char *test = args_text(x->a, "test");
    exam_print_about(x);
    printf(": %lld train images, %lld test images of %s; %d classes\n", (long long)t->train,
           (long long)t->test, test ? test : "its test split", t->classes);
    printf("%-10s%s; %lld epochs, batch %lld, seed %lld", "protocol", protocol,
           (long long)t->epochs, (long long)t->batch, (long long)t->seed);
    if (t->trials > 1)
        printf(", %lld trials", (long long)t->trials);
    putchar('\n');
    exam_print_bad(t->bad);
    for (int r = 0; r < t->n; r++)
        print_row(t, &t->row[r], r == t->best);
    if (t->views > 1)
        printf("means of %lld views\n", (long long)t->views);
    for (int r = 0; r < t->n && t->views > 1; r++)
        print_row(t, &t->views_row[r], r == t->views_best);
    if (t->n > 1)
        puts("note: the best row is selected on the test images");
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

static void emit_rows(struct coke_json *j, const char *key,
                      const struct coke_classifier_result *t, const struct coke_eval_row *row)
{
    coke_json_begin_array(j, key);
    for (int r = 0; r < t->n; r++)
        emit_row(j, &row[r], t->trials);
    coke_json_end(j);
}

/* Continues the object that exam_begin_json opened, and closes the document. */
static int emit_table(struct coke_json *j, const struct coke_classifier_result *t)
{
    coke_json_put_int(j, "seed", t->seed);
    coke_json_put_int(j, "trials", t->trials);
    coke_json_put_int(j, "train_images", t->train);
    coke_json_put_int(j, "test_images", t->test);
    coke_json_put_int(j, "bad", t->bad);
    coke_json_put_int(j, "classes", t->classes);
    coke_json_put_int(j, "epochs", t->epochs);
    coke_json_put_int(j, "batch", t->batch);
    emit_rows(j, "rows", t, t->row);
    coke_json_put_int(j, "best", t->best);
    coke_json_put_real(j, "top1", t->best < 0 ? (double)NAN : t->row[t->best].top1);
    if (t->views > 1) {
        coke_json_put_int(j, "views", t->views);
        emit_rows(j, "views_rows", t, t->views_row);
        coke_json_put_real(j, "views_top1",
                           t->views_best < 0 ? (double)NAN : t->views_row[t->views_best].top1);
    }
    return emit_close(j);
}

/* The function of the library, with the options that the command has for it. */
typedef int eval_function(const struct coke_eval_input *in, const struct args *a,
                          struct coke_classifier_result *out);

/* Evaluates by one protocol, from the operands to the table. protocol: its name, for the
 * output. */
static int judge(struct args *a, int n, const char *const *operands, eval_function *eval,
                 const char *protocol)
{
    struct exam x = {0};
    struct coke_classifier_result table = COKE_INIT(struct coke_classifier_result);
    int rc = exam_open(&x, a, n, operands);
    if (!rc)
        rc = need_test(&x);
    if (rc)
        goto done;
    rc = eval(&x.in, a, &table);
    progress_end(&x.bar);
    if (rc) {
        rc = trained_fail(rc);
    } else if (args_flag(a, "json")) {
        struct coke_json *j = coke_json_open(stdout, COKE_JSON_STYLE_PRETTY);
        exam_begin_json(j, &x, args_text(a, "test"), protocol);
        rc = emit_table(j, &table);
    } else {
        print_table(&x, &table, protocol);
    }
done:
    exam_close(&x);
    return rc;
}

static const struct arg args[] = {
    ARG_TEST,
    ARGS_TRAINED,
};

/* ---- linear ---- */

static int eval_linear(const struct coke_eval_input *in, const struct args *a,
                       struct coke_classifier_result *out)
{
    return coke_eval_linear(in, args_options(a, "linear"), out);
}

/* The name of the protocol depends on two options. */
static int run_linear(struct args *a, int n, const char *const *operands)
{
    char protocol[96];
    snprintf(protocol, sizeof protocol, "linear, %s, %s",
             args_number(a, "protocol") ? "ablation (a tenth at 60 and 80 %)"
                                        : "paper (cosine)",
             args_flag(a, "augment") ? "crops and flips" : "features computed once");
    return judge(a, n, operands, eval_linear, protocol);
}

const struct command cmd_eval_linear = {
    .name = "eval linear",
    .usage = "RUN DATA [--test DATA2] [options]",
    .summary = "evaluate an encoder by a linear classifier on its features",
    .about =
        "The backbone is frozen; a linear layer is trained on the classes of the train "
        "images by SGD with momentum 0.9 and tested on the test images. " SPLITS RUN_IS DATA_IS,
    .examples = "coke eval linear run data/cifar10\tfeatures computed once: minutes\n"
                "coke eval linear run data/cifar10 --augment\tthe published protocol\n"
                "coke eval linear run data/cifar10 --sweep --trials 3\teight learning rates",
    .kind = {"linear", "use", "dataset"},
    .hidden = EXAM_HIDDEN,
    .arg = args,
    .nargs = ARG_COUNT(args),
    .run = run_linear,
};

/* ---- finetune ---- */

static int eval_finetune(const struct coke_eval_input *in, const struct args *a,
                         struct coke_classifier_result *out)
{
    return coke_eval_finetune(in, args_options(a, "finetune"), out);
}

static int run_finetune(struct args *a, int n, const char *const *operands)
{
    return judge(a, n, operands, eval_finetune,
                 "finetune, whole network, last layer 10 x rate, cosine");
}

const struct command cmd_eval_finetune = {
    .name = "eval finetune",
    .usage = "RUN DATA [--test DATA2] [options]",
    .summary = "evaluate an encoder by fine-tuning it as a classifier",
    .about =
        "Starts from the encoder's weights and a new last layer with 10 times the learning "
        "rate; SGD with momentum 0.9, crops and flips, cosine schedule. Every rate of the "
        "grid is tried with every weight decay: 12 trainings. The run itself is not "
        "changed. " SPLITS RUN_IS DATA_IS,
    .examples =
        "coke eval finetune run data/cifar10\tthe whole grid\n"
        "coke eval finetune run data/cifar10 --rate 0.01 --weight-decay 0\tone point of it",
    .kind = {"finetune", "use", "dataset"},
    .hidden = EXAM_HIDDEN,
    .arg = args,
    .nargs = ARG_COUNT(args),
    .run = run_finetune,
};
