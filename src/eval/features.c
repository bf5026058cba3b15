/* features.c - features of images, computed by an encoder in evaluation mode. */
#include "eval/features.h"
#include "core/error.h"
#include "core/first_error.h"
#include "core/mem.h"
#include "core/workers.h"
#include "nn/precision.h"

#include <string.h>

/* Working memory of one thread. */
struct worker {
    struct ck_fetcher fetcher;
    struct ck_canvas canvas;
};

/* Views of one kind, and the network compiled for their size; kinds of equal size share it. */
struct kind {
    struct ck_recipe recipe;
    struct ck_plan *plan;
    int64_t pixels; /* numbers per image */
};

struct ck_features {
    struct coke_encoder *encoder; /* borrowed */
    struct coke_dataset *data;    /* borrowed */
    struct kind usual, crops;     /* the first view of an image, and those after it */
    enum ck_precision precision;
    int64_t views;          /* 1 = the usual one alone */
    float *features, *proj; /* [batch] outputs for one of several views; else NULL */
    int64_t batch;          /* images per forward pass */
    int dim, proj_dim;
    float *x; /* [batch][channels][height][width], of the larger kind */
    struct worker *worker;
    int workers;
    int excuse_files; /* COKE_EIO of an image makes it bad */
    /* of the batch being loaded; each thread writes the entries of its images */
    const int64_t *index;
    int64_t view;
    uint8_t *bad; /* NULL = unreadable images are errors */
    struct ck_first_error error;
    struct ck_first_error excused; /* of the first bad image of all batches */
};

/* Up to this side nothing is cropped: small images show their object from edge to edge. */
enum { SMALL_VIEW = 64 };

/* The evaluation view in the size of `like`; images of that size stay as they are. */
static int set_recipe(struct ck_features *f, const struct ck_recipe *like)
{
    const struct ck_view *v = &like->view[0];
    struct ck_view_options o = ck_view_options_default();
    int native = f->data->set->width == v->width && f->data->set->height == v->height;
    o.recipe = native ? CK_RECIPE_NONE : CK_RECIPE_EVAL;
    o.size = v->width;
    struct ck_recipe *r = &f->usual.recipe;
    int rc = ck_recipe_init(r, f->data, &o, NULL);
    r->view[0].filter = v->filter;
    if (!native && v->width <= SMALL_VIEW)
        r->view[0].resize = v->width;
    r->exact = like->exact;
    ck_recipe_match(r, like);
    return rc;
}

/* Compiles for evaluation: running statistics, no backward pass. */
static int make_plan(struct ck_features *f, struct kind *k)
{
    double seconds[2];
    int32_t precision = (int32_t)f->precision;
    struct ck_plan_request r = ck_plan_request_default();
    r.n = f->batch;
    r.h = k->recipe.view[0].height;
    r.w = k->recipe.view[0].width;
    r.train = r.backward = 0;
    r.want[r.nwant++] = f->encoder->node[COKE_OUTPUT_FEATURES];
    if (f->encoder->node[COKE_OUTPUT_PROJ] >= 0)
        r.want[r.nwant++] = f->encoder->node[COKE_OUTPUT_PROJ];
    r.ngrad = 0;
    CK_RETURN_IF(ck_precision_choose(&precision, &f->encoder->net, &r, seconds));
    f->precision = (enum ck_precision)precision; /* one for all kinds */
    r.dtype = ck_precision_dtype(f->precision);
    k->pixels = (int64_t)k->recipe.channels * r.w * r.h;
    return ck_plan_new(&k->plan, &f->encoder->net, &r);
}

/* Room for a batch of views of this kind. */
static int make_room(struct ck_features *f, const struct kind *k)
{
    ck_free(f->x);
    f->x = ck_calloc_array((size_t)(f->batch * k->pixels), sizeof *f->x);
    return f->x ? COKE_OK : COKE_ENOMEM;
}

int ck_features_new(struct ck_features **out, struct coke_encoder *e, struct coke_dataset *d,
                    const struct ck_recipe *like, int64_t batch, enum ck_precision precision)
{
    int rc = COKE_OK;
    struct ck_features *f = ck_calloc_array(1, sizeof *f);
    *out = NULL;
    if (!f)
        return COKE_ENOMEM;
    f->encoder = e;
    f->data = d;
    f->batch = batch;
    f->views = 1;
    f->workers = ck_threads();
    CK_TRY(set_recipe(f, like));
    f->precision = precision;
    f->dim = (int)e->net.node[e->node[COKE_OUTPUT_FEATURES]].channels;
    f->proj_dim = (int)e->o.dim;
    CK_TRY(make_plan(f, &f->usual));
    CK_TRY(make_room(f, &f->usual));
    f->worker = ck_calloc_array((size_t)f->workers, sizeof *f->worker);
    if (!f->worker)
        CK_LEAVE(COKE_ENOMEM);
    *out = f;
    f = NULL;
done:
    ck_features_free(f);
    return rc;
}

