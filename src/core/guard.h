/* guard.h - turns SIGBUS in a mapped file into an error.
 *
 * If another process truncates a file while it is mapped, touching the missing pages raises
 * SIGBUS, and so does a disk that fails. Only a signal handler can catch that, and handlers
 * belong to the program: the guard works once ck_guard_install has been called (coke does so;
 * users of the library decide). Faults outside of a guarded call go to the handler that was
 * there before. */
#ifndef CK_GUARD_H
#define CK_GUARD_H

/* Any thread, any number of times: once more after others have replaced the handler. */
int ck_guard_install(void);

/* Calls fn(arg) and returns its status, or COKE_EIO with a sentence that begins with the reason
 * (prefix the file's name) if a fault ended it. fn stops in the middle then: it may hold no
 * memory, lock or file. Any thread; calls may nest. */
int ck_guard_call(int (*fn)(void *arg), void *arg);

#endif
