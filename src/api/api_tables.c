/* api_tables.c - options as structs, until all public functions take struct coke_options. */
#include "coke.h"
#include "io/json.h"
#include "train/train_options.h"

void coke_table_default(const struct ck_option_table *t, void *options)
{
    ck_options_default(t, options);
}

int coke_table_set(const struct ck_option_table *t, void *options, const char *name,
                   const char *value)
{
    return ck_options_set(t, options, name, value);
}

int coke_table_get(const struct ck_option_table *t, const void *options, const char *name,
                   char *value, size_t size)
{
    return ck_options_get(t, options, name, value, size);
}

int coke_table_load_json(const struct ck_option_table *t, void *options, const char *path)
{
    return ck_options_load_json(t, options, path);
}

int coke_table_print_json(const struct ck_option_table *t, const void *options, FILE *to)
{
    return ck_options_print_json(t, options, to);
}

#define TABLE(kind)                                                                            \
    const struct ck_option_table *coke_##kind##_option_table(void)                             \
    {                                                                                          \
        return ck_##kind##_option_table();                                                     \
    }
#define DEFAULT(kind)                                                                          \
    struct ck_##kind##_options coke_##kind##_options_default(void)                             \
    {                                                                                          \
        return ck_##kind##_options_default();                                                  \
    }
#define BOTH(kind) TABLE(kind) DEFAULT(kind)

BOTH(kmeans)
BOTH(cluster)
BOTH(encoder)
BOTH(dataset)
BOTH(view)
BOTH(loader)
BOTH(pack)
BOTH(train)
BOTH(use)
BOTH(knn)
BOTH(linear)
BOTH(finetune)
BOTH(report)
DEFAULT(plan)
DEFAULT(optimizer)

struct ck_loss_setup coke_loss_options_default(void)
{
    struct ck_loss_setup o;
    ck_options_default(ck_loss_setup_table(), &o);
    return o;
}

const char *coke_train_preset_name(int i)
{
    return ck_train_preset_name(i);
}

const char *coke_train_preset_about(int i)
{
    return ck_train_preset_about(i);
}

int coke_train_preset(struct ck_train_options *o, const char *name)
{
    return ck_train_preset(o, name);
}
