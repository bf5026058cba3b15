/* hdf5_plugin.c - libcoke-hdf5.so: data sets of HDF5 files, read by libhdf5. */
#include "io/hdf5_plugin.h"

#include <hdf5.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Chunks are read in order: a cache of one row of chunks is enough, if it is not too large. */
enum { CACHE_MOST = 256 << 20 };

struct set {
    hid_t file, id, memory; /* the data set and the type of its elements in memory */
    int64_t columns;
};

/* libhdf5 prints its errors unless it is told not to, for every call. */
#define QUIET(statement)                                                                       \
    do {                                                                                       \
        H5E_BEGIN_TRY                                                                          \
        {                                                                                      \
            statement;                                                                         \
        }                                                                                      \
        H5E_END_TRY;                                                                           \
    } while (0)

static int fail(char *words, size_t room, const char *text)
{
    snprintf(words, room, "%s", text);
    return 1;
}

/* ---- types ---- */

/* A little-endian float of 16 bits with so many for exponent and fraction. */
static hid_t short_float(size_t exponent, size_t fraction, size_t bias)
{
    hid_t t = H5Tcopy(H5T_IEEE_F32LE);
    if (H5Tset_fields(t, 15, fraction, exponent, 0, fraction) < 0 || H5Tset_size(t, 2) < 0 ||
        H5Tset_ebias(t, bias) < 0) {
        H5Tclose(t);
        return -1;
    }
    return t;
}

static enum ck_dtype float_type(hid_t type, hid_t *memory)
{
    size_t sign, exponent, exponent_size, fraction, fraction_size;
    size_t size = H5Tget_size(type);
    if (size == 2 &&
        H5Tget_fields(type, &sign, &exponent, &exponent_size, &fraction, &fraction_size) >= 0) {
        int is_half = exponent_size == 5, is_brain = exponent_size == 8;
        if (is_half || is_brain)
            *memory = is_half ? short_float(5, 10, 15) : short_float(8, 7, 127);
        return is_half ? CK_F16 : is_brain ? CK_BF16 : CK_DTYPES;
    }
    if (size != 4 && size != 8)
        return CK_DTYPES;
    *memory = H5Tcopy(size == 4 ? H5T_IEEE_F32LE : H5T_IEEE_F64LE);
    return size == 4 ? CK_F32 : CK_F64;
}

static enum ck_dtype int_type(hid_t type, hid_t *memory)
{
    static const enum ck_dtype ours[2][4] = {{CK_U8, CK_U16, CK_U32, CK_U64},
                                             {CK_I8, CK_I16, CK_I32, CK_I64}};
    const hid_t theirs[2][4] = {{H5T_STD_U8LE, H5T_STD_U16LE, H5T_STD_U32LE, H5T_STD_U64LE},
                                {H5T_STD_I8LE, H5T_STD_I16LE, H5T_STD_I32LE, H5T_STD_I64LE}};
    size_t size = H5Tget_size(type);
    int is_signed = H5Tget_sign(type) == H5T_SGN_2;
    int width = size == 1 ? 0 : size == 2 ? 1 : size == 4 ? 2 : size == 8 ? 3 : -1;
    if (width < 0)
        return CK_DTYPES;
    *memory = H5Tcopy(theirs[is_signed][width]);
    return ours[is_signed][width];
}

/* *memory, which the caller closes unless it is -1: the type that elements are read as. h5py
 * stores booleans as an enumeration of one byte. */
static enum ck_dtype find_type(hid_t type, hid_t *memory)
{
    *memory = -1;
    H5T_class_t class = H5Tget_class(type);
    if (class == H5T_FLOAT)
        return float_type(type, memory);
    if (class == H5T_INTEGER)
        return int_type(type, memory);
    if (class == H5T_ENUM && H5Tget_size(type) == 1) {
        *memory = H5Tcopy(type);
        return CK_BOOL;
    }
    return CK_DTYPES;
}

/* ---- a data set ---- */