void ck_features_free(struct ck_features *f)
{
    if (!f)
        return;
    for (int i = 0; i < f->workers && f->worker; i++) {
        ck_fetcher_release(&f->worker[i].fetcher);
        ck_canvas_release(&f->worker[i].canvas);
    }
    ck_free(f->worker);
    ck_free(f->features);
    ck_free(f->proj);
    ck_free(f->x);
    if (f->crops.plan != f->usual.plan)
        ck_plan_free(f->crops.plan);
    ck_plan_free(f->usual.plan);
    ck_free(f);
}

int ck_features_use_views(struct ck_features *f, const struct ck_recipe *like, int64_t views)
{
    struct ck_recipe *r = &f->crops.recipe;
    struct ck_view *v = &r->view[0];
    *r = *like;
    r->views = r->large = 1;
    if (v->kind != CK_VIEW_CROP)
        return ck_fail(COKE_EUSAGE, "views: recipe %s has no random crops", like->name);
    v->jitter = v->gray = v->blur = v->solarize = 0;
    f->features = ck_alloc_array((size_t)f->batch, (size_t)f->dim * sizeof(float));
    f->proj = ck_alloc_array((size_t)f->batch, (size_t)(f->proj_dim + 1) * sizeof(float));
    f->views = views;
    if (!f->features || !f->proj)
        return COKE_ENOMEM;
    const struct ck_view *usual = &f->usual.recipe.view[0];
    if (v->width == usual->width && v->height == usual->height) {
        f->crops.plan = f->usual.plan;
        f->crops.pixels = f->usual.pixels;
        return COKE_OK;
    }
    CK_RETURN_IF(make_plan(f, &f->crops));
    return f->crops.pixels > f->usual.pixels ? make_room(f, &f->crops) : COKE_OK;
}

void ck_features_excuse_files(struct ck_features *f)
{
    f->excuse_files = 1;
}

const char *ck_features_excused(const struct ck_features *f)
{
    return f->excused.sentence;
}

int ck_features_dim(const struct ck_features *f)
{
    return f->dim;
}

int ck_features_output_dim(const struct ck_features *f, enum coke_output output)
{
    return output == COKE_OUTPUT_PROJ ? f->proj_dim : f->dim;
}

/* Of the batch being loaded. */
static const struct kind *kind_of(const struct ck_features *f)
{
    return f->view ? &f->crops : &f->usual;
}

/* Skips unreadable images (EFORMAT); I/O and memory errors are fatal. */
static int excuse(struct ck_features *f, int64_t i, int status)
{
    if (!f->bad || (status != COKE_EFORMAT && !(f->excuse_files && status == COKE_EIO)))
        return 0;
    ck_first_error_keep(&f->excused, status);
    int64_t pixels = kind_of(f)->pixels;
    f->bad[i] = 1;
    memset(f->x + i * pixels, 0, (size_t)pixels * sizeof *f->x);
    return 1;
}

/* Runs on any thread of the team. */
static void load_one(void *arg, int64_t i, int worker)
{
    struct ck_features *f = arg;
    struct worker *w = &f->worker[worker];
    const struct kind *k = kind_of(f);
    float *out[1] = {f->x + i * k->pixels};
    int rc =
        ck_recipe_make(&k->recipe, &w->fetcher, &w->canvas, f->data, f->index[i], f->view, out);
    if (rc && !excuse(f, i, rc))
        ck_first_error_keep(&f->error, rc);
}

static void copy_out(const struct ck_features *f, const struct kind *k, int output,
                     int64_t count, int dim, float *out)
{
    if (out)
        memcpy(out, ck_plan_vector(k->plan, f->encoder->node[output]),
               (size_t)(count * dim) * sizeof(float));
}

/* Runs the first `count` images of x. The plan has a fixed batch size, so fewer images are
 * copied to the buffer of a full batch; the rest of it is computed and ignored. */
static int forward(struct ck_features *f, const struct kind *k, const float *x, int64_t count,
                   float *features, float *proj)
{
    if (x != f->x && count < f->batch) {
        memcpy(f->x, x, (size_t)(count * k->pixels) * sizeof *x);
        x = f->x;
    }
    CK_RETURN_IF(ck_plan_forward(k->plan, x));
    copy_out(f, k, COKE_OUTPUT_FEATURES, count, f->dim, features);
    copy_out(f, k, COKE_OUTPUT_PROJ, count, f->proj_dim, proj);
    return COKE_OK;
}

/* The network has computed something for unreadable images, too: set it to 0. */
static void clear_bad(const struct ck_features *f, int64_t count, float *features, float *proj)
{
    for (int64_t i = 0; f->bad && i < count; i++) {
        if (f->bad[i] && features)
            memset(features + i * f->dim, 0, (size_t)f->dim * sizeof *features);
        if (f->bad[i] && proj)
            memset(proj + i * f->proj_dim, 0, (size_t)f->proj_dim * sizeof *proj);
    }
}

