/* pickle.c - reads the data in a Python pickle without executing anything.
 *
 * A pickle is a program for a stack machine with a memo (see Python's pickletools). This
 * machine interprets the opcodes that tensors need and can only build data. */
#include "io/pickle.h"
#include "core/error.h"
#include "core/mem.h"
#include "core/vec.h"
#include "io/pickle_names.h"

#include <string.h>

/* ---- allowed globals ---- */

/* What calling a global does. MAKE_FIRST returns the first argument, a STORAGE is not
 * called, SETTINGS makes a node without content. */
enum meaning { MAKE_DICT, MAKE_TENSOR, MAKE_FIRST, STORAGE, SETTINGS };

static const struct {
    const char *module, *name;
    enum meaning meaning;
    enum ck_dtype dtype; /* of storages */
} globals[] = {
    {"collections", "OrderedDict", MAKE_DICT, 0},
    {"torch._utils", "_rebuild_tensor_v2", MAKE_TENSOR, 0},
    {"torch._utils", "_rebuild_tensor", MAKE_TENSOR, 0},
    {"torch._utils", "_rebuild_parameter", MAKE_FIRST, 0},
    {"torch", "Size", MAKE_FIRST, 0},
    {"torch", "FloatStorage", STORAGE, CK_F32},
    {"torch", "DoubleStorage", STORAGE, CK_F64},
    {"torch", "HalfStorage", STORAGE, CK_F16},
    {"torch", "BFloat16Storage", STORAGE, CK_BF16},
    {"torch", "LongStorage", STORAGE, CK_I64},
    {"torch", "IntStorage", STORAGE, CK_I32},
    {"torch", "ShortStorage", STORAGE, CK_I16},
    {"torch", "CharStorage", STORAGE, CK_I8},
    {"torch", "ByteStorage", STORAGE, CK_U8},
    {"torch", "BoolStorage", STORAGE, CK_BOOL},
    /* Beside the weights of DINO, solo-learn and lightly. No name, or a module that ends with
     * '.': all of it. */
    {"argparse", "Namespace", SETTINGS, 0},
    {"collections", "defaultdict", SETTINGS, 0},
    {"typing", "Any", SETTINGS, 0},
    {"builtins", "dict", SETTINGS, 0},
    {"builtins", "list", SETTINGS, 0},
    {"__builtin__", "dict", SETTINGS, 0},
    {"__builtin__", "list", SETTINGS, 0},
    {"pathlib", "PosixPath", SETTINGS, 0},
    {"torch", "device", SETTINGS, 0},
    {"omegaconf.", NULL, SETTINGS, 0},
    {"lightning.", NULL, SETTINGS, 0},
    {"lightning_fabric.", NULL, SETTINGS, 0},
    {"lightning_utilities.", NULL, SETTINGS, 0},
    {"pytorch_lightning.", NULL, SETTINGS, 0},
};
enum { GLOBALS = sizeof globals / sizeof globals[0] };

int ck_pickle_storage_dtype(int64_t number, enum ck_dtype *out)
{
    *out = globals[number].dtype;
    return globals[number].meaning == STORAGE;
}

/* ---- the machine ---- */

/* The state of one ck_pickle_read; lives on its stack. Stack and memo hold node numbers. */
struct machine {
    struct ck_pickle *p;
    size_t at;
    int32_t *stack, *mark, *memo; /* marks are heights of the stack */
    int32_t height, marks, memos;
    int64_t room_stack, room_marks, room_memo;
    int ended;
};

static int fail_at(const struct machine *m, const char *words)
{
    return ck_fail(COKE_EFORMAT, "%s: byte %zu of its pickle: %s", m->p->path, m->at, words);
}

static int push(struct machine *m, int32_t node)
{
    int rc = CK_VEC_RESERVE(m->stack, m->room_stack, m->height + 1);
    if (!rc)
        m->stack[m->height++] = node;
    return rc;
}

static int push_new(struct machine *m, struct ck_pickle_node node)
{
    struct ck_pickle *p = m->p;
    int rc = CK_VEC_RESERVE(p->node, p->room_nodes, p->nodes + 1);
    if (rc)
        return rc;
    p->node[p->nodes] = node;
    return push(m, p->nodes++);
}

