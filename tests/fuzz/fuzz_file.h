/* fuzz_file.h - bytes as a file, for parsers that read files. */
#ifndef CK_FUZZ_FILE_H
#define CK_FUZZ_FILE_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* In memory, at its beginning; made once. */
static inline int fuzz_fd(const uint8_t *data, size_t size)
{
    static int fd = -1;
    if (fd < 0)
        fd = memfd_create("fuzz", MFD_CLOEXEC);
    if (fd < 0 || ftruncate(fd, 0) || pwrite(fd, data, size, 0) != (ssize_t)size ||
        lseek(fd, 0, SEEK_SET))
        abort();
    return fd;
}

static char fuzz_folder[] = "/dev/shm/coke-fuzz-XXXXXX"; /* hundreds of files per second */

static inline void fuzz_clear(void)
{
    char command[64];
    snprintf(command, sizeof command, "rm -rf %s", fuzz_folder);
    if (system(command))
        perror(fuzz_folder);
}

/* With this name, in a folder of its own that goes with the process. */
static inline const char *fuzz_path(const uint8_t *data, size_t size, const char *name)
{
    static char path[128];
    static int made;
    if (!made++ && (!mkdtemp(fuzz_folder) || atexit(fuzz_clear)))
        abort();
    snprintf(path, sizeof path, "%s/%s", fuzz_folder, name);
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(data, 1, size, f) != size || fclose(f))
        abort();
    return path;
}

#endif
