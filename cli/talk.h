/* talk.h - sentences on stderr, and numbers for people. */
#ifndef COKE_CLI_TALK_H
#define COKE_CLI_TALK_H

#include <stddef.h>

/* Of several processes the first one talks; from the others only failures are heard. */
void talk_as(int number);
int talk_is_heard(void);
/* One line. Names and bytes of files may be in it: control characters do not get through. */
void talk_line(const char *prefix, const char *line);
/* Says why, and returns status. */
__attribute__((format(printf, 2, 3))) int talk_fail(int status, const char *fmt, ...);
/* The same with the library's sentence. */
int talk_fail_library(int status);
/* A count for people: 950, 12.3k, 1.42M. Returns out. */
const char *talk_count(double count, char *out, size_t size);

#endif
