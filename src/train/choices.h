/* choices.h - reports the settings of a training, and which of them were chosen for the user.
 */
#ifndef CK_CHOICES_H
#define CK_CHOICES_H

#include "train/session.h"

/* Calls say once per line, on this thread, before the first step. */
void ck_choices_say(const struct ck_session *s, const struct coke_callbacks *cb);

#endif
