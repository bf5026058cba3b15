/* loader.h - what other layers ask of a loader beside coke.h. */
#ifndef CK_LOADER_H
#define CK_LOADER_H

#include "data/recipe.h"

const struct ck_recipe *ck_loader_recipe(const struct coke_loader *l);

#endif
