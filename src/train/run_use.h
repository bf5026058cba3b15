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

#endif
