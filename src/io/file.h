/* file.h - files mapped whole for reading, and files written whole or not at all. */
#ifndef CK_FILE_H
#define CK_FILE_H

#include <stddef.h>

/* A regular file in memory. If another process truncates it while it is mapped, touching the
 * missing pages raises SIGBUS: the readers do not guard against that. */
struct ck_map {
    const unsigned char *data; /* NULL when size is 0 */
    size_t size;
};

int ck_map_open(struct ck_map *m, const char *path);
int ck_map_fd(struct ck_map *m, int fd, const char *name); /* fd may be closed afterwards */
void ck_map_release(struct ck_map *m);                     /* a zeroed map is fine */

/* Reads until n bytes have come or the input ends; *got says how many. */
int ck_fd_read(int fd, const char *name, void *out, size_t n, size_t *got);
int ck_fd_write(int fd, const char *name, const void *data, size_t n);

/* Refuses a target that exists (without force) or cannot be written to, to be asked before any
 * work is done: "PATH exists; --force overwrites it". */
int ck_file_check_target(const char *path, int force);

/* A file being written. It grows under another name in the same directory and takes its own
 * name in ck_writer_commit; devices and pipes are written directly. Usage:
 *
 *     struct ck_writer w = {0};
 *     CK_TRY(ck_writer_open(&w, path, force));
 *     CK_TRY(ck_writer_write(&w, data, n));
 *     CK_TRY(ck_writer_commit(&w));
 * done:
 *     ck_writer_abort(&w);
 */
struct ck_writer {
    char *path;      /* as given, for sentences; NULL = not open */
    char *target;    /* where links lead to; NULL = written directly */
    char *directory; /* of the target */
    char *temp;      /* NULL when there is nothing to remove */
    unsigned char *buffer;
    size_t used;
    int fd;
    int force;
};

int ck_writer_open(struct ck_writer *w, const char *path, int force);
int ck_writer_write(struct ck_writer *w, const void *data, size_t n);
/* Everything that a full disk can spoil. Several files that belong together: sync all, then
 * commit all. */
int ck_writer_sync(struct ck_writer *w);
/* The same, and closes the file: only its name is missing, which a commit gives it. For many
 * files that belong together. */
int ck_writer_finish(struct ck_writer *w);
int ck_writer_commit(struct ck_writer *w);
void ck_writer_abort(
    struct ck_writer *w); /* after a commit, or if never opened: does nothing */

/* All of it in one call: a file of these bytes. */
int ck_file_write(const char *path, const void *bytes, size_t size, int force);

/* For tests: the nth write() from now on (1 = the next) fails with ENOSPC, once. 0 = none. */
void ck_file_fail_write_at(int n);

#endif