static int push_kind(struct machine *m, enum ck_pickle_kind kind, int64_t number)
{
    return push_new(m, (struct ck_pickle_node){kind, -1, -1, 0, number});
}

/* Appends to the items of a node. Normally every item takes at least one byte of the pickle;
 * only a dict built repeatedly from a memoized list could have more, so the limit stops that
 * bomb. */
static int append(struct machine *m, int32_t to, int32_t key, int32_t value)
{
    struct ck_pickle *p = m->p;
    if ((size_t)p->items > p->size)
        return fail_at(m, "it has more items than bytes");
    int rc = CK_VEC_RESERVE(p->item, p->room_items, p->items + 1);
    if (rc)
        return rc;
    struct ck_pickle_node *v = &p->node[to];
    p->item[p->items] = (struct ck_pickle_item){key, value, -1};
    if (v->count++)
        p->item[v->last].next = p->items;
    else
        v->first = p->items;
    v->last = p->items++;
    return COKE_OK;
}

/* The lowest height that an opcode may pop to: items below the last mark belong to others. */
static int32_t floor_of(const struct machine *m)
{
    return m->marks ? m->mark[m->marks - 1] : 0;
}

/* The node on top, without popping it; -1 = none. */
static int32_t top(const struct machine *m)
{
    return m->height > floor_of(m) ? m->stack[m->height - 1] : -1;
}

static int is_kind(const struct machine *m, int32_t node, enum ck_pickle_kind kind)
{
    return node >= 0 && m->p->node[node].kind == kind;
}

/* ---- arguments in the bytes ---- */

/* Consumes n bytes of the pickle; *out is borrowed. Every read goes through here or
 * take_line. */
static int take(struct machine *m, size_t n, const unsigned char **out)
{
    if (n > m->p->size - m->at)
        return fail_at(m, "truncated in the middle of an opcode");
    *out = m->p->data + m->at;
    m->at += n;
    return COKE_OK;
}

/* Little-endian, unsigned. */
static int take_number(struct machine *m, int bytes, uint64_t *out)
{
    const unsigned char *b = NULL;
    int rc = take(m, (size_t)bytes, &b);
    *out = 0;
    for (int i = bytes - 1; !rc && i >= 0; i--)
        *out = *out << 8 | b[i];
    return rc;
}

static int push_text(struct machine *m, int length_bytes)
{
    uint64_t n;
    const unsigned char *b = NULL;
    int rc = take_number(m, length_bytes, &n);
    size_t at = m->at;
    if (!rc)
        rc = take(m, n, &b);
    if (rc)
        return rc;
    return push_new(m,
                    (struct ck_pickle_node){CK_PICKLE_TEXT, -1, -1, (int32_t)n, (int64_t)at});
}

static int push_unsigned(struct machine *m, int bytes)
{
    uint64_t x;
    int rc = take_number(m, bytes, &x);
    return rc ? rc : push_kind(m, CK_PICKLE_INT, (int64_t)x);
}

static int push_int32(struct machine *m)
{
    uint64_t x;
    int rc = take_number(m, 4, &x);
    return rc ? rc : push_kind(m, CK_PICKLE_INT, (int32_t)x);
}

/* LONG1: little-endian two's complement of any length. Keeps the low 64 bits; of what torch
 * writes only its signature is longer. */
static int push_long(struct machine *m)
{
    uint64_t n, x = 0;
    const unsigned char *b = NULL;
    int rc = take_number(m, 1, &n);
    if (!rc)
        rc = take(m, n, &b);
    if (rc)
        return rc;
    if (n && b[n - 1] & 128)
        x = UINT64_MAX;
    for (uint64_t i = n < 8 ? n : 8; i-- > 0;)
        x = x << 8 | b[i];
    return push_kind(m, CK_PICKLE_INT, (int64_t)x);
}

/* The value is skipped: no caller uses floats. */
static int push_float(struct machine *m)
{
    const unsigned char *b = NULL;
    int rc = take(m, 8, &b);
    return rc ? rc : push_kind(m, CK_PICKLE_FLOAT, 0);
}

/* ---- globals ---- */

static int same(const unsigned char *a, size_t n, const char *b)
{
    return strlen(b) == n && memcmp(a, b, n) == 0;
}

