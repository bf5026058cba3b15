/* choices.h - what a training was told, and what it chose for the user. */
#ifndef CK_CHOICES_H
#define CK_CHOICES_H

#include "train/session.h"

void ck_choices_say(const struct ck_session *s, const struct coke_callbacks *cb);

#endif
