/* run_files.c - the files of a run folder: opening a trained encoder, and the names, links and
 * lock that a training keeps there. */
#include "train/run_files.h"
#include "core/error.h"
#include "core/text.h"
#include "data/data_options.h"
#include "io/json.h"
#include "io/safetensors.h"
#include "train/checkpoint.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* ---- what a training writes ---- */

int ck_run_write_config(const char *run, const struct ck_train_options *o)
{
    char path[CK_RUN_PATH];
    struct ck_writer w = {0};
    char *text = NULL;
    size_t size = 0;
    int rc = COKE_OK;
    FILE *f = open_memstream(&text, &size);
    if (!f)
        CK_FAIL(COKE_ENOMEM, "out of memory");
    rc = ck_options_print_json(ck_train_option_table(), o, f);
    fclose(f);
    if (rc)
        goto done;
    snprintf(path, sizeof path, "%s/config.json", run);
    CK_TRY(ck_writer_open(&w, path, CK_FORCE_INSIDE));
    CK_TRY(ck_writer_write(&w, text, size));
    CK_TRY(ck_writer_commit(&w));
done:
    ck_writer_abort(&w);
    free(text);
    return rc;
}

int ck_run_write_json(const char *run, const struct ck_dataset *set, const char *init)
{
    char path[CK_RUN_PATH];
    /* An absolute path holds for readers in other folders; "synthetic:" is not a path. */
    char *whole = realpath(set->source, NULL);
    struct ck_json j;
    int rc = COKE_OK;
    ck_json_init(&j);
    ck_json_put_text(&j, "data", whole ? whole : set->source);
    ck_json_put_int(&j, "images", set->n);
    ck_json_put_int(&j, "classes", set->classes);
    if (init)
        ck_json_put_text(&j, "init", init);
    ck_json_put_text(&j, "coke", COKE_VERSION);
    snprintf(path, sizeof path, "%s/run.json", run);
    CK_TRY(ck_json_write(&j, path, CK_FORCE_INSIDE));
done:
    ck_json_release(&j);
    free(whole);
    return rc;
}

/* ---- names ---- */

