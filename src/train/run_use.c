/* run_use.c - applies a trained encoder to images: which weights, and how images are prepared.
 */
#include "train/run_use.h"
#include "cluster/kmeans.h"
#include "core/error.h"
#include "core/mem.h"
#include "core/option.h"
#include "core/workers.h"
#include "io/weights.h"
#include "nn/foreign.h"
#include "train/checkpoint.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* ---- weights of other programs ---- */

/* As ck_run_open, for a file that holds only a backbone: no options, epoch or heads. */
static int open_foreign(struct ck_run *r, const struct ck_state *s, const char *path)
{
    struct ck_foreign_options o = {.heads = 1, .ignore = "fc."};
    char note[CK_FOREIGN_NOTE];
    int rc = COKE_OK;
    memset(r, 0, sizeof *r);
    r->epoch = -1;
    r->o = ck_train_options_default();
    snprintf(r->weights, sizeof r->weights, "%s", path);
    CK_TRY(ck_foreign_load(&r->encoder, s, path, &o, note));
    r->encoder_ready = 1;
    r->o.encoder = r->encoder.o;
done:
    if (rc)
        ck_run_close(r);
    return rc;
}

/* Reads a file into *s; *ours: it is a folder, or has the metadata of this program. */
static int inspect(const char *path, struct ck_state *s, int *ours)
{
    struct stat st;
    if (stat(path, &st) != 0)
        return ck_fail(COKE_EIO, "%s: %s", path, strerror(errno));
    *ours = 1;
    if (S_ISDIR(st.st_mode))
        return COKE_OK;
    int rc = ck_weights_read(path, s);
    *ours = rc || ck_state_meta(s, "encoder.arch");
    return rc;
}

int ck_use_open(struct ck_run *r, const char *path, const struct ck_use_options *o)
{
    struct ck_state s = {0};
    int ours = 1, rc = COKE_OK;
    memset(r, 0, sizeof *r);
    CK_TRY(ck_options_check(ck_use_option_table(), o));
    CK_TRY(inspect(path, &s, &ours));
    CK_TRY(ck_run_refuse(&s, path));
    if (o->best && s.ntensors)
        CK_FAIL(COKE_EUSAGE, "best: %s is a file; only run folders have a best checkpoint",
                path);
    CK_TRY(ours ? ck_run_open(r, path, o->best) : open_foreign(r, &s, path));
done:
    ck_state_release(&s);
    return rc;
}

int ck_use_is_run(const char *path)
{
    struct ck_state s = {0};
    int ours = 0;
    struct stat st;
    if (stat(path, &st) != 0)
        return 0;
    if (S_ISDIR(st.st_mode))
        return ck_folder_kind(path) == CK_FOLDER_RUN;
    int is_run = inspect(path, &s, &ours) == COKE_OK &&
                 (ck_checkpoint_is(&s) || ck_state_meta(&s, "encoder.arch"));
    ck_state_release(&s);
    return is_run;
}

/* ---- images ---- */

/* Images up to this side keep their size, unless the training says otherwise. */
enum { SMALL_PICTURE = 64, SMALL_BATCH = 64, LARGE_BATCH = 16 };

