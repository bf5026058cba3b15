/* info.c - describes what a file contains, as text or JSON. */
#include "io/info.h"
#include "io/convert.h"
#include "io/json.h"
#include "io/rows_part.h"
#include "io/safetensors.h"
#include "core/error.h"
#include "core/guard.h"
#include "core/mem.h"
#include "core/stats.h"
#include "core/text.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>

enum { SAMPLE = 1000 }; /* rows inspected at most, so that huge files are quick */

/* Output: lines of text, printed at once, or a JSON document that is printed at the end. */
struct paper {
    FILE *text; /* NULL = JSON */
    struct ck_json json;
};

void ck_print_clean(FILE *to, const char *s, int width)
{
    int n = 0;
    for (; *s; n++) {
        const char *from = s;
        if (ck_text_acts(ck_text_next(&s)))
            putc('?', to);
        else
            fwrite(from, 1, (size_t)(s - from), to);
    }
    fprintf(to, "%*s", n < width ? width - n : 0, "");
}

/* The put functions add one fact to either output. */
static void put_text(struct paper *p, const char *key, const char *value)
{
    if (p->text)
        fprintf(p->text, "  %-10s %s\n", key, value);
    else
        ck_json_put_text(&p->json, key, value);
}

static void put_int(struct paper *p, const char *key, int64_t value)
{
    if (p->text)
        fprintf(p->text, "  %-10s %lld\n", key, (long long)value);
    else
        ck_json_put_int(&p->json, key, value);
}

static void put_shape(struct paper *p, int ndim, const int64_t *shape)
{
    char text[CK_SHAPE_TEXT];
    if (p->text) {
        ck_shape_text(ndim, shape, text);
        put_text(p, "shape", text);
        return;
    }
    ck_json_begin_array(&p->json, "shape");
    for (int i = 0; i < ndim; i++)
        ck_json_put_int(&p->json, NULL, shape[i]);
    ck_json_end(&p->json);
}

/* The first line of text, or the keys file and format. */
static void put_title(struct paper *p, const char *path, const char *format, const char *words)
{
    if (p->text) {
        ck_print_clean(p->text, path, 0);
        fprintf(p->text, ": %s\n", words);
        return;
    }
    ck_json_put_text(&p->json, "file", path);
    ck_json_put_text(&p->json, "format", format);
}

/* ---- rows ---- */

/* Statistics of the sampled rows. */
struct sample {
    int64_t rows, nan, inf;
    double min, max; /* norms of the finite rows */
    int finite;
};

static void sample_row(struct sample *s, const float *x, int32_t dim)
{
    double sum = 0;
    for (int32_t j = 0; j < dim; j++) {
        s->nan += isnan(x[j]) != 0;
        s->inf += isinf(x[j]) != 0;
        sum += (double)x[j] * (double)x[j];
    }
    s->rows++;
    if (!isfinite(sum))
        return;
    double norm = sqrt(sum);
    s->min = !s->finite || norm < s->min ? norm : s->min;
    s->max = !s->finite || norm > s->max ? norm : s->max;
    s->finite = 1;
}

struct look {
    struct sample *sample;
    const struct ck_part *part;
    float *x; /* [dim], scratch */
};

/* Inspects up to SAMPLE rows, evenly spaced from the first to the last. Called by ck_guard_call: holds
 * nothing. */
static int sample_guarded(void *arg)
{
    struct look *l = arg;
    const struct ck_part *part = l->part;
    const struct ck_vecs *v = &part->vecs;
    int64_t n = v->n < SAMPLE ? v->n : SAMPLE;
    for (int64_t i = 0; i < n; i++) {
        int64_t row = n == 1 ? 0 : (int64_t)((double)i / (double)(n - 1) * (double)(v->n - 1));
        CK_RETURN_IF(ck_part_row(part, row, l->x));
        sample_row(l->sample, l->x, v->dim);
    }
    return COKE_OK;
}

static int sample_rows(struct sample *s, const struct ck_part *part)
{
    struct look l = {s, part, ck_alloc_array((size_t)part->vecs.dim, sizeof *l.x)};
    if (!l.x)
        return COKE_ENOMEM;
    int rc = ck_guard_call(sample_guarded, &l);
    ck_free(l.x);
    return rc == COKE_EIO ? ck_fail_prefix(rc, "%s: ", part->name) : rc;
}

static void put_sample_text(struct paper *p, const struct sample *s)
{
    if (s->finite)
        ck_print(p->text, "  %-10s %.6g to %.6g\n", "norms", s->min, s->max);
    else
        fprintf(p->text, "  %-10s none is finite\n", "norms");
    fprintf(p->text, "  %-10s %lld NaN, %lld infinite, in %lld rows sampled\n", "values",
            (long long)s->nan, (long long)s->inf, (long long)s->rows);
}

