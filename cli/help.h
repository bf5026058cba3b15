/* help.h - usage text, manual page and shell completion, made from the commands' tables. */
#ifndef COKE_CLI_HELP_H
#define COKE_CLI_HELP_H

#include "command.h"

/* The commands whose first word this is. */
void help_family(const struct command *const *cmd, int n, const char *word, FILE *to);
/* All commands, one line each. cmd [n] is the table of main.c in all functions here. */
void help_program(const struct command *const *cmd, int n, FILE *to);
/* Usage, description, options with defaults, examples. */
void help_command(const struct command *cmd, FILE *to);
/* The manual page coke.1, in roff. */
void help_man(const struct command *const *cmd, int n, FILE *to);
/* A completion script for bash. */
void help_bash(const struct command *const *cmd, int n, FILE *to);

#endif