static void find_shape(hid_t id, struct ck_hdf5_array *a)
{
    hsize_t lengths[H5S_MAX_RANK];
    hid_t space = H5Dget_space(id);
    a->ndim = space < 0 ? 0 : H5Sget_simple_extent_dims(space, lengths, NULL);
    if (a->ndim < 0)
        a->ndim = 0;
    for (int i = 0; i < a->ndim && i < CK_MAX_DIMS; i++)
        a->shape[i] = lengths[i] > INT64_MAX ? -1 : (int64_t)lengths[i];
    if (space >= 0)
        H5Sclose(space);
}

/* Where contiguous elements are that need no conversion, and how many rows a chunk has. */
static void find_place(hid_t id, hid_t type, hid_t memory, struct ck_hdf5_array *a)
{
    hsize_t chunk[H5S_MAX_RANK];
    hid_t how = H5Dget_create_plist(id);
    a->offset = -1;
    a->unit = 1;
    if (how < 0)
        return;
    H5D_layout_t layout = H5Pget_layout(how);
    if (layout == H5D_CONTIGUOUS && H5Tequal(type, memory) > 0) {
        haddr_t at = H5Dget_offset(id);
        a->offset = at == HADDR_UNDEF || at > INT64_MAX ? -1 : (int64_t)at;
    }
    if (layout == H5D_CHUNKED && H5Pget_chunk(how, H5S_MAX_RANK, chunk) > 0 && chunk[0] > 0 &&
        chunk[0] < (1 << 30))
        a->unit = (int64_t)chunk[0];
    H5Pclose(how);
}

/* Bytes of elements in chunks that the file has; chunks that were never written take no space. */
static int64_t chunk_bytes(hid_t id, hid_t how, size_t size)
{
#if H5_VERSION_GE(1, 10, 5)
    hsize_t chunk[H5S_MAX_RANK], n;
    int ndim = H5Pget_chunk(how, H5S_MAX_RANK, chunk);
    hid_t space = H5Dget_space(id);
    int failed = ndim <= 0 || space < 0 || H5Dget_num_chunks(id, space, &n) < 0;
    if (space >= 0)
        H5Sclose(space);
    if (failed)
        return -1;
    double bytes = (double)size * (double)n;
    for (int i = 0; i < ndim; i++)
        bytes *= (double)chunk[i];
    return bytes < 0x1p62 ? (int64_t)bytes : -1;
#else
    (void)how;
    (void)size;
    return H5Dget_storage_size(id) ? -1 : 0;
#endif
}

/* Of the layouts in this file; virtual and external data sets have their elements elsewhere. */
static int64_t find_stored(hid_t id, size_t size)
{
    hid_t how = H5Dget_create_plist(id);
    int64_t stored = -1;
    if (how < 0)
        return -1;
    H5D_layout_t layout = H5Pget_layout(how);
    if (layout == H5D_CHUNKED)
        stored = chunk_bytes(id, how, size);
    else if (layout == H5D_CONTIGUOUS && H5Pget_external_count(how) == 0)
        stored = (int64_t)H5Dget_storage_size(id);
    H5Pclose(how);
    return stored;
}

/* *memory as above. */
static void describe(hid_t id, struct ck_hdf5_array *a, hid_t *memory)
{
    hid_t type = H5Dget_type(id);
    *a = (struct ck_hdf5_array){.dtype = CK_DTYPES, .offset = -1, .unit = 1, .stored = -1};
    *memory = -1;
    find_shape(id, a);
    if (type < 0)
        return;
    a->dtype = find_type(type, memory);
    if (*memory < 0)
        a->dtype = CK_DTYPES;
    else
        find_place(id, type, *memory, a);
    H5Tclose(type);
}

/* Opens the data set with a chunk cache for one row of chunks. */
static hid_t open_set(hid_t file, const char *name)
{
    hid_t access = H5Pcreate(H5P_DATASET_ACCESS);
    H5Pset_chunk_cache(access, 12421, CACHE_MOST, 1);
    hid_t id = H5Dopen2(file, name, access);
    H5Pclose(access);
    return id;
}

static void close_set(void *set)
{
    struct set *s = set;
    if (s->memory >= 0)
        H5Tclose(s->memory);
    if (s->id >= 0)
        H5Dclose(s->id);
    if (s->file >= 0)
        H5Fclose(s->file);
    free(s);
}

static void plugin_close(void *set)
{
    QUIET(close_set(set));
}

