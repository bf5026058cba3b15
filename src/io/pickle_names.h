/* pickle_names.h - between pickle.c and pickle_look.c: the names that a pickle may ask for. */
#ifndef CK_PICKLE_NAMES_H
#define CK_PICKLE_NAMES_H

#include "core/state.h"

/* The type of the storage with this number among the names; 0 = it is no storage. */
int ck_pickle_storage_dtype(int64_t number, enum ck_dtype *out);

#endif
