/* assign_files.c - the output files of 'coke assign' for vectors, and the arrays in them. */
#include "assign_files.h"
#include "outputs.h"
#include "talk.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* In the order of writing. */
enum { SCORES, SECOND, MARGINS, SORTED, OFFSETS, MEDOIDS, LABELS, FILES };

/* OFFSETS has no option of its own: it is beside that of SORTED. */
static const char *const option[FILES] = {"scores", "second",  "margins", "sorted",
                                          NULL,     "medoids", "output"};

/* The name of each file, or NULL. offsets [PATH_MAX] holds that of OFFSETS: rows.npy becomes
 * rows-offsets.npy. */
static void name_files(struct args *a, const char *path[FILES], char *offsets)
{
    for (int i = 0; i < FILES; i++)
        path[i] = option[i] ? args_text(a, option[i]) : NULL;
    if (!path[SORTED])
        return;
    size_t n = strlen(path[SORTED]);
    if (n > 4 && strcmp(path[SORTED] + n - 4, ".npy") == 0)
        n -= 4;
    snprintf(offsets, PATH_MAX, "%.*s-offsets.npy", (int)n, path[SORTED]);
    path[OFFSETS] = offsets;
}

const char *assign_files_given(struct args *a)
{
    for (int i = 0; i < LABELS; i++)
        if (option[i] && args_text(a, option[i]))
            return option[i];
    return NULL;
}

int assign_files_check(struct args *a)
{
    const char *path[FILES];
    char offsets[PATH_MAX];
    name_files(a, path, offsets);
    if (!path[LABELS])
        return talk_fail(COKE_EUSAGE, "missing output file: use -o labels.npy");
    for (int i = 0; i < FILES; i++)
        for (int j = 0; j < i; j++)
            if (path[i] && path[j] && strcmp(path[i], path[j]) == 0)
                return talk_fail(COKE_EUSAGE, "%s: two outputs need two files", path[i]);
    int rc = outputs_check_file(path[LABELS], args_flag(a, "force"));
    for (int i = 0; i < LABELS && !rc; i++)
        if (path[i])
            rc = outputs_check_file(path[i], args_flag(a, "force"));
    return rc;
}

int assign_files_reserve(struct assign_files *f, struct args *a, int64_t n, int64_t k)
{
    const char *path[FILES];
    char offsets[PATH_MAX];
    size_t rows = (size_t)n, clusters = (size_t)k;
    name_files(a, path, offsets);
    int order = path[SORTED] || path[MEDOIDS];
    *f = (struct assign_files){.n = n, .k = k};
    f->labels = calloc(rows, sizeof *f->labels);
    f->second = path[SECOND] ? calloc(rows, sizeof *f->second) : NULL;
    f->scores = path[SCORES] ? calloc(rows, sizeof *f->scores) : NULL;
    f->margins = path[MARGINS] ? calloc(rows, sizeof *f->margins) : NULL;
    f->sorted = order ? calloc(rows, sizeof *f->sorted) : NULL;
    f->offsets = order ? calloc(clusters + 1, sizeof *f->offsets) : NULL;
    f->medoids = path[MEDOIDS] ? calloc(clusters, sizeof *f->medoids) : NULL;
    if (f->labels && (f->second || !path[SECOND]) && (f->scores || !path[SCORES]) &&
        (f->margins || !path[MARGINS]) && ((f->sorted && f->offsets) || !order) &&
        (f->medoids || !path[MEDOIDS]))
        return COKE_OK;
    assign_files_release(f);
    return talk_fail(COKE_ENOMEM, "out of memory for the labels of %zu rows", rows);
}

void assign_files_release(struct assign_files *f)
{
    free(f->labels);
    free(f->second);
    free(f->scores);
    free(f->margins);
    free(f->sorted);
    free(f->offsets);
    free(f->medoids);
    *f = (struct assign_files){0};
}

static int write_file(const struct assign_files *f, int which, const char *path, int force)
{
    switch (which) {
    case SCORES:
        return coke_npy_write_f32(path, f->scores, f->n, 1, force);
    case SECOND:
        return coke_npy_write_i32(path, f->second, f->n, force);
    case MARGINS:
        return coke_npy_write_f32(path, f->margins, f->n, 1, force);
    case SORTED: /* without the skipped rows at its end */
        return coke_npy_write_i64(path, f->sorted, f->offsets[f->k], force);
    case OFFSETS:
        return coke_npy_write_i64(path, f->offsets, f->k + 1, force);
    case MEDOIDS:
        return coke_npy_write_i64(path, f->medoids, f->k, force);
    default:
        return coke_npy_write_i32(path, f->labels, f->n, force);
    }
}

/* Removes a file that was written; devices and pipes stay. */
static void remove_file(const char *path)
{
    struct stat st;
    if (lstat(path, &st) == 0 && S_ISREG(st.st_mode))
        unlink(path);
}

int assign_files_write(struct assign_files *f, struct args *a)
{
    const char *path[FILES];
    char offsets[PATH_MAX];
    int rc = COKE_OK, i = 0;
    name_files(a, path, offsets);
    for (int64_t c = 0; f->medoids && c < f->k; c++)
        f->medoids[c] = f->offsets[c] < f->offsets[c + 1] ? f->sorted[f->offsets[c]] : -1;
    for (; i < FILES && !rc; i++)
        if (path[i])
            rc = write_file(f, i, path[i], args_flag(a, "force"));
    if (!rc)
        return COKE_OK;
    for (int done = 0; done < i - 1; done++)
        if (path[done])
            remove_file(path[done]);
    return talk_fail_library(rc);
}