static float *at_row(float *x, int64_t row, int dim)
{
    return x ? x + row * dim : NULL;
}

/* Makes view `view` of images index [count] in f->x, at most a batch of them. */
static int load(struct ck_features *f, const int64_t *index, int64_t count, int64_t view,
                uint8_t *bad)
{
    f->index = index;
    f->view = view;
    f->bad = bad;
    f->error.status = COKE_OK;
    ck_parallel(count, load_one, f);
    return ck_first_error_raise(&f->error);
}

static void add_vectors(float *sum, const float *x, int64_t n)
{
    for (int64_t i = 0; sum && i < n; i++)
        sum[i] += x[i];
}

static void divide_vectors(float *sum, int64_t n, int64_t by)
{
    for (int64_t i = 0; sum && i < n; i++)
        sum[i] /= (float)by;
}

/* Adds the vectors of the further views to those of the first, then divides. */
static int add_views(struct ck_features *f, const int64_t *index, int64_t count,
                     float *features, float *proj)
{
    uint8_t *bad = f->bad;
    for (int64_t v = 1; v < f->views; v++) {
        CK_RETURN_IF(load(f, index, count, v, bad));
        CK_RETURN_IF(forward(f, &f->crops, f->x, count, features ? f->features : NULL,
                             proj ? f->proj : NULL));
        add_vectors(features, f->features, count * f->dim);
        add_vectors(proj, f->proj, count * f->proj_dim);
    }
    divide_vectors(features, count * f->dim, f->views);
    divide_vectors(proj, count * f->proj_dim, f->views);
    return COKE_OK;
}

int ck_features_try(struct ck_features *f, const int64_t *index, int64_t n, float *features,
                    float *proj, uint8_t *bad)
{
    if (bad)
        memset(bad, 0, (size_t)n);
    for (int64_t at = 0; at < n; at += f->batch) {
        int64_t count = n - at < f->batch ? n - at : f->batch;
        float *x = at_row(features, at, f->dim), *p = at_row(proj, at, f->proj_dim);
        CK_RETURN_IF(load(f, index + at, count, 0, bad ? bad + at : NULL));
        CK_RETURN_IF(forward(f, &f->usual, f->x, count, x, p));
        if (f->views > 1)
            CK_RETURN_IF(add_views(f, index + at, count, x, p));
        clear_bad(f, count, x, p);
    }
    return COKE_OK;
}

/* ---- pixels ---- */

int ck_features_pixels_dim(const struct ck_features *f)
{
    const struct ck_view *v = &f->usual.recipe.view[0];
    int w = v->width < CK_PIXELS_SIDE ? v->width : CK_PIXELS_SIDE;
    int h = v->height < CK_PIXELS_SIDE ? v->height : CK_PIXELS_SIDE;
    return f->usual.recipe.channels * w * h;
}

/* Averages one channel x [height][width] over the cells of a grid out [h][w]. */
static void average_cells(const float *x, int width, int height, float *out, int w, int h)
{
    for (int cell = 0; cell < w * h; cell++) {
        int left = cell % w * width / w, right = (cell % w + 1) * width / w;
        int top = cell / w * height / h, bottom = (cell / w + 1) * height / h;
        float sum = 0;
        for (int y = top; y < bottom; y++)
            for (int i = left; i < right; i++)
                sum += x[y * width + i];
        out[cell] = sum / (float)((right - left) * (bottom - top));
    }
}

int ck_features_pixels(struct ck_features *f, const int64_t *index, int64_t n, float *out,
                       uint8_t *bad)
{
    const struct ck_view *v = &f->usual.recipe.view[0];
    int w = v->width < CK_PIXELS_SIDE ? v->width : CK_PIXELS_SIDE;
    int h = v->height < CK_PIXELS_SIDE ? v->height : CK_PIXELS_SIDE;
    int64_t channels = f->usual.recipe.channels, area = (int64_t)v->width * v->height;
    memset(bad, 0, (size_t)n);
    for (int64_t at = 0; at < n; at += f->batch) {
        int64_t count = n - at < f->batch ? n - at : f->batch;
        CK_RETURN_IF(load(f, index + at, count, 0, bad + at));
        for (int64_t i = 0; i < count * channels; i++)
            average_cells(f->x + i * area, v->width, v->height,
                          out + (at * channels + i) * w * h, w, h);
    }
    return COKE_OK;
}

int ck_features_get(struct ck_features *f, const int64_t *index, int64_t n, float *features,
                    float *proj)
{
    return ck_features_try(f, index, n, features, proj, NULL);
}

int ck_features_run(struct ck_features *f, const float *x, int64_t n, float *features,
                    float *proj)
{
    for (int64_t at = 0; at < n; at += f->batch) {
        int64_t count = n - at < f->batch ? n - at : f->batch;
        CK_RETURN_IF(forward(f, &f->usual, x + at * f->usual.pixels, count,
                             at_row(features, at, f->dim), at_row(proj, at, f->proj_dim)));
    }
    return COKE_OK;
}
