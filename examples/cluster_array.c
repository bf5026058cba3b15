/* cluster_array.c - cluster an array in memory and print the sizes.
 * Build: cc cluster_array.c $(pkg-config --cflags --libs coke) */
#include <coke.h>

int main(void)
{
    enum { N = 10000, DIM = 32 };
    static float x[N * DIM]; /* [N][DIM], one vector a row */
    struct coke_rows *rows = NULL;
    struct coke_cluster *c = NULL;
    struct coke_cluster_options o = coke_cluster_options_default();
    o.k = (struct coke_ints){.n = 1, .v = {50}};
    o.ratio = 0.5;

    coke_synthetic_fill(x, N, DIM, 80, 1); /* your embeddings here */
    int rc = coke_rows_from_array(&rows, x, N, DIM);
    if (!rc)
        rc = coke_cluster_run(&c, &(struct coke_cluster_input){.rows = rows}, &o, NULL);
    if (!rc) {
        const struct coke_head_summary *s = coke_cluster_summary(c, 0);
        printf("sizes %lld to %lld, mean cosine %.3f, gap %g\n", (long long)s->size_min,
               (long long)s->size_max, s->labels_objective, s->gap);
    } else {
        fprintf(stderr, "%s\n", coke_last_error());
    }
    coke_cluster_free(c);
    coke_rows_free(rows);
    return -rc;
}
