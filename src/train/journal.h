/* journal.h - what a training leaves to read: metrics.jsonl, with nothing in it that depends on
 * the clock, and timing.jsonl with the rest. */
#ifndef CK_JOURNAL_H
#define CK_JOURNAL_H

#include "train/session.h"

struct ck_journal {
    int metrics, timing; /* descriptors, -1 = not open */
    char *metrics_path, *timing_path;
    int64_t metrics_bytes;
};

/* Opens the files of a run directory to be continued after metrics_bytes bytes; a longer file
 * is cut, a shorter one is an error. */
int ck_journal_open(struct ck_journal *j, const char *run, int64_t metrics_bytes);
void ck_journal_close(struct ck_journal *j);
/* All that was written is on the disk. */
int ck_journal_sync(struct ck_journal *j);

int ck_journal_step(struct ck_journal *j, const struct ck_step *s);
struct ck_epoch_report;
int ck_journal_epoch(struct ck_journal *j, const struct ck_epoch_report *r);

/* What an epoch came to. */
struct ck_epoch_report {
    int64_t epoch, images;
    double loss, rate, alpha;
    double feature_mean; /* length of the mean projection: 1 = all images look the same */
    int heads;
    struct ck_head_health health[COKE_MAX_HEADS];
    int monitored;
    double knn20, knn200;
    int matched; /* the head that the next are of, -1 = none has as many clusters as classes */
    double accuracy, nmi, ari;
    double seconds, waited, saving; /* of the clock: not for metrics.jsonl */
    int processes;
    struct ck_group_stats talk; /* of the first process */
    int64_t timed;              /* images in these seconds: after a resume not all */
};

#endif
