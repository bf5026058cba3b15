/* fuzz_info.c - `coke info` of a file that may be anything: what it prints of names and values
 * holds no byte that a terminal acts on. The first byte chooses the name of the file and whether
 * the output is JSON. */
#include "coke.h"
#include "fuzz_file.h"
#include "io/info.h"

#include <string.h>

static void check_clean(const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (((unsigned char)text[i] < 32 && text[i] != '\n') || text[i] == 127)
            abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[] = {"x.safetensors", "x.npy",   "x.npz", "x.fvecs",
                                        "x.fbin",        "x.bvecs", "x"};
    enum { NAMES = sizeof names / sizeof *names };
    char *text = NULL;
    size_t n = 0;
    if (!size)
        return 0;
    setenv("COKE_HDF5", "/nowhere", 1);
    FILE *to = open_memstream(&text, &n);
    if (!to)
        return 0;
    int rc = ck_info_print(fuzz_path(data + 1, size - 1, names[data[0] / 2 % NAMES]),
                           NULL, data[0] & 1, to);
    fclose(to);
    if (rc && rc != COKE_EFORMAT && rc != COKE_ENOMEM && rc != COKE_EFAIL)
        abort();
    if (rc && n) /* nothing of an invalid file */
        abort();
    check_clean(text, n);
    free(text);
    return 0;
}
