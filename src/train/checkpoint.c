/* checkpoint.c - a training on disk: everything a later process needs to resume to the same
 * bytes as an uninterrupted run. */
#include "train/checkpoint.h"
#include "core/callbacks.h"
#include "core/error.h"
#include "core/mem.h"
#include "core/text.h"
#include "core/workers.h"
#include "data/content.h"
#include "data/loader.h"
#include "data/recipe.h"
#include "io/safetensors.h"
#include "kernels/kernels.h"
#include "nn/dnn.h"
#include "train/averaged.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char FORMAT[] = "coke-training";

/* ---- writing ---- */

/* Options are stored as the text that ck_options_set takes, so that rows may be added later.
 */
static int add_options(struct ck_state *s, const struct ck_train_options *o)
{
    const struct ck_option_table *t = ck_train_option_table();
    char key[96], value[1024];
    for (int i = 0; i < t->n; i++) {
        if (t->row[i].local)
            continue;
        snprintf(key, sizeof key, "option.%s", t->row[i].name);
        CK_RETURN_IF(ck_options_get(t, o, t->row[i].name, value, sizeof value));
        CK_RETURN_IF(ck_state_add_meta(s, key, value));
    }
    return COKE_OK;
}

/* What the bytes of a training depend on besides its options. One process stores no process
 * count, so that its checkpoints do not depend on whether the group exists. */
static int add_circumstances(struct ck_state *s)
{
    CK_RETURN_IF(ck_state_add_meta(s, "coke", COKE_VERSION));
    CK_RETURN_IF(ck_state_add_meta(s, "onednn", ck_dnn_version()));
    CK_RETURN_IF(ck_state_add_meta(s, "isa", ck_isa()));
    CK_RETURN_IF(ck_state_add_meta_int(s, "threads", ck_threads()));
    if (ck_group_size(ck_group()) > 1)
        CK_RETURN_IF(ck_state_add_meta_int(s, "processes", ck_group_size(ck_group())));
    return COKE_OK;
}

/* ck_state_add_meta_number keeps every bit of a double. */
static int add_position(struct ck_state *s, const struct ck_position *at)
{
    CK_RETURN_IF(ck_state_add_meta_int(s, "epoch", at->epoch));
    CK_RETURN_IF(ck_state_add_meta_int(s, "step", at->step));
    CK_RETURN_IF(ck_state_add_meta_int(s, "metrics_bytes", at->metrics_bytes));
    CK_RETURN_IF(ck_state_add_meta_int(s, "epoch_images", at->images));
    CK_RETURN_IF(ck_state_add_meta_number(s, "best", at->best));
    CK_RETURN_IF(ck_state_add_meta_number(s, "epoch_loss", at->loss_sum));
    return ck_state_add_meta_number(s, "last_loss", at->last_loss);
}

static int add_list(struct ck_state *s, const char *key, const float *x, int n)
{
    char text[CK_MAX_CHANNELS * 16];
    size_t at = 0;
    for (int i = 0; i < n; i++)
        at += (size_t)ck_format(text + at, sizeof text - at, "%s%.9g", i ? "," : "", x[i]);
    return ck_state_add_meta(s, key, text);
}

static int add_background(struct ck_state *s, const struct ck_background *b)
{
    char text[16];
    snprintf(text, sizeof text, "%d,%d,%d", b->color[0], b->color[1], b->color[2]);
    return ck_state_add_meta(s, "image.background", b->composite ? text : "none");
}

int ck_checkpoint_add_images(struct ck_state *state, const struct ck_session *s)
{
    const struct ck_recipe *r = ck_loader_recipe(s->loader);
    CK_RETURN_IF(add_list(state, "image.mean", r->mean, r->channels));
    CK_RETURN_IF(add_list(state, "image.std", r->std, r->channels));
    CK_RETURN_IF(add_background(state, &r->background));
    return ck_state_add_meta_int(state, "image.size",
                                 s->o.embed_size ? s->o.embed_size : r->view[0].width);
}

/* Nothing if no image was sampled. */
static int add_content(struct ck_state *state, const struct ck_session *s)
{
    int64_t n = ck_content_count(s->data->set);
    if (!s->content || n == 0)
        return COKE_OK;
    return ck_state_add(state, "image_content", CK_U64, 1, &n, s->content);
}