static int is_global(int i, const unsigned char *module, size_t module_size,
                     const unsigned char *name, size_t name_size)
{
    size_t n = strlen(globals[i].module);
    if (globals[i].name)
        return same(module, module_size, globals[i].module) &&
               same(name, name_size, globals[i].name);
    return module_size > n && memcmp(module, globals[i].module, n) == 0;
}

/* Only names of the table are allowed: a pickle could otherwise name any Python function. */
static int push_named(struct machine *m, const unsigned char *module, size_t module_size,
                      const unsigned char *name, size_t name_size)
{
    for (int i = 0; i < GLOBALS; i++)
        if (is_global(i, module, module_size, name, name_size))
            return push_kind(m, CK_PICKLE_GLOBAL, i);
    return ck_fail(COKE_EFORMAT,
                   "%s needs Python's %.*s.%.*s, which tensors do not use: refused. If you "
                   "trust the file, load it in Python and save its state_dict alone",
                   m->p->path, (int)(module_size < 80 ? module_size : 80), module,
                   (int)(name_size < 80 ? name_size : 80), name);
}

static int take_line(struct machine *m, const unsigned char **out, size_t *n)
{
    const unsigned char *from = m->p->data + m->at;
    const unsigned char *end = memchr(from, '\n', m->p->size - m->at);
    if (!end)
        return fail_at(m, "truncated in the middle of an opcode");
    *out = from;
    *n = (size_t)(end - from);
    m->at += *n + 1;
    return COKE_OK;
}

static int push_global(struct machine *m)
{
    const unsigned char *module = NULL, *name = NULL;
    size_t module_size = 0, name_size = 0;
    int rc = take_line(m, &module, &module_size);
    if (!rc)
        rc = take_line(m, &name, &name_size);
    return rc ? rc : push_named(m, module, module_size, name, name_size);
}

static int push_stack_global(struct machine *m)
{
    if (m->height - floor_of(m) < 2)
        return fail_at(m, "a name is missing");
    size_t module_size, name_size;
    const char *module = ck_pickle_text(m->p, m->stack[m->height - 2], &module_size);
    const char *name = ck_pickle_text(m->p, m->stack[m->height - 1], &name_size);
    if (!module || !name)
        return fail_at(m, "a name is not text");
    m->height -= 2;
    return push_named(m, (const unsigned char *)module, module_size,
                      (const unsigned char *)name, name_size);
}

/* ---- containers ---- */

/* Replaces the n nodes on top by a tuple of them. */
static int make_tuple(struct machine *m, int32_t n)
{
    if (m->height - floor_of(m) < n)
        return fail_at(m, "a tuple's items are missing");
    int32_t from = m->height - n;
    CK_RETURN_IF(push_kind(m, CK_PICKLE_TUPLE, 0));
    int32_t tuple = m->stack[m->height - 1];
    for (int32_t i = 0; i < n; i++)
        CK_RETURN_IF(append(m, tuple, -1, m->stack[from + i]));
    m->stack[from] = tuple;
    m->height = from + 1;
    return COKE_OK;
}

static int push_mark(struct machine *m)
{
    int rc = CK_VEC_RESERVE(m->mark, m->room_marks, m->marks + 1);
    if (!rc)
        m->mark[m->marks++] = m->height;
    return rc;
}

/* Removes the last mark and returns the number of nodes above it; -1 = there is no mark. */
static int32_t pop_mark(struct machine *m)
{
    return m->marks ? m->height - m->mark[--m->marks] : -1;
}

static int make_marked_tuple(struct machine *m)
{
    int32_t n = pop_mark(m);
    return n < 0 ? fail_at(m, "a mark is missing") : make_tuple(m, n);
}

/* Moves the n nodes on top into the container below them; width 2 = key and value of a dict. */
static int add_items(struct machine *m, int32_t n, int width)
{
    if (n < 0 || n % width || m->height - floor_of(m) < n + 1)
        return fail_at(m, "items are missing");
    int32_t from = m->height - n, to = m->stack[from - 1];
    if (is_kind(m, to, CK_PICKLE_SETTINGS)) {
        m->height = from;
        return COKE_OK;
    }
    if (!is_kind(m, to, width == 2 ? CK_PICKLE_DICT : CK_PICKLE_LIST))
        return fail_at(m, "items for a node that is neither a list nor a dict");
    for (int32_t i = 0; i < n; i += width)
        CK_RETURN_IF(append(m, to, width == 2 ? m->stack[from + i] : -1,
                            m->stack[from + i + width - 1]));
    m->height = from;
    return COKE_OK;
}

