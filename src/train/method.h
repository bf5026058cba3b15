/* method.h - a method of training as a row of a table: what it takes from a step's outputs and
 * what it keeps. step.c and loop.c call the functions of the row and know no method by name;
 * docs/adding.md adds one.
 *
 * Functions marked "collective" are called by all ranks in the same order, also by those that
 * have no images in a part. A function that a method does not need is NULL. */
#ifndef CK_METHOD_H
#define CK_METHOD_H

#include "core/state.h"
#include "data/fetch.h"
#include "train/train_options.h"

struct ck_session;
struct ck_plans;

/* A part of this rank's images: with gradient accumulation the encoder runs on one part after
 * the other. */
struct ck_part {
    int64_t from, n;        /* images of the rank's batch; n may be 0 */
    struct ck_plans *plans; /* borrowed from the session; set once the encoder ran */
};

/* Sums over the images of a step: the loss, then loss and accuracy of each head. */
enum { CK_SUMS = 1 + 2 * COKE_MAX_HEADS };

struct ck_method {
    const char *name; /* --method NAME; the preset of this name has its settings */
    const char *about;
    /* ---- what it needs ---- */
    const char *const
        *options;       /* options that it reads and not all others do; ends with NULL */
    int clusters;       /* it has heads: option k is required */
    int views;          /* number of views, 0 = any */
    int predictor;      /* enum ck_predictor_use */
    int any_length;     /* its loss takes projections before they are brought to length 1 */
    int learns_at_once; /* epoch 0 is trained like the others, at rate 0 */
    int takes;          /* enum ck_takes: of the run of option from */
    int teacher;        /* it has a second encoder (teacher.h), which needs memory, too */
    /* How many of the first views only the teacher sees; NULL = none. */
    int (*skip)(const struct ck_train_options *o);
    int (*check)(const struct ck_train_options *o);
    /* The dimension of the projections and the number of clusters of the one head, where both are
     * the same and the method prescribes them. */
    int (*classes)(const struct ck_train_options *o, const struct coke_dataset *d,
                   int64_t *out);
    /* Why it needs the whole batch in one part; NULL = it does not, batches may be split. */
    const char *(*whole_batch)(const struct ck_train_options *o);
    /* ---- what it keeps ---- */
    int (*init)(struct ck_session *s); /* s->own; encoder, ranks and loader exist */
    void (*release)(struct ck_session *s);
    /* Adds its tensors, borrowed from s: checkpoints write them and read them back into the same
     * memory, and the ranks compare them. Counters are tensors, too. */
    int (*state)(const struct ck_session *s, struct ck_state *out);
    /* Brings what is derived from the state up to date, after it was read. */
    int (*loaded)(struct ck_session *s);
    /* Once, when a new training begins: the encoder has the weights of option init. Each rank
     * computes the same. */
    int (*begin_run)(struct ck_session *s, const struct coke_callbacks *messages);
    /* ---- what it does ---- */
    void (*begin_epoch)(struct ck_session *s, int64_t epoch);
    /* Epoch 0, unless it learns at once: the encoder has run on all parts, nothing is trained.
     * The outputs are those of the last part. Collective. */
    int (*scan)(struct ck_session *s, const struct coke_batch *b, int64_t parts, double *sums);
    /* Before the encoder runs on the first part. */
    int (*begin_step)(struct ck_session *s, const struct coke_batch *b);
    /* From the part's outputs (s->proj, s->pred; unit vectors unless any_length) to the loss,
     * which it adds to sums times the part's images, and s->grad_proj, s->grad_pred: gradients
     * of the loss of the batch of all ranks. Collective. */
    int (*loss)(struct ck_session *s, const struct coke_batch *b, struct ck_part part,
                double *sums);
    /* After the backward pass of the last part. Collective. */
    int (*end_step)(struct ck_session *s, const struct coke_batch *b);
    /* After the optimizer's step; the same on all ranks. */
    int (*after_step)(struct ck_session *s, const struct coke_batch *b);
    /* After an epoch: what the user should know, a sentence for a warning, or text stays "". */
    void (*advise)(const struct ck_session *s, int64_t epoch, char *text, size_t size);
    int (*end_epoch)(struct ck_session *s);
};

enum ck_takes { CK_TAKES_NOTHING, CK_TAKES_BACKBONE, CK_TAKES_CLUSTERS };
enum ck_predictor_use { CK_PREDICTOR_FREE, CK_PREDICTOR_NONE, CK_PREDICTOR_NEEDED };

/* The row of option "method". */
const struct ck_method *ck_method_row(const struct ck_train_options *o);
/* Their names as the choices of an option: "coke|secu|...". */
const char *ck_method_choices(void);
/* Is it one of the method's own options? */
int ck_method_reads(const struct ck_method *m, const char *name);
/* Refuses options that only other methods read, unless they have their defaults, and what the
 * method itself refuses. */
int ck_method_check(const struct ck_train_options *o);

/* Its state as tensors "method.NAME", borrowed from s, and back. */
int ck_method_save(const struct ck_session *s, struct ck_state *out);
int ck_method_load(struct ck_session *s, const struct ck_state *from);
int ck_method_owns(const char *tensor); /* is it one of these? */
int ck_method_hash(const struct ck_session *s, uint64_t *hash);

#endif
