/* api_eval.c - public functions that evaluate an encoder, on all threads of this process. The
 * files of the run are only read. */
#include "api/check_args.h"
#include "eval/clustering_scores.h"
#include "train/run_eval.h"

/* Copies the caller's input and its callbacks, which in->callbacks then refers to; COKE_EUSAGE
 * if the run is missing. Which data sets are needed depends on the evaluation. */
static int read_input(const char *function, const struct coke_eval_input *from,
                      struct coke_eval_input *in, struct coke_callbacks *cb)
{
    const void *arg[] = {from};
    CK_RETURN_IF(ck_args_check(function, "in", arg, 1));
    CK_RETURN_IF(ck_args_read(function, "in", in, sizeof *in, from));
    CK_RETURN_IF(ck_args_read(function, "callbacks", cb, sizeof *cb, in->callbacks));
    in->callbacks = cb;
    arg[0] = in->run;
    return ck_args_check(function, "in->run", arg, 1);
}

int coke_eval_knn(const struct coke_eval_input *in, const struct coke_options *options,
                  struct coke_knn_result *out)
{
    struct coke_eval_input all;
    struct coke_callbacks cb;
    struct coke_knn_result full;
    CK_RETURN_IF(read_input(__func__, in, &all, &cb));
    CK_ARGS(all.train, out);
    CK_RESULT(full, out);
    CK_OPTIONS(o, knn, options);
    CK_RETURN_RESULT(out, full, ck_run_eval_knn(&all, o, &full));
}

int coke_eval_cluster(const struct coke_eval_input *in, struct coke_clusters_result *out)
{
    struct coke_eval_input all;
    struct coke_callbacks cb;
    struct coke_clusters_result full;
    CK_RETURN_IF(read_input(__func__, in, &all, &cb));
    CK_ARGS(all.test, out);
    CK_RESULT(full, out);
    CK_RETURN_RESULT(out, full, ck_run_eval_cluster(&all, &full));
}

int coke_eval_linear(const struct coke_eval_input *in, const struct coke_options *options,
                     struct coke_classifier_result *out)
{
    struct coke_eval_input all;
    struct coke_callbacks cb;
    struct coke_classifier_result full;
    CK_RETURN_IF(read_input(__func__, in, &all, &cb));
    CK_ARGS(all.train, out);
    CK_RESULT(full, out);
    CK_OPTIONS(o, linear, options);
    CK_RETURN_RESULT(out, full, ck_run_eval_linear(&all, o, &full));
}

int coke_eval_finetune(const struct coke_eval_input *in, const struct coke_options *options,
                       struct coke_classifier_result *out)
{
    struct coke_eval_input all;
    struct coke_callbacks cb;
    struct coke_classifier_result full;
    CK_RETURN_IF(read_input(__func__, in, &all, &cb));
    CK_ARGS(all.train, out);
    CK_RESULT(full, out);
    CK_OPTIONS(o, finetune, options);
    CK_RETURN_RESULT(out, full, ck_run_eval_finetune(&all, o, &full));
}

/* The same for the input of a clustering of vectors. */
static int read_clustering(const char *function, const struct coke_clustering_input *in,
                           struct coke_clustering_input *all, struct coke_callbacks *cb)
{
    CK_RETURN_IF(ck_args_read(function, "in", all, sizeof *all, in));
    CK_RETURN_IF(ck_args_read(function, "in->callbacks", cb, sizeof *cb, all->callbacks));
    all->callbacks = cb;
    const void *need[] = {all->folder};
    CK_RETURN_IF(ck_args_check(function, "in->folder", need, 1));
    if (all->sample < 0)
        return ck_fail(COKE_EUSAGE, "%s: in->sample is %lld: 0 is the default, 1 the least",
                       function, (long long)all->sample);
    return ck_args_check_list(function, "in->vectors", all->vectors, all->nvectors);
}

int coke_eval_clustering(const struct coke_clustering_input *in,
                         struct coke_clustering_result *out)
{
    struct coke_clustering_input all;
    struct coke_callbacks cb;
    struct coke_clustering_result full;
    CK_ARGS(in, out);
    CK_RETURN_IF(read_clustering(__func__, in, &all, &cb));
    CK_OPTIONS(rows, rows, all.rows);
    CK_RESULT(full, out);
    CK_RETURN_RESULT(out, full, ck_clustering_scores(&all, rows, &full));
}
