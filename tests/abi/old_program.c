/* old_program.c - a program that was compiled with an older coke.h runs with this library: what
 * its structs do not have is neither read nor written.
 *
 *     old_program FOLDER        writes a model into FOLDER, which must not exist */
#include "old_coke.h"

#include <stdio.h>
#include <string.h>

enum { N = 600, DIM = 8, GUARD = 512 };

/* Bytes behind a struct that the library must leave alone. */
#define GUARDED(type)                                                                          \
    struct {                                                                                   \
        type s;                                                                                \
        unsigned char guard[GUARD];                                                            \
    }

static int intact(const unsigned char *guard)
{
    for (int i = 0; i < GUARD; i++)
        if (guard[i] != 0xA5)
            return 0;
    return 1;
}

static int count(void *user, const struct coke_progress *p)
{
    *(int *)user += p->phase != NULL;
    return 0;
}

/* What lies behind the older structs is no pointer: following it would crash. */
static int cluster(const char *folder, struct coke_rows *rows)
{
    static const int64_t min_sizes[3] = {100, 150, 200};
    GUARDED(struct coke_cluster_input) in;
    GUARDED(struct coke_callbacks) cb;
    struct coke_options *o = NULL;
    struct coke_cluster *c = NULL;
    int calls = 0;
    memset(&in, 0xA5, sizeof in);
    memset(&cb, 0xA5, sizeof cb);
    in.s = (struct coke_cluster_input){sizeof in.s, rows, min_sizes};
    cb.s = (struct coke_callbacks){sizeof cb.s, &calls, count};
    int rc = coke_options_new(&o, "cluster");
    if (!rc)
        rc = coke_options_set(o, "k", "3");
    if (!rc)
        rc = coke_cluster_run(&c, &in.s, o, &cb.s);
    if (!rc)
        rc = coke_cluster_write(c, folder, 0);
    if (!rc && (calls < 1 || coke_cluster_summary(c, 0)->n != N))
        rc = 1;
    coke_cluster_free(c);
    coke_options_free(o);
    return rc;
}

static int assign(const char *folder, struct coke_rows *rows)
{
    static int32_t labels[N];
    GUARDED(struct coke_assign_job) job;
    GUARDED(struct coke_head_summary) summary;
    struct coke_model *m = NULL;
    memset(&job, 0xA5, sizeof job);
    memset(&summary, 0xA5, sizeof summary);
    job.s = (struct coke_assign_job){sizeof job.s, rows, labels};
    summary.s.size = sizeof summary.s;
    int rc = coke_model_load(&m, folder);
    if (!rc)
        rc = coke_model_assign(m, &job.s, &summary.s);
    if (!rc && (summary.s.n != N || summary.s.k != 3 || summary.s.dim != DIM ||
                summary.s.size != sizeof summary.s || !intact(summary.guard)))
        rc = 1;
    coke_model_free(m);
    return rc;
}

static int load(void)
{
    GUARDED(struct coke_batch) batch;
    struct coke_options *o = NULL;
    struct coke_dataset *d = NULL;
    struct coke_loader *l = NULL;
    memset(&batch, 0xA5, sizeof batch);
    batch.s.size = sizeof batch.s;
    int rc = coke_options_new(&o, "loader");
    if (!rc)
        rc = coke_options_set(o, "batch", "4");
    if (!rc)
        rc = coke_dataset_open(&d, "synthetic:n=12,size=8", NULL);
    if (!rc)
        rc = coke_loader_new(&l, d, o);
    if (!rc)
        rc = coke_loader_next(l, &batch.s);
    if (!rc && (batch.s.n != 4 || batch.s.steps != 3 || !intact(batch.guard)))
        rc = 1;
    coke_loader_free(l);
    coke_dataset_free(d);
    coke_options_free(o);
    return rc;
}

int main(int argc, char **argv)
{
    static float x[N * DIM];
    struct coke_rows *rows = NULL;
    int rc = argc == 2 ? coke_synthetic_fill(x, N, DIM, 5, 1) : 1;
    if (!rc)
        rc = coke_rows_from_array(&rows, x, N, DIM);
    if (!rc)
        rc = cluster(argv[1], rows);
    if (!rc)
        rc = assign(argv[1], rows);
    if (!rc)
        rc = load();
    coke_rows_free(rows);
    printf(rc ? "old_program: %d, %s\n" : "old_program: as ever\n", rc, coke_last_error());
    return rc != 0;
}
