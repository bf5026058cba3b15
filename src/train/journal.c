/* journal.c - the records of a training: metrics.jsonl and timing.jsonl. */
#include "train/journal.h"
#include "core/error.h"
#include "core/mem.h"
#include "io/file.h"
#include "io/json.h"
#include "io/load.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- files ---- */

/* The caller frees the path. */
static char *join_path(const char *run, const char *name)
{
    size_t n = strlen(run) + strlen(name) + 2;
    char *path = ck_alloc_array(n, 1);
    if (path)
        snprintf(path, n, "%s/%s", run, name);
    return path;
}

/* *bytes < 0: becomes that of the whole lines of a file: a killed process may leave half a line.
 * Otherwise a line must end there. */
static int find_end(const char *path, int64_t *bytes)
{
    unsigned char *text = NULL;
    size_t room = 0, size = 0;
    int64_t given = *bytes;
    int rc = COKE_OK;
    CK_TRY(ck_load_file(path, INT64_MAX, &text, &room, &size));
    if (given > (int64_t)size)
        CK_FAIL(COKE_EFORMAT, "%s has %zu bytes, the checkpoint recorded %lld", path, size,
                (long long)given);
    if (given > 0 && text[given - 1] != '\n')
        CK_FAIL(COKE_EFORMAT,
                "%s is damaged: no line ends at byte %lld, where the checkpoint "
                "recorded its end",
                path, (long long)given);
    while (given < 0 && size && text[size - 1] != '\n')
        size--;
    *bytes = given < 0 ? (int64_t)size : given;
done:
    ck_free(text);
    return rc;
}

/* Opens for writing at offset `bytes`, the end of the file from now on; -1 = append to its whole
 * lines. */
