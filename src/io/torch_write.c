/* torch_write.c - writes files that torch.load reads: a zip archive of a pickle and the bytes
 * of every tensor. The pickle contains no floats, so weights_only=True accepts it. */
#include "core/error.h"
#include "core/mem.h"
#include "core/vec.h"
#include "io/torch_file.h"
#include "io/zip.h"

#include <stdio.h>
#include <string.h>

/* A pickle being written; `status` keeps the first failure, and later puts do nothing. */
struct pickle {
    unsigned char *data;
    size_t n;
    int64_t room;
    int status;
};

static void put(struct pickle *p, const void *data, size_t n)
{
    if (!p->status)
        p->status = CK_VEC_RESERVE(p->data, p->room, p->n + n);
    if (p->status)
        return;
    memcpy(p->data + p->n, data, n);
    p->n += n;
}

static void put_op(struct pickle *p, int opcode)
{
    put(p, &(unsigned char){(unsigned char)opcode}, 1);
}

static void put_global(struct pickle *p, const char *lines)
{
    put_op(p, 'c');
    put(p, lines, strlen(lines));
}

static void put_text(struct pickle *p, const char *text)
{
    uint32_t n = (uint32_t)strlen(text);
    put_op(p, 'X');
    put(p, &n, sizeof n);
    put(p, text, n);
}

static void put_int(struct pickle *p, int64_t x)
{
    if (x == (int32_t)x) {
        put_op(p, 'J');
        put(p, &(int32_t){(int32_t)x}, 4);
    } else {
        put_op(p, 0x8a); /* LONG1 */
        put_op(p, 8);
        put(p, &x, 8);
    }
}

static void put_ordered_dict(struct pickle *p)
{
    put_global(p, "collections\nOrderedDict\n");
    put(p, ")R", 2);
}

static void put_shape(struct pickle *p, const struct ck_tensor *t)
{
    put_op(p, '(');
    for (int i = 0; i < t->ndim; i++)
        put_int(p, t->shape[i]);
    put_op(p, 't');
}

/* Strides in elements of a contiguous tensor in C order. */
static void put_strides(struct pickle *p, const struct ck_tensor *t)
{
    int64_t stride[CK_MAX_DIMS], step = 1;
    for (int i = t->ndim - 1; i >= 0; i--) {
        stride[i] = step;
        step *= t->shape[i];
    }
    put_op(p, '(');
    for (int i = 0; i < t->ndim; i++)
        put_int(p, stride[i]);
    put_op(p, 't');
}

/* _rebuild_tensor_v2(storage, 0, shape, strides, False, OrderedDict()) */
static void put_tensor(struct pickle *p, const struct ck_tensor *t, int number)
{
    char key[16];
    snprintf(key, sizeof key, "%d", number);
    put_global(p, "torch._utils\n_rebuild_tensor_v2\n");
    put(p, "((", 2);
    put_text(p, "storage");
    put_global(p, t->dtype == CK_I64 ? "torch\nLongStorage\n" : "torch\nFloatStorage\n");
    put_text(p, key);
    put_text(p, "cpu");
    put_int(p, ck_tensor_elements(t));
    put(p, "tQ", 2);
    put_int(p, 0);
    put_shape(p, t);
    put_strides(p, t);
    put_op(p, 0x89); /* NEWFALSE */
    put_ordered_dict(p);
    put(p, "tR", 2);
}

static void put_tensors(struct pickle *p, const struct ck_state *s)
{
    put_ordered_dict(p);
    put_op(p, '(');
    for (int i = 0; i < s->ntensors; i++) {
        put_text(p, s->tensor[i].name);
        put_tensor(p, &s->tensor[i], i);
    }
    put_op(p, 'u');
}

/* The names of the dicts that surround the tensors, the outermost first. */
enum { DEPTH = 4 };
static const char *const within[][DEPTH] = {
    [CK_TORCH_FLAT] = {NULL},
    [CK_TORCH_TRAINING] = {"state_dict"},
    [CK_TORCH_DETECTRON2] = {"model"},
    [CK_TORCH_TEACHER] = {"teacher"},
    [CK_TORCH_VISSL] = {"classy_state_dict", "base_model", "model", "trunk"},
};

/* What the outermost dict has besides. */
static void put_about(struct pickle *p, enum ck_torch_form form, const char *arch)
{
    if (form == CK_TORCH_TRAINING) {
        put_text(p, "arch");
        put_text(p, arch);
    } else if (form == CK_TORCH_DETECTRON2) {
        put_text(p, "__author__");
        put_text(p, "coke");
        put_text(p, "matching_heuristics");
        put_op(p, 0x88); /* NEWTRUE */
    }
}

static void put_object(struct pickle *p, const struct ck_state *s, enum ck_torch_form form,
                       const char *arch)
{
    int depth = 0;
    put(p, "\x80\x02", 2); /* protocol 2 */
    for (; depth < DEPTH && within[form][depth]; depth++) {
        put(p, "}(", 2);
        if (depth == 0)
            put_about(p, form, arch);
        put_text(p, within[form][depth]);
    }
    put_tensors(p, s);
    for (; depth > 0; depth--)
        put_op(p, 'u');
    put_op(p, '.');
}

static int add_text(struct ck_zip_out *z, const char *name, const char *text)
{
    return ck_zip_add(z, name, text, strlen(text));
}

int ck_torch_write_to(struct ck_writer *w, const struct ck_state *s, enum ck_torch_form form,
                      const char *arch)
{
    int rc = COKE_OK;
    struct pickle p = {0};
    struct ck_zip_out z = {.file = w};
    put_object(&p, s, form, arch);
    CK_TRY(p.status);
    CK_TRY(ck_zip_add(&z, "archive/data.pkl", p.data, p.n));
    CK_TRY(add_text(&z, "archive/byteorder", "little"));
    for (int i = 0; i < s->ntensors; i++) {
        const struct ck_tensor *t = &s->tensor[i];
        char name[32];
        snprintf(name, sizeof name, "archive/data/%d", i);
        CK_TRY(ck_zip_add(&z, name, t->data,
                          (size_t)ck_tensor_elements(t) * ck_dtype_size(t->dtype)));
    }
    CK_TRY(add_text(&z, "archive/version", "3\n"));
    CK_TRY(ck_zip_end(&z));
done:
    ck_zip_out_release(&z);
    ck_free(p.data);
    return rc;
}