/* ---- calls ---- */

/* Makes a dict, empty or from a list of pairs (as Python 2 writes it). */
static int make_dict(struct machine *m, int32_t args)
{
    int rc = COKE_OK;
    struct ck_pickle *p = m->p;
    CK_TRY(push_kind(m, CK_PICKLE_DICT, 0));
    int32_t dict = top(m), pairs = ck_pickle_at(p, args, 0);
    if (pairs < 0)
        goto done;
    if (p->node[pairs].kind != CK_PICKLE_LIST)
        CK_FAIL(COKE_EFORMAT, "%s: byte %zu of its pickle: dict from a non-list", p->path,
                m->at);
    for (int32_t i = p->node[pairs].first; i >= 0; i = p->item[i].next) {
        int32_t pair = p->item[i].value, value = ck_pickle_at(p, pair, 1);
        if (value < 0)
            CK_FAIL(COKE_EFORMAT, "%s: byte %zu of its pickle: not a pair", p->path, m->at);
        CK_TRY(append(m, dict, ck_pickle_at(p, pair, 0), value));
    }
done:
    return rc;
}

/* Python would call the function here; this builds a node instead. */
static int reduce(struct machine *m)
{
    if (m->height - floor_of(m) < 2)
        return fail_at(m, "a call without arguments");
    int32_t args = m->stack[m->height - 1], function = m->stack[m->height - 2];
    if (!is_kind(m, function, CK_PICKLE_GLOBAL) || !is_kind(m, args, CK_PICKLE_TUPLE))
        return fail_at(m, "call of a node that is not a function");
    m->height -= 2;
    int32_t first = ck_pickle_at(m->p, args, 0);
    switch (globals[m->p->node[function].number].meaning) {
    case MAKE_DICT:
        return make_dict(m, args);
    case MAKE_TENSOR:
        return push_new(m, (struct ck_pickle_node){CK_PICKLE_TENSOR, args, -1, 0, 0});
    case MAKE_FIRST:
        return first < 0 ? fail_at(m, "a call without arguments") : push(m, first);
    case SETTINGS:
        return push_kind(m, CK_PICKLE_SETTINGS, 0);
    default:
        return fail_at(m, "call of a storage type");
    }
}

/* Ignores attributes: a state_dict has _metadata, settings have their values. */
static int build(struct machine *m)
{
    int32_t of = m->height - floor_of(m) < 2 ? -1 : m->stack[m->height - 2];
    if (!is_kind(m, of, CK_PICKLE_DICT) && !is_kind(m, of, CK_PICKLE_SETTINGS))
        return fail_at(m, "attributes of a node that is not a dict");
    m->height--;
    return COKE_OK;
}

/* Persistent id: the tuple that torch.save writes in place of the bytes of a tensor. */
static int make_storage(struct machine *m)
{
    int32_t id = top(m);
    if (!is_kind(m, id, CK_PICKLE_TUPLE))
        return fail_at(m, "the id of a storage is not a tuple");
    m->height--;
    return push_new(m, (struct ck_pickle_node){CK_PICKLE_STORAGE, id, -1, 0, 0});
}

/* ---- memo ---- */

static int memo_put(struct machine *m, uint64_t i)
{
    int32_t node = top(m);
    if (node < 0)
        return fail_at(m, "memo put with an empty stack");
    if (i > m->p->size) /* each entry takes at least one byte of the pickle */
        return fail_at(m, "memo index larger than the pickle");
    for (; (uint64_t)m->memos <= i; m->memos++) {
        int rc = CK_VEC_RESERVE(m->memo, m->room_memo, m->memos + 1);
        if (rc)
            return rc;
        m->memo[m->memos] = -1;
    }
    m->memo[i] = node;
    return COKE_OK;
}

static int put_arg(struct machine *m, int bytes)
{
    uint64_t i;
    int rc = take_number(m, bytes, &i);
    return rc ? rc : memo_put(m, i);
}

static int memo_get(struct machine *m, int bytes)
{
    uint64_t i;
    int rc = take_number(m, bytes, &i);
    if (rc)
        return rc;
    if (i >= (uint64_t)m->memos || m->memo[i] < 0)
        return fail_at(m, "undefined memo index");
    return push(m, m->memo[i]);
}