static void put_sample(struct paper *p, const struct sample *s)
{
    if (p->text) {
        put_sample_text(p, s);
        return;
    }
    ck_json_begin_object(&p->json, "sample");
    ck_json_put_int(&p->json, "rows", s->rows);
    ck_json_put_real(&p->json, "norm_min", s->finite ? s->min : (double)NAN);
    ck_json_put_real(&p->json, "norm_max", s->finite ? s->max : (double)NAN);
    ck_json_put_int(&p->json, "nan", s->nan);
    ck_json_put_int(&p->json, "inf", s->inf);
    ck_json_end(&p->json);
}

/* Samples the rows before it prints anything, so that a bad row gives an error and no partial
 * output. */
static int print_npy(struct paper *p, struct ck_part *part)
{
    struct ck_npy a;
    struct sample s = {0};
    char words[64];
    CK_RETURN_IF(ck_npy_parse(&a, part->name, part->map.data, part->map.size));
    if (a.ndim == 2 && a.elements) {
        CK_RETURN_IF(ck_part_parse(part, NULL));
        CK_RETURN_IF(sample_rows(&s, part));
    }
    snprintf(words, sizeof words, "NumPy array (.npy, version %d)", a.version);
    put_title(p, part->name, "npy", words);
    put_text(p, "dtype", ck_npy_dtype(a.dtype));
    put_shape(p, a.ndim, a.shape);
    if (a.fortran)
        put_text(p, "order", "columns first (Fortran)");
    put_int(p, "bytes", (int64_t)part->map.size);
    if (s.rows)
        put_sample(p, &s);
    return COKE_OK;
}

/* The ending is the format's name: "fvecs" of x.fvecs. */
static void put_rows_title(struct paper *p, const struct ck_part *part)
{
    static const char *const words[][3] = {
        {".fvecs", "fvecs", "vectors of floats (.fvecs)"},
        {".bvecs", "bvecs", "vectors of bytes (.bvecs)"},
        {".fbin", "fbin", "vectors of floats (.fbin)"},
        {".f16bin", "f16bin", "vectors of half floats (.f16bin)"},
        {".u8bin", "u8bin", "vectors of bytes (.u8bin)"},
        {".i8bin", "i8bin", "vectors of signed bytes (.i8bin)"},
    };
    const char *dot = part->format == CK_FORMAT_RAW ? NULL : strrchr(part->path, '.');
    for (size_t i = 0; dot && i < sizeof words / sizeof *words; i++)
        if (ck_text_same(dot, words[i][0])) {
            put_title(p, part->name, words[i][1], words[i][2]);
            return;
        }
    if (part->format == CK_FORMAT_NPZ)
        put_title(p, part->name, "npz", "array of a NumPy archive (.npz)");
    else if (part->format == CK_FORMAT_HDF5)
        put_title(p, part->name, "hdf5", "data set of an HDF5 file");
    else if (part->format == CK_FORMAT_RAW)
        put_title(p, part->name, "raw", "rows without a header");
    else
        put_title(p, part->name, "safetensors", "tensor of a safetensors file");
}

/* Compressed rows are not sampled: that would take as long as reading all of them. */
static int print_rows(struct paper *p, struct ck_part *part, const struct ck_raw *raw)
{
    struct sample s = {0};
    CK_RETURN_IF(ck_part_parse(part, raw));
    if (part->layout != CK_LAYOUT_SOURCE)
        CK_RETURN_IF(sample_rows(&s, part));
    put_rows_title(p, part);
    put_text(p, "dtype", ck_npy_dtype(part->dtype));
    put_shape(p, 2, (const int64_t[]){part->vecs.n, part->vecs.dim});
    put_int(p, "bytes", (int64_t)part->map.size);
    if (s.rows)
        put_sample(p, &s);
    return COKE_OK;
}

/* ---- files of several arrays ---- */

static void put_array(void *arg, const char *name, const char *dtype, int ndim,
                      const int64_t *shape)
{
    struct paper *p = arg;
    char text[CK_SHAPE_TEXT];
    if (p->text) {
        ck_shape_text(ndim, shape, text);
        fputs("    ", p->text);
        ck_print_clean(p->text, name, 12);
        fprintf(p->text, "  %-5s  %s\n", dtype, text);
        return;
    }
    ck_json_begin_object(&p->json, NULL);
    ck_json_put_text(&p->json, "name", name);
    ck_json_put_text(&p->json, "dtype", dtype);
    put_shape(p, ndim, shape);
    ck_json_end(&p->json);
}

static void count_array(void *arg, const char *name, const char *dtype, int ndim,
                        const int64_t *shape)
{
    (void)name, (void)dtype, (void)ndim, (void)shape;
    ++*(int *)arg;
}

