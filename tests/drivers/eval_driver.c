/* eval_driver.c - agreement, k-NN and the linear probe on .npy arrays, for test_eval_metrics.py
 * and test_eval_probe.py.
 *
 * eval_driver agreement CLASSES CLUSTERS TRUTH LABELS
 *     prints n, accuracy, many-to-one, NMI, ARI
 * eval_driver knn CLASSES OUT TEMPERATURE K,K.. BANK LABELS [QUERY LABELS]
 *     writes the predictions [nk][nquery] as i32 .npy and prints the accuracies; without QUERY
 *     one is left out
 * eval_driver probe OUT CLASSES STEPS RATE DECAY X LABELS
 *     steps on all of X; writes OUT-first.npy and OUT-last.npy, f32 [classes][dim + 1], the
 * bias last, and prints loss, top-1 and top-5 at the end Samples and labels are i32, vectors
 * f32. */
#include "coke.h"
#include "eval/agreement.h"
#include "eval/knn.h"
#include "eval/probe.h"
#include "io/file.h"
#include "io/npy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct array {
    struct ck_map map;
    struct ck_npy npy;
    const void *data;
};

static int fail(const char *words)
{
    fprintf(stderr, "eval_driver: %s\n", words);
    return 1;
}

static int load(struct array *a, const char *path)
{
    if (ck_map_open(&a->map, path) || ck_npy_parse(&a->npy, path, a->map.data, a->map.size))
        return fail(coke_last_error());
    a->data = a->map.data + a->npy.offset;
    return 0;
}

static int agreement(char **word)
{
    struct array truth = {0}, labels = {0};
    struct ck_agreement r;
    int rc = load(&truth, word[2]) || load(&labels, word[3]);
    if (!rc && ck_agreement(truth.data, labels.data, truth.npy.elements, atoi(word[0]),
                            atoi(word[1]), &r))
        rc = fail(coke_last_error());
    if (!rc)
        printf("%lld %.17g %.17g %.17g %.17g\n", (long long)r.n, r.accuracy, r.many_to_one,
               r.nmi, r.ari);
    ck_map_release(&truth.map);
    ck_map_release(&labels.map);
    return rc;
}

static void read_ks(struct ck_knn_job *job, char *list)
{
    job->nk = 0;
    for (char *k = strtok(list, ","); k && job->nk < CK_KNN_MAX_K; k = strtok(NULL, ","))
        job->k[job->nk++] = atoll(k);
}

static int run_knn(const struct ck_knn_job *job, const char *out)
{
    struct ck_knn_result r;
    int64_t shape[2] = {job->nk, job->query ? job->nquery : job->nbank};
    int32_t *predicted = malloc((size_t)(shape[0] * shape[1]) * sizeof *predicted);
    int rc = ck_knn(job, predicted, &r) || ck_npy_write(out, CK_I32, 2, shape, predicted, 1);
    if (rc)
        fail(coke_last_error());
    for (int i = 0; i < job->nk && !rc; i++)
        printf("%.17g\n", r.accuracy[i]);
    free(predicted);
    return rc;
}

static int knn(char **word, int n)
{
    struct array a[4] = {{.data = NULL}};
    struct ck_knn_job job = ck_knn_job_default();
    int rc = 0;
    for (int i = 0; i < n - 4 && i < 4 && !rc; i++)
        rc = load(&a[i], word[4 + i]);
    job.classes = atoi(word[0]);
    job.temperature = atof(word[2]);
    read_ks(&job, word[3]);
    job.dim = (int)a[0].npy.shape[1];
    job.bank = a[0].data;
    job.bank_label = a[1].data;
    job.nbank = a[0].npy.shape[0];
    job.query = a[2].data;
    job.query_label = a[3].data;
    job.nquery = a[2].npy.shape[0];
    if (!rc)
        rc = run_knn(&job, word[1]);
    for (int i = 0; i < 4; i++)
        ck_map_release(&a[i].map);
    return rc;
}

static int save_probe(const struct ck_probe *p, const struct ck_probe_shape *shape,
                      const char *out, const char *when)
{
    char path[1024];
    int dim = shape->dim;
    int64_t size[2] = {shape->classes, dim + 1};
    float *w = malloc((size_t)(size[0] * size[1]) * sizeof *w);
    for (int64_t c = 0; c < size[0]; c++) {
        memcpy(w + c * size[1], ck_probe_weight(p) + c * dim, (size_t)dim * sizeof *w);
        w[c * size[1] + dim] = ck_probe_bias(p)[c];
    }
    snprintf(path, sizeof path, "%s-%s.npy", out, when);
    int rc = ck_npy_write(path, CK_F32, 2, size, w, 1);
    free(w);
    return rc;
}

static int probe(char **word)
{
    struct array x = {0}, label = {0};
    struct ck_probe *p = NULL;
    struct ck_score s = {0}, end = {0};
    int rc = load(&x, word[5]) || load(&label, word[6]);
    int64_t n = x.npy.shape[0];
    struct ck_probe_shape shape = {(int)x.npy.shape[1], atoi(word[1]), n};
    rc = rc || ck_probe_new(&p, &shape, atof(word[4]), 1) ||
         save_probe(p, &shape, word[0], "first");
    for (int i = 0; i < atoi(word[2]) && !rc; i++)
        rc = ck_probe_step(p, x.data, label.data, n, atof(word[3]), &s);
    rc = rc || save_probe(p, &shape, word[0], "last") ||
         ck_probe_judge(p, x.data, label.data, n, &end);
    if (rc)
        fail(coke_last_error());
    else
        printf("%.9g %.9g %.9g\n", end.loss / (double)n, (double)end.top1 / (double)n,
               (double)end.top5 / (double)n);
    ck_probe_free(p);
    ck_map_release(&x.map);
    ck_map_release(&label.map);
    return rc;
}

int main(int argc, char **argv)
{
    if (argc == 6 && strcmp(argv[1], "agreement") == 0)
        return agreement(argv + 2);
    if ((argc == 8 || argc == 10) && strcmp(argv[1], "knn") == 0)
        return knn(argv + 2, argc - 2);
    if (argc == 9 && strcmp(argv[1], "probe") == 0)
        return probe(argv + 2);
    return fail("usage: agreement | knn | probe, see the source");
}