static int open_at(const char *path, int64_t bytes, int *fd)
{
    CK_RETURN_IF(ck_file_open_inside(path, 0, fd));
    CK_RETURN_IF(find_end(path, &bytes));
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

/* Also for a journal that was never opened (zeroed, descriptors -1). */
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

/* timing.jsonl is not synced: no checkpoint refers to it. */
int ck_journal_sync(struct ck_journal *j)
{
    if (fsync(j->metrics) != 0)
        return ck_fail(COKE_EIO, "%s: %s", j->metrics_path, strerror(errno));
    return COKE_OK;
}

/* Ends the line, appends it, adds its length to *bytes (or NULL) and releases it. */
static int add_line(int fd, const char *path, struct ck_json *line, int64_t *bytes)
{
    int rc = ck_json_finish_line(line);
    if (!rc)
        rc = ck_fd_write(fd, path, line->text, (size_t)line->n);
    if (!rc && bytes)
        *bytes += line->n;
    ck_json_release(line);
    return rc;
}

static int add_metrics(struct ck_journal *j, struct ck_json *line)
{
    return add_line(j->metrics, j->metrics_path, line, &j->metrics_bytes);
}

/* ---- lines ---- */

/* One object per line; add_line ends it. */
static void begin(struct ck_json *line)
{
    ck_json_init_style(line, CK_JSON_LINE);
    ck_json_begin_object(line, NULL);
}

int ck_journal_step(struct ck_journal *j, const struct ck_step *s)
{
    struct ck_json l;
    begin(&l);
    ck_json_put_int(&l, "epoch", s->epoch);
    ck_json_put_int(&l, "step", s->step);
    ck_json_put_real(&l, "loss", s->loss);
    ck_json_put_real(&l, "rate", s->rate);
    return add_metrics(j, &l);
}

/* One object of the array "heads". */
static void put_head(struct ck_json *l, const struct ck_head_health *h)
{
    ck_json_begin_object(l, NULL);
    ck_json_put_int(l, "k", h->k);
    ck_json_put_real(l, "loss", h->loss);
    ck_json_put_real(l, "accuracy", h->accuracy);
    ck_json_put_real(l, "objective", h->objective);
    ck_json_put_int(l, "size_min", h->size_min);
    ck_json_put_int(l, "size_median", h->size_median);
    ck_json_put_int(l, "size_max", h->size_max);
    ck_json_put_int(l, "bound", h->bound);
    ck_json_put_int(l, "below", h->below);
    ck_json_put_int(l, "violation", h->size_min < h->bound ? h->bound - h->size_min : 0);
    ck_json_put_int(l, "empty", h->empty);
    ck_json_put_int(l, "duplicates", h->duplicates);
    ck_json_put_real(l, "changed", h->changed);
    ck_json_put_real(l, "entropy", h->entropy);
    ck_json_put_real(l, "dual_min", h->dual_min);
    ck_json_put_real(l, "dual_max", h->dual_max);
    ck_json_put_int(l, "kept", h->kept);
    ck_json_end(l);
}

static void put_warnings(struct ck_json *l, const struct ck_warnings *w)
{
    ck_json_begin_array(l, "warnings");
    for (int i = 0; i < w->n; i++) {
        ck_json_begin_object(l, NULL);
        ck_json_put_text(l, "kind", w->item[i].kind);
        ck_json_put_text(l, "text", w->item[i].text);
        ck_json_end(l);
    }
}

/* Bytes that the first process sent, and seconds that it waited for the others. */
static void put_talk(struct ck_json *l, const struct ck_epoch_report *r)
{
    ck_json_put_int(l, "processes", r->processes);
    ck_json_put_real(l, "communicated", r->talk.seconds);
    ck_json_put_real(l, "gradients_hidden", r->talk.hidden);
    ck_json_put_real(l, "gradients_waited", r->talk.waited);
    ck_json_put_int(l, "sent_gradients", r->talk.reduced);
    ck_json_put_int(l, "sent_statistics", r->talk.summed);
    ck_json_put_int(l, "sent_features", r->talk.gathered);
}

static int add_timing(struct ck_journal *j, const struct ck_epoch_report *r)
{
    struct ck_json l;
    begin(&l);
    ck_json_put_int(&l, "epoch", r->epoch);
    ck_json_put_real(&l, "seconds", r->seconds);
    ck_json_put_real(&l, "cpu", r->cpu);
    ck_json_put_real(&l, "waited", r->waited);
    ck_json_put_real(&l, "saving", r->saving);
    if (r->processes > 1)
        put_talk(&l, r);
    ck_json_put_real(&l, "images_per_second", (double)r->timed / fmax(r->seconds, 1e-9));
    return add_line(j->timing, j->timing_path, &l, NULL);
}

int ck_journal_epoch(struct ck_journal *j, const struct ck_epoch_report *r)
{
    struct ck_json l;
    begin(&l);
    ck_json_put_int(&l, "epoch", r->epoch);
    ck_json_put_int(&l, "images", r->images);
    ck_json_put_real(&l, "loss", r->loss);
    ck_json_put_real(&l, "rate", r->rate);
    ck_json_put_real(&l, "alpha", r->alpha);
    ck_json_put_real(&l, "feature_mean", r->feature_mean);
    if (r->monitored) {
        ck_json_put_real(&l, "knn20", r->knn20);
        ck_json_put_real(&l, "knn200", r->knn200);
        ck_json_put_int(&l, "knn_images", r->asked);
    }
    if (r->monitored && r->epoch == 0) {
        ck_json_put_real(&l, "knn20_random", r->knn20);
        ck_json_put_real(&l, "knn20_pixels", r->pixels);
    }
    if (r->monitored && r->matched >= 0) {
        ck_json_put_int(&l, "matched_head", r->matched);
        ck_json_put_real(&l, "acc", r->accuracy);
        ck_json_put_real(&l, "nmi", r->nmi);
        ck_json_put_real(&l, "ari", r->ari);
    }
    ck_json_begin_array(&l, "heads");
    for (int h = 0; h < r->heads; h++)
        put_head(&l, &r->health[h]);
    ck_json_end(&l);
    if (r->warnings.n)
        put_warnings(&l, &r->warnings);
    CK_RETURN_IF(add_metrics(j, &l));
    return add_timing(j, r);
}

/* ---- reading ---- */

static int64_t whole(struct ck_record r, const char *key)
{
    double x = ck_record_number(r, key);
    return isfinite(x) ? (int64_t)x : 0;
}

static struct ck_head_health parse_head(struct ck_record r)
{
    return (struct ck_head_health){.k = whole(r, "k"),
                                   .loss = ck_record_number(r, "loss"),
                                   .accuracy = ck_record_number(r, "accuracy"),
                                   .objective = ck_record_number(r, "objective"),
                                   .size_min = whole(r, "size_min"),
                                   .size_median = whole(r, "size_median"),
                                   .size_max = whole(r, "size_max"),
                                   .bound = whole(r, "bound"),
                                   .below = whole(r, "below"),
                                   .empty = whole(r, "empty"),
                                   .duplicates = whole(r, "duplicates"),
                                   .changed = ck_record_number(r, "changed"),
                                   .entropy = ck_record_number(r, "entropy"),
                                   .dual_min = ck_record_number(r, "dual_min"),
                                   .dual_max = ck_record_number(r, "dual_max")};
}

void ck_journal_parse(struct ck_record line, struct ck_epoch_report *r)
{
    int64_t heads = ck_record_count(line, "heads");
    memset(r, 0, sizeof *r);
    r->epoch = whole(line, "epoch");
    r->images = whole(line, "images");
    r->loss = ck_record_number(line, "loss");
    r->feature_mean = ck_record_number(line, "feature_mean");
    r->monitored = ck_record_has(line, "knn20");
    r->knn20 = ck_record_number(line, "knn20");
    r->pixels = ck_record_number(line, "knn20_pixels");
    r->asked = whole(line, "knn_images");
    r->heads = (int)(heads < COKE_MAX_HEADS ? heads : COKE_MAX_HEADS);
    for (int h = 0; h < r->heads; h++)
        r->health[h] = parse_head(ck_record_item(line, "heads", h));
}