/* The state borrows all tensors, so that nothing is copied on the way to the file. */
int ck_checkpoint_write(const char *path, const struct ck_session *s,
                        const struct ck_position *at)
{
    struct ck_state state = {0};
    int rc = COKE_OK;
    int64_t n = s->data->set->n;
    CK_TRY(ck_state_add_meta(&state, "format", FORMAT));
    CK_TRY(ck_encoder_save(&s->encoder, &state));
    CK_TRY(ck_averaged_save(s, &state));
    CK_TRY(ck_optimizer_save(s->optimizer, &state));
    CK_TRY(ck_heads_save(&s->heads, &state));
    CK_TRY(ck_method_save(s, &state));
    CK_TRY(ck_state_add(&state, "image_ids", CK_U64, 1, &n, s->data->set->id));
    CK_TRY(add_content(&state, s));
    CK_TRY(ck_state_add(&state, "feature_sum", CK_F64, 1, &(int64_t){s->dim}, s->feature_sum));
    CK_TRY(add_position(&state, at));
    CK_TRY(ck_checkpoint_add_images(&state, s));
    CK_TRY(add_circumstances(&state));
    CK_TRY(add_options(&state, &s->o));
    CK_TRY(ck_safetensors_write(path, &state, CK_FORCE_INSIDE));
done:
    ck_state_release(&state);
    return rc;
}

/* ---- reading ---- */

int ck_checkpoint_is(const struct ck_state *s)
{
    const char *format = ck_state_meta(s, "format");
    return format && strcmp(format, FORMAT) == 0;
}

static int fail_kind(const char *path)
{
    return ck_fail(COKE_EFORMAT, "%s is not a training checkpoint", path);
}

int ck_checkpoint_verify(const char *path)
{
    struct ck_state s;
    CK_RETURN_IF(ck_safetensors_read(path, &s));
    int rc = ck_checkpoint_is(&s) ? COKE_OK : fail_kind(path);
    ck_state_release(&s);
    return rc;
}

/* Options that the file lacks, as a newer version added them, keep their defaults, as do empty
 * lists. */
int ck_checkpoint_options(const struct ck_state *s, struct ck_train_options *o,
                          const char *path)
{
    const struct ck_option_table *t = ck_train_option_table();
    *o = ck_train_options_default();
    for (int i = 0; i < t->n; i++) {
        const char *value = t->row[i].local ? NULL : ck_option_meta(&t->row[i], s, "option.");
        if (value && *value && ck_options_set(t, o, t->row[i].name, value))
            return ck_fail_prefix(COKE_EFORMAT, "%s: ", path);
    }
    return COKE_OK;
}

/* A comparison of a stored state with this process; all members are borrowed. */
struct check {
    const struct ck_state *state;
    const char *path;
    int anyway;
    const struct coke_callbacks *cb;
};

/* Handles a difference: an error, or with `anyway` a line to the user. */
static int differ(const struct check *c, const char *what, const char *then, const char *now)
{
    if (!c->anyway)
        return ck_fail(COKE_EUSAGE,
                       "%s: %s was %s and is now %s: the result would differ from that of an "
                       "uninterrupted run; resume-anyway resumes with the difference",
                       c->path, what, then, now);
    ck_say(c->cb, "resumed although %s was %s and is now %s", what, then, now);
    return COKE_OK;
}

/* what: for people; then: as in the checkpoint, NULL = absent. */
static int compare(const struct check *c, const char *what, const char *then, const char *now)
{
    if (then && strcmp(then, now) == 0)
        return COKE_OK;
    return differ(c, what, then ? then : "(unknown)", now);
}

/* All options must agree but those that do not influence the result. */
static int check_options(const struct check *c, const struct ck_train_options *o)
{
    const struct ck_option_table *t = ck_train_option_table();
    char value[1024], what[96];
    for (int i = 0; i < t->n; i++) {
        const char *name = t->row[i].name;
        if (t->row[i].local || ck_train_option_is_free(name))
            continue;
        snprintf(what, sizeof what, "option '%s'", name);
        CK_RETURN_IF(ck_options_get(t, o, name, value, sizeof value));
        CK_RETURN_IF(compare(c, what, ck_option_meta(&t->row[i], c->state, "option."), value));
    }
    return COKE_OK;
}

static int check_circumstances(const struct check *c)
{
    char threads[16], processes[16];
    snprintf(threads, sizeof threads, "%d", ck_threads());
    snprintf(processes, sizeof processes, "%d", ck_group_size(ck_group()));
    const struct ck_state *s = c->state;
    const char *then = ck_state_meta(s, "processes"); /* absent = one */
    CK_RETURN_IF(compare(c, "coke", ck_state_meta(s, "coke"), COKE_VERSION));
    CK_RETURN_IF(compare(c, "oneDNN", ck_state_meta(s, "onednn"), ck_dnn_version()));
    CK_RETURN_IF(compare(c, "the instruction set", ck_state_meta(s, "isa"), ck_isa()));
    CK_RETURN_IF(compare(c, "the number of processes", then ? then : "1", processes));
    return compare(c, "the number of threads", ck_state_meta(s, "threads"), threads);
}