/* Visits twice: the first time finds everything that is wrong, before anything is printed. */
static int print_arrays(struct paper *p, struct ck_part *part)
{
    int count = 0, is_npz = part->format == CK_FORMAT_NPZ;
    int (*visit)(struct ck_part *, ck_array_visit *, void *) =
        is_npz ? ck_npz_visit : ck_hdf5_visit;
    CK_RETURN_IF(visit(part, count_array, &count));
    put_title(p, part->name, is_npz ? "npz" : "hdf5",
              is_npz ? "NumPy archive (.npz)" : "HDF5 file");
    put_int(p, "bytes", (int64_t)part->map.size);
    if (p->text)
        fprintf(p->text, "  %-10s %d\n", is_npz ? "arrays" : "data sets", count);
    else
        ck_json_begin_array(&p->json, "arrays");
    CK_RETURN_IF(visit(part, put_array, p));
    if (!p->text)
        ck_json_end(&p->json);
    return COKE_OK;
}

/* ---- safetensors and models ---- */

static void put_sizes(struct paper *p, struct ck_spread s)
{
    if (p->text) {
        fprintf(p->text, "  %-10s min %lld, median %lld, max %lld\n", "sizes", (long long)s.min,
                (long long)s.median, (long long)s.max);
        return;
    }
    ck_json_begin_object(&p->json, "sizes");
    ck_json_put_int(&p->json, "min", s.min);
    ck_json_put_int(&p->json, "median", s.median);
    ck_json_put_int(&p->json, "max", s.max);
    ck_json_end(&p->json);
}

/* Integers of a file, which has them at any alignment. */
static void read_ints(const struct ck_tensor *t, int64_t n, int64_t *out)
{
    const char *from = t->data;
    if (t->dtype == CK_I64)
        memcpy(out, from, (size_t)n * sizeof *out);
    for (int64_t i = 0; t->dtype == CK_I32 && i < n; i++) {
        int32_t value;
        memcpy(&value, from + i * (int64_t)sizeof value, sizeof value);
        out[i] = value;
    }
}

static int print_sizes(struct paper *p, const struct ck_state *s)
{
    const struct ck_tensor *t = ck_state_find(s, "sizes");
    t = t ? t : ck_state_find(s, "counts");
    int64_t n = t && t->ndim == 1 ? t->shape[0] : 0;
    if (n == 0 || (t->dtype != CK_I64 && t->dtype != CK_I32))
        return COKE_OK;
    int64_t *v = ck_alloc_array((size_t)n, sizeof *v);
    if (!v)
        return COKE_ENOMEM;
    read_ints(t, n, v);
    put_sizes(p, ck_spread_sort(v, n));
    ck_free(v);
    return COKE_OK;
}

/* k or dim of a model: from the metadata, else from the shape of the centers; -1 = unknown. */
static int64_t model_length(const struct ck_state *s, const char *key, int axis)
{
    double x;
    if (ck_state_meta(s, key) && ck_state_meta_number(s, key, &x) == COKE_OK && x >= 0 &&
        x < 1e15)
        return (int64_t)x;
    const struct ck_tensor *t = ck_state_find(s, "centers");
    t = t ? t : ck_state_find(s, "current");
    return t && t->ndim == 2 ? t->shape[axis] : -1;
}

static int print_model(struct paper *p, const struct ck_state *s)
{
    int64_t k = model_length(s, "k", 0), dim = model_length(s, "dim", 1);
    if (k >= 0)
        put_int(p, "k", k);
    if (dim >= 0)
        put_int(p, "dim", dim);
    return print_sizes(p, s);
}

static void print_tensor_line(FILE *to, const struct ck_tensor *t, int width)
{
    char shape[CK_SHAPE_TEXT];
    ck_shape_text(t->ndim, t->shape, shape);
    fputs("    ", to);
    ck_print_clean(to, t->name, width);
    fprintf(to, "  %-4s  %s\n", ck_dtype_name(t->dtype), shape);
}

/* Names up to 40 characters set the column width; longer ones stick out. */
static void put_tensors(struct paper *p, const struct ck_state *s)
{
    int width = 0;
    for (int i = 0; i < s->ntensors; i++) {
        size_t n = strlen(s->tensor[i].name);
        width = n < 40 && (int)n > width ? (int)n : width;
    }
    if (p->text)
        fprintf(p->text, "  %-10s %d\n", "tensors", s->ntensors);
    else
        ck_json_begin_array(&p->json, "tensors");
    for (int i = 0; i < s->ntensors; i++) {
        const struct ck_tensor *t = &s->tensor[i];
        if (p->text) {
            print_tensor_line(p->text, t, width);
            continue;
        }
        ck_json_begin_object(&p->json, NULL);
        ck_json_put_text(&p->json, "name", t->name);
        ck_json_put_text(&p->json, "dtype", ck_dtype_name(t->dtype));
        put_shape(p, t->ndim, t->shape);
        ck_json_end(&p->json);
    }
    if (!p->text)
        ck_json_end(&p->json);
}

