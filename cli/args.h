/* args.h - the command line: options and operands of a command.
 *
 * Values live in coke_options objects, one per kind of the library and one for the program's
 * own options; parsing, bounds and messages are those of the library. */
#ifndef COKE_CLI_ARGS_H
#define COKE_CLI_ARGS_H

#include "command.h"

enum { ARGS_MAX_ROWS = 128 };

/* One option that the command accepts. */
struct arg_row {
    struct coke_option_info info;
    const struct arg *own;    /* NULL = an option of the library */
    struct coke_options *set; /* the object that holds its value */
    char *text;               /* last result of args_text(), owned */
    size_t text_room;
    int given;      /* by the environment or the command line */
    int takes_file; /* ARG_OR_FILE */
    char *file;     /* that was given in place of a word, owned; NULL = none */
};

/* All options of a command: the library's, then the program's. */
struct args {
    const struct command *cmd;
    struct coke_options *set[MAX_KINDS + 1]; /* one per kind, then the program's own */
    int kinds;
    struct arg_row row[ARGS_MAX_ROWS];
    int n;
    const char **operand; /* [noperands], points into argv; the array is the caller's */
    int noperands;
    int help; /* -h or --help was given */
};

/* Sets all options to their defaults. On failure, prints why and leaves nothing to release. */
int args_init(struct args *a, const struct command *cmd);
void args_release(struct args *a);
/* Applies the preset, the file of --config, the environment, then argv[0] .. argv[argc - 1].
 * operand has room for argc. Prints an error and returns its status. */
int args_parse(struct args *a, const char **operand, int argc, const char *const *argv);

int args_has(const struct args *a, const char *name);
/* Values by name. A name that the command does not have is a bug: assert. */
int args_flag(const struct args *a, const char *name);
/* Is the option in this row a choice that begins with "off", so that --no-NAME means it? */
int args_can_be_off(const struct args *a, int row);
int64_t args_number(const struct args *a, const char *name); /* also a choice's position */
double args_real(const struct args *a, const char *name);
/* NULL = not given, or out of memory. Valid until the next call with this name. */
const char *args_text(struct args *a, const char *name);
/* The file that was given in place of a word (ARG_OR_FILE); NULL = a word. */
const char *args_file(const struct args *a, const char *name);
/* Was it set in the environment or on the command line? */
int args_given(const struct args *a, const char *name);
/* Fills v with the list and returns its length. */
int args_ints(const struct args *a, const char *name, int32_t v[COKE_MAX_HEADS]);
/* The library's options of a kind, owned by a, for the functions that take them. */
struct coke_options *args_options(const struct args *a, const char *kind);

/* Sets the number of threads of the library from --threads. */
int args_use_threads(const struct args *a);
/* --print-config: the options of the first kind on standard output. */
int args_print_config(const struct args *a);

#endif