/* The data set must hold the same images in the same order, since labels are stored by index.
 * Not even `anyway` resumes with others. */
static int check_images(const struct check *c, const struct ck_dataset *set)
{
    const struct ck_tensor *t = ck_state_find(c->state, "image_ids");
    struct ck_dataset_change change;
    int rc = COKE_OK;
    uint64_t *ids = NULL;
    if (!t || t->dtype != CK_U64)
        CK_FAIL(COKE_EFORMAT, "%s: 'image_ids' is missing", c->path);
    int64_t n = ck_tensor_elements(t);
    ids = ck_alloc_array((size_t)n + 1, sizeof *ids);
    if (!ids)
        return COKE_ENOMEM;
    memcpy(ids, t->data, (size_t)n * sizeof *ids);
    CK_TRY(ck_dataset_compare(set, ids, n, &change, NULL));
    if (change.added || change.removed || change.moved)
        CK_FAIL(COKE_EUSAGE,
                "%s belongs to other images than %s: %lld added, %lld removed, %lld moved; "
                "labels would be assigned to the wrong images",
                c->path, set->source, (long long)change.added, (long long)change.removed,
                (long long)change.moved);
done:
    ck_free(ids);
    return rc;
}

/* Says which image changed, and how many did. */
static int differ_in_content(const struct check *c, const struct ck_session *s,
                             const uint64_t *then, int64_t n)
{
    char name[256], what[400], was[20], is[20];
    int64_t changed = 0, first = -1;
    for (int64_t i = n; i-- > 0;)
        if (then[i] != s->content[i]) {
            first = i;
            changed++;
        }
    if (!changed)
        return COKE_OK;
    ck_dataset_name(s->data->set, ck_content_image(s->data->set, first), name, sizeof name);
    snprintf(what, sizeof what, "the content of %lld of %lld images, first %s,",
             (long long)changed, (long long)n, name);
    snprintf(was, sizeof was, "%016llx", (unsigned long long)then[first]);
    snprintf(is, sizeof is, "%016llx", (unsigned long long)s->content[first]);
    return differ(c, what, was, is);
}

/* Files of earlier versions hold no hashes of images. */
static int check_content(const struct check *c, struct ck_session *s)
{
    const struct ck_tensor *t = ck_state_find(c->state, "image_content");
    int64_t n = ck_content_count(s->data->set);
    if (!t)
        return COKE_OK;
    uint64_t *then = ck_alloc_array((size_t)n + 1, sizeof *then);
    if (!then)
        return COKE_ENOMEM;
    int rc = ck_state_copy(c->state, "image_content", CK_U64, 1, &n, then);
    if (rc)
        rc = ck_fail_prefix(rc, "%s: ", c->path);
    if (!rc)
        rc = ck_session_read_content(s);
    if (!rc)
        rc = differ_in_content(c, s, then, n);
    ck_free(then);
    return rc;
}

static int read_position(const struct ck_state *s, struct ck_position *at)
{
    CK_RETURN_IF(ck_state_meta_int(s, "epoch", &at->epoch));
    CK_RETURN_IF(ck_state_meta_int(s, "step", &at->step));
    CK_RETURN_IF(ck_state_meta_int(s, "metrics_bytes", &at->metrics_bytes));
    CK_RETURN_IF(ck_state_meta_int(s, "epoch_images", &at->images));
    CK_RETURN_IF(ck_state_meta_number(s, "best", &at->best));
    CK_RETURN_IF(ck_state_meta_number(s, "epoch_loss", &at->loss_sum));
    return ck_state_meta_number(s, "last_loss", &at->last_loss);
}

static int check_within(const char *key, int64_t value, int64_t most)
{
    if (value >= 0 && value <= most)
        return COKE_OK;
    return ck_fail(COKE_EFORMAT, "metadata '%s' is %lld, not within 0..%lld", key,
                   (long long)value, (long long)most);
}

/* The position against the options that the file holds and the session it is for: with `anyway`
 * these may differ. */
static int check_position(const struct ck_state *state, const struct ck_session *s,
                          const struct ck_position *at)
{
    int64_t epochs = s->o.epochs;
    if (ck_state_meta(state, "option.epochs"))
        CK_RETURN_IF(ck_state_meta_int(state, "option.epochs", &epochs));
    CK_RETURN_IF(check_within("epoch", at->epoch, epochs));
    CK_RETURN_IF(check_within("step", at->step, s->steps));
    CK_RETURN_IF(check_within("epoch_images", at->images, s->data->set->n));
    CK_RETURN_IF(check_within("metrics_bytes", at->metrics_bytes, INT64_MAX));
    if (!isfinite(at->loss_sum) || !isfinite(at->last_loss) || isnan(at->best))
        return ck_fail(COKE_EFORMAT,
                       "metadata 'epoch_loss', 'last_loss' or 'best' is %g, %g, %g",
                       at->loss_sum, at->last_loss, at->best);
    return COKE_OK;
}

