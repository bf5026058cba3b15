/* main.c - the program: finds the command, reads its options, runs it.
 *
 * Order of a run: restart with a short spin time, standard files, join the group (if the
 * command does), options, the command, flush standard output, leave the group. The exit code
 * is the negated status. */
#include "args.h"
#include "help.h"
#include "talk.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* In the order of 'coke help'. Commands of a family are adjacent: completion relies on it. */
static const struct command *const commands[] = {
#if COKE_NN
    &cmd_train,
#endif
    &cmd_cluster, &cmd_assign,
#if COKE_NN
    &cmd_embed,   &cmd_eval_knn,     &cmd_eval_cluster, &cmd_eval_linear, &cmd_eval_finetune,
    &cmd_report,  &cmd_export,       &cmd_import,
#endif
    &cmd_info,    &cmd_demo_vectors,
#if COKE_NN
    &cmd_demo,    &cmd_data_info,    &cmd_data_verify,  &cmd_data_pack,   &cmd_data_preview,
#endif
};
enum { COMMANDS = sizeof commands / sizeof commands[0] };

/* A descriptor 0, 1 or 2 that the caller closed must not be reused for one of our files. Opens
 * it in the wrong direction, so that using it still fails. */
static void hold_standard_files(void)
{
    for (int fd = 0; fd < 3; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd ? O_RDONLY : O_WRONLY) < 0)
            return;
}

/* Suggests the nearest command; the library decides what is near enough. */
static int fail_unknown(const char *name)
{
    const char *names[COMMANDS + 1];
    for (int i = 0; i < COMMANDS; i++)
        names[i] = commands[i]->name;
    names[COMMANDS] = "help";
    const char *near = coke_nearest(name, names, COMMANDS + 1);
    return talk_fail(COKE_EUSAGE, "unknown command '%s'%s%s%s; 'coke --help' lists all", name,
                     near ? "; the nearest is '" : "", near ? near : "", near ? "'" : "");
}

/* Finds the command at the start of argv; *words = how many words its name has (1 or 2). */
static const struct command *find_command(int argc, const char *const *argv, int *words)
{
    char two[64];
    snprintf(two, sizeof two, "%.30s %.30s", argv[0], argc > 1 ? argv[1] : "");
    for (int i = 0; i < COMMANDS; i++) {
        *words = strchr(commands[i]->name, ' ') ? 2 : 1;
        if (strcmp(commands[i]->name, *words == 2 ? two : argv[0]) == 0)
            return commands[i];
    }
    return NULL;
}

/* "data": the first word of several commands. */
static int is_family(const char *word)
{
    size_t n = strlen(word);
    for (int i = 0; i < COMMANDS; i++)
        if (strncmp(commands[i]->name, word, n) == 0 && commands[i]->name[n] == ' ')
            return 1;
    return 0;
}

