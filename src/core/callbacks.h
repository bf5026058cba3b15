/* callbacks.h - calls the caller's callbacks: progress, choices made, warnings.
 *
 * The callbacks and each of their members may be NULL. Call these functions on the thread that
 * called the library, never on a worker: user code need not be thread-safe. */
#ifndef CK_CALLBACKS_H
#define CK_CALLBACKS_H

#include <stdint.h>

struct coke_callbacks;
struct coke_progress;

/* Returns the callback's request: 0 = continue, else stop (or COKE_ANSWER_SAVE in a
 * training). */
int ck_progress_ask(const struct coke_callbacks *cb, const struct coke_progress *p);

/* Returns COKE_OK, or COKE_ESTOPPED with a message that states the progress if the callback
 * asks to stop. */
int ck_progress(const struct coke_callbacks *cb, const struct coke_progress *p);

/* The same for a phase without epochs: done of total (0 = unknown) images, rows, ... */
int ck_progress_count(const struct coke_callbacks *cb, const char *phase, int64_t done,
                      int64_t total, const char *unit);

/* Formats one line without a newline and passes it to say or warn; truncates at 2047 bytes. */
__attribute__((format(printf, 2, 3))) void ck_say(const struct coke_callbacks *cb,
                                                  const char *fmt, ...);
__attribute__((format(printf, 2, 3))) void ck_warn(const struct coke_callbacks *cb,
                                                   const char *fmt, ...);
/* Image `index` of a data set could not be read. */
void ck_bad_image(const struct coke_callbacks *cb, int64_t index, const char *sentence);

#endif
