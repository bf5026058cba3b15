/* eval_vectors.c - coke eval cluster for a clustering of vectors: known classes, silhouettes. */
#include "eval_vectors.h"
#include "emit.h"
#include "progress.h"
#include "talk.h"

#include <math.h>
#include <stdlib.h>

int eval_vectors_wanted(struct args *a)
{
    return args_text(a, "classes") || args_text(a, "vectors");
}

static int print_json(const char *folder, const struct coke_clustering_result *r)
{
    struct coke_json *j = coke_json_open(stdout, COKE_JSON_STYLE_PRETTY);
    coke_json_begin_object(j, NULL);
    coke_json_put_text(j, "folder", folder);
    coke_json_put_int(j, "n", r->n);
    if (r->sample)
        coke_json_put_int(j, "silhouette_rows", r->sample);
    if (r->classes) {
        coke_json_put_int(j, "classes", r->classes);
        coke_json_put_int(j, "matched", r->matched);
    }
    coke_json_begin_array(j, "heads");
    for (int h = 0; h < r->heads; h++) {
        const struct coke_clustering_scores *s = &r->head[h];
        coke_json_begin_object(j, NULL);
        coke_json_put_int(j, "k", s->k);
        coke_json_put_real(j, "objective", s->objective);
        if (r->sample)
            coke_json_put_real(j, "silhouette", s->silhouette);
        if (r->classes) {
            coke_json_put_real(j, "acc", s->accuracy);
            coke_json_put_real(j, "many_to_one", s->many_to_one);
            coke_json_put_real(j, "nmi", s->nmi);
            coke_json_put_real(j, "ari", s->ari);
        }
        coke_json_end(j);
    }
    return emit_close(j);
}

/* The head with the highest silhouette; -1 = there is only one, or it is unknown. */
static int best_head(const struct coke_clustering_result *r)
{
    int best = -1;
    for (int h = 0; h < r->heads && r->heads > 1 && r->sample; h++)
        if (isfinite(r->head[h].silhouette) &&
            (best < 0 || r->head[h].silhouette > r->head[best].silhouette))
            best = h;
    return best;
}

static void print_head(const struct coke_clustering_result *r, int h, int best)
{
    const struct coke_clustering_scores *s = &r->head[h];
    printf("%4d %6lld %10.6g", h, (long long)s->k, s->objective);
    if (r->sample && isfinite(s->silhouette))
        printf("  %10.4f", s->silhouette);
    else if (r->sample)
        printf("  %10s", "-");
    if (r->classes)
        printf("   %6.2f       %6.2f %6.2f %6.2f", 100 * s->accuracy, 100 * s->many_to_one,
               100 * s->nmi, 100 * s->ari);
    printf("%s%s\n", h == best ? "  <- highest silhouette" : "",
           r->classes && h == r->matched ? "  <- K = classes" : "");
}

static void print_text(const char *folder, const struct coke_clustering_result *r)
{
    printf("%-10s%s: %lld rows", "folder", folder, (long long)r->n);
    if (r->classes)
        printf(", %d class%s", r->classes, r->classes == 1 ? "" : "es");
    if (r->sample)
        printf("; silhouette of %lld of them, exact", (long long)r->sample);
    printf("\nhead      K  objective%s%s\n", r->sample ? "  silhouette" : "",
           r->classes ? "      ACC  many-to-one    NMI    ARI" : "");
    for (int h = 0; h < r->heads; h++)
        print_head(r, h, best_head(r));
}

static int judge(struct args *a, struct coke_clustering_input *in)
{
    struct coke_clustering_result r = COKE_INIT(struct coke_clustering_result);
    struct progress bar;
    progress_init(&bar, args_flag(a, "quiet"));
    struct coke_callbacks callbacks = progress_callbacks(&bar);
    in->callbacks = &callbacks;
    int rc = coke_eval_clustering(in, &r);
    progress_end(&bar);
    if (rc == COKE_ESTOPPED)
        return talk_fail(COKE_EFAIL, "stopped");
    if (rc)
        return talk_fail_library(rc);
    if (args_flag(a, "json"))
        return print_json(in->folder, &r);
    print_text(in->folder, &r);
    return COKE_OK;
}

/* In "OUT --vectors a.npy b.npy" the parser takes b.npy as an operand. */
int eval_vectors(struct args *a, int n, const char *const *operands)
{
    const char *first = args_text(a, "vectors");
    if (n < 1 || (n > 1 && !first))
        return talk_fail(COKE_EUSAGE, "%s; 'coke eval cluster --help' has examples",
                         n ? "--classes needs one folder of a clustering"
                           : "missing folder of a clustering");
    if (coke_run_is(operands[0]))
        return talk_fail(COKE_EUSAGE,
                         "--classes and --vectors need the folder of 'coke cluster'; %s is a "
                         "training",
                         operands[0]);
    const char **vectors = calloc((size_t)n, sizeof *vectors);
    if (!vectors)
        return talk_fail(COKE_ENOMEM, "out of memory");
    vectors[0] = first;
    for (int i = 1; i < n; i++)
        vectors[i] = operands[i];
    struct coke_clustering_input in = {.size = sizeof in,
                                       .folder = operands[0],
                                       .classes = args_text(a, "classes"),
                                       .vectors = vectors,
                                       .nvectors = first ? n : 0,
                                       .sample = args_number(a, "sample"),
                                       .rows = args_options(a, "rows")};
    int rc = args_use_threads(a);
    if (!rc)
        rc = judge(a, &in);
    free(vectors);
    return rc;
}
