/* journal.h - the records of a training: metrics.jsonl, which is the same bytes in every run of
 * the same options, and timing.jsonl with everything that depends on the clock.
 *
 * Only the writer of a group calls it. One JSON object per line. */
#ifndef CK_JOURNAL_H
#define CK_JOURNAL_H

#include "io/record.h"
#include "train/session.h"

struct ck_journal {
    int metrics, timing; /* descriptors, -1 = not open */
    char *metrics_path, *timing_path;
    int64_t metrics_bytes;
};

/* Opens or creates the files of a run folder. metrics.jsonl continues after metrics_bytes, the
 * length that the checkpoint recorded: a longer file is truncated, a shorter one is an error.
 * timing.jsonl is appended to, after its last whole line. Symbolic links are refused. Call
 * ck_journal_close in any case. */
int ck_journal_open(struct ck_journal *j, const char *run, int64_t metrics_bytes);
void ck_journal_close(struct ck_journal *j);
/* Returns once metrics.jsonl is on disk. */
int ck_journal_sync(struct ck_journal *j);

/* Append a line: of a step to the metrics, of an epoch to both files. */
int ck_journal_step(struct ck_journal *j, const struct ck_step *s);
struct ck_epoch_report;
int ck_journal_epoch(struct ck_journal *j, const struct ck_epoch_report *r);

/* Warnings of an epoch (train/health.h). */
enum { CK_WARNINGS = 8, CK_WARNING_TEXT = 480 };
struct ck_warning {
    const char *kind; /* a constant */
    char text[CK_WARNING_TEXT];
};
struct ck_warnings {
    int n;
    struct ck_warning item[CK_WARNINGS];
};

/* The results of an epoch. */
struct ck_epoch_report {
    int64_t epoch, images;
    double loss, rate, alpha;
    double feature_mean; /* length of the mean projection: 1 = the same for all images */
    int heads;
    struct ck_head_health health[COKE_MAX_HEADS];
    int monitored; /* the members up to ari are known */
    double knn20, knn200;
    double pixels; /* k-NN of the images themselves; known in epoch 0 */
    int64_t asked; /* images that were asked for k-NN */
    int matched;   /* head of the next three, -1 = none has as many clusters as classes */
    double accuracy, nmi, ari;
    struct ck_warnings warnings;
    double seconds, waited, saving; /* wall time: only for timing.jsonl */
    double cpu; /* CPU time of the first process, as that */
    int processes;
    struct ck_group_stats talk; /* communication of the first process */
    int64_t timed; /* images run in `seconds`: after a resume not all of the epoch */
};

/* Fills *r with what a line of an epoch in metrics.jsonl holds; the rest is 0. */
void ck_journal_parse(struct ck_record line, struct ck_epoch_report *r);

#endif
