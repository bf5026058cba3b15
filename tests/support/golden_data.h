/* golden_data.h - recordings: a folder with manifest.json and .npy arrays. */
#ifndef CK_GOLDEN_DATA_H
#define CK_GOLDEN_DATA_H

#include <jansson.h>
#include <stdint.h>

enum { GOLDEN_ARRAYS = 64, GOLDEN_CASES = 128 };

struct golden_array {
    char name[64];
    int is_float;
    int ndim;
    int64_t shape[8], n;
    float *f; /* one of f and i is NULL */
    int32_t *i;
    double *d; /* float64 arrays: as recorded; f is rounded from it */
};

enum golden_kind {
    GOLDEN_OTHER,
    GOLDEN_TRACE,
    GOLDEN_TABLE,
    GOLDEN_LOSS,
    GOLDEN_OPTIM,
    GOLDEN_SCHED,
    GOLDEN_NET,
    GOLDEN_HEADS,
    GOLDEN_METRICS,
    GOLDEN_SECU,
    GOLDEN_SECU_LOSS,
    GOLDEN_SECU_SCHED,
    GOLDEN_METHOD,
    GOLDEN_CLASS
};

struct golden_case {
    char name[128];
    enum golden_kind kind;
    json_t *manifest;
    const json_t *hyper;
    int narrays;
    struct golden_array array[GOLDEN_ARRAYS];
};

/* $COKE_GOLDEN, or tests/golden of the sources. */
const char *golden_root(void);
/* Names of all recordings of a kind, sorted; free() each. Returns how many. */
int golden_list(enum golden_kind kind, char *name[GOLDEN_CASES]);

/* Reads manifest and arrays; NULL and a line on stderr if one is missing or is not as the
 * manifest says. */
struct golden_case *golden_load(const char *name);
void golden_free(struct golden_case *c);

/* NULL if there is no such array; the printf form is for the heads' suffixes. */
__attribute__((format(printf, 2, 3))) struct golden_array *
golden_array(const struct golden_case *c, const char *format, ...);

double golden_number(const struct golden_case *c, const char *key, double absent);
/* "" if absent. */
const char *golden_word(const struct golden_case *c, const char *key);
/* Element i of a list such as K, or the number itself. */
int64_t golden_item(const struct golden_case *c, const char *key, int i);
double golden_real(const struct golden_case *c, const char *key, int i, double absent);

/* ---- comparing: 0, or -1 with the first difference in words ---- */

struct golden_report {
    char text[512];
    int64_t compared; /* numbers */
    double apart;     /* the most that one was, of those compared with a tolerance */
};

int golden_same_ints(struct golden_report *r, const char *what, const int32_t *got,
                     const int32_t *want, int64_t n);
int golden_close(struct golden_report *r, const char *what, const float *got, const float *want,
                 int64_t n, double tolerance);
int golden_close_f64(struct golden_report *r, const char *what, const double *got,
                     const double *want, int64_t n, double tolerance);
/* Got in f32, recorded in either. */
int golden_close_to(struct golden_report *r, const char *what, const float *got,
                    const struct golden_array *want, double tolerance);
/* Sets the words; returns -1. */
__attribute__((format(printf, 2, 3))) int golden_refuse(struct golden_report *r,
                                                        const char *format, ...);

/* ---- the checks ---- */

/* The whole recording, step by step. interrupt >= 0: after that many steps everything is
 * saved, freed, loaded and continued. `folder` is for files. The final state is left in
 * folder/head-H.safetensors. */
int golden_check_trace(const struct golden_case *c, int64_t interrupt, const char *folder,
                       struct golden_report *r);
int64_t golden_trace_steps(const struct golden_case *c);
int golden_check_table(const struct golden_case *c, struct golden_report *r);
/* Value and gradients, from raw vectors on. */
int golden_check_loss(const struct golden_case *c, struct golden_report *r);
/* Parameters and momentum after every step. */
int golden_check_optim(const struct golden_case *c, struct golden_report *r);
int golden_check_sched(const struct golden_case *c, struct golden_report *r);
/* A ResNet: evaluation and training passes, their gradients, statistics, activations. */
int golden_check_net(const struct golden_case *c, struct golden_report *r);
/* Its gradients once more, to 1e-5: ReLUs decide alike in what is compared. */
int golden_check_gradients(const struct golden_case *c, struct golden_report *r);
/* Outputs and gradients in bf16, within wider bounds. */
int golden_check_bf16(const struct golden_case *c, struct golden_report *r);
/* Projection and prediction MLPs: a whole step with loss and LARS. */
int golden_check_heads(const struct golden_case *c, struct golden_report *r);
/* SeCu: a trace, step by step, and interrupted as above; its losses; its rates. */
int golden_check_secu(const struct golden_case *c, int64_t interrupt, const char *folder,
                      struct golden_report *r);
int golden_check_secu_loss(const struct golden_case *c, struct golden_report *r);
int golden_check_secu_sched(const struct golden_case *c, struct golden_report *r);
/* Losses of other methods, all sub-cases, in double. */
int golden_check_method(const struct golden_case *c, struct golden_report *r);
/* SCAN, IIC and DeepCluster-v2. */
int golden_check_class(const struct golden_case *c, struct golden_report *r);
/* Accuracy, NMI and ARI of partitions. */
int golden_check_metrics(const struct golden_case *c, struct golden_report *r);

#endif