/* The heads count epochs, steps and images themselves. */
static int check_heads(const struct ck_session *s, const struct ck_position *at)
{
    for (int h = 0; h < s->heads.n; h++) {
        int64_t epoch = ck_kmeans_epoch(s->heads.head[h]), seen = s->heads.sums[h].seen;
        if (epoch != at->epoch || seen != at->images)
            return ck_fail(COKE_EFORMAT,
                           "head %d is at image %lld of epoch %lld, the training at image %lld "
                           "of epoch %lld",
                           h, (long long)seen, (long long)epoch, (long long)at->images,
                           (long long)at->epoch);
    }
    return COKE_OK;
}

/* The weights that the training changes. ck_net_load refuses tensors it does not know, so those of
 * others are left out here. */
static int load_weights(const struct ck_state *all, struct ck_net *net, const char *path)
{
    struct ck_state own = {0};
    int rc = COKE_OK;
    for (int i = 0; i < all->ntensors; i++) {
        const struct ck_tensor *t = &all->tensor[i];
        if (strncmp(t->name, "momentum.", 9) == 0 || strncmp(t->name, "head", 4) == 0 ||
            strcmp(t->name, "image_ids") == 0 || strcmp(t->name, "image_content") == 0 ||
            strcmp(t->name, "feature_sum") == 0 || ck_method_owns(t->name) ||
            ck_averaged_owns(t->name))
            continue;
        CK_TRY(ck_state_add(&own, t->name, t->dtype, t->ndim, t->shape, t->data));
    }
    CK_TRY(ck_net_load(net, &own, path, NULL));
done:
    ck_state_release(&own);
    return rc;
}

int ck_checkpoint_encoder(const struct ck_state *all, struct ck_net *net, const char *path)
{
    int averaged;
    CK_RETURN_IF(ck_averaged_read(all, net, path, &averaged));
    return averaged ? COKE_OK : load_weights(all, net, path);
}

static int load_sum(struct ck_session *s, const struct ck_state *all, const char *path)
{
    const struct ck_tensor *t = ck_state_find(all, "feature_sum");
    if (!t || t->dtype != CK_F64 || ck_tensor_elements(t) != s->dim)
        return ck_fail(COKE_EFORMAT, "%s: 'feature_sum' is missing or has another size", path);
    memcpy(s->feature_sum, t->data, (size_t)s->dim * sizeof(double));
    return COKE_OK;
}

/* Loads what the checks have accepted. Sentences come without the file's name. */
static int load_parts(const struct ck_state *state, const char *path, struct ck_session *s,
                      const struct ck_position *at)
{
    CK_RETURN_IF(load_weights(state, &s->encoder.net, path));
    CK_RETURN_IF(ck_averaged_load(s, state, path));
    CK_RETURN_IF(load_sum(s, state, path));
    CK_RETURN_IF(ck_optimizer_load(s->optimizer, state));
    CK_RETURN_IF(ck_heads_load(&s->heads, state));
    CK_RETURN_IF(ck_method_load(s, state));
    if (check_heads(s, at))
        return ck_fail_prefix(COKE_EFORMAT, "%s: ", path);
    /* Saved between the last step and the end of its epoch: the next batch is epoch + 1's. */
    int complete = at->step == s->steps;
    return ck_loader_seek(s->loader, at->epoch + complete, complete ? 0 : at->step);
}

int ck_checkpoint_read(const char *path, struct ck_session *s, struct ck_position *at,
                       int anyway, const struct coke_callbacks *cb)
{
    struct ck_state state = {0};
    struct check c = {&state, path, anyway, cb};
    int rc = COKE_OK;
    CK_TRY(ck_safetensors_read(path, &state));
    if (!ck_checkpoint_is(&state))
        CK_LEAVE(fail_kind(path));
    CK_TRY(check_options(&c, &s->o));
    CK_TRY(check_circumstances(&c));
    CK_TRY(check_images(&c, s->data->set));
    CK_TRY(check_content(&c, s));
    if (read_position(&state, at) || check_position(&state, s, at))
        CK_LEAVE(ck_fail_prefix(COKE_EFORMAT, "%s: ", path));
    CK_TRY(load_parts(&state, path, s, at));
done:
    ck_state_release(&state);
    return rc;
}