/* Polls, because flock cannot wait for a limited time. */
int ck_run_lock(const char *run, int seconds, int *fd)
{
    const struct timespec pause = {.tv_nsec = 100 * 1000 * 1000};
    char path[CK_RUN_PATH];
    snprintf(path, sizeof path, "%s/.lock", run);
    CK_RETURN_IF(ck_file_open_inside(path, 0, fd));
    for (int i = 0; flock(*fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK; i++) {
        if (i < 10 * seconds) {
            nanosleep(&pause, NULL);
            continue;
        }
        close(*fd);
        *fd = -1;
        return ck_fail(COKE_EUSAGE,
                       "%s: another training is writing there; wait for it, or choose "
                       "another folder",
                       run);
    }
    return COKE_OK;
}

/* A hard link, so that removing old checkpoints leaves it whole. Made under a temporary name
 * and renamed: `to` exists at all times. */
int ck_run_link(const char *run, const char *from, const char *to)
{
    char a[CK_RUN_PATH], b[CK_RUN_PATH], temp[CK_RUN_PATH];
    snprintf(a, sizeof a, "%s/%s", run, from);
    snprintf(b, sizeof b, "%s/%s", run, to);
    snprintf(temp, sizeof temp, "%s/.coke-link", run);
    unlink(temp);
    if (link(a, temp) == 0 && rename(temp, b) == 0)
        return COKE_OK;
    int rc = ck_fail(COKE_EIO, "%s: %s", b, strerror(errno));
    unlink(temp);
    return rc;
}

/* Temporary files of ck_writer, before they are renamed: .coke-0123456789abcdef.tmp; and that
 * of ck_run_link. */
static int is_unfinished(const struct dirent *e)
{
    const char *name = e->d_name;
    if (strcmp(name, ".coke-link") == 0)
        return 1;
    return strncmp(name, ".coke-", 6) == 0 && strspn(name + 6, "0123456789abcdef") == 16 &&
           strcmp(name + 22, ".tmp") == 0;
}

void ck_run_remove_unfinished(const char *run)
{
    struct dirent **list;
    char path[CK_RUN_PATH];
    int n = scandir(run, &list, is_unfinished, NULL);
    for (int i = 0; i < n; i++) {
        snprintf(path, sizeof path, "%s/%s", run, list[i]->d_name);
        unlink(path);
        free(list[i]);
    }
    if (n >= 0)
        free(list);
}

/* ---- reading ---- */

static int has_file(const char *folder, const char *name)
{
    char path[CK_RUN_PATH];
    struct stat st;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

/* A checkpoint decides; a config.json alone may be a file for --config. */
enum ck_folder ck_folder_kind(const char *path)
{
    if (has_file(path, "last.safetensors"))
        return CK_FOLDER_RUN;
    if (has_file(path, "summary.json") || has_file(path, "model.safetensors"))
        return CK_FOLDER_CLUSTERING;
    return has_file(path, "config.json") ? CK_FOLDER_RUN : CK_FOLDER_OTHER;
}

/* Says why a folder has no weights: wrong folder, too early, or of `coke cluster`. */
static int fail_without_weights(const char *path, const char *name)
{
    static const char *const why[] = {
        [CK_FOLDER_OTHER] = "it is not a run folder",
        [CK_FOLDER_RUN] = "the training has not saved a checkpoint yet",
        [CK_FOLDER_CLUSTERING] = "it is a clustering of vectors, without an encoder"};
    if (has_file(path, "last.safetensors"))
        return ck_fail(COKE_EFORMAT, "%s has no %s.safetensors: no epoch was evaluated yet",
                       path, name);
    return ck_fail(COKE_EFORMAT, "%s has no %s.safetensors: %s", path, name,
                   why[ck_folder_kind(path)]);
}

/* Sets r->weights: the file in a run folder, or the path itself. */
static int find_weights(struct ck_run *r, const char *path, int best, int *is_run)
{
    struct stat st;
    if (strlen(path) > CK_RUN_PATH - 64)
        return ck_fail(COKE_EUSAGE, "a path of %zu bytes is too long", strlen(path));
    if (stat(path, &st) != 0)
        return ck_fail(COKE_EIO, "%s: %s", path, strerror(errno));
    *is_run = S_ISDIR(st.st_mode);
    if (!*is_run) {
        snprintf(r->weights, sizeof r->weights, "%s", path);
        return COKE_OK;
    }
    snprintf(r->weights, sizeof r->weights, "%s/%s.safetensors", path, best ? "best" : "last");
    if (stat(r->weights, &st) == 0)
        return COKE_OK;
    if (errno != ENOENT)
        return ck_fail(COKE_EIO, "%s: %s", r->weights, strerror(errno));
    return fail_without_weights(path, best ? "best" : "last");
}

/* The clusterings of a checkpoint; an encoder file has none. */
static int read_heads(struct ck_run *r, const struct ck_state *s)
{
    int rc = COKE_OK;
    for (int i = 0; i < COKE_MAX_HEADS; i++) {
        rc = ck_heads_restore_one(s, i, &r->head[i]);
        if (rc)
            return ck_fail_prefix(rc, "%s: head %d: ", r->weights, i);
        if (!r->head[i])
            break;
        if (ck_kmeans_dim(r->head[i]) != r->encoder.o.dim)
            CK_FAIL(COKE_EFORMAT, "%s: head %d has %d dimensions, the encoder has %d",
                    r->weights, i, ck_kmeans_dim(r->head[i]), (int)r->encoder.o.dim);
        r->heads++;
    }
done:
    return rc;
}

static int read_encoder(struct ck_run *r, const struct ck_state *s)
{
    struct ck_encoder_options o;
    CK_RETURN_IF(ck_encoder_options_from(&o, s, r->weights));
    CK_RETURN_IF(ck_encoder_init(&r->encoder, &o));
    r->encoder_ready = 1;
    return ck_checkpoint_encoder(s, &r->encoder.net, r->weights);
}

/* run.json may be missing: the encoder works without it. */
static int read_source(struct ck_run *r, const char *run)
{
    char path[CK_RUN_PATH];
    struct stat st;
    snprintf(path, sizeof path, "%s/run.json", run);
    if (stat(path, &st) != 0)
        return COKE_OK;
    return ck_json_read_text(path, "data", r->data, sizeof r->data);
}

/* Parses up to CK_MAX_CHANNELS numbers separated by commas, to the end of the text; returns how
 * many, 0 = invalid. */
static int read_list(const char *text, float *out)
{
    int n = 0;
    char *end;
    while (text && n < CK_MAX_CHANNELS && !isspace((unsigned char)*text)) {
        out[n++] = (float)ck_parse_double(text, &end);
        if (end == text)
            return 0;
        if (!*end)
            return n;
        text = *end == ',' ? end + 1 : NULL;
    }
    return 0;
}

/* Files of other programs and of earlier versions do not say what showed through. */
static int read_background(struct ck_run *r, const struct ck_state *s)
{
    const char *text = ck_state_meta(s, "image.background");
    float color[CK_MAX_CHANNELS];
    r->knows_background = text != NULL;
    if (!text || strcmp(text, "none") == 0)
        return COKE_OK;
    int good = read_list(text, color) == 3;
    r->background.composite = 1;
    for (int c = 0; c < 3 && good; c++) {
        good = color[c] >= 0 && color[c] <= 255;
        r->background.color[c] = good ? (uint8_t)color[c] : 0;
    }
    return good ? COKE_OK
                : ck_fail(COKE_EFORMAT, "%s: metadata image.background is not a colour",
                          r->weights);
}

/* Reads what ck_checkpoint_add_images wrote; files of other programs may lack it. */
static int read_images(struct ck_run *r, const struct ck_state *s)
{
    const char *mean = ck_state_meta(s, "image.mean");
    int good = 1;
    r->view_size = 0;
    if (ck_state_meta(s, "image.size") && ck_state_meta_int(s, "image.size", &r->view_size))
        return ck_fail_prefix(COKE_EFORMAT, "%s: ", r->weights);
    r->normed = read_list(mean, r->mean);
    if (mean)
        good = r->normed == r->encoder.o.channels &&
               read_list(ck_state_meta(s, "image.std"), r->std) == r->normed;
    for (int c = 0; c < r->normed && good; c++)
        good = isfinite(r->mean[c]) && r->std[c] > 0 && isfinite(r->std[c]);
    if (!good || r->view_size < 0 || r->view_size > 4096)
        return ck_fail(COKE_EFORMAT,
                       "%s: metadata image.size, image.mean or image.std is invalid for "
                       "images with %lld channels",
                       r->weights, (long long)r->encoder.o.channels);
    return COKE_OK;
}

int ck_run_refuse(const struct ck_state *s, const char *path)
{
    const char *format = ck_state_meta(s, "format");
    if (!format || strncmp(format, "coke-", 5) != 0 || ck_checkpoint_is(s))
        return COKE_OK;
    if (ck_state_meta(s, "encoder.arch"))
        return ck_fail(COKE_EFORMAT,
                       "%s is a '%s' file, which this version of coke cannot read", path,
                       format);
    return ck_fail(COKE_EFORMAT, "%s is a '%s' file without an encoder", path, format);
}

static int read_epoch(struct ck_run *r, const struct ck_state *s)
{
    if (ck_state_meta_int(s, "epoch", &r->epoch))
        return ck_fail_prefix(COKE_EFORMAT, "%s: ", r->weights);
    if (r->epoch < 0 || r->epoch > r->o.epochs)
        return ck_fail(COKE_EFORMAT, "%s: metadata 'epoch' is %lld, not within 0..%lld",
                       r->weights, (long long)r->epoch, (long long)r->o.epochs);
    return COKE_OK;
}

int ck_run_open(struct ck_run *r, const char *path, int best)
{
    struct ck_state s = {0};
    int is_run = 0, rc = COKE_OK;
    memset(r, 0, sizeof *r);
    r->epoch = -1;
    r->o = ck_train_options_default();
    CK_TRY(find_weights(r, path, best, &is_run));
    CK_TRY(ck_safetensors_read(r->weights, &s));
    CK_TRY(ck_run_refuse(&s, r->weights));
    if (ck_checkpoint_is(&s)) {
        CK_TRY(ck_checkpoint_options(&s, &r->o, r->weights));
        CK_TRY(read_epoch(r, &s));
        r->has_options = 1;
    }
    CK_TRY(read_encoder(r, &s));
    CK_TRY(read_images(r, &s));
    CK_TRY(read_background(r, &s));
    r->o.encoder = r->encoder.o;
    CK_TRY(read_heads(r, &s));
    if (is_run)
        CK_TRY(read_source(r, path));
done:
    ck_state_release(&s);
    if (rc)
        ck_run_close(r);
    return rc;
}

void ck_run_close(struct ck_run *r)
{
    for (int i = 0; i < COKE_MAX_HEADS; i++)
        ck_kmeans_free(r->head[i]);
    if (r->encoder_ready)
        ck_encoder_release(&r->encoder);
    memset(r, 0, sizeof *r);
}
