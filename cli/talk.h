/* talk.h - messages on stderr, and numbers for people. Standard output is for results only. */
#ifndef COKE_CLI_TALK_H
#define COKE_CLI_TALK_H

#include <stddef.h>
#include <stdio.h>

/* In a group only rank 0 (number 0) prints messages; the others print failures only. */
void talk_as(int number);
/* Does this process print messages? */
int talk_is_heard(void);
/* Prints one line. It may contain names and bytes from files: control and bidi characters and
 * invalid UTF-8 are replaced, so that they cannot change the terminal. */
void talk_line(const char *prefix, const char *line);
/* Prints "coke: ..." and returns status, for `return talk_fail(...)`. */
__attribute__((format(printf, 2, 3))) int talk_fail(int status, const char *fmt, ...);
/* The same with coke_last_error(). */
int talk_fail_library(int status);
/* Prints version and instruction set of the program, and why it does not use AMX. */
void talk_program(FILE *to);
/* A count for people: 950, 12.3k, 1.42M. Returns out. */
const char *talk_count(double count, char *out, size_t size);

#endif
