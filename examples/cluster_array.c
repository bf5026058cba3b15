/* cluster_array.c - cluster an array in memory and print the sizes.
 * Build: cc cluster_array.c $(pkg-config --cflags --libs coke) */
#include <coke.h>

int main(void)
{
    enum { N = 10000, DIM = 32 };
    static float x[N * DIM]; /* [N][DIM], one vector per row */
    struct coke_cluster_input in = COKE_INIT(struct coke_cluster_input);
    struct coke_options *o = NULL;
    struct coke_cluster *c = NULL;

    int rc = coke_synthetic_fill(x, N, DIM, 80, 1); /* your embeddings here */
    if (!rc)
        rc = coke_rows_from_array(&in.rows, x, N, DIM);
    if (!rc)
        rc = coke_options_new(&o, "cluster");
    if (!rc)
        rc = coke_options_set(o, "k", "50");
    if (!rc)
        rc = coke_options_set(o, "ratio", "0.5"); /* clusters of at least .5 N / 50 rows */
    if (!rc)
        rc = coke_cluster_run(&c, &in, o, NULL);
    if (!rc) {
        const struct coke_head_summary *s = coke_cluster_summary(c, 0);
        printf("sizes %lld to %lld, mean cosine %.3f, gap %g\n", (long long)s->size_min,
               (long long)s->size_max, s->labels_objective, s->gap);
    } else {
        fprintf(stderr, "%s\n", coke_last_error());
    }
    coke_cluster_free(c);
    coke_options_free(o);
    coke_rows_free(in.rows);
    return -rc;
}
