/* events.c - what TensorBoard shows of a training: tags "step/...", "epoch/...", "monitor/..."
 * and "headH-kK/...". */
#include "train/events.h"
#include "core/error.h"
#include "core/mem.h"
#include "image/codec.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

/* Seconds since 1970: event files carry them, so they differ from run to run. */
static double wall(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int is_listed(void *arg, const char *name)
{
    return ck_run_names_has(arg, name);
}

int ck_events_open(struct ck_tfevents *t, const char *run, struct ck_run_names *names,
                   int64_t step)
{
    CK_RETURN_IF(ck_tfevents_trim(run, step, is_listed, names));
    CK_RETURN_IF(ck_tfevents_open(t, run, wall()));
    CK_RETURN_IF(ck_run_names_add(names, strrchr(t->path, '/') + 1));
    return ck_run_names_write(names, run);
}

int ck_events_step(struct ck_tfevents *t, const struct ck_step *s, int64_t step)
{
    double now = wall();
    CK_RETURN_IF(ck_tfevents_scalar(t, now, step, "step/loss", s->loss));
    return ck_tfevents_scalar(t, now, step, "step/rate", s->rate);
}

/* One scalar per measure of the head. */
static int add_head(struct ck_tfevents *t, const struct ck_head_health *h, int head,
                    int64_t step)
{
    const struct {
        const char *name;
        double value;
    } row[] = {{"loss", h->loss},
               {"accuracy", h->accuracy},
               {"objective", h->objective},
               {"size_min", (double)h->size_min},
               {"size_max", (double)h->size_max},
               {"labels_changed", h->changed},
               {"entropy", h->entropy},
               {"dual_max", h->dual_max}};
    char tag[96];
    int rc = COKE_OK;
    for (size_t i = 0; i < sizeof row / sizeof row[0] && !rc; i++) {
        snprintf(tag, sizeof tag, "head%d-k%lld/%s", head, (long long)h->k, row[i].name);
        rc = ck_tfevents_scalar(t, wall(), step, tag, row[i].value);
    }
    return rc;
}

/* Histograms of cluster sizes and duals. */
static int add_spread(struct ck_tfevents *t, const struct coke_kmeans *km, int head,
                      int64_t step)
{
    char tag[96];
    int rc = COKE_OK;
    int64_t k = ck_kmeans_k(km);
    double *x = ck_alloc_array((size_t)k, sizeof *x);
    if (!x)
        return COKE_ENOMEM;
    for (int64_t c = 0; c < k; c++)
        x[c] = (double)ck_kmeans_counts(km)[c];
    snprintf(tag, sizeof tag, "head%d-k%lld/sizes", head, (long long)k);
    CK_TRY(ck_tfevents_histogram(t, wall(), step, tag, x, k));
    for (int64_t c = 0; c < k; c++)
        x[c] = (double)ck_kmeans_duals(km)[c];
    snprintf(tag, sizeof tag, "head%d-k%lld/duals", head, (long long)k);
    CK_TRY(ck_tfevents_histogram(t, wall(), step, tag, x, k));
done:
    ck_free(x);
    return rc;
}

int ck_events_epoch(struct ck_tfevents *t, const struct ck_epoch_report *r,
                    const struct ck_heads *heads, int64_t step)
{
    CK_RETURN_IF(ck_tfevents_scalar(t, wall(), step, "epoch/loss", r->loss));
    CK_RETURN_IF(ck_tfevents_scalar(t, wall(), step, "epoch/feature_mean", r->feature_mean));
    for (int h = 0; h < r->heads; h++) {
        CK_RETURN_IF(add_head(t, &r->health[h], h, step));
        CK_RETURN_IF(add_spread(t, heads->head[h], h, step));
    }
    return COKE_OK;
}

int ck_events_monitor(struct ck_tfevents *t, const struct ck_epoch_report *r, int64_t step)
{
    int rc = COKE_OK;
    if (!r->monitored)
        return COKE_OK;
    CK_TRY(ck_tfevents_scalar(t, wall(), step, "monitor/knn20", r->knn20));
    CK_TRY(ck_tfevents_scalar(t, wall(), step, "monitor/knn200", r->knn200));
    if (r->matched < 0)
        goto done;
    CK_TRY(ck_tfevents_scalar(t, wall(), step, "monitor/acc", r->accuracy));
    CK_TRY(ck_tfevents_scalar(t, wall(), step, "monitor/nmi", r->nmi));
    CK_TRY(ck_tfevents_scalar(t, wall(), step, "monitor/ari", r->ari));
done:
    return rc;
}

/* TensorBoard takes images as PNG. */
int ck_events_exemplars(struct ck_tfevents *t, const struct ck_image *sheet, int head,
                        int64_t k, int64_t step)
{
    char tag[96];
    unsigned char *png = NULL;
    size_t size;
    int rc = COKE_OK;
    CK_TRY(ck_png_encode(sheet, &png, &size));
    struct ck_tfevents_image image = {sheet->width, sheet->height, sheet->channels, png, size};
    snprintf(tag, sizeof tag, "head%d-k%lld/exemplars", head, (long long)k);
    CK_TRY(ck_tfevents_image(t, wall(), step, tag, &image));
done:
    ck_free(png);
    return rc;
}
