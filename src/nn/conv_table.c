/* conv_table.c - chooses the algorithm of a convolution.
 *
 * The tuning file is text: a line "coke-tuning 1", then one line per convolution and pass: type
 * pass n ic ih iw oc kernel stride pad way. */
#include "nn/conv_table.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/mem.h"
#include "core/vec.h"
#include "io/file.h"
#include "io/sums.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- the table ---- */

/* Measured with bench_step --tune on AVX-512 (docs/results.md): our Winograd won for every
 * shape of ResNet-18, ResNet-18 of a quarter width and ResNet-50, in all passes. Below 3x3
 * pixels its tiles of 4x4 are mostly padding. */
struct rule {
    enum ck_dtype t;
    int64_t channels; /* minimum ic and oc */
    int64_t pixels;   /* minimum oh * ow */
};

static const struct rule winograd_rules[] = {
    {CK_F32, 16, 9},
};

static enum ck_conv_way look_up(const struct ck_conv_shape *s, enum ck_dtype t)
{
    if (s->kernel != 3 || s->stride > 2 || s->pad != 1)
        return CK_DIRECT;
    for (size_t i = 0; i < sizeof winograd_rules / sizeof *winograd_rules; i++) {
        const struct rule *r = &winograd_rules[i];
        if (r->t == t && s->ic >= r->channels && s->oc >= r->channels &&
            s->oh * s->ow >= r->pixels)
            return CK_WINOGRAD;
    }
    return CK_DIRECT;
}

/* ---- measured choices ---- */

enum { LINE = 160 };

struct entry {
    char key[LINE]; /* the line without the algorithm */
    enum ck_conv_way way;
};

/* Process-global, not synchronised (conv_table.h). */
static struct {
    char *path; /* NULL = do not measure */
    struct entry *v;
    int n, changed;
    int64_t room;
} tuning;

static const char *const way_name[CK_F32_WAYS] = {"direct", "winograd"};

static void make_key(char key[LINE], const struct ck_conv_shape *s, enum ck_conv_pass pass,
                     enum ck_dtype t)
{
    static const char *const pass_name[] = {"forward", "data", "weights"};
    snprintf(key, LINE, "%s %s %lld %lld %lld %lld %lld %lld %lld %lld",
             t == CK_BF16 ? "bf16" : "f32", pass_name[pass], (long long)s->n, (long long)s->ic,
             (long long)s->ih, (long long)s->iw, (long long)s->oc, (long long)s->kernel,
             (long long)s->stride, (long long)s->pad);
}

static struct entry *find(const char *key)
{
    for (int i = 0; i < tuning.n; i++)
        if (strcmp(tuning.v[i].key, key) == 0)
            return &tuning.v[i];
    return NULL;
}

static int add(const char *key, enum ck_conv_way way)
{
    CK_RETURN_IF(CK_VEC_RESERVE(tuning.v, tuning.room, tuning.n + 1));
    snprintf(tuning.v[tuning.n].key, LINE, "%s", key);
    tuning.v[tuning.n++].way = way;
    return COKE_OK;
}

/* ---- the file ---- */

#define HEAD "coke-tuning 1"

/* Whether the text is exactly what make_key writes: a stricter check than parsing. */
static int is_key(const char *text)
{
    char type[8], pass[8], again[LINE];
    struct ck_conv_shape s = {0};
    long long v[8];
    if (sscanf(text, "%7s %7s %lld %lld %lld %lld %lld %lld %lld %lld", type, pass, &v[0],
               &v[1], &v[2], &v[3], &v[4], &v[5], &v[6], &v[7]) != 10)
        return 0;
    s.n = v[0], s.ic = v[1], s.ih = v[2], s.iw = v[3];
    s.oc = v[4], s.kernel = v[5], s.stride = v[6], s.pad = v[7];
    for (int p = 0; p < CK_CONV_PASSES; p++)
        for (int t = 0; t < 2; t++) {
            make_key(again, &s, (enum ck_conv_pass)p, t ? CK_BF16 : CK_F32);
            if (strcmp(again, text) == 0)
                return 1;
        }
    return 0;
}

static int read_line(const char *path, int number, char *line)
{
    char *space = strrchr(line, ' ');
    if (number == 1)
        return strcmp(line, HEAD) == 0
                   ? COKE_OK
                   : ck_fail(COKE_EFORMAT, "%s: not a tuning file: it starts with \"%.40s\"",
                             path, line);
    for (int w = 0; space && w < CK_F32_WAYS; w++)
        if (strcmp(space + 1, way_name[w]) == 0) {
            *space = 0;
            if (!is_key(line))
                break;
            return find(line) ? COKE_OK : add(line, (enum ck_conv_way)w);
        }
    return ck_fail(COKE_EFORMAT,
                   "%s: line %d is not a convolution, a pass and a way to compute it", path,
                   number);
}

