/* command.h - what a command of the program is made of. */
#ifndef COKE_CLI_COMMAND_H
#define COKE_CLI_COMMAND_H

#include "coke.h"

#include <stddef.h>

/* An option of the program itself, beside those of the library's tables. */
struct arg {
    struct coke_option row; /* offset is into the command's struct */
    char letter;            /* short form, or 0 */
    const char *value;      /* text options: what --help calls the value; else NULL */
};

/* Options that come from a table of the library, whose struct lies at `offset` in the
 * command's.
 */
struct group {
    const struct coke_option_table *(*table)(void);
    size_t offset;
};

enum { MAX_GROUPS = 8 };

struct command {
    const char *name;               /* one word, or two: "data info" */
    const char *usage;              /* after the name */
    const char *summary;            /* half a line */
    const char *about;              /* a paragraph */
    const char *examples;           /* lines of "command\twhat it does" */
    struct group group[MAX_GROUPS]; /* up to the first without a table */
    const struct arg *arg;
    int nargs;
    size_t size; /* of the command's struct */
    int joins;   /* processes that mpirun started do it together; otherwise each for itself */
    /* Sets the options that a preset names, or NULL: the option --preset is this command's. */
    int (*preset)(void *options, const char *name);
    /* Status, with its sentence already said. */
    int (*run)(const void *options, int n, const char *const *operands);
};

extern const struct command cmd_cluster, cmd_assign, cmd_info, cmd_demo, cmd_train, cmd_embed,
    cmd_eval_knn, cmd_eval_cluster, cmd_eval_linear, cmd_eval_finetune, cmd_data_info,
    cmd_data_verify, cmd_data_pack, cmd_data_preview, cmd_report, cmd_export, cmd_import,
    cmd_demo_vectors;

/* A text option is a row of type FLAG on a `const char *`: zero is its default, and its name
 * takes part when the library looks for the nearest one. args.c sets it. */
#define ARG_TEXT(struct_, field_, name_, letter_, value_, help_)                               \
    {                                                                                          \
        .row = {.name = (name_),                                                               \
                .type = COKE_OPT_FLAG,                                                         \
                .offset = offsetof(struct_, field_),                                           \
                .help = (help_)},                                                              \
        .letter = (letter_), .value = (value_)                                                 \
    }
#define ARG_FLAG(struct_, field_, name_, letter_, help_)                                       \
    {                                                                                          \
        .row = {.name = (name_),                                                               \
                .type = COKE_OPT_FLAG,                                                         \
                .offset = offsetof(struct_, field_),                                           \
                .max = 1,                                                                      \
                .help = (help_)},                                                              \
        .letter = (letter_)                                                                    \
    }
#define ARG_INT(struct_, field_, name_, letter_, def_, min_, max_, choices_, help_)            \
    {                                                                                          \
        .row = {.name = (name_),                                                               \
                .type = COKE_OPT_INT,                                                          \
                .offset = offsetof(struct_, field_),                                           \
                .def = (def_),                                                                 \
                .min = (min_),                                                                 \
                .max = (max_),                                                                 \
                .choices = (choices_),                                                         \
                .help = (help_)},                                                              \
        .letter = (letter_)                                                                    \
    }
#define ARG_CHOICE(struct_, field_, name_, choices_, max_, help_)                              \
    {                                                                                          \
        .row = {                                                                               \
            .name = (name_),                                                                   \
            .type = COKE_OPT_CHOICE,                                                           \
            .offset = offsetof(struct_, field_),                                               \
            .max = (max_),                                                                     \
            .choices = (choices_),                                                             \
            .help = (help_)                                                                    \
        }                                                                                      \
    }

/* Options that several commands have, spelled once. */
#define ARG_THREADS(struct_)                                                                   \
    ARG_INT(struct_, threads, "threads", 0, 0, 0, 1024, "auto",                                \
            "threads; auto = all cores; the result does not depend on it")
#define ARG_QUIET(struct_)                                                                     \
    ARG_FLAG(struct_, quiet, "quiet", 'q', "no progress and no remarks; warnings stay")
#define ARG_JSON(struct_) ARG_FLAG(struct_, json, "json", 0, "print the result as JSON")
#define ARG_FORCE(struct_) ARG_FLAG(struct_, force, "force", 0, "overwrite files that exist")

#define ARG_COUNT(array) ((int)(sizeof(array) / sizeof(array)[0]))

#endif
