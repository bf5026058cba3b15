/* file.h - memory-mapped input files, and output files that appear complete or not at all.
 *
 * Maps and writers have no lock: one thread at a time per object, any number of objects in
 * parallel. A finished map is read-only, so any number of threads may read it. */
#ifndef CK_FILE_H
#define CK_FILE_H

#include <stddef.h>

/* A regular file in memory: read if it is small, mapped if it is large. If another process
 * truncates a file while it is mapped, touching the missing pages raises SIGBUS, which
 * ck_guard_call turns into an error (core/guard.h) after coke_catch_sigbus. */
struct ck_map {
    const unsigned char *data; /* NULL when size is 0 */
    size_t size;
    int loaded; /* read into memory that ck_map_release frees */
};

/* These fail for anything but a regular file and leave *m zeroed then. name is for messages. Those
 * that take a path verify the checksum that may be beside the file (io/sums.h).
 * They map files of more than CK_LOAD_MOST bytes: touch their data in ck_guard_call only. */
enum { CK_LOAD_MOST = 16 << 20, CK_LOAD_MODEL = 1 << 30 };
int ck_map_open(struct ck_map *m, const char *path);
int ck_map_fd(struct ck_map *m, int fd, const char *name); /* the caller keeps fd */
/* The same for models, lists and settings, whose readers are not guarded: maps files of more
 * than CK_LOAD_MODEL bytes. */
int ck_map_load(struct ck_map *m, const char *path);
/* The same, and a pipe (--weights <(...)) is read to its end, at most CK_LOAD_MODEL bytes. */
int ck_map_load_any(struct ck_map *m, const char *path);
void ck_map_release(struct ck_map *m); /* a zeroed map is allowed */

/* Reads until n bytes have arrived or the input ends; *got is how many. */
int ck_fd_read(int fd, const char *name, void *out, size_t n, size_t *got);
/* Writes all n bytes or fails; retries short writes and EINTR. */
int ck_fd_write(int fd, const char *name, const void *data, size_t n);

/* Opens a regular file for writing in place, created if it is missing; more: further flags for
 * open(), such as O_APPEND. Symbolic links are refused, so that a folder from elsewhere cannot
 * make its writer change files outside of it. */
int ck_file_open_inside(const char *path, int more, int *fd);

/* The argument `force` of all writers: 0 = the file must not exist; this value = overwrite, but
 * refuse a symbolic link; others = overwrite, also what a link leads to. */
enum { CK_FORCE_INSIDE = -1 };

/* `force` of the user for a name that the user did not write, such as those in a folder. */
static inline int ck_force_inside(int force)
{
    return force ? CK_FORCE_INSIDE : 0;
}

/* Refuses a target that exists (without force) or cannot be written to, to be asked before any
 * work is done: "PATH exists; set force to overwrite it". */
int ck_file_check_target(const char *path, int force);

/* A file being written. It grows without a name, so that a killed process leaves nothing, and
 * gets its name in ck_writer_commit. Where the file system has no unnamed files it grows under
 * another name in the same directory. Devices and pipes are written directly. Usage:
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
    int unnamed;           /* the file has no name yet, only fd */
    unsigned char *buffer; /* data not yet given to write() */
    size_t used;
    struct ck_hash_stream *hash; /* of all bytes written */
    int fd;
    int force;
};

/* Overwrites *w. After a failure *w is closed, so ck_writer_abort does nothing. */
int ck_writer_open(struct ck_writer *w, const char *path, int force);
int ck_writer_write(struct ck_writer *w, const void *data, size_t n);
/* Writes the buffer and calls fsync: reports everything that a full disk can spoil. For several
 * files that belong together: sync all, then commit all. */
int ck_writer_sync(struct ck_writer *w);
/* The same, and releases the buffer and, of many files, the descriptor, so that only the name is
 * left to ck_writer_commit. Keeps the number of open files low when many files belong together
 * (data/pack.c). */
int ck_writer_finish(struct ck_writer *w);
/* Finishes the file if that was not done, names it and syncs the directory. On success *w is
 * closed; after a failure the caller still calls ck_writer_abort, which removes the temporary
 * file. */
int ck_writer_commit(struct ck_writer *w);
void ck_writer_abort(
    struct ck_writer *w); /* after a commit, or if never opened: does nothing */

/* Writes a new file that has its name only once it is complete, so that a killed process leaves
 * no partial one. Unlike a commit it does not wait for the disk: for many small files.
 * COKE_EUSAGE: the name is taken. */
int ck_file_put_new(const char *path, const void *bytes, size_t size);

/* Opens, writes and commits: a file of these bytes. */
int ck_file_write(const char *path, const void *bytes, size_t size, int force);

/* For tests: the nth write() from now on (1 = the next) fails with ENOSPC, once; 0 = none. The
 * counter belongs to the process, not to a thread. */
void ck_file_fail_write_at(int n);

#endif