static int open_all(struct set *s, const char *path, const char *name,
                    struct ck_hdf5_array *out, char *words, size_t room)
{
    s->file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    if (s->file < 0)
        return fail(words, room, "libhdf5 cannot open it: not HDF5, or damaged");
    s->id = open_set(s->file, name);
    if (s->id < 0)
        return fail(words, room, "no such data set in it");
    describe(s->id, out, &s->memory);
    if (s->memory >= 0)
        out->stored = find_stored(s->id, H5Tget_size(s->memory));
    s->columns = out->shape[1];
    return 0;
}

static int plugin_open(void **set, const char *path, const char *name,
                       struct ck_hdf5_array *out, char *words, size_t room)
{
    int failed;
    struct set *s = malloc(sizeof *s);
    *set = NULL;
    if (!s)
        return fail(words, room, "out of memory");
    *s = (struct set){-1, -1, -1, 0};
    QUIET(failed = open_all(s, path, name, out, words, room));
    if (failed)
        plugin_close(s);
    else
        *set = s;
    return failed;
}

static int read_rows(const struct set *s, int64_t first, int64_t n, void *out)
{
    const hsize_t from[2] = {(hsize_t)first, 0}, count[2] = {(hsize_t)n, (hsize_t)s->columns};
    hid_t space = H5Dget_space(s->id), memory = H5Screate_simple(2, count, NULL);
    int failed = space < 0 || memory < 0 ||
                 H5Sselect_hyperslab(space, H5S_SELECT_SET, from, NULL, count, NULL) < 0 ||
                 H5Dread(s->id, s->memory, memory, space, H5P_DEFAULT, out) < 0;
    if (space >= 0)
        H5Sclose(space);
    if (memory >= 0)
        H5Sclose(memory);
    return failed;
}

static int plugin_read(void *set, int64_t first, int64_t n, void *out, char *words, size_t room)
{
    int failed;
    QUIET(failed = read_rows(set, first, n, out));
    if (failed)
        snprintf(words, room,
                 "libhdf5 cannot read rows %lld to %lld: damaged, or a filter is missing",
                 (long long)first, (long long)(first + n - 1));
    return failed;
}

/* ---- all data sets ---- */

struct visit {
    void (*fn)(void *arg, const char *name, const struct ck_hdf5_array *a);
    void *arg;
};

/* Hard links only: others may lead to other files. */
static herr_t visit_link(hid_t group, const char *name, const H5L_info_t *info, void *arg)
{
    struct visit *v = arg;
    struct ck_hdf5_array a;
    hid_t memory;
    if (info->type != H5L_TYPE_HARD)
        return 0;
    hid_t id = H5Oopen(group, name, H5P_DEFAULT);
    if (id >= 0 && H5Iget_type(id) == H5I_DATASET) {
        describe(id, &a, &memory);
        v->fn(v->arg, name, &a);
        if (memory >= 0)
            H5Tclose(memory);
    }
    if (id >= 0)
        H5Oclose(id);
    return 0;
}

static int visit_file(const char *path, struct visit *v, char *words, size_t room)
{
    hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    if (file < 0)
        return fail(words, room, "libhdf5 cannot open it: not HDF5, or damaged");
    int failed = H5Lvisit(file, H5_INDEX_NAME, H5_ITER_INC, visit_link, v) < 0;
    H5Fclose(file);
    return failed ? fail(words, room, "libhdf5 cannot list its data sets") : 0;
}

static int plugin_visit(const char *path,
                        void (*fn)(void *arg, const char *name, const struct ck_hdf5_array *a),
                        void *arg, char *words, size_t room)
{
    int failed;
    struct visit v = {fn, arg};
    QUIET(failed = visit_file(path, &v, words, room));
    return failed;
}

__attribute__((visibility("default"))) ck_hdf5_entry_function ck_hdf5_entry;

int ck_hdf5_entry(int version, struct ck_hdf5 *out, char *words, size_t room)
{
    if (version != CK_HDF5_VERSION) {
        snprintf(words, room, "built for version %d of the interface, not %d", CK_HDF5_VERSION,
                 version);
        return 1;
    }
    *out = (struct ck_hdf5){
        .open = plugin_open, .read = plugin_read, .close = plugin_close, .visit = plugin_visit};
    return 0;
}
