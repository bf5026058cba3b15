/* journal.c - what a training leaves to read: metrics.jsonl and timing.jsonl. */
#include "train/journal.h"
#include "core/error.h"
#include "core/mem.h"
#include "io/file.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- a line of JSON ----
 * Keys are ours and values are numbers, so nothing has to be escaped. */

enum { LINE = 64 << 10 };

struct ck_line {
    size_t n;
    char text[LINE];
};

__attribute__((format(printf, 2, 3))) static void put(struct ck_line *l, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(l->text + l->n, LINE - l->n, fmt, args);
    va_end(args);
    l->n += n > 0 && (size_t)n < LINE - l->n ? (size_t)n : 0;
}

static void put_real(struct ck_line *l, const char *key, double v)
{
    if (isfinite(v))
        put(l, "\"%s\": %.9g, ", key, v);
    else
        put(l, "\"%s\": null, ", key);
}

static void put_int(struct ck_line *l, const char *key, int64_t v)
{
    put(l, "\"%s\": %lld, ", key, (long long)v);
}

static void put_end(struct ck_line *l, const char *end)
{
    if (l->n > 2 && l->text[l->n - 2] == ',')
        l->n -= 2;
    put(l, "%s", end);
}

/* ---- files ---- */

static char *join_path(const char *run, const char *name)
{
    size_t n = strlen(run) + strlen(name) + 2;
    char *path = ck_alloc_array(n, 1);
    if (path)
        snprintf(path, n, "%s/%s", run, name);
    return path;
}

static int open_at(const char *path, int64_t bytes, int *fd)
{
    struct stat st;
    *fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    if (*fd < 0 || fstat(*fd, &st) != 0)
        return ck_fail(COKE_EIO, "%s: %s", path, strerror(errno));
    if (bytes < 0)
        bytes = st.st_size;
    if (st.st_size < bytes)
        return ck_fail(COKE_EFORMAT, "%s has %lld bytes, the checkpoint knows of %lld", path,
                       (long long)st.st_size, (long long)bytes);
    if (ftruncate(*fd, bytes) != 0 || lseek(*fd, bytes, SEEK_SET) != bytes)
        return ck_fail(COKE_EIO, "%s: %s", path, strerror(errno));
    return COKE_OK;
}

int ck_journal_open(struct ck_journal *j, const char *run, int64_t metrics_bytes)
{
    *j = (struct ck_journal){.metrics = -1, .timing = -1, .metrics_bytes = metrics_bytes};
    j->metrics_path = join_path(run, "metrics.jsonl");
    j->timing_path = join_path(run, "timing.jsonl");
    if (!j->metrics_path || !j->timing_path)
        return COKE_ENOMEM;
    CK_RETURN_IF(open_at(j->metrics_path, metrics_bytes, &j->metrics));
    return open_at(j->timing_path, -1, &j->timing);
}

void ck_journal_close(struct ck_journal *j)
{
    if (j->metrics_path && j->metrics >= 0)
        close(j->metrics);
    if (j->timing_path && j->timing >= 0)
        close(j->timing);
    ck_free(j->metrics_path);
    ck_free(j->timing_path);
    memset(j, 0, sizeof *j);
}

int ck_journal_sync(struct ck_journal *j)
{
    if (fsync(j->metrics) != 0)
        return ck_fail(COKE_EIO, "%s: %s", j->metrics_path, strerror(errno));
    return COKE_OK;
}

static int add_metrics(struct ck_journal *j, const struct ck_line *l)
{
    int rc = ck_fd_write(j->metrics, j->metrics_path, l->text, l->n);
    if (!rc)
        j->metrics_bytes += (int64_t)l->n;
    return rc;
}

/* ---- lines ---- */

int ck_journal_step(struct ck_journal *j, const struct ck_step *s)
{
    struct ck_line l;
    l.n = 0;
    put(&l, "{");
    put_int(&l, "epoch", s->epoch);
    put_int(&l, "step", s->step);
    put_real(&l, "loss", s->loss);
    put_real(&l, "rate", s->rate);
    put_end(&l, "}\n");
    return add_metrics(j, &l);
}

static void put_head(struct ck_line *l, const struct ck_head_health *h)
{
    put(l, "{");
    put_int(l, "k", h->k);
    put_real(l, "loss", h->loss);
    put_real(l, "accuracy", h->accuracy);
    put_real(l, "objective", h->objective);
    put_int(l, "size_min", h->size_min);
    put_int(l, "size_median", h->size_median);
    put_int(l, "size_max", h->size_max);
    put_int(l, "bound", h->bound);
    put_int(l, "below", h->below);
    put_int(l, "violation", h->size_min < h->bound ? h->bound - h->size_min : 0);
    put_int(l, "empty", h->empty);
    put_int(l, "duplicates", h->duplicates);
    put_real(l, "changed", h->changed);
    put_real(l, "entropy", h->entropy);
    put_real(l, "dual_min", h->dual_min);
    put_real(l, "dual_max", h->dual_max);
    put_int(l, "kept", h->kept);
    put_end(l, "}, ");
}

/* Bytes that the first process sent, and how long it waited for others. */
static void put_talk(struct ck_line *l, const struct ck_epoch_report *r)
{
    put_int(l, "processes", r->processes);
    put_real(l, "communicated", r->talk.seconds);
    put_real(l, "gradients_hidden", r->talk.hidden);
    put_real(l, "gradients_waited", r->talk.waited);
    put_int(l, "sent_gradients", r->talk.reduced);
    put_int(l, "sent_statistics", r->talk.summed);
    put_int(l, "sent_features", r->talk.gathered);
}

static int add_timing(struct ck_journal *j, const struct ck_epoch_report *r)
{
    struct ck_line l;
    l.n = 0;
    put(&l, "{");
    put_int(&l, "epoch", r->epoch);
    put_real(&l, "seconds", r->seconds);
    put_real(&l, "waited", r->waited);
    put_real(&l, "saving", r->saving);
    if (r->processes > 1)
        put_talk(&l, r);
    put_real(&l, "images_per_second", (double)r->timed / fmax(r->seconds, 1e-9));
    put_end(&l, "}\n");
    return ck_fd_write(j->timing, j->timing_path, l.text, l.n);
}

int ck_journal_epoch(struct ck_journal *j, const struct ck_epoch_report *r)
{
    struct ck_line l;
    l.n = 0;
    put(&l, "{");
    put_int(&l, "epoch", r->epoch);
    put_int(&l, "images", r->images);
    put_real(&l, "loss", r->loss);
    put_real(&l, "rate", r->rate);
    put_real(&l, "alpha", r->alpha);
    put_real(&l, "feature_mean", r->feature_mean);
    if (r->monitored) {
        put_real(&l, "knn20", r->knn20);
        put_real(&l, "knn200", r->knn200);
    }
    if (r->monitored && r->matched >= 0) {
        put_int(&l, "matched_head", r->matched);
        put_real(&l, "acc", r->accuracy);
        put_real(&l, "nmi", r->nmi);
        put_real(&l, "ari", r->ari);
    }
    put(&l, "\"heads\": [");
    for (int h = 0; h < r->heads; h++)
        put_head(&l, &r->health[h]);
    put_end(&l, "]}\n");
    CK_RETURN_IF(add_metrics(j, &l));
    return add_timing(j, r);
}