/* MEMOIZE uses the number of entries as the index. */
static int memoize(struct machine *m)
{
    return memo_put(m, (uint64_t)m->memos);
}

static int skip(struct machine *m, size_t n)
{
    const unsigned char *unused;
    return take(m, n, &unused);
}

static int stop(struct machine *m)
{
    if (m->height != 1 || m->marks)
        return fail_at(m, "it does not end with exactly one object");
    m->p->root = m->stack[0];
    m->ended = 1;
    return COKE_OK;
}

static int run(struct machine *m, unsigned char opcode)
{
    switch (opcode) {
    case 0x80: /* PROTO */
        return skip(m, 1);
    case 0x95: /* FRAME */
        return skip(m, 8);
    case '.':
        return stop(m);
    case 'N':
        return push_kind(m, CK_PICKLE_NONE, 0);
    case 0x88:
    case 0x89: /* NEWTRUE, NEWFALSE */
        return push_kind(m, CK_PICKLE_BOOL, opcode == 0x88);
    case 'K':
        return push_unsigned(m, 1);
    case 'M':
        return push_unsigned(m, 2);
    case 'J':
        return push_int32(m);
    case 0x8a: /* LONG1 */
        return push_long(m);
    case 'G':
        return push_float(m);
    case 'X': /* BINUNICODE */
    case 'T': /* BINSTRING */
        return push_text(m, 4);
    case 0x8c: /* SHORT_BINUNICODE */
    case 'U':  /* SHORT_BINSTRING */
        return push_text(m, 1);
    case 0x8d: /* BINUNICODE8 */
        return push_text(m, 8);
    case 'c':
        return push_global(m);
    case 0x93:
        return push_stack_global(m);
    case '(':
        return push_mark(m);
    case ')':
        return make_tuple(m, 0);
    case 0x85:
    case 0x86:
    case 0x87: /* TUPLE1 to TUPLE3 */
        return make_tuple(m, opcode - 0x84);
    case 't':
        return make_marked_tuple(m);
    case ']':
        return push_kind(m, CK_PICKLE_LIST, 0);
    case '}':
        return push_kind(m, CK_PICKLE_DICT, 0);
    case 'a':
        return add_items(m, 1, 1);
    case 'e':
        return add_items(m, pop_mark(m), 1);
    case 's':
        return add_items(m, 2, 2);
    case 'u':
        return add_items(m, pop_mark(m), 2);
    case 'R':
    case 0x81: /* NEWOBJ */
        return reduce(m);
    case 'b':
        return build(m);
    case 'Q':
        return make_storage(m);
    case 'q':
        return put_arg(m, 1);
    case 'r':
        return put_arg(m, 4);
    case 0x94:
        return memoize(m);
    case 'h':
        return memo_get(m, 1);
    case 'j':
        return memo_get(m, 4);
    default:
        m->at--;
        return ck_fail(COKE_EFORMAT,
                       "%s: byte %zu of its pickle: opcode 0x%02x is not supported", m->p->path,
                       m->at, opcode);
    }
}

int ck_pickle_read(struct ck_pickle *p, const char *path, const unsigned char *data,
                   size_t size, size_t *used)
{
    struct machine m = {.p = p};
    const unsigned char *opcode = NULL;
    int rc = COKE_OK;
    *p = (struct ck_pickle){.path = path, .data = data, .root = -1};
    p->size = size < CK_PICKLE_MAX ? size : CK_PICKLE_MAX;
    while (!m.ended) {
        if (m.at == CK_PICKLE_MAX)
            CK_FAIL(COKE_EFORMAT, "%s: the pickle is longer than the limit of %d bytes", path,
                    CK_PICKLE_MAX);
        CK_TRY(take(&m, 1, &opcode));
        CK_TRY(run(&m, *opcode));
    }
    *used = m.at;
done:
    ck_free(m.stack);
    ck_free(m.mark);
    ck_free(m.memo);
    if (rc)
        ck_pickle_release(p);
    return rc;
}

void ck_pickle_release(struct ck_pickle *p)
{
    ck_free(p->node);
    ck_free(p->item);
    *p = (struct ck_pickle){0};
}