static int asks_for_help(const char *word)
{
    return strcmp(word, "help") == 0 || strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

/* A family without one of its commands: lists them; an error unless help was requested. */
static int run_family(int argc, const char *const *argv)
{
    if (argc > 1 && asks_for_help(argv[1])) {
        help_family(commands, COMMANDS, argv[0], stdout);
        return COKE_OK;
    }
    help_family(commands, COMMANDS, argv[0], stderr);
    if (argc < 2)
        return COKE_EUSAGE;
    return talk_fail(COKE_EUSAGE, "unknown command '%s'; see the list above", argv[1]);
}

/* coke help [COMMAND | --man | --bash]. */
static int run_help(int argc, const char *const *argv)
{
    if (argc < 1 || strcmp(argv[0], "help") == 0 || strcmp(argv[0], "--help") == 0) {
        help_program(commands, COMMANDS, stdout);
        return COKE_OK;
    }
    if (strcmp(argv[0], "--man") == 0) {
        help_man(commands, COMMANDS, stdout);
        return COKE_OK;
    }
    if (strcmp(argv[0], "--bash") == 0) {
        help_bash(commands, COMMANDS, stdout);
        return COKE_OK;
    }
    int words;
    const struct command *cmd = find_command(argc, argv, &words);
    if (!cmd && is_family(argv[0])) {
        help_family(commands, COMMANDS, argv[0], stdout);
        return COKE_OK;
    }
    if (!cmd)
        return fail_unknown(argv[0]);
    help_command(cmd, stdout);
    return COKE_OK;
}

/* Joins the group. Only rank 0 writes results: the others would repeat the same bytes, so their
 * standard output is discarded. */
static int join(void)
{
    int rc = coke_group_join();
    talk_as(coke_group_rank()); /* also if it failed once the rank was known */
    if (rc)
        return talk_fail_library(rc);
    if (coke_group_rank() > 0 && !freopen("/dev/null", "w", stdout))
        return talk_fail(COKE_EIO, "/dev/null: %s", strerror(errno));
    return COKE_OK;
}

/* The group comes first: from then on a failure of one rank ends all of them. */
static int run_command(const struct command *cmd, int argc, const char *const *argv)
{
    struct args a;
    int rc = cmd->joins ? join() : COKE_OK;
    if (rc)
        return rc;
    rc = args_init(&a, cmd);
    if (rc)
        return rc;
    const char **operand = calloc((size_t)argc + 1, sizeof *operand);
    rc =
        operand ? args_parse(&a, operand, argc, argv) : talk_fail(COKE_ENOMEM, "out of memory");
    if (!rc && a.help)
        help_command(cmd, stdout);
    else if (!rc)
        rc = cmd->run(&a, a.noperands, operand);
    args_release(&a);
    free(operand);
    return rc;
}

static int run(int argc, const char *const *argv)
{
    if (argc < 2) {
        help_program(commands, COMMANDS, stderr);
        return COKE_EUSAGE;
    }
    const char *name = argv[1];
    if (strcmp(name, "--version") == 0) {
        talk_program(stdout);
        return COKE_OK;
    }
    if (asks_for_help(name))
        return run_help(argc - 2, argv + 2);
    int words;
    const struct command *cmd = find_command(argc - 1, argv + 1, &words);
    if (!cmd && is_family(name))
        return run_family(argc - 1, argv + 1);
    return cmd ? run_command(cmd, argc - 1 - words, argv + 1 + words) : fail_unknown(name);
}

/* A result that was not written is a failure, even if the command succeeded: a full disk or a
 * closed pipe is noticed only here. */
static int finish_stdout(int rc)
{
    errno = 0;
    if (fflush(stdout) == 0 && !ferror(stdout))
        return rc;
    if (rc)
        return rc;
    return talk_fail(COKE_EIO, "standard output: %s", errno ? strerror(errno) : "not written");
}

/* An empty variable counts as unset. */
static int is_set(const char *variable)
{
    const char *value = getenv(variable);
    return value && *value;
}

/* By default waiting OpenMP threads spin for milliseconds, which slows everything down several
 * times on a machine with other work. The runtime reads its settings when it is loaded, so the
 * program sets the variable and executes itself again. A setting of the user is respected; if
 * anything fails, the program continues without. docs/decisions/007 has the measurements. */
static void wait_passively(char **argv)
{
    if (is_set("GOMP_SPINCOUNT") || is_set("OMP_WAIT_POLICY"))
        return;
    char self[4096];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (n <= 0 || setenv("OMP_WAIT_POLICY", "passive", 1))
        return;
    self[n] = 0;
    execv(self, argv);
}

/* The library falls back to the best instruction set; the user should know. */
static void check_isa(void)
{
    const char *wanted = getenv("COKE_ISA");
    if (!wanted || !*wanted || strcmp(wanted, coke_isa()) == 0)
        return;
    if (strcmp(wanted, "amx") == 0)
        fprintf(stderr, "coke: warning: COKE_ISA=amx: %s; using %s\n", coke_amx_missing(),
                coke_isa());
    else
        fprintf(stderr,
                "coke: warning: COKE_ISA=%s is unknown or not supported by this CPU (there are "
                "ref, avx2, avx512, vnni, amx and amx-emulated); using %s\n",
                wanted, coke_isa());
}

/* What the library does not catch: a mapped model of more than 1 GB, for example. Nothing but
 * write and _exit is safe here. */
static void end_on_sigbus(int signal)
{
    static const char line[] =
        "coke: an input file became shorter while it was read, or its disk failed\n";
    ssize_t ignored = write(STDERR_FILENO, line, sizeof line - 1);
    (void)ignored;
    (void)signal;
    _exit(-COKE_EIO);
}

static void catch_sigbus(void)
{
    signal(SIGBUS, end_on_sigbus);
    if (coke_catch_sigbus())
        fprintf(stderr, "coke: warning: %s\n", coke_last_error());
}

int main(int argc, char **argv)
{
    wait_passively(argv);
    check_isa();
    hold_standard_files();
    signal(SIGPIPE, SIG_IGN); /* then write() fails with EPIPE, which is reported */
    signal(SIGXFSZ, SIG_IGN); /* likewise EFBIG */
    catch_sigbus();
    int rc = finish_stdout(run(argc, (const char *const *)argv));
    if (coke_group_leave(rc) && !rc)
        rc = talk_fail(COKE_ELOST, "lost the other processes");
    return -rc;
}
