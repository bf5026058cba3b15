/* fuzz_tfevents.c - an event file that may be anything is trimmed: what is left has only steps
 * that were asked for, and trimming it again changes nothing. CRCs stop nearly every change, so
 * those of what looks like a record are set right. */
#include "coke.h"
#include "fuzz_file.h"
#include "io/crc32c.h"
#include "io/load.h"
#include "core/mem.h"
#include "io/tfevents.h"
#include "io/tfevents_dir.h"

#include <string.h>

enum { HEAD = 12, TAIL = 4 };

static void set_crc(uint8_t *data, size_t n)
{
    uint32_t crc = ck_crc32c_masked(data, n);
    memcpy(data + n, &crc, sizeof crc);
}

static void mend(uint8_t *p, uint8_t *end)
{
    uint64_t length;
    while (end - p >= HEAD + TAIL) {
        memcpy(&length, p, sizeof length);
        if (length > (uint64_t)(end - p) - HEAD - TAIL)
            return;
        set_crc(p, sizeof length);
        set_crc(p + HEAD, (size_t)length);
        p += HEAD + length + TAIL;
    }
}

/* What is left of the file; *size is -1 if it is gone. The caller frees it. */
static unsigned char *trim(const char *path, int64_t step, int64_t *size)
{
    unsigned char *data = NULL;
    size_t room = 0, n = 0;
    *size = -1;
    if (ck_tfevents_trim(fuzz_folder, step, NULL, NULL))
        abort();
    if (access(path, F_OK))
        return NULL;
    if (ck_load_file(path, INT64_MAX / 2, &data, &room, &n))
        abort();
    *size = (int64_t)n;
    return data;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int64_t once, twice;
    if (!size)
        return 0;
    uint8_t *file = malloc(size);
    if (!file)
        return 0;
    memcpy(file, data, size);
    if (data[0] & 1)
        mend(file + 1, file + size);
    const char *path = fuzz_path(file + 1, size - 1, CK_TFEVENTS_PREFIX "1.host");
    unsigned char *a = trim(path, data[0], &once), *b = trim(path, data[0], &twice);
    if (once != twice || (once > 0 && memcmp(a, b, (size_t)once) != 0) ||
        once > (int64_t)size - 1)
        abort();
    ck_free(a);
    ck_free(b);
    free(file);
    return 0;
}
