/* api_objects.h - one object of every kind, in a folder of their own: arguments for calls that
 * get another argument wrong. */
#ifndef CK_API_OBJECTS_H
#define CK_API_OBJECTS_H

#include "support.h"

#include <unistd.h>

static struct coke_options *options;
static struct coke_rows *rows;
static struct coke_cluster *cluster;
static struct coke_model *model;
static struct coke_kmeans *km;
static struct coke_multihead *mh;
static struct coke_dataset *data;
static struct coke_loader *loader;
static struct coke_encoder *encoder;
static struct coke_plan *plan;
static struct coke_optimizer *optimizer;
static struct coke_loss *loss;
static struct coke_run *run;

enum { N = 20, DIM = 4, K = 2 };

static float *x;
static float f[N * DIM];
static int32_t label[N];
static char folder[] = "/tmp/coke-misuse-XXXXXX";
static const char *const paths[] = {"x.npy"};

static struct coke_options *set(const char *kind, const char *name, const char *value)
{
    struct coke_options *o;
    assert_ok(coke_options_new(&o, kind));
    if (name)
        assert_ok(coke_options_set(o, name, value));
    return o;
}

static void make_clusters(void)
{
    struct coke_options *o = set("cluster", "k", "2");
    struct coke_cluster_input in = {.size = sizeof in};
    float centers[K * DIM] = {1, 0, 0, 0, 0, 1, 0, 0};
    struct ck_kmeans_options ko = ck_kmeans_options_default();
    struct coke_kmeans *head;
    ko.n = N, ko.k = K, ko.dim = DIM, ko.eta = 0.1;
    assert_ok(coke_rows_from_array(&rows, x, N, DIM));
    in.rows = rows;
    assert_ok(coke_cluster_run(&cluster, &in, o, NULL));
    assert_ok(coke_cluster_write(cluster, "made", 0));
    assert_ok(coke_model_load(&model, "made"));
    assert_ok(coke_kmeans_new(&km, AS(kmeans, &ko), centers, NULL, NULL));
    assert_ok(coke_kmeans_new(&head, AS(kmeans, &ko), centers, NULL, NULL));
    assert_ok(coke_multihead_new(&mh, &head, 1));
    coke_options_free(o);
}

static void make_networks(void)
{
    struct ck_encoder_options eo = ck_encoder_options_default();
    struct ck_plan_options po = ck_plan_options_default();
    struct ck_loader_options lo = ck_loader_options_default();
    struct coke_options *o = set("loss", "k", "2");
    eo.stem = CK_STEM_CIFAR, eo.width = 0.03125, eo.channels = 1;
    po.batch = 1, po.height = po.width = 8;
    lo.batch = 4, lo.workers = 1, lo.view.size = 8;
    assert_ok(coke_dataset_open(&data, "synthetic:n=8,size=8", NULL));
    assert_ok(coke_loader_new(&loader, data, AS(loader, &lo)));
    assert_ok(coke_encoder_new(&encoder, AS(encoder, &eo)));
    assert_ok(coke_plan_new(&plan, encoder, AS(plan, &po), NULL));
    assert_ok(coke_optimizer_new(&optimizer, encoder, NULL));
    assert_ok(coke_loss_new(&loss, o));
    assert_ok(coke_encoder_save(encoder, "encoder", 0));
    assert_ok(coke_run_open(&run, "encoder", NULL));
    coke_options_free(o);
}

static int set_up(void **state)
{
    (void)state;
    if (!mkdtemp(folder) || chdir(folder))
        return -1;
    coke_set_threads(1);
    x = test_vectors(N, DIM, 0, 0, 1);
    options = set("cluster", NULL, NULL);
    make_clusters();
    make_networks();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    coke_run_free(run);
    coke_loss_free(loss);
    coke_optimizer_free(optimizer);
    coke_plan_free(plan);
    coke_encoder_free(encoder);
    coke_loader_free(loader);
    coke_dataset_free(data);
    coke_multihead_free(mh);
    coke_kmeans_free(km);
    coke_model_free(model);
    coke_cluster_free(cluster);
    coke_rows_free(rows);
    coke_options_free(options);
    free(x);
    return chdir("/") || test_remove_folder(folder);
}

#endif
