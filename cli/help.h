/* help.h - usage text, manual page and shell completion, made from the commands' tables. */
#ifndef COKE_CLI_HELP_H
#define COKE_CLI_HELP_H

#include "command.h"

/* The commands whose first word this is. */
void help_family(const struct command *const *cmd, int n, const char *word, FILE *to);
void help_program(const struct command *const *cmd, int n, FILE *to);
void help_command(const struct command *cmd, FILE *to);
void help_man(const struct command *const *cmd, int n, FILE *to);
void help_bash(const struct command *const *cmd, int n, FILE *to);

#endif
