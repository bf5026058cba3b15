/* tfevents.c - writes event files for TensorBoard.
 *
 * A file is a sequence of records: u64 length, its masked CRC, the data, their masked CRC. The
 * data are TensorFlow's Event messages (protocol buffers); the numbers below are its field
 * numbers. */
#include "io/tfevents.h"
#include "core/error.h"
#include "core/mem.h"
#include "core/vec.h"
#include "io/crc32c.h"
#include "io/file.h"
#include "io/protobuf.h"
#include "io/tfevents_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { FLUSH_AT = 64 << 10, BUCKETS = 30, HEAD = 12, TAIL = 4 };

struct histogram {
    double min, max, num, sum, squares;
    int buckets;
    double limit[BUCKETS], count[BUCKETS]; /* limit is the right edge */
};

/* Contents of a record: one of version, scalar, histogram and image. Borrows everything; lives
 * for one call. */
struct event {
    double wall_time;
    int64_t step;
    const char *version, *tag;
    const float *scalar;
    const struct histogram *histogram;
    const struct ck_tfevents_image *image;
};

/* ---- messages ---- */

static void fill_histogram(struct ck_proto *s, const void *event)
{
    const struct histogram *h = ((const struct event *)event)->histogram;
    ck_proto_double(s, 1, h->min);
    ck_proto_double(s, 2, h->max);
    ck_proto_double(s, 3, h->num);
    ck_proto_double(s, 4, h->sum);
    ck_proto_double(s, 5, h->squares);
    ck_proto_bytes(s, 6, h->limit, (size_t)h->buckets * sizeof *h->limit);
    ck_proto_bytes(s, 7, h->count, (size_t)h->buckets * sizeof *h->count);
}

static void fill_image(struct ck_proto *s, const void *event)
{
    const struct event *e = event;
    ck_proto_int(s, 1, e->image->height);
    ck_proto_int(s, 2, e->image->width);
    ck_proto_int(s, 3, e->image->channels); /* the color space numbers are the channel counts */
    ck_proto_bytes(s, 4, e->image->png, e->image->size);
}

static void fill_value(struct ck_proto *s, const void *event)
{
    const struct event *e = event;
    ck_proto_text(s, 1, e->tag);
    if (e->scalar)
        ck_proto_float(s, 2, *e->scalar);
    if (e->image)
        ck_proto_message(s, 4, fill_image, e);
    if (e->histogram)
        ck_proto_message(s, 5, fill_histogram, e);
}

static void fill_summary(struct ck_proto *s, const void *event)
{
    ck_proto_message(s, 1, fill_value, event);
}

static void fill_event(struct ck_proto *s, const void *event)
{
    const struct event *e = event;
    ck_proto_double(s, 1, e->wall_time);
    if (e->step)
        ck_proto_int(s, 2, e->step);
    if (e->version)
        ck_proto_text(s, 3, e->version);
    else
        ck_proto_message(s, 5, fill_summary, e);
}

/* ---- records ---- */

static int append(struct ck_tfevents *t, const struct event *e)
{
    struct ck_proto counted = {0};
    fill_event(&counted, e);
    uint64_t length = counted.n;
    CK_RETURN_IF(CK_VEC_RESERVE(t->buffer, t->room, t->used + HEAD + counted.n + TAIL));
    unsigned char *p = t->buffer + t->used;
    struct ck_proto s = {.at = p + HEAD};
    uint32_t crc = ck_crc32c_masked(&length, sizeof length);
    memcpy(p, &length, sizeof length);
    memcpy(p + sizeof length, &crc, sizeof crc);
    fill_event(&s, e);
    crc = ck_crc32c_masked(p + HEAD, s.n);
    memcpy(p + HEAD + s.n, &crc, sizeof crc);
    t->used += HEAD + s.n + TAIL;
    return COKE_OK;
}

static int add(struct ck_tfevents *t, const struct event *e)
{
    if (!t->path)
        return COKE_OK;
    int rc = append(t, e);
    return rc || t->used < FLUSH_AT ? rc : ck_tfevents_flush(t);
}

int ck_tfevents_scalar(struct ck_tfevents *t, double wall_time, int64_t step, const char *tag,
                       double value)
{
    float x = (float)value;
    return add(t,
               &(struct event){.wall_time = wall_time, .step = step, .tag = tag, .scalar = &x});
}

int ck_tfevents_image(struct ck_tfevents *t, double wall_time, int64_t step, const char *tag,
                      const struct ck_tfevents_image *image)
{
    return add(
        t, &(struct event){.wall_time = wall_time, .step = step, .tag = tag, .image = image});
}

/* ---- histograms ---- */

