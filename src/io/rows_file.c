/* rows_file.c - joins several mapped files into one list of rows.
 *
 * All access to the files is in ck_guard_call: a file that another process truncates is an
 * error. Opening advises no access pattern: clustering reads in random order during the epochs
 * and in file order at the end. */
#include "io/rows_file.h"
#include "io/rows_part.h"
#include "io/rows_paths.h"
#include "core/error.h"
#include "core/guard.h"
#include "core/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { AHEAD = 6 }; /* prefetch distance, rows */

struct file_rows {
    struct coke_rows base;
    struct ck_part *part; /* [nparts], in row order */
    int nparts;
    char name[256];
    struct ck_spooled spooled;
};

/* ---- access ---- */

/* The part that contains a valid row, by binary search. */
static const struct ck_part *find_part(const struct file_rows *f, int64_t row)
{
    int low = 0, high = f->nparts - 1;
    while (low < high) {
        int mid = low + (high - low + 1) / 2;
        if (f->part[mid].first <= row)
            low = mid;
        else
            high = mid - 1;
    }
    return &f->part[low];
}

/* Rows in random order miss every cache, so prefetch the next few while this one is copied (128
 * columns, one thread: f4 11 -> 14, f2 3.6 -> 11 million rows per second). Forced inline,
 * because gcc drops calls of a function that does nothing but prefetch. */
static inline __attribute__((always_inline)) void fetch_ahead(const struct file_rows *f,
                                                              int64_t row)
{
    enum { LINE = 64, LINES = 8 };
    if (f->nparts > 1 || row < 0 || row >= f->base.n)
        return;
    const struct ck_vecs *v = &f->part->vecs;
    const unsigned char *p = f->part->data + (size_t)row * v->stride;
    for (size_t at = 0; at < v->stride && at < LINE * LINES; at += LINE)
        __builtin_prefetch(p + at);
}

/* One call of get. */
struct request {
    const struct file_rows *rows;
    const int64_t *index; /* [n] */
    int n, ld;
    float *out;                          /* [n][ld] */
    const struct ck_part *volatile part; /* being read; known when a fault ends the call */
};

/* Called by ck_guard_call: holds nothing. */
static int copy_rows(void *arg)
{
    struct request *q = arg;
    const struct file_rows *f = q->rows;
    const struct coke_rows *r = &f->base;
    float *out = q->out;
    for (int i = 0; i < q->n; i++, out += q->ld) {
        int64_t row = q->index[i];
        if (row < 0 || row >= r->n)
            return ck_fail(COKE_EUSAGE, "%s: row %lld requested, but there are only %lld",
                           r->name, (long long)row, (long long)r->n);
        if (i + AHEAD < q->n)
            fetch_ahead(f, q->index[i + AHEAD]);
        const struct ck_part *p = f->nparts == 1 ? f->part : find_part(f, row);
        q->part = p;
        CK_RETURN_IF(ck_part_row(p, row - p->first, out));
        for (int j = r->dim; j < q->ld; j++)
            out[j] = 0.0f;
    }
    return COKE_OK;
}

/* Reads only, so several threads may call it at the same time. */
static int get(struct coke_rows *r, const int64_t *index, int n, float *out, int ld)
{
    struct request q = {
        .rows = (const struct file_rows *)r, .index = index, .n = n, .ld = ld, .out = out};
    int rc = ck_guard_call(copy_rows, &q);
    return rc == COKE_EIO ? ck_fail_prefix(rc, "%s: ", q.part->name) : rc;
}

/* Asks the kernel to read ahead rows [begin, end) of one part. Best effort: errors are
 * ignored. */
static void advise(const struct ck_part *p, int64_t begin, int64_t end)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t from = (uintptr_t)(p->data + (size_t)begin * p->vecs.stride) / page * page;
    uintptr_t to = (uintptr_t)(p->data + (size_t)end * p->vecs.stride);
    madvise((void *)from, to - from, MADV_WILLNEED);
}

