/* hdf5_plugin.h - what libcoke-hdf5.so offers to the library.
 *
 * The plug-in knows libhdf5 and nothing of the library but this file. libhdf5 is not thread-safe:
 * one call at a time, in the whole process (io/rows_hdf5.c has the lock). Functions that can fail
 * return 0, or 1 with the reason in words [room], a NUL-terminated sentence without the file's
 * name. */
#ifndef CK_HDF5_PLUGIN_H
#define CK_HDF5_PLUGIN_H

#include "core/state.h"

enum { CK_HDF5_VERSION = 2 };
#define CK_HDF5_ENTRY "ck_hdf5_entry"

struct ck_hdf5_array {
    enum ck_dtype dtype; /* CK_DTYPES: none of ours */
    int ndim;            /* beyond CK_MAX_DIMS only the first lengths are there */
    int64_t shape[CK_MAX_DIMS];
    int64_t offset; /* of the elements in the file if they are as in memory; else -1 */
    int64_t unit;   /* rows that are stored together */
    int64_t
        stored; /* bytes of elements that were ever written, before compression; -1: unknown,
                       as it always is in visit */
};

struct ck_hdf5 {
    /* *set is open until close; it is NULL on failure. */
    int (*open)(void **set, const char *path, const char *name, struct ck_hdf5_array *out,
                char *words, size_t room);
    /* Rows first .. first + n - 1 of a two-dimensional array, in its dtype. */
    int (*read)(void *set, int64_t first, int64_t n, void *out, char *words, size_t room);
    void (*close)(void *set);
    /* Calls fn for each data set of the file, in the order of their names. */
    int (*visit)(const char *path,
                 void (*fn)(void *arg, const char *name, const struct ck_hdf5_array *a),
                 void *arg, char *words, size_t room);
};

/* The symbol CK_HDF5_ENTRY; fails if the versions differ. */
typedef int ck_hdf5_entry_function(int version, struct ck_hdf5 *out, char *words, size_t room);

#endif