static void measure(struct histogram *h, const double *x, int64_t n)
{
    *h = (struct histogram){.min = INFINITY, .max = -INFINITY};
    for (int64_t i = 0; i < n; i++) {
        if (!isfinite(x[i]))
            continue;
        h->min = x[i] < h->min ? x[i] : h->min;
        h->max = x[i] > h->max ? x[i] : h->max;
        h->num++;
        h->sum += x[i];
        h->squares += x[i] * x[i];
    }
}

/* Computes with halves, because the range of doubles may overflow a double. */
static void fill_buckets(struct histogram *h, const double *x, int64_t n)
{
    double half = h->max / 2 - h->min / 2;
    h->buckets = half > 0 ? BUCKETS : 1;
    for (int b = 0; b < h->buckets; b++) {
        double part = (double)(b + 1) / h->buckets;
        h->limit[b] = h->min * (1 - part) + h->max * part;
    }
    for (int64_t i = 0; i < n; i++) {
        if (!isfinite(x[i]))
            continue;
        int b = half > 0 ? (int)((x[i] / 2 - h->min / 2) / half * BUCKETS) : 0;
        h->count[b < h->buckets ? b : h->buckets - 1]++;
    }
}

int ck_tfevents_histogram(struct ck_tfevents *t, double wall_time, int64_t step,
                          const char *tag, const double *x, int64_t n)
{
    struct histogram h;
    measure(&h, x, n);
    if (h.num == 0)
        return COKE_OK;
    fill_buckets(&h, x, n);
    return add(
        t, &(struct event){.wall_time = wall_time, .step = step, .tag = tag, .histogram = &h});
}

/* ---- the file ---- */

static int fail_errno(const char *path)
{
    return ck_fail(COKE_EIO, "%s: %s", path, strerror(errno));
}

static int find_latest(const char *dir, const char *name, void *arg)
{
    long long *latest = arg, at;
    (void)dir;
    if (sscanf(name, CK_TFEVENTS_PREFIX "%10lld.", &at) == 1 && at > *latest)
        *latest = at;
    return COKE_OK;
}

/* Makes a path that sorts after all event files in dir. */
static int make_path(struct ck_tfevents *t, const char *dir, double wall_time)
{
    char host[64] = "localhost";
    long long latest = -1, now = (long long)wall_time;
    int rc = ck_tfevents_each(dir, find_latest, &latest);
    if (rc)
        return rc;
    if (gethostname(host, sizeof host) == 0)
        host[sizeof host - 1] = '\0';
    for (char *p = host; *p; p++)
        if (*p == '/')
            *p = '_';
    size_t room = strlen(dir) + 200;
    t->path = ck_alloc_array(room, 1);
    if (!t->path)
        return COKE_ENOMEM;
    snprintf(t->path, room, "%s/" CK_TFEVENTS_PREFIX "%010lld.%s.%ld.0", dir,
             now > latest ? now : latest + 1, host, (long)getpid());
    return COKE_OK;
}

static void release(struct ck_tfevents *t)
{
    if (t->fd >= 0)
        close(t->fd);
    ck_free(t->path);
    ck_free(t->buffer);
    *t = (struct ck_tfevents){0};
}

int ck_tfevents_open(struct ck_tfevents *t, const char *dir, double wall_time)
{
    int rc = COKE_OK;
    *t = (struct ck_tfevents){.fd = -1};
    CK_TRY(make_path(t, dir, wall_time));
    CK_TRY(append(t, &(struct event){.wall_time = wall_time, .version = "brain.Event:2"}));
    t->fd = open(t->path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666);
    if (t->fd < 0)
        CK_FAIL(COKE_EIO, "%s: %s", t->path, strerror(errno));
    CK_TRY(ck_tfevents_flush(t));
done:
    if (rc) {
        if (t->fd >= 0)
            unlink(t->path);
        release(t);
    }
    return rc;
}

int ck_tfevents_flush(struct ck_tfevents *t)
{
    if (!t->path || !t->used)
        return COKE_OK;
    int rc = ck_fd_write(t->fd, t->path, t->buffer, t->used);
    if (rc) {
        /* An incomplete record would hide everything after it. If truncating fails as well, a
         * later trim removes it. */
        int cut = ftruncate(t->fd, (off_t)t->written);
        (void)cut;
        return rc;
    }
    t->written += (int64_t)t->used;
    t->used = 0;
    return COKE_OK;
}

int ck_tfevents_close(struct ck_tfevents *t)
{
    if (!t->path)
        return COKE_OK;
    int rc = ck_tfevents_flush(t), fd = t->fd;
    t->fd = -1;
    if (close(fd) && !rc)
        rc = fail_errno(t->path);
    release(t);
    return rc;
}
