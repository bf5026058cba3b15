/* guard.c - turns SIGBUS in a mapped file into an error. */
#include "core/guard.h"
#include "core/error.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>

static pthread_mutex_t installing = PTHREAD_MUTEX_INITIALIZER;
static struct sigaction before;
/* The innermost guarded call of the thread, a sigjmp_buf. Reading a key never allocates, which the
 * handler may not; thread-local storage that does not allocate either (initial-exec) would have to
 * fit, with all of the library's, into the little that programs leave to what they load late. */
static pthread_key_t active;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static int key_error; /* of errno, 0 = the key exists */

static void make_key(void)
{
    key_error = pthread_key_create(&active, NULL);
}

/* Without a handler before ours the instruction is executed again, and the process ends as if
 * there had been none. */
static void pass_on(int signal, siginfo_t *info, void *context)
{
    if (before.sa_flags & SA_SIGINFO)
        before.sa_sigaction(signal, info, context);
    else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN)
        before.sa_handler(signal);
    else
        sigaction(signal, &before, NULL);
}

static void handle(int signal, siginfo_t *info, void *context)
{
    sigjmp_buf *innermost = pthread_getspecific(active);
    if (innermost && info->si_code == BUS_ADRERR)
        siglongjmp(*innermost, 1);
    pass_on(signal, info, context);
}

/* Not if ours is the handler already: it would then pass signals on to itself.
 * SA_NODEFER: the jump leaves the handler without restoring the signal mask. */
static int install(void)
{
    struct sigaction now,
        ours = {.sa_sigaction = handle, .sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK};
    pthread_once(&once, make_key);
    if (key_error)
        return key_error;
    sigemptyset(&ours.sa_mask);
    if (sigaction(SIGBUS, NULL, &now))
        return errno;
    if ((now.sa_flags & SA_SIGINFO) && now.sa_sigaction == handle)
        return 0;
    before = now;
    return sigaction(SIGBUS, &ours, NULL) ? errno : 0;
}

int ck_guard_install(void)
{
    pthread_mutex_lock(&installing);
    int error = install();
    pthread_mutex_unlock(&installing);
    if (error)
        return ck_fail(COKE_EFAIL, "SIGBUS cannot be handled: %s", strerror(error));
    return COKE_OK;
}

int ck_guard_call(int (*fn)(void *arg), void *arg)
{
    pthread_once(&once, make_key);
    if (key_error)
        return ck_fail(COKE_ENOMEM, "a key of the thread: %s", strerror(key_error));
    sigjmp_buf here, *outer = pthread_getspecific(active);
    if (sigsetjmp(here, 0)) {
        pthread_setspecific(active, outer);
        return ck_fail(COKE_EIO, "became shorter while it was read, or its disk failed");
    }
    int error = pthread_setspecific(active, &here); /* allocates beyond 32 keys */
    if (error)
        return ck_fail(COKE_ENOMEM, "a key of the thread: %s", strerror(error));
    int rc = fn(arg);
    pthread_setspecific(active, outer);
    return rc;
}
