/* run_files.h - what a training left behind, for those who come after it. */
#ifndef CK_RUN_FILES_H
#define CK_RUN_FILES_H

#include "data/recipe.h"
#include "nn/encoder.h"
#include "train/train_options.h"

enum { CK_RUN_PATH = 4096 };

struct ck_run {
    char weights[CK_RUN_PATH]; /* the file that was read */
    char data[CK_RUN_PATH];    /* the images it was trained on, as the training was given them;
                                * "" = not known */
    int64_t view_size;         /* side of the (large) views in training; 0 = not known */
    int normed;                /* channels of mean and std; 0 = not known */
    float mean[CK_MAX_CHANNELS], std[CK_MAX_CHANNELS]; /* taken from the pixels in training */
    int64_t epoch;   /* epochs that are done; -1 = not known */
    int has_options; /* o is that of the training; else the defaults but for o.encoder */
    struct ck_train_options o;
    struct coke_encoder encoder;
    int encoder_ready;
    int heads; /* 0 = an encoder alone */
    struct coke_kmeans *head[COKE_MAX_HEADS];
};

/* path: a run directory, whose last checkpoint is taken (best: the best one), also of a
 * training that still runs; or the file of an encoder or a checkpoint. Loading is strict. */
int ck_run_open(struct ck_run *r, const char *path, int best);
void ck_run_close(struct ck_run *r);

/* COKE_EFORMAT for files of ours that hold no encoder, such as models of k-means, and for those
 * of a format that came later. */
int ck_run_refuse(const struct ck_state *s, const char *path);

/* What a folder is, by the names of the files in it. */
enum ck_folder {
    CK_FOLDER_OTHER,
    CK_FOLDER_RUN,       /* of 'coke train'; it may have saved nothing yet */
    CK_FOLDER_CLUSTERING /* of 'coke cluster' */
};
enum ck_folder ck_folder_kind(const char *path);

/* One training at a time writes a run: waits so many seconds for another to end. The lock ends
 * with the file descriptor, or the process, however it ends. */
int ck_run_lock(const char *run, int seconds, int *fd);

/* config.json: the options, as --config takes them. run.json: where the images are. */
int ck_run_write_config(const char *run, const struct ck_train_options *o);
int ck_run_write_json(const char *run, const struct ck_dataset *set);

/* A second name for a file of the run, put in place of what had it before. */
int ck_run_link(const char *run, const char *from, const char *to);
/* Checkpoints but for the newest `keep`; and all weights of a run that is overwritten: they
 * would pass for those of the new one. */
void ck_run_remove_old(const char *run, int64_t keep);
void ck_run_remove_all(const char *run);
/* Files that a process was writing when it was killed: as large as a checkpoint. */
void ck_run_remove_unfinished(const char *run);

#endif