static void will_need(struct coke_rows *r, int64_t first, int64_t n)
{
    const struct file_rows *f = (const struct file_rows *)r;
    if (first < 0 || n <= 0 || first >= r->n)
        return;
    int64_t end = n < r->n - first ? first + n : r->n;
    while (first < end) {
        const struct ck_part *p = find_part(f, first);
        int64_t stop = p->first + p->vecs.n < end ? p->first + p->vecs.n : end;
        advise(p, first - p->first, stop - p->first);
        first = stop;
    }
}

static void where(const struct coke_rows *r, int64_t index, char *text, int size)
{
    const struct ck_part *p = find_part((const struct file_rows *)r, index);
    snprintf(text, (size_t)size, "%s: row %lld", p->name, (long long)(index - p->first));
}

/* One call of value. */
struct element {
    const struct ck_part *part;
    int64_t row;
    int32_t column;
    double value;
};

/* Called by ck_guard_call: holds nothing. */
static int read_value(void *arg)
{
    struct element *e = arg;
    e->value = ck_part_value(e->part, e->row, e->column);
    return COKE_OK;
}

static double value(struct coke_rows *r, int64_t index, int32_t column)
{
    const struct ck_part *p = find_part((const struct file_rows *)r, index);
    struct element e = {p, index - p->first, column, (double)NAN};
    ck_guard_call(read_value, &e);
    return e.value;
}

static void release(struct coke_rows *r)
{
    struct file_rows *f = (struct file_rows *)r;
    for (int i = 0; i < f->nparts; i++)
        ck_part_release(&f->part[i]);
    ck_free(f->part);
    ck_free(f);
}

/* ---- opening ---- */

/* Opens standard input or a pipe, blocking until the pipe has a writer; *fd = -1 if path is
 * neither. The caller closes *fd. */
static int open_pipe(const char *path, int *fd)
{
    struct stat st;
    *fd = -1;
    int is_stdin = strcmp(path, "-") == 0;
    if (!is_stdin && (stat(path, &st) || !S_ISFIFO(st.st_mode)))
        return COKE_OK;
    if (is_stdin && isatty(STDIN_FILENO))
        return ck_fail(COKE_EUSAGE, "-: standard input is a terminal; pipe a .npy into it");
    *fd = is_stdin ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3) : open(path, O_RDONLY | O_CLOEXEC);
    return *fd < 0 ? ck_fail(COKE_EIO, "%s: %s", path, strerror(errno)) : COKE_OK;
}

static const char *shown_name(const char *path)
{
    return strcmp(path, "-") == 0 ? "stdin" : path;
}

/* Standard input may be a file at its beginning (coke < x.npy), which needs no spooling. */
static int is_whole_file(int fd)
{
    struct stat st;
    return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && lseek(fd, 0, SEEK_CUR) == 0;
}

/* Maps a file, or what a pipe brings. */
static int map_part(struct ck_part *p, const char *path, const struct ck_raw *raw,
                    struct ck_spooled *spooled)
{
    int rc = COKE_OK, fd = -1;
    CK_TRY(open_pipe(path, &fd));
    if (fd < 0)
        CK_TRY(ck_map_open(&p->map, p->path));
    else if (is_whole_file(fd))
        CK_TRY(ck_map_fd(&p->map, fd, p->name));
    else if (raw)
        CK_TRY(ck_spool_rest(&p->map, fd, p->name, spooled));
    else
        CK_TRY(ck_spool_npy(&p->map, fd, p->name, spooled));
done:
    if (fd >= 0)
        close(fd);
    return rc;
}

/* Appends one part. On failure the caller releases it with the others. */
static int open_part(struct file_rows *f, const char *path, const struct ck_raw *raw)
{
    struct ck_part *p = &f->part[f->nparts++];
    CK_RETURN_IF(ck_part_name(p, shown_name(path)));
    CK_RETURN_IF(map_part(p, path, raw, &f->spooled));
    CK_RETURN_IF(ck_part_parse(p, raw));
    return ck_part_settle(p, &f->spooled);
}

