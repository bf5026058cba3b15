/* run_files.h - the files of a run folder: opening a trained encoder, and the names, links and
 * lock that a training keeps there. docs/formats.md describes them. */
#ifndef CK_RUN_FILES_H
#define CK_RUN_FILES_H

#include "data/recipe.h"
#include "nn/encoder.h"
#include "train/train_options.h"

enum { CK_RUN_PATH = 4096 };

/* A trained encoder with what its file and folder tell about it. Owns encoder and heads. */
struct ck_run {
    char weights[CK_RUN_PATH]; /* the file that was read */
    char data[CK_RUN_PATH];    /* source of the training images, as the user named it;
                                * "" = unknown */
    int64_t view_size;         /* side of the images that it takes; 0 = unknown */
    int normed;                /* channels of mean and std; 0 = unknown */
    float mean[CK_MAX_CHANNELS], std[CK_MAX_CHANNELS]; /* of the pixels in training */
    int knows_background;
    struct ck_background background; /* of transparent pixels in training */
    int64_t epoch;                   /* complete epochs; -1 = unknown */
    int has_options;                 /* o is of the training; else defaults except o.encoder */
    struct ck_train_options o;
    struct coke_encoder encoder;
    int encoder_ready;
    int heads; /* 0 = an encoder alone */
    struct coke_kmeans *head[COKE_MAX_HEADS];
};

/* path: a run folder, of which the last checkpoint is read (best: the best one), also while the
 * training runs; or the file of an encoder or checkpoint. Missing or additional tensors are
 * errors. After a failure *r is closed. */
int ck_run_open(struct ck_run *r, const char *path, int best);
void ck_run_close(struct ck_run *r);

/* Fails with COKE_EFORMAT for files of this program without an encoder, such as k-means models,
 * and for formats of later versions. Other files pass. */
int ck_run_refuse(const struct ck_state *s, const char *path);

/* The kind of a folder, by the names of the files in it. */
enum ck_folder {
    CK_FOLDER_OTHER,
    CK_FOLDER_RUN,       /* of 'coke train', possibly before its first checkpoint */
    CK_FOLDER_CLUSTERING /* of 'coke cluster' */
};
enum ck_folder ck_folder_kind(const char *path);

/* Locks the run folder against other trainings; waits up to `seconds` for one that is ending.
 * The lock is released when *fd is closed or the process ends, even if it is killed. File
 * systems without locks are accepted unlocked. */
int ck_run_lock(const char *run, int seconds, int *fd);

/* config.json: the options, as --config reads them. run.json: source and size of the data set.
 * Both are written atomically and replace older ones, but not symbolic links. */
int ck_run_write_config(const char *run, const struct ck_train_options *o);
int ck_run_write_json(const char *run, const struct ck_dataset *set, const char *init);

/* Gives the file `from` of the run the second name `to`, atomically replacing an older one. */
int ck_run_link(const char *run, const char *from, const char *to);
/* Removes temporary files of a killed process, which may be as large as a checkpoint. */
void ck_run_remove_unfinished(const char *run);

#endif
