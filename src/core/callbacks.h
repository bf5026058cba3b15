/* callbacks.h - calls the caller's callbacks: progress, choices made, warnings.
 *
 * The callbacks and each of their members may be NULL. Call from the thread that the caller of
 * the library is on, never from a worker. */
#ifndef CK_CALLBACKS_H
#define CK_CALLBACKS_H

#include <stdint.h>

struct coke_callbacks;
struct coke_progress;

/* The callback's answer: 0 = go on, else what it asks for (stop, or COKE_ANSWER_SAVE in a training).
 */
int ck_progress_ask(const struct coke_callbacks *cb, const struct coke_progress *p);

/* COKE_OK, or COKE_ESTOPPED with a sentence that says how far it came, if the answer is not 0.
 */
int ck_progress(const struct coke_callbacks *cb, const struct coke_progress *p);

/* The same for a phase outside of epochs: done of total (0 = unknown) images, rows, ... */
int ck_progress_count(const struct coke_callbacks *cb, const char *phase, int64_t done,
                      int64_t total, const char *unit);

/* One line of text without a newline. */
__attribute__((format(printf, 2, 3))) void ck_say(const struct coke_callbacks *cb,
                                                  const char *fmt, ...);
__attribute__((format(printf, 2, 3))) void ck_warn(const struct coke_callbacks *cb,
                                                   const char *fmt, ...);
/* Image `index` of a data set could not be read. */
void ck_bad_image(const struct coke_callbacks *cb, int64_t index, const char *sentence);

#endif
