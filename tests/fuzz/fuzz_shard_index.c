/* fuzz_shard_index.c - the index of a tar file, damaged in any way: what is read from it lies
 * within the tar file, or the index is made again. */
#include "fuzz_file.h"
#include "data/shard_index.h"
#include "core/error.h"
#include "io/file.h"
#include "io/tar_write.h"

#include <string.h>

/* A tar file of three images and the bytes of its index. */
static struct {
    char tar[128], index[160];
    unsigned char bytes[4096];
    size_t size;
} made;

static void make(void)
{
    struct ck_writer w = {0};
    struct ck_shard_index x = {0};
    fuzz_path((const uint8_t *)"", 0, "none"); /* makes the folder */
    snprintf(made.tar, sizeof made.tar, "%s/x.tar", fuzz_folder);
    snprintf(made.index, sizeof made.index, "%s.cokeidx", made.tar);
    int rc = ck_writer_open(&w, made.tar, 1);
    for (int i = 0; i < 3 && !rc; i++)
        rc = ck_tar_add(&w, (const char *[]){"a.jpg", "b.jpg", "c/d.png"}[i], "image", 5, NULL);
    if (rc || ck_tar_end(&w) || ck_writer_commit(&w) || ck_shard_index_open(&x, made.tar, NULL))
        abort();
    ck_shard_index_release(&x);
    FILE *f = fopen(made.index, "rb");
    made.size = f ? fread(made.bytes, 1, sizeof made.bytes, f) : 0;
    if (!made.size || fclose(f))
        abort();
}

/* The input is laid over the true index, so that most of it stays right. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    unsigned char bytes[sizeof made.bytes];
    struct ck_shard_index x = {0};
    if (!made.size)
        make();
    memcpy(bytes, made.bytes, made.size);
    for (size_t i = 0; i + 2 < size; i += 3)
        bytes[(data[i] * 256u + data[i + 1]) % made.size] = data[i + 2];
    FILE *f = fopen(made.index, "wb");
    if (!f || fwrite(bytes, 1, made.size, f) != made.size || fclose(f))
        abort();
    if (ck_shard_index_open(&x, made.tar, NULL) || x.n != 3)
        abort();
    for (int64_t i = 0; i < x.n; i++)
        if (x.record[i].offset < 0 || x.record[i].size < 0 ||
            x.record[i].offset + x.record[i].size > x.size)
            abort();
    ck_shard_index_release(&x);
    return 0;
}
