/* pickle_names.h - the globals that a pickle may name; private to pickle.c and
 * pickle_access.c. */
#ifndef CK_PICKLE_NAMES_H
#define CK_PICKLE_NAMES_H

#include "core/state.h"

/* The element type of the global with this number; returns 0 if it is not a storage. */
int ck_pickle_storage_dtype(int64_t number, enum ck_dtype *out);

#endif