static void print_meta_line(FILE *to, const struct ck_meta *m, int width)
{
    fputs("    ", to);
    ck_print_clean(to, m->key, width);
    fputs("  ", to);
    ck_print_clean(to, m->value, 0);
    fputc('\n', to);
}

static void put_metadata(struct paper *p, const struct ck_state *s)
{
    int width = 0;
    for (int i = 0; i < s->nmeta; i++) {
        size_t n = strlen(s->meta[i].key);
        width = n < 40 && (int)n > width ? (int)n : width;
    }
    if (p->text)
        fprintf(p->text, "  %-10s %d\n", "metadata", s->nmeta);
    else
        ck_json_begin_object(&p->json, "metadata");
    for (int i = 0; i < s->nmeta; i++) {
        const struct ck_meta *m = &s->meta[i];
        if (p->text)
            print_meta_line(p->text, m, width);
        else
            ck_json_put_text(&p->json, m->key, m->value);
    }
    if (!p->text)
        ck_json_end(&p->json);
}

static int print_safetensors(struct paper *p, const char *path, size_t bytes)
{
    struct ck_state s;
    char words[128];
    int rc = ck_safetensors_read(path, &s);
    if (rc)
        return rc;
    const char *format = ck_state_meta(&s, "format");
    int is_model = format && strncmp(format, "coke", 4) == 0;
    snprintf(words, sizeof words, "%s%.80s%s", is_model ? "a coke model (" : "safetensors",
             is_model ? format : "", is_model ? ")" : "");
    put_title(p, path, is_model ? format : "safetensors", words);
    if (is_model)
        rc = print_model(p, &s);
    put_int(p, "bytes", (int64_t)bytes);
    snprintf(words, sizeof words, "%d of %d verified", ck_safetensors_checked(&s), s.ntensors);
    put_text(p, "checksums", words);
    put_tensors(p, &s);
    put_metadata(p, &s);
    ck_state_release(&s);
    return rc;
}

/* ---- format detection ---- */

static int has_extension(const char *path, const char *extension)
{
    size_t n = strlen(path), m = strlen(extension);
    return n >= m && strcmp(path + n - m, extension) == 0;
}

static int print_part(struct paper *p, struct ck_part *part, const struct ck_raw *raw)
{
    int several = part->format == CK_FORMAT_NPZ || part->format == CK_FORMAT_HDF5;
    if (part->map.size == 0)
        return ck_fail(COKE_EFORMAT, "%s: empty", part->name);
    if (raw)
        return print_rows(p, part, raw);
    if (part->format == CK_FORMAT_NPY && !part->array)
        return print_npy(p, part);
    if (part->format == CK_FORMAT_SAFETENSORS && !part->array)
        return print_safetensors(p, part->path, part->map.size);
    return several && !part->array ? print_arrays(p, part) : print_rows(p, part, NULL);
}

static int print_file(struct paper *p, const char *path, const struct ck_raw *raw)
{
    struct ck_part part = {0};
    int rc = COKE_OK;
    CK_TRY(ck_part_name(&part, path));
    CK_TRY(ck_map_open(&part.map, part.path));
    CK_TRY(ck_part_detect(&part));
    CK_TRY(print_part(p, &part, raw));
done:
    ck_part_release(&part);
    return rc;
}

static int print_folder(struct paper *p, const char *path)
{
    static const char model[] = "model.safetensors";
    struct stat st;
    size_t n = strlen(path) + sizeof model + 1;
    char *file = ck_alloc_array(n, 1);
    if (!file)
        return COKE_ENOMEM;
    snprintf(file, n, "%s%s%s", path, has_extension(path, "/") ? "" : "/", model);
    int rc = stat(file, &st) ? ck_fail(COKE_EFORMAT, "%s: the folder has no %s", path, model)
                             : print_file(p, file, NULL);
    ck_free(file);
    return rc;
}

int ck_info_print(const char *path, const char *raw, int json, FILE *to)
{
    struct paper p = {.text = json ? NULL : to};
    struct ck_raw form;
    struct stat st;
    int rc = COKE_OK;
    if (raw)
        CK_RETURN_IF(ck_raw_parse(&form, raw));
    if (json)
        ck_json_init(&p.json);
    if (!raw && stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        CK_TRY(print_folder(&p, path));
    else
        CK_TRY(print_file(&p, path, raw ? &form : NULL));
    if (json)
        CK_TRY(ck_json_print(&p.json, to));
    else if (fflush(to) || ferror(to))
        CK_FAIL(COKE_EIO, "writing the description of %s: %s", path, strerror(errno));
done:
    if (json)
        ck_json_release(&p.json);
    return rc;
}
