/* file.h - memory-mapped input files, and output files that appear complete or not at all.
 *
 * Maps and writers have no lock: one thread at a time per object, any number of objects in
 * parallel. A finished map is read-only, so any number of threads may read it. */
#ifndef CK_FILE_H
#define CK_FILE_H

#include <stddef.h>

/* A regular file mapped into memory. If another process truncates the file while it is mapped,
 * touching the missing pages raises SIGBUS; the readers do not guard against that. */
struct ck_map {
    const unsigned char *data; /* NULL when size is 0 */
    size_t size;
};

/* Both fail for anything but a regular file and leave *m zeroed then. name is for messages. */
int ck_map_open(struct ck_map *m, const char *path);
int ck_map_fd(struct ck_map *m, int fd, const char *name); /* the caller keeps fd */
void ck_map_release(struct ck_map *m);                     /* a zeroed map is allowed */

/* Reads until n bytes have arrived or the input ends; *got is how many. */
int ck_fd_read(int fd, const char *name, void *out, size_t n, size_t *got);
/* Writes all n bytes or fails; retries short writes and EINTR. */
int ck_fd_write(int fd, const char *name, const void *data, size_t n);

/* Refuses a target that exists (without force) or cannot be written to, to be asked before any
 * work is done: "PATH exists; set force to overwrite it". */
int ck_file_check_target(const char *path, int force);

/* A file being written. The data go to a temporary file in the same directory, which
 * ck_writer_commit renames to its final name; devices and pipes are written directly. Usage:
 *
 *     struct ck_writer w = {0};
 *     CK_TRY(ck_writer_open(&w, path, force));
 *     CK_TRY(ck_writer_write(&w, data, n));
 *     CK_TRY(ck_writer_commit(&w));
 * done:
 *     ck_writer_abort(&w);
 */
struct ck_writer {
    char *path;            /* as given, for messages; NULL = not open */
    char *target;          /* after resolving links; NULL = written directly */
    char *directory;       /* of the target */
    char *temp;            /* temporary file; NULL = nothing to remove */
    unsigned char *buffer; /* data not yet given to write() */
    size_t used;
    int fd;
    int force;
};

/* Overwrites *w. After a failure *w is closed, so ck_writer_abort does nothing. */
int ck_writer_open(struct ck_writer *w, const char *path, int force);
int ck_writer_write(struct ck_writer *w, const void *data, size_t n);
/* Writes the buffer and calls fsync: reports everything that a full disk can spoil. For several
 * files that belong together: sync all, then commit all. */
int ck_writer_sync(struct ck_writer *w);
/* The same, and closes the file, so that only the rename is left to ck_writer_commit. Keeps the
 * number of open files low when many files belong together (data/pack.c). */
int ck_writer_finish(struct ck_writer *w);
/* Finishes the file if that was not done, renames it and syncs the directory. On success *w is
 * closed; after a failure the caller still calls ck_writer_abort, which removes the temporary
 * file. */
int ck_writer_commit(struct ck_writer *w);
void ck_writer_abort(
    struct ck_writer *w); /* after a commit, or if never opened: does nothing */

/* For tests: the nth write() from now on (1 = the next) fails with ENOSPC, once; 0 = none. The
 * counter belongs to the process, not to a thread. */
void ck_file_fail_write_at(int n);

#endif
