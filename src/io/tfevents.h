/* tfevents.h - writes event files for TensorBoard: scalars, histograms, images.
 *
 * An event file grows by whole records; CoKe reads one only to trim it. A run that resumes from
 * a checkpoint first removes everything written after the checkpoint, so that no step appears
 * twice, then opens a new file beside the old ones:
 *
 *     CK_TRY(ck_tfevents_trim(dir, step));
 *     CK_TRY(ck_tfevents_open(&t, dir, now));
 *
 * Steps should not decrease within a run: TensorBoard takes that for a restart. One thread at a
 * time per file; the training thread is the only caller. */
#ifndef CK_TFEVENTS_H
#define CK_TFEVENTS_H

#include <stddef.h>
#include <stdint.h>

/* Zeroed = closed: adding, flushing and closing then do nothing. */
struct ck_tfevents {
    char *path; /* NULL = closed */
    int fd;
    int64_t written; /* bytes in the file, all in complete records */
    unsigned char *buffer;
    size_t used;
    int64_t room;
};

/* Creates DIR/events.out.tfevents.SECONDS.HOST.PID.0, whose name sorts after all event files
 * already in dir, because TensorBoard reads them in that order. Wall times are seconds since
 * 1970. */
int ck_tfevents_open(struct ck_tfevents *t, const char *dir, double wall_time);

/* Records are buffered until they reach 64 KB or ck_tfevents_flush is called. If writing fails,
 * the file is truncated to complete records and the buffer is kept for the next attempt. */
int ck_tfevents_scalar(struct ck_tfevents *t, double wall_time, int64_t step, const char *tag,
                       double value);
/* Histogram of x [n] in 30 buckets of equal width. Skips values that are not finite; without
 * any finite value it records nothing. */
int ck_tfevents_histogram(struct ck_tfevents *t, double wall_time, int64_t step,
                          const char *tag, const double *x, int64_t n);

struct ck_tfevents_image {
    int width, height;
    int channels; /* 1 grey, 2 grey + alpha, 3 RGB, 4 RGBA */
    const unsigned char *png;
    size_t size; /* bytes of png */
};
int ck_tfevents_image(struct ck_tfevents *t, double wall_time, int64_t step, const char *tag,
                      const struct ck_tfevents_image *image);

int ck_tfevents_flush(struct ck_tfevents *t);
/* Flushes and closes; closes also when flushing fails. */
int ck_tfevents_close(struct ck_tfevents *t);

/* Removes from the event files in dir that is_mine accepts (NULL = all) the records with a step
 * greater than `step`, and everything after a damaged or incomplete record. A file is rewritten
 * under a temporary name and renamed, and only if something changes; a file left without any
 * value is deleted, a file that does not begin like an event file is left alone. None of them may
 * be open for writing. Can be repeated after a failure. */
int ck_tfevents_trim(const char *dir, int64_t step, int (*is_mine)(void *arg, const char *name),
                     void *arg);

#endif
