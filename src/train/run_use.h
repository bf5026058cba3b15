/* run_use.h - applies a trained encoder to images: which weights, and how images are prepared.
 */
#ifndef CK_RUN_USE_H
#define CK_RUN_USE_H

#include "eval/features.h"
#include "train/run_files.h"
#include "train/use_options.h"

/* As ck_run_open; a file without metadata of this program is read as weights of a torchvision
 * ResNet, whose kind, stem, width and channels follow from its tensors. ck_run_close it. */
int ck_use_open(struct ck_run *r, const char *path, const struct ck_use_options *o);

/* Is path a run folder, or a checkpoint or encoder file of this program? */
int ck_use_is_run(const char *path);

/* How images of d are prepared: size and normalization of the options, else of the training. */
int ck_use_recipe(const struct ck_run *r, struct coke_dataset *d,
                  const struct ck_use_options *o, struct ck_recipe *out);
/* The same as a feature extractor, which borrows r and d. Free with ck_features_free. */
int ck_use_features(struct ck_run *r, struct coke_dataset *d, const struct ck_use_options *o,
                    struct ck_features **out);

/* A run that was opened for use, with the options it was opened with. */
struct coke_run {
    struct ck_run r;
    struct ck_use_options o;
};

int ck_use_new(struct coke_run **out, const char *path, const struct ck_use_options *options);
void ck_use_free(struct coke_run *r);
/* Side of what the encoder sees of an image of d; 0: it cannot use them. */
int32_t ck_use_image_size(const struct coke_run *r, struct coke_dataset *d);
/* Clusters of head h; 0 = there is no such head. */
int64_t ck_use_clusters(const struct coke_run *r, int h);
/* Images of its training; 0 without heads. */
int64_t ck_use_images(const struct coke_run *r);
/* The first head with as many clusters as there are classes; -1 = none. */
int ck_use_match(const struct coke_run *r, int32_t classes);
/* COKE_EUSAGE if it is an encoder alone. */
int ck_use_check_heads(const struct coke_run *r);

#endif