/* Numbers the rows of all parts consecutively, in the order of the paths. */
static int join_parts(struct file_rows *f)
{
    struct coke_rows *r = &f->base;
    const struct ck_part *first = &f->part[0];
    r->dim = first->vecs.dim;
    for (int i = 0; i < f->nparts; i++) {
        struct ck_part *p = &f->part[i];
        if (p->vecs.dim != r->dim)
            return ck_fail(COKE_EFORMAT, "%s has %d columns, %s has %d", first->name, r->dim,
                           p->name, p->vecs.dim);
        p->first = r->n;
        r->n += p->vecs.n;
        r->bytes += p->vecs.n * p->vecs.dim * (int64_t)ck_dtype_size(p->dtype);
    }
    if (f->nparts == 1)
        snprintf(f->name, sizeof f->name, "%s", first->name);
    else
        snprintf(f->name, sizeof f->name, "%.200s and %d more", first->name, f->nparts - 1);
    return COKE_OK;
}

/* Files in folders that were not read must not go unnoticed. */
static void note_left_out(struct file_rows *f, const struct ck_paths *paths)
{
    size_t used = strlen(f->spooled.note);
    if (paths->left_out)
        snprintf(f->spooled.note + used, sizeof f->spooled.note - used,
                 "%s%lld other file%s in the folder%s not read", used ? "; " : "",
                 (long long)paths->left_out, paths->left_out == 1 ? "" : "s",
                 paths->left_out == 1 ? " was" : " were");
}

static int open_files(struct coke_rows **out, const struct ck_paths *paths,
                      const struct ck_raw *raw, const char *spool_dir)
{
    int rc = COKE_OK;
    struct file_rows *f = ck_calloc_array(1, sizeof *f);
    if (!f)
        return COKE_ENOMEM;
    f->base = (struct coke_rows){.name = f->name,
                                 .note = f->spooled.note,
                                 .get = get,
                                 .will_need = will_need,
                                 .where = where,
                                 .value = value,
                                 .free = release};
    f->spooled.dir = spool_dir;
    f->part = ck_calloc_array((size_t)paths->n, sizeof *f->part);
    if (!f->part)
        CK_LEAVE(COKE_ENOMEM);
    for (int64_t i = 0; i < paths->n; i++)
        CK_TRY(open_part(f, paths->path[i], raw));
    CK_TRY(join_parts(f));
    note_left_out(f, paths);
    *out = &f->base;
done:
    if (rc)
        release(&f->base);
    return rc;
}

/* Standard input can be read only once; in one pass it is not joined with files. */
static int check_stdin(const char *const *paths, int npaths, int one_pass)
{
    int stdins = 0;
    for (int i = 0; i < npaths; i++)
        stdins += strcmp(paths[i], "-") == 0;
    if (stdins > 1)
        return ck_fail(COKE_EUSAGE, "-: standard input can be read only once");
    if (stdins && npaths > 1 && one_pass)
        return ck_fail(COKE_EUSAGE,
                       "-: in one pass, standard input cannot be joined with files");
    return COKE_OK;
}

int ck_rows_open(struct coke_rows **out, const char *const *paths, int npaths,
                 const struct ck_rows_options *options)
{
    const struct ck_rows_options none = {0}, *o = options ? options : &none;
    struct ck_paths list = {0};
    struct ck_raw form, *raw = o->raw && o->raw[0] ? &form : NULL;
    int fd = -1, one_pass = o->one_pass && !raw;
    *out = NULL;
    if (raw)
        CK_RETURN_IF(ck_raw_parse(raw, o->raw));
    CK_RETURN_IF(check_stdin(paths, npaths, one_pass));
    if (one_pass && npaths == 1)
        CK_RETURN_IF(open_pipe(paths[0], &fd));
    if (fd >= 0)
        return ck_rows_open_stream(out, fd, shown_name(paths[0]));
    CK_RETURN_IF(ck_paths_expand(&list, paths, npaths, raw != NULL));
    int rc = open_files(out, &list, raw, o->spool_dir);
    ck_paths_release(&list);
    return rc;
}

void ck_rows_free(struct coke_rows *rows)
{
    if (rows)
        rows->free(rows);
}
