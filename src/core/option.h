/* option.h - option tables: the one home of a name, its default, bounds and help.
 *
 * An option kind is a plain struct and a table of rows that describe its fields. Kinds are
 * composed: a struct embeds the structs of its parts, and ck_option_join() makes one table of
 * their rows, with explicit overrides. Tables are constant once made and may be read by any
 * number of threads. */
#ifndef CK_OPTION_H
#define CK_OPTION_H

#include "core/layers_text.h"

#include <stddef.h>
#include <stdint.h>

enum { CK_MAX_HEADS = 64 }; /* numbers in a list */

struct ck_ints {
    int32_t n;
    int32_t v[CK_MAX_HEADS];
};

/* A word of an option's choices, or numbers instead of it. */
enum { CK_MAX_NUMBERS = 6 };
struct ck_numbers {
    int32_t word; /* index into choices, where n is 0 */
    int32_t n;
    double v[CK_MAX_NUMBERS];
};

/* What happens to rows and images that cannot be used. A kind may allow the first two only. */
enum ck_bad { CK_BAD_ERROR, CK_BAD_SKIP, CK_BAD_REPLACE };

enum ck_option_type {
    CK_OPT_INT,     /* int64_t */
    CK_OPT_FLOAT,   /* double */
    CK_OPT_FLAG,    /* int32_t, 0 or 1 */
    CK_OPT_CHOICE,  /* int32_t, index into choices */
    CK_OPT_INTS,    /* struct ck_ints, comma-separated */
    CK_OPT_TEXT,    /* const char *, owned by the struct; NULL = not set */
    CK_OPT_NUMBERS, /* struct ck_numbers: one word of choices, or comma-separated numbers */
    CK_OPT_LAYERS   /* struct ck_layers: one word of choices, or layers ("2048-bn-relu-256") */
};

struct ck_option {
    const char *name; /* "max-epochs": flag --max-epochs, config key "max-epochs" */
    int type;         /* enum ck_option_type */
    size_t offset;
    double def, min, max;
    /* "a|b|c"; of numbers "auto": the word for the default, of lists: for none; of texts "DIR": what it is; or NULL
     */
    const char *choices;
    const char *help;
    int lengths;       /* of numbers: bit n is set where n of them are possible */
    const char *alias; /* former name, accepted wherever the name is; NULL = none */
    int local;         /* concerns this process only: not saved with results, not printed */
    const char *zero;  /* of real numbers with a word for the default: a second word, for 0 */
};

/* Changes of one row in a joined table; what is not named stays as it is. */
struct ck_option_override {
    const char *name; /* NULL ends a list of overrides */
    int drop;         /* the row is left out; its field keeps the part's default */
    int new_def, new_bounds;
    double def, min, max;
    const char *choices, *help, *alias;
};

#define CK_NEW_DEF(def_) .new_def = 1, .def = (def_)
#define CK_NEW_BOUNDS(min_, max_) .new_bounds = 1, .min = (min_), .max = (max_)

struct ck_option_part {
    const struct ck_option_table *table;
    size_t offset;                             /* of the part's struct in the joined one */
    const struct ck_option_override *override; /* or NULL */
};

struct ck_option_table {
    const struct ck_option *row;
    int n;
    size_t size;                       /* of the struct that the offsets are into */
    const struct ck_option_part *part; /* [nparts], of a joined table */
    int nparts;
};

#define CK_OPT(type_, struct_, field_, name_, def_, min_, max_, choices_, help_)               \
    {                                                                                          \
        .name = (name_), .type = (type_), .offset = offsetof(struct_, field_), .def = (def_),  \
        .min = (min_), .max = (max_), .choices = (choices_), .help = (help_)                   \
    }
#define CK_OPTION_TABLE(rows_, struct_)                                                        \
    {                                                                                          \
        .row = (rows_), .n = (int)(sizeof(rows_) / sizeof(rows_)[0]), .size = sizeof(struct_)  \
    }

/* Fills `out` with the rows of the parts, in their order. row [room] holds them; like parts
 * it must live as long as the table. Call it under ck_once(). */
void ck_option_join(struct ck_option_table *out, struct ck_option *row, int room, size_t size,
                    const struct ck_option_part *part, int nparts);

/* The row of that name or alias, or NULL. */
const struct ck_option *ck_option_find(const struct ck_option_table *t, const char *name);
/* The same; an unknown name is an error that names the nearest one. */
const struct ck_option *ck_option_require(const struct ck_option_table *t, const char *name);
/* The word of words [n] that other programs call `word`, or that is nearest to it in letters;
 * NULL if none is near. */
const char *ck_nearest(const char *word, const char *const *words, int n);

/* The value that a state's metadata has under `prefix` and the option's name, or its former
 * name; NULL = absent. */
struct ck_state;
const char *ck_option_meta(const struct ck_option *o, const struct ck_state *s,
                           const char *prefix);
/* Fills a struct from such metadata. Rows that it lacks, because they were added after the state
 * was saved, keep their defaults. Returns how many it has, or COKE_EFORMAT if a value is invalid. */
int ck_options_from_meta(const struct ck_option_table *t, void *options,
                         const struct ck_state *s, const char *prefix);

/* Fills a struct with the defaults. Memory that `options` owned before is not freed. */
void ck_options_default(const struct ck_option_table *t, void *options);
/* Frees the texts that the struct owns. */
void ck_options_release(const struct ck_option_table *t, void *options);
/* Fills `to`, which owns nothing yet, with copies of all values. */
int ck_options_copy(const struct ck_option_table *t, void *to, const void *from);

/* These set one value; a value that is refused leaves the struct as it was. */
int ck_options_set(const struct ck_option_table *t, void *options, const char *name,
                   const char *value);
int ck_option_set_int(const struct ck_option *o, void *options, int64_t value);
int ck_option_set_float(const struct ck_option *o, void *options, double value);
/* The value as text, as ck_options_set takes it. */
int ck_options_get(const struct ck_option_table *t, const void *options, const char *name,
                   char *value, size_t size);
int ck_option_get_int(const struct ck_option *o, const void *options, int64_t *value);
int ck_option_get_float(const struct ck_option *o, const void *options, double *value);

/* Are all values of a struct that was filled by hand within their rows' bounds? */
int ck_options_check(const struct ck_option_table *t, const void *options);

#endif
