/* command.h - the definition of a command.
 *
 * A command is one static table in its cmd_*.c: texts, options and a function. args.c parses
 * from it, help.c prints it, main.c lists it. A new command needs its file, a name in the
 * extern list below and a line in main.c. */
#ifndef COKE_CLI_COMMAND_H
#define COKE_CLI_COMMAND_H

#include "coke.h"

/* An option of the program itself, in addition to those of the library. The rows are static and
 * never change. */
struct arg {
    struct coke_option_info row;
    char letter;   /* short form, or 0 */
    int help_only; /* not an option: another help text for the library's of this name */
    int or_file; /* the library's option of this name takes one of its words; here a file, too */
};

struct args;

enum { MAX_KINDS = 4 };

struct command {
    const char *name;            /* one word, or two: "data info" */
    const char *usage;           /* after the name */
    const char *summary;         /* one line of 'coke help' */
    const char *about;           /* one paragraph */
    const char *examples;        /* lines of "command\twhat it does" */
    const char *kind[MAX_KINDS]; /* kinds of library options; NULL after the last */
    const char *hidden;          /* library options that are not accepted: "a b" */
    const struct arg *arg;
    int nargs;
    int joins;  /* joins the group of mpirun; else every process runs on its own */
    int preset; /* --preset names a preset of the first kind */
    /* operands [n] and a are borrowed for the call. Prints its own errors; returns the status,
     * which becomes the exit code. */
    int (*run)(struct args *a, int n, const char *const *operands);
};

extern const struct command cmd_cluster, cmd_assign, cmd_info, cmd_demo, cmd_train, cmd_embed,
    cmd_eval_knn, cmd_eval_cluster, cmd_eval_linear, cmd_eval_finetune, cmd_data_info,
    cmd_data_verify, cmd_data_pack, cmd_data_preview, cmd_report, cmd_export, cmd_import,
    cmd_demo_vectors;

#define ARG_ROW(letter_, ...)                                                                  \
    {                                                                                          \
        .row = {.size = sizeof(struct coke_option_info), __VA_ARGS__}, .letter = (letter_)     \
    }
/* value_: the placeholder in --help, such as FILE. */
#define ARG_TEXT(name_, letter_, value_, help_)                                                \
    ARG_ROW(letter_, .name = (name_), .type = COKE_OPTION_TYPE_TEXT, .choices = (value_),      \
            .help = (help_))
#define ARG_FLAG(name_, letter_, help_)                                                        \
    ARG_ROW(letter_, .name = (name_), .type = COKE_OPTION_TYPE_FLAG, .max = 1, .help = (help_))
#define ARG_INT(name_, def_, min_, max_, choices_, help_)                                      \
    ARG_ROW(0, .name = (name_), .type = COKE_OPTION_TYPE_INT, .def = (def_), .min = (min_),    \
            .max = (max_), .choices = (choices_), .help = (help_))
#define ARG_CHOICE(name_, choices_, max_, help_)                                               \
    ARG_ROW(0, .name = (name_), .type = COKE_OPTION_TYPE_CHOICE, .max = (max_),                \
            .choices = (choices_), .help = (help_))
#define ARG_HELP(name_, help_)                                                                 \
    {                                                                                          \
        .row = {.size = sizeof(struct coke_option_info), .name = (name_), .help = (help_)},    \
        .help_only = 1                                                                         \
    }

/* The file is read by args_file(). */
#define ARG_OR_FILE(name_, help_)                                                              \
    {                                                                                          \
        .row = {.size = sizeof(struct coke_option_info), .name = (name_), .help = (help_)},    \
        .or_file = 1                                                                           \
    }

/* Options of several commands, so that they have one name, letter and text everywhere. */
#define ARG_THREADS_AS(help_) ARG_INT("threads", 0, 0, COKE_MAX_THREADS, "auto", help_)
#define ARG_THREADS                                                                            \
    ARG_THREADS_AS("number of threads; auto = all cores that the affinity mask and the CPU "   \
                   "quota of a container allow; does not change the result")
#define ARG_QUIET ARG_FLAG("quiet", 'q', "no progress and no notes, only warnings and errors")
#define ARG_JSON ARG_FLAG("json", 0, "print the result as JSON")
#define ARG_FORCE ARG_FLAG("force", 0, "overwrite existing files")
#define ARG_CONFIG                                                                             \
    ARG_TEXT("config", 0, "FILE", "options from a JSON file; the command line takes precedence")
#define ARG_PRINT_CONFIG ARG_FLAG("print-config", 0, "print all options as JSON and exit")

#define ARG_COUNT(array) ((int)(sizeof(array) / sizeof(array)[0]))

#endif
