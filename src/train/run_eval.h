/* run_eval.h - judges the encoder and the clusters of a run. */
#ifndef CK_RUN_EVAL_H
#define CK_RUN_EVAL_H

#include "eval/eval_options.h"
#include "train/run_use.h"

int ck_run_eval_knn(const struct coke_eval_input *in, const struct ck_knn_options *options,
                    struct coke_knn_result *out);
int ck_run_eval_linear(const struct coke_eval_input *in,
                       const struct ck_linear_options *options,
                       struct coke_classifier_result *out);
int ck_run_eval_finetune(const struct coke_eval_input *in,
                         const struct ck_finetune_options *options,
                         struct coke_classifier_result *out);
int ck_run_eval_cluster(const struct coke_eval_input *in, struct coke_clusters_result *out);

#endif
