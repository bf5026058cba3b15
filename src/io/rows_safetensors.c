/* rows_safetensors.c - rows in a safetensors file: one of its tensors, used where it is. */
#include "io/rows_part.h"
#include "io/safetensors.h"
#include "core/error.h"
#include "core/guard.h"
#include "core/mem.h"

#include <stdio.h>
#include <string.h>

enum { LIST = 400 };

struct copy {
    const struct ck_map *map;
    unsigned char *out;
    size_t n;
};

/* Called by ck_guard_call: holds nothing. */
static int copy(void *arg)
{
    const struct copy *c = arg;
    memcpy(c->out, c->map->data, c->n);
    return COKE_OK;
}

static int copy_head(const struct ck_part *p, unsigned char *out, size_t n)
{
    int rc = ck_guard_call(copy, &(struct copy){&p->map, out, n});
    return rc ? ck_fail_prefix(rc, "%s: ", p->name) : COKE_OK;
}

/* The names of the tensors, as many as fit. */
static void list_names(const struct ck_state *s, char text[LIST])
{
    size_t used = 0;
    text[0] = 0;
    for (int i = 0; i < s->ntensors && used + 80 < LIST; i++)
        used += (size_t)snprintf(text + used, LIST - used, "%s%.60s", used ? ", " : "",
                                 s->tensor[i].name);
}

/* The named tensor, else the only one with two dimensions. */
static const struct ck_tensor *choose(const struct ck_part *p, const struct ck_state *s,
                                      int *found)
{
    const struct ck_tensor *t = NULL;
    *found = 0;
    for (int i = 0; i < s->ntensors; i++) {
        const struct ck_tensor *x = &s->tensor[i];
        if (p->array ? strcmp(x->name, p->array) == 0 : x->ndim == 2) {
            t = x;
            ++*found;
        }
    }
    return t;
}

static int take(struct ck_part *p, const struct ck_state *s)
{
    char names[LIST];
    int found;
    const struct ck_tensor *t = choose(p, s, &found);
    list_names(s, names);
    if (found == 0)
        return ck_fail(COKE_EFORMAT, "%s: no %s in it; it has %s", p->name,
                       p->array ? "such tensor" : "tensor with two dimensions",
                       s->ntensors ? names : "none");
    if (found > 1)
        return ck_fail(COKE_EFORMAT, "%s: %d tensors: %s; name one: %s:NAME", p->name, found,
                       names, p->name);
    CK_RETURN_IF(ck_rows_check_shape(p->name, t->ndim, t->shape));
    ck_part_take(p, t->dtype, t->shape, 0, t->data);
    return COKE_OK;
}

/* The header is copied, because its parser allocates memory and cannot be guarded. */
int ck_part_parse_safetensors(struct ck_part *p)
{
    unsigned char first[8], *head = NULL;
    struct ck_state s = {0};
    uint64_t n = 0;
    size_t room = sizeof first;
    int rc = COKE_OK;
    if (p->map.size >= sizeof first) {
        CK_TRY(copy_head(p, first, sizeof first));
        memcpy(&n, first, sizeof n);
    }
    if (n <= CK_SAFETENSORS_HEADER_MAX)
        room += (size_t)n;
    room = room < p->map.size ? room : p->map.size;
    head = ck_alloc_array(room + 8, 1);
    if (!head)
        CK_LEAVE(COKE_ENOMEM);
    memset(head, 0, room + 8);
    CK_TRY(copy_head(p, head, room));
    CK_TRY(ck_safetensors_index(p->path, head, &p->map, &s));
    CK_TRY(take(p, &s));
done:
    ck_state_release(&s);
    ck_free(head);
    return rc;
}
