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
/* The innermost guarded call of the thread. The handler may not allocate, which other models of
 * thread-local storage do on the first use in a thread. */
static _Thread_local __attribute__((tls_model("initial-exec"))) sigjmp_buf *active;

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
    if (active && info->si_code == BUS_ADRERR)
        siglongjmp(*active, 1);
    pass_on(signal, info, context);
}

/* Not if ours is the handler already: it would then pass signals on to itself.
 * SA_NODEFER: the jump leaves the handler without restoring the signal mask. */
static int install(void)
{
    struct sigaction now,
        ours = {.sa_sigaction = handle, .sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK};
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
    sigjmp_buf here, *outer = active;
    if (sigsetjmp(here, 0)) {
        active = outer;
        return ck_fail(COKE_EIO, "became shorter while it was read, or its disk failed");
    }
    active = &here;
    int rc = fn(arg);
    active = outer;
    return rc;
}
