/* methods.c - the table of methods, and what is done for all of them alike. */
#include "core/error.h"
#include "core/hash.h"
#include "core/thread.h"
#include "data/recipe.h"
#include "nn/mlp.h"
#include "train/method.h"
#include "train/session.h"

#include <stdio.h>
#include <string.h>

extern const struct ck_method ck_method_coke, ck_method_secu, ck_method_simclr,
    ck_method_simsiam, ck_method_barlow, ck_method_vicreg, ck_method_emp,
    ck_method_deepclusterv2, ck_method_scan, ck_method_selflabel, ck_method_iic,
    ck_method_supervised, ck_method_byol, ck_method_mocov2, ck_method_mocov3, ck_method_nnclr,
    ck_method_swav, ck_method_dino, ck_method_msn;

static const struct ck_method *const methods[] = {
    &ck_method_coke,   &ck_method_secu,      &ck_method_simclr, &ck_method_simsiam,
    &ck_method_barlow, &ck_method_vicreg,    &ck_method_emp,    &ck_method_deepclusterv2,
    &ck_method_scan,   &ck_method_selflabel, &ck_method_iic,    &ck_method_supervised,
    &ck_method_byol,   &ck_method_mocov2,    &ck_method_mocov3, &ck_method_nnclr,
    &ck_method_swav,   &ck_method_dino,      &ck_method_msn,
};

enum { METHODS = sizeof methods / sizeof methods[0] };

const struct ck_method *ck_method_row(const struct ck_train_options *o)
{
    return methods[o->method];
}

static char choices[32 * METHODS];

static void join_names(void)
{
    for (int i = 0; i < METHODS; i++)
        snprintf(choices + strlen(choices), sizeof choices - strlen(choices), "%s%s",
                 i ? "|" : "", methods[i]->name);
}

const char *ck_method_choices(void)
{
    static struct ck_once once = CK_ONCE;
    ck_once(&once, join_names);
    return choices;
}

/* ---- options ---- */

int ck_method_reads(const struct ck_method *m, const char *name)
{
    for (const char *const *o = m->options; *o; o++)
        if (strcmp(*o, name) == 0)
            return 1;
    return 0;
}

static int refuse_changed(const struct ck_method *m, const struct ck_train_options *o,
                          const struct ck_train_options *defaults, const char *name)
{
    const struct ck_option_table *t = ck_train_option_table();
    char value[1024], usual[1024];
    CK_RETURN_IF(ck_options_get(t, o, name, value, sizeof value));
    CK_RETURN_IF(ck_options_get(t, defaults, name, usual, sizeof usual));
    return strcmp(value, usual) == 0
               ? COKE_OK
               : ck_fail(COKE_EUSAGE, "%s: method %s does not have this option", name, m->name);
}

static int check_needs(const struct ck_method *m, const struct ck_train_options *o)
{
    int views = ck_train_views(o);
    const char *whole = m->whole_batch ? m->whole_batch(o) : NULL;
    if (m->clusters && o->k.n < 1)
        return ck_fail(COKE_EUSAGE, "missing number of clusters: set k=100 or k=10,20,50");
    if (m->views && views != m->views)
        return ck_fail(COKE_EUSAGE, "recipe: method %s needs %d views, not %d", m->name,
                       m->views, views);
    if (m->views && ck_recipe_has_small(o->loader.view.recipe))
        return ck_fail(COKE_EUSAGE, "recipe: method %s has no small views", m->name);
    if (m->predictor == CK_PREDICTOR_NONE && ck_has_predictor(&o->encoder))
        return ck_fail(COKE_EUSAGE, "predictor: method %s has none; set no-predictor", m->name);
    if (m->predictor == CK_PREDICTOR_NEEDED && !ck_has_predictor(&o->encoder))
        return ck_fail(COKE_EUSAGE, "predictor: method %s needs one", m->name);
    if (o->accumulate > 1 && whole)
        return ck_fail(COKE_EUSAGE, "accumulate: %s; use accumulate 1", whole);
    return COKE_OK;
}

int ck_method_check(const struct ck_train_options *o)
{
    const struct ck_method *m = ck_method_row(o);
    struct ck_train_options defaults = ck_train_options_default();
    for (int i = 0; i < METHODS; i++)
        for (const char *const *name = methods[i]->options; *name; name++)
            if (!ck_method_reads(m, *name))
                CK_RETURN_IF(refuse_changed(m, o, &defaults, *name));
    CK_RETURN_IF(check_needs(m, o));
    return m->check ? m->check(o) : COKE_OK;
}

/* ---- state ---- */

#define PREFIX "method."

int ck_method_owns(const char *tensor)
{
    return strncmp(tensor, PREFIX, sizeof PREFIX - 1) == 0;
}

int ck_method_save(const struct ck_session *s, struct ck_state *out)
{
    struct ck_state own = {0};
    int rc = COKE_OK;
    if (s->method->state)
        CK_TRY(s->method->state(s, &own));
    CK_TRY(ck_state_add_part(out, PREFIX, &own));
done:
    ck_state_release(&own);
    return rc;
}

/* The tensors of the method's state are its own memory. */
int ck_method_load(struct ck_session *s, const struct ck_state *from)
{
    struct ck_state own = {0}, saved = {0};
    int rc = COKE_OK;
    if (!s->method->state)
        return COKE_OK;
    CK_TRY(s->method->state(s, &own));
    CK_TRY(ck_state_take_part(&saved, PREFIX, from));
    for (int i = 0; i < own.ntensors; i++) {
        const struct ck_tensor *t = &own.tensor[i];
        CK_TRY(ck_state_copy(&saved, t->name, t->dtype, t->ndim, t->shape,
                             (void *)(uintptr_t)t->data));
    }
    if (s->method->loaded)
        CK_TRY(s->method->loaded(s));
done:
    ck_state_release(&own);
    ck_state_release(&saved);
    return rc;
}

int ck_method_hash(const struct ck_session *s, uint64_t *hash)
{
    struct ck_state own = {0};
    int rc = COKE_OK;
    if (s->method->state)
        CK_TRY(s->method->state(s, &own));
    for (int i = 0; i < own.ntensors; i++) {
        const struct ck_tensor *t = &own.tensor[i];
        size_t bytes = (size_t)ck_tensor_elements(t) * ck_dtype_size(t->dtype);
        *hash = ck_hash(t->data, bytes, *hash);
    }
done:
    ck_state_release(&own);
    return rc;
}
