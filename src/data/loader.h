/* loader.h - loader functions for other layers, beyond those of coke.h. */
#ifndef CK_LOADER_H
#define CK_LOADER_H

#include "data/recipe.h"

/* coke_loader_new with the mean and deviation of another recipe. */
int ck_loader_new_like(struct coke_loader **out, struct coke_dataset *data,
                       const struct coke_loader_options *options,
                       const struct ck_recipe *normed);
const struct ck_recipe *ck_loader_recipe(const struct coke_loader *l);

#endif
