/* hdf5_names.c - stands in for libcoke-hdf5.so: what libhdf5 would find in a file, names, types,
 * shapes and places, is what the bytes of the file say. fuzz_hdf5.c loads it.
 *
 * The file is its signature and a record per data set: the length of the name, the name, dtype,
 * number of dimensions, two lengths of 8 bytes, offset and unit of 4 bytes each. */
#include "io/hdf5_plugin.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SIGNATURE = 8,
    FIXED = 26,
    FILE_MAX = 1 << 16,
    NAME_MAX_BYTES = 256,
    READ_MAX = 4096,
    COLUMNS_MAX = 1 << 24
};

struct file {
    unsigned char bytes[FILE_MAX];
    size_t size, at;
};

static int load(struct file *f, const char *path)
{
    FILE *in = fopen(path, "rb");
    if (!in)
        return 1;
    f->size = fread(f->bytes, 1, sizeof f->bytes, in);
    f->at = SIGNATURE;
    return fclose(in);
}

static int next(struct file *f, char name[NAME_MAX_BYTES], struct ck_hdf5_array *a)
{
    int32_t place[2];
    if (f->at >= f->size || f->size - f->at < 1u + f->bytes[f->at] + FIXED)
        return 0;
    const unsigned char *p = f->bytes + f->at + 1;
    size_t n = p[-1];
    memcpy(name, p, n);
    name[n] = 0;
    p += n;
    *a = (struct ck_hdf5_array){.dtype = (enum ck_dtype)(p[0] % (CK_DTYPES + 1)),
                                .ndim = p[1] % (CK_MAX_DIMS + 3)};
    memcpy(a->shape, p + 2, 16);
    if (a->shape[1] > COLUMNS_MAX && a->shape[1] <= INT32_MAX)
        a->shape[1] %= COLUMNS_MAX; /* a row of gigabytes is legal */
    memcpy(place, p + 18, sizeof place);
    a->offset = place[0];
    a->unit = place[1];
    a->stored = -1;
    f->at += 1 + n + FIXED;
    return 1;
}

static int fake_visit(const char *path,
                      void (*fn)(void *arg, const char *name, const struct ck_hdf5_array *a),
                      void *arg, char *words, size_t room)
{
    static struct file f;
    char name[NAME_MAX_BYTES];
    struct ck_hdf5_array a;
    if (load(&f, path))
        return snprintf(words, room, "cannot be opened") > 0;
    while (next(&f, name, &a))
        fn(arg, name, &a);
    return 0;
}

static int fake_open(void **set, const char *path, const char *name, struct ck_hdf5_array *out,
                     char *words, size_t room)
{
    static struct file f;
    char found[NAME_MAX_BYTES];
    *set = NULL;
    if (load(&f, path) == 0)
        while (next(&f, found, out))
            if (strcmp(found, name + (name[0] == '/')) == 0) {
                *set = malloc(sizeof *out);
                memcpy(*set, out, sizeof *out);
                return 0;
            }
    return snprintf(words, room, "no data set '%s' in it", name) > 0;
}

/* The program's own function is not exported to plug-ins. */
static size_t dtype_size(enum ck_dtype t)
{
    static const size_t size[CK_DTYPES + 1] = {8, 4, 2, 2, 8, 4, 2, 1, 8, 4, 2, 1, 1, 0};
    return size[t];
}

static int fake_read(void *set, int64_t first, int64_t n, void *out, char *words, size_t room)
{
    const struct ck_hdf5_array *a = set;
    if (first < 0 || n < 1 || n > a->shape[0] - first || first + n > READ_MAX ||
        a->shape[1] > READ_MAX)
        return snprintf(words, room, "rows %lld", (long long)first) > 0;
    memset(out, 0, (size_t)(n * a->shape[1]) * dtype_size(a->dtype));
    return 0;
}

__attribute__((visibility("default"))) ck_hdf5_entry_function ck_hdf5_entry;

int ck_hdf5_entry(int version, struct ck_hdf5 *out, char *words, size_t room)
{
    (void)words;
    (void)room;
    *out = (struct ck_hdf5){
        .open = fake_open, .read = fake_read, .close = free, .visit = fake_visit};
    return version != CK_HDF5_VERSION;
}
