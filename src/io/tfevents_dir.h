/* tfevents_dir.h - the event files of a directory; for the two files that write them. */
#ifndef CK_TFEVENTS_DIR_H
#define CK_TFEVENTS_DIR_H

#define CK_TFEVENTS_PREFIX "events.out.tfevents."

/* Calls visit for every event file until one call fails; a file that visit replaces may come
 * twice. */
int ck_tfevents_each(const char *dir,
                     int (*visit)(const char *dir, const char *name, void *arg), void *arg);

#endif
