/* folders.h - makes a folder with the folders above it, and takes them back after a failure. */
#ifndef CK_FOLDERS_H
#define CK_FOLDERS_H

/* Creates path and the missing folders above it; one that exists is fine. *made: how many were
 * created, the last ones of path; on failure they are removed again. COKE_EIO names the part
 * that failed. */
int ck_folders_make(const char *path, int *made);
/* Removes the last `made` folders of path again, as far as they are empty. */
void ck_folders_remove(const char *path, int made);

#endif