static int read_text(const char *path, const char *text, size_t size)
{
    int number = 0;
    for (size_t at = 0; at < size;) {
        const char *end = memchr(text + at, '\n', size - at);
        size_t n = end ? (size_t)(end - text) - at : size - at;
        char line[LINE];
        number++;
        if (!end || n >= sizeof line)
            return ck_fail(COKE_EFORMAT, "%s: line %d is %s", path, number,
                           end ? "too long" : "truncated");
        memcpy(line, text + at, n);
        line[n] = 0;
        CK_RETURN_IF(read_line(path, number, line));
        at += n + 1;
    }
    if (!number)
        return ck_fail(COKE_EFORMAT, "%s: empty, not a tuning file", path);
    return COKE_OK;
}

static void forget(void)
{
    ck_free(tuning.path);
    ck_free(tuning.v);
    memset(&tuning, 0, sizeof tuning);
}

int ck_tuning_open(const char *path)
{
    int rc = COKE_OK;
    struct ck_map map = {0};
    forget();
    if (!path)
        return COKE_OK;
    if (access(path, F_OK) == 0) {
        CK_TRY(ck_map_load(&map, path));
        CK_TRY(read_text(path, (const char *)map.data, map.size));
    }
    tuning.path = ck_strdup(path);
    rc = tuning.path ? COKE_OK : COKE_ENOMEM;
done:
    ck_map_release(&map);
    if (rc)
        forget();
    return rc;
}

void ck_tuning_freeze(void)
{
    ck_free(tuning.path);
    tuning.path = NULL;
}

int ck_tuning_save(void)
{
    int rc = COKE_OK;
    struct ck_writer w = {0};
    if (!tuning.path || !tuning.changed)
        return COKE_OK;
    CK_TRY(ck_writer_open(&w, tuning.path, 1));
    CK_TRY(ck_writer_write(&w, HEAD "\n", strlen(HEAD) + 1));
    for (int i = 0; i < tuning.n; i++) {
        char line[LINE + 16];
        int n =
            snprintf(line, sizeof line, "%s %s\n", tuning.v[i].key, way_name[tuning.v[i].way]);
        CK_TRY(ck_writer_write(&w, line, (size_t)n));
    }
    CK_TRY(ck_sums_commit(&w));
    tuning.changed = 0;
done:
    ck_writer_abort(&w);
    return rc;
}

/* ---- measuring ---- */

/* The fastest of five runs on zeros, after one to warm up. */
static int time_conv(struct ck_conv *c, double *seconds)
{
    int rc = COKE_OK;
    void *data[CK_DNN_ARGS] = {NULL}, *scratch = NULL;
    *seconds = 1e30;
    for (int i = 0; i < CK_DNN_ARGS; i++) {
        data[i] = ck_calloc_array(1, c->bytes[i]);
        if (!data[i])
            CK_LEAVE(COKE_ENOMEM);
    }
    scratch = ck_calloc_array(1, c->scratch + 1);
    if (!scratch)
        CK_LEAVE(COKE_ENOMEM);
    for (int i = 0; i < 6; i++) {
        double start = ck_clock_seconds();
        CK_TRY(ck_conv_run(c, data, NULL, NULL, scratch));
        double now = ck_clock_seconds() - start;
        *seconds = i && now < *seconds ? now : *seconds; /* skips the warm-up */
    }
done:
    for (int i = 0; i < CK_DNN_ARGS; i++)
        ck_free(data[i]);
    ck_free(scratch);
    return rc;
}

static int measure(const struct ck_conv_shape *s, enum ck_conv_pass pass, enum ck_dtype t,
                   const struct ck_format *src, enum ck_conv_way *way)
{
    double best = 1e30;
    *way = CK_DIRECT;
    for (int i = 0; i < CK_F32_WAYS; i++) {
        struct ck_conv c;
        double seconds = 0;
        int rc = ck_conv_init(&c, s, pass, t, src, (enum ck_conv_way)i);
        if (rc == COKE_EUSAGE)
            continue; /* not available here */
        if (!rc)
            rc = time_conv(&c, &seconds);
        ck_conv_release(&c);
        if (rc)
            return rc;
        if (seconds < best) {
            best = seconds;
            *way = (enum ck_conv_way)i;
        }
    }
    return COKE_OK;
}

int ck_conv_choose(const struct ck_conv_shape *s, enum ck_conv_pass pass, enum ck_dtype t,
                   const struct ck_format *src, enum ck_conv_way *way)
{
    char key[LINE];
    *way = CK_ON_TILES;
    if (t == CK_BF16)
        return COKE_OK; /* there is no other */
    make_key(key, s, pass, t);
    const struct entry *known = find(key);
    *way = known ? known->way : look_up(s, t);
    if (known || !tuning.path)
        return COKE_OK;
    int rc = measure(s, pass, t, src, way);
    if (!rc)
        rc = add(key, *way);
    tuning.changed |= !rc;
    return rc;
}
