/* args.h - the command line, read by the rows of option tables. */
#ifndef COKE_CLI_ARGS_H
#define COKE_CLI_ARGS_H

#include "command.h"

enum { ARGS_MAX_ROWS = 128 };

/* All options of a command in one table: the library's rows, then the program's. */
struct args {
    const struct command *cmd;
    struct coke_option row[ARGS_MAX_ROWS];
    struct coke_option_table table;
    struct ck_option_part part[MAX_GROUPS];
    int own; /* first row of the program */
    void *options;
    const char **operand;
    int noperands;
    int help; /* -h or --help was there */
};

void args_init(struct args *a, const struct command *cmd);
/* The row's place in cmd->arg, or NULL for a row of the library. */
const struct arg *args_own(const struct args *a, int row);
/* Defaults, a preset, the file of --config, the environment, then argv[0] .. argv[argc - 1].
 * operand has room for argc. Says what is wrong. */
int args_parse(struct args *a, void *options, const char **operand, int argc,
               const char *const *argv);

#endif
