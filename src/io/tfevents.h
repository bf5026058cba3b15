/* tfevents.h - event files that TensorBoard reads: scalars, histograms, images.
 *
 * An event file grows by whole records and is never read by CoKe but to trim it. So that no
 * step shows twice, a run that continues from a checkpoint first cuts what was written after
 * it, then opens a new file beside the old ones:
 *
 *     CK_TRY(ck_tfevents_trim(dir, step));
 *     CK_TRY(ck_tfevents_open(&t, dir, now));
 *
 * Steps should not go down within a run: TensorBoard takes that for a restart. */
#ifndef CK_TFEVENTS_H
#define CK_TFEVENTS_H

#include <stddef.h>
#include <stdint.h>

/* Zeroed = closed; then adding, flushing and closing do nothing. */
struct ck_tfevents {
    char *path; /* NULL = closed */
    int fd;
    int64_t written; /* bytes in the file: whole records */
    unsigned char *buffer;
    size_t used;
    int64_t room;
};

/* A new file in dir, DIR/events.out.tfevents.SECONDS.HOST.PID.0, whose name sorts behind those
 * of all event files that are there: TensorBoard reads them in that order. Wall times are
 * seconds since 1970. */
int ck_tfevents_open(struct ck_tfevents *t, const char *dir, double wall_time);

/* Records wait in memory until 64 KB have come together, or for ck_tfevents_flush. When writing
 * fails, the file is cut back to whole records, and what was to be written waits on. */
int ck_tfevents_scalar(struct ck_tfevents *t, double wall_time, int64_t step, const char *tag,
                       double value);
/* Of x [n], in 30 buckets of equal width; values that are not finite are left out, and without
 * any finite one nothing is recorded. */
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
/* Flushes and closes; closed also when it fails. */
int ck_tfevents_close(struct ck_tfevents *t);

/* Removes from all event files in dir the records with a step beyond the given one, and what
 * follows a damaged or half-written record. Each file is rewritten aside and renamed, and only
 * if something changes; one that would be left without any value is deleted, one that does not
 * even begin like an event file is left alone. None of them may be open for writing. May be
 * repeated after a failure. */
int ck_tfevents_trim(const char *dir, int64_t step);

#endif