int ck_use_recipe(const struct ck_run *r, struct coke_dataset *d,
                  const struct ck_use_options *o, struct ck_recipe *out)
{
    struct ck_view_options v = r->o.loader.view;
    int given = o->normalize.n || o->normalize.word != CK_NORM_AUTO;
    int64_t channels = r->encoder.o.channels;
    if (d->set->n < 0)
        return ck_fail(COKE_EUSAGE,
                       "%s can only be read once, in order, and random access is needed here; "
                       "unpack it, or pack it into shards",
                       d->set->source);
    if (d->channels != channels)
        return ck_fail(COKE_EUSAGE,
                       "%s has images of %d channel%s, the encoder in %s takes %lld%s",
                       d->set->source, d->channels, d->channels == 1 ? "" : "s", r->weights,
                       (long long)channels,
                       channels == 1   ? "; channels=1 makes them grey"
                       : channels == 3 ? "; channels=3 makes them colour"
                                       : "");
    if (v.recipe == CK_RECIPE_AUTO && r->view_size)
        v.recipe = r->view_size <= SMALL_PICTURE ? CK_RECIPE_CIFAR : CK_RECIPE_DOUBLE;
    if (o->size)
        v.size = o->size;
    else if (r->view_size)
        v.size = r->view_size;
    else if (d->set->width == d->set->height && d->set->width <= SMALL_PICTURE)
        v.size = d->set->width; /* 0: the recipe's */
    int rc = ck_recipe_init(out, d, &v, given ? &o->normalize : &r->o.loader.normalize);
    if (!rc && !given && r->normed) {
        memcpy(out->mean, r->mean, sizeof out->mean);
        memcpy(out->std, r->std, sizeof out->std);
    }
    if (!d->o.background.n && d->o.background.word == CK_BACKGROUND_AUTO && r->knows_background)
        out->background = r->background;
    return rc;
}

/* The recipe of the random crops: as large as in the training, where that is known, though whole
 * images may be used in another size. */
static int crop_recipe(const struct ck_run *r, struct coke_dataset *d,
                       const struct ck_use_options *o, struct ck_recipe *out)
{
    struct ck_use_options trained = *o;
    if (r->has_options && r->o.loader.view.size)
        trained.size = r->o.loader.view.size;
    return ck_use_recipe(r, d, &trained, out);
}

int ck_use_features(struct ck_run *r, struct coke_dataset *d, const struct ck_use_options *o,
                    struct ck_features **out)
{
    struct ck_recipe like, crops;
    *out = NULL;
    CK_RETURN_IF(ck_use_recipe(r, d, o, &like));
    int64_t batch = like.view[0].width <= SMALL_PICTURE ? SMALL_BATCH : LARGE_BATCH;
    while (batch < 4 * ck_threads()) /* enough images for every decoding thread */
        batch *= 2;
    CK_RETURN_IF(
        ck_features_new(out, &r->encoder, d, &like, batch, (enum ck_precision)o->precision));
    if (o->views == 1)
        return COKE_OK;
    CK_RETURN_IF(crop_recipe(r, d, o, &crops));
    return ck_features_use_views(*out, &crops, o->views);
}

/* ---- on the heap, for the caller ---- */

int ck_use_new(struct coke_run **out, const char *path, const struct ck_use_options *options)
{
    struct coke_run *r = ck_calloc_array(1, sizeof *r);
    *out = NULL;
    if (!r)
        return COKE_ENOMEM;
    r->o = *options;
    int rc = ck_use_open(&r->r, path, options);
    if (rc)
        ck_free(r);
    else
        *out = r;
    return rc;
}

void ck_use_free(struct coke_run *r)
{
    if (r)
        ck_run_close(&r->r);
    ck_free(r);
}

int32_t ck_use_image_size(const struct coke_run *r, struct coke_dataset *d)
{
    struct ck_recipe like;
    return ck_use_recipe(&r->r, d, &r->o, &like) == COKE_OK ? like.view[0].width : 0;
}

int64_t ck_use_clusters(const struct coke_run *r, int h)
{
    return h >= 0 && h < r->r.heads ? ck_kmeans_k(r->r.head[h]) : 0;
}

int64_t ck_use_images(const struct coke_run *r)
{
    return r->r.heads > 0 ? ck_kmeans_n(r->r.head[0]) : 0;
}

int ck_use_match(const struct coke_run *r, int32_t classes)
{
    for (int h = 0; h < r->r.heads; h++)
        if (ck_use_clusters(r, h) == classes)
            return h;
    return -1;
}

int ck_use_check_heads(const struct coke_run *r)
{
    if (r->r.heads > 0)
        return COKE_OK;
    if (r->r.has_options)
        return ck_fail(COKE_EUSAGE, "%s has no clusters: its method has none", r->r.weights);
    return ck_fail(COKE_EUSAGE,
                   "%s has no clusters, it is an encoder alone; name the folder of the run or "
                   "one of its checkpoints",
                   r->r.weights);
}
