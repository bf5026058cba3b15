/* tfevents_dir.h - lists the event files of a directory. */
#ifndef CK_TFEVENTS_DIR_H
#define CK_TFEVENTS_DIR_H

#define CK_TFEVENTS_PREFIX "events.out.tfevents."

/* Calls visit for every event file until a call fails. A file that visit replaces may be
 * visited twice. */
int ck_tfevents_each(const char *dir,
                     int (*visit)(const char *dir, const char *name, void *arg), void *arg);

#endif
