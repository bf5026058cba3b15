/* rows_foreign.c - formats that are not read: the message has the line that converts them. */
#include "io/rows_part.h"
#include "core/error.h"
#include "core/guard.h"
#include "core/text.h"

#include <stdio.h>
#include <string.h>

/* Recognized by the first bytes, or by the ending. load: a Python expression of the rows, with %s
 * for the file. */
static const struct foreign {
    const char *what, *magic;
    const char *endings[4];
    const char *imports, *load;
} foreign[] = {
    {"Parquet",
     "PAR1",
     {".parquet", ".pq"},
     "pandas as p",
     "p.read_parquet('%s').to_numpy('f4')"},
    {"Feather",
     "ARROW1",
     {".feather", ".arrow"},
     "pandas as p",
     "p.read_feather('%s').to_numpy('f4')"},
    {"CSV", NULL, {".csv"}, "pandas as p", "p.read_csv('%s',header=None).to_numpy('f4')"},
    {"text", NULL, {".tsv", ".txt", ".vec"}, "", "n.loadtxt('%s',dtype='f4')"},
    {"JSON", NULL, {".json"}, "json", "n.array(json.load(open('%s')),'f4')"},
    {"JSON", NULL, {".jsonl"}, "json", "n.array([json.loads(l) for l in open('%s')],'f4')"},
    {"a pickle",
     NULL,
     {".pkl", ".pickle", ".p"},
     "pandas as p",
     "n.array(p.read_pickle('%s'),'f4')"},
    {"a file of PyTorch",
     NULL,
     {".pt", ".pth"},
     "torch",
     "torch.load('%s',map_location='cpu').float().numpy()"},
    {"a file of MATLAB",
     "MATLAB",
     {".mat"},
     "scipy.io as s",
     "max(s.loadmat('%s').values(),key=n.size)"},
};

/* In place of CSV where the first line names the columns. */
static const struct foreign named_csv = {
    "CSV with a heading",
    NULL,
    {".csv"},
    "pandas as p",
    "p.read_csv('%s').select_dtypes('number').to_numpy('f4')",
};

struct peek {
    const struct ck_part *part;
    unsigned char head[8];
};

/* Called by ck_guard_call: holds nothing. */
static int peek(void *arg)
{
    struct peek *q = arg;
    size_t n = q->part->map.size;
    memcpy(q->head, q->part->map.data, n < sizeof q->head ? n : sizeof q->head);
    return COKE_OK;
}

/* Names of columns begin with a letter, a quotation mark or the mark of UTF-8. */
static int has_heading(const unsigned char *head)
{
    unsigned char first = head[0];
    return (first >= 'a' && first <= 'z') || (first >= 'A' && first <= 'Z') || first == '"' ||
           first == '_' || first >= 0x80;
}

static int is_foreign(const struct foreign *f, const char *path, const unsigned char *head)
{
    size_t n = strlen(path);
    if (f->magic && memcmp(head, f->magic, strlen(f->magic)) == 0)
        return 1;
    for (int i = 0; i < 4 && f->endings[i]; i++) {
        size_t m = strlen(f->endings[i]);
        if (n > m && ck_text_same(path + n - m, f->endings[i]))
            return 1;
    }
    return 0;
}

/* A name that would end Python's string is replaced by one that cannot. */
static int fail_convert(const struct ck_part *p, const struct foreign *f)
{
    char load[400];
    const char *path = strlen(p->path) < 200 && !strpbrk(p->path, "'\\\n\"$`") ? p->path : "IN";
    const char *mark = strchr(f->load, '%');
    snprintf(load, sizeof load, "%.*s%s%s", (int)(mark - f->load), f->load, path, mark + 2);
    return ck_fail(COKE_EFORMAT,
                   "%s: %s is not read; convert it: python3 -c \"import numpy as "
                   "n%s%s;n.save('x.npy',%s)\"",
                   p->name, f->what, f->imports[0] ? "," : "", f->imports, load);
}

int ck_part_fail_foreign(const struct ck_part *p)
{
    struct peek q = {.part = p};
    if (p->map.size == 0)
        return ck_fail(COKE_EFORMAT, "%s: empty", p->name);
    int rc = ck_guard_call(peek, &q);
    if (rc)
        return ck_fail_prefix(rc, "%s: ", p->name);
    if (q.head[0] == 0x1f && q.head[1] == 0x8b)
        return ck_fail(COKE_EFORMAT, "%s: compressed; gunzip it first", p->name);
    if (is_foreign(&named_csv, p->path, q.head) && has_heading(q.head))
        return fail_convert(p, &named_csv);
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++)
        if (is_foreign(&foreign[i], p->path, q.head))
            return fail_convert(p, &foreign[i]);
    return ck_fail(COKE_EFORMAT,
                   "%s: unknown format; supported: .npy, .npz, .fvecs, .bvecs, .fbin, .f16bin, "
                   ".u8bin, .i8bin, .safetensors, .h5, and headerless files with --raw "
                   "TYPE:COLUMNS",
                   p->name);
}
