/* progress.c - a bar on a terminal, lines elsewhere; and the wish to stop. */
#include "progress.h"
#include "talk.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { BAR = 24 };
static const double redraw = 0.1;   /* seconds between two pictures of the bar */
static const double log_every = 10; /* seconds between two lines within a phase */

static volatile sig_atomic_t stop, save;

static void ask_to_stop(int signal_number)
{
    (void)signal_number;
    stop = 1;
}

static void ask_to_save(int signal_number)
{
    (void)signal_number;
    save = 1;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void progress_init(struct progress *p, int quiet)
{
    const char *no_color = getenv("NO_COLOR");
    struct sigaction act = {.sa_handler = ask_to_stop, .sa_flags = (int)SA_RESETHAND};
    *p = (struct progress){.quiet = quiet || !talk_is_heard(), .epoch = -1};
    p->terminal = isatty(STDERR_FILENO) != 0;
    p->color = p->terminal && !(no_color && no_color[0]);
    sigemptyset(&act.sa_mask);
    sigaction(SIGINT, &act, NULL);
    sigaction(SIGTERM, &act, NULL);
}

static void clear_bar(struct progress *p)
{
    if (p->drawn)
        fputs("\r\033[K", stderr);
    p->drawn = 0;
}

/* "epoch 3/10", "epoch 3", "repair" */
static void name_phase(const struct coke_progress *s, char *out, size_t size)
{
    if (strcmp(s->phase, "epoch") != 0)
        snprintf(out, size, "%s", s->phase);
    else if (s->epochs)
        snprintf(out, size, "epoch %lld/%lld", (long long)s->epoch + 1, (long long)s->epochs);
    else
        snprintf(out, size, "epoch %lld", (long long)s->epoch + 1);
}

/* Seconds left in this phase and in the epochs that are sure to follow. */
static double time_left(const struct coke_progress *s, double rate)
{
    double rows = (double)(s->total - s->done);
    if (s->epochs && strcmp(s->phase, "epoch") == 0)
        rows += (double)(s->epochs - s->epoch - 1) * (double)s->total;
    return rows / rate;
}

/* "42 s", "12 min", "3.5 h" */
static void name_time(double seconds, char *out, size_t size)
{
    if (seconds < 100)
        snprintf(out, size, "%.0f s", seconds);
    else if (seconds < 6000)
        snprintf(out, size, "%.0f min", seconds / 60);
    else
        snprintf(out, size, "%.1f h", seconds / 3600);
}

/* " 812.3k rows/s, 3 s left, objective 0.5123" */
static void describe(const struct progress *p, const struct coke_progress *s, double t,
                     char *out, size_t size)
{
    double spent = t - p->phase_start,
           rate = spent > 0 ? (double)(s->done - p->first) / spent : 0;
    char count[24], left[24];
    int n = 0;
    out[0] = 0;
    if (rate > 0 && spent > redraw) {
        name_time(time_left(s, rate), left, sizeof left);
        n = snprintf(out, size, " %s %s/s, %s left", talk_count(rate, count, sizeof count),
                     s->unit ? s->unit : "rows", left);
    }
    if (s->detail && (size_t)n < size)
        n += snprintf(out + n, size - (size_t)n, "%s %s", n ? "," : "", s->detail);
    if (s->objective > 0 && (size_t)n < size)
        snprintf(out + n, size - (size_t)n, "%s objective %.4f", n ? "," : "", s->objective);
}

static void draw_bar(struct progress *p, const struct coke_progress *s, double share, double t)
{
    char name[48], words[192], bar[BAR + 1];
    int full = (int)(share * BAR);
    name_phase(s, name, sizeof name);
    describe(p, s, t, words, sizeof words);
    memset(bar, '-', BAR);
    memset(bar, '#', (size_t)full);
    bar[BAR] = 0;
    fprintf(stderr, "\r\033[K%-10s [%s%s%s] %3.0f %%%s", name, p->color ? "\033[32m" : "", bar,
            p->color ? "\033[0m" : "", 100 * share, words);
    fflush(stderr);
    p->drawn = 1;
}

static void log_line(struct progress *p, const struct coke_progress *s, double share, double t)
{
    char name[48], words[192];
    int tenths = (int)(share * 10), whole = s->done >= s->total;
    if (tenths <= p->said || (!whole && t - p->last_shown < log_every))
        return;
    p->said = tenths;
    name_phase(s, name, sizeof name);
    describe(p, s, t, words, sizeof words);
    fprintf(stderr, "%s: %.0f %%%s\n", name, 100 * share, words);
    p->last_shown = t;
}

static void start_phase(struct progress *p, const struct coke_progress *s, double t)
{
    snprintf(p->phase, sizeof p->phase, "%s", s->phase);
    p->epoch = s->epoch;
    p->phase_start = t;
    p->first = s->done;
    p->said = 0;
    if (p->last_shown <= 0)
        p->last_shown = t;
}

static int wish(void)
{
    int wanted = save ? COKE_ANSWER_SAVE : 0;
    save = 0;
    return stop ? 1 : wanted;
}

static int show(void *user, const struct coke_progress *s)
{
    struct progress *p = user;
    int wanted = wish();
    if (wanted == 1 || p->quiet || s->total <= 0)
        return wanted;
    double t = now(), share = (double)s->done / (double)s->total;
    if (s->epoch != p->epoch || strcmp(s->phase, p->phase) != 0)
        start_phase(p, s, t);
    if (!p->terminal) {
        log_line(p, s, share, t);
    } else if (t - p->last_shown >= redraw || s->done == s->total) {
        draw_bar(p, s, share, t);
        p->last_shown = t;
    }
    return wanted;
}

static void say(void *user, const char *line)
{
    struct progress *p = user;
    if (p->quiet)
        return;
    clear_bar(p);
    talk_line("", line);
}

static void warn(void *user, const char *line)
{
    struct progress *p = user;
    clear_bar(p);
    talk_line(p->color ? "coke: \033[33mwarning:\033[0m " : "coke: warning: ", line);
}

struct coke_callbacks progress_callbacks(struct progress *p)
{
    return (struct coke_callbacks){.size = sizeof(struct coke_callbacks),
                                   .user = p,
                                   .progress = show,
                                   .say = say,
                                   .warn = warn};
}

void progress_save_on_signal(void)
{
    struct sigaction stopper = {.sa_handler = ask_to_stop, .sa_flags = (int)SA_RESETHAND};
    struct sigaction saver = {.sa_handler = ask_to_save, .sa_flags = SA_RESTART};
    sigemptyset(&stopper.sa_mask);
    sigemptyset(&saver.sa_mask);
    sigaction(SIGUSR1, &stopper, NULL);
    sigaction(SIGUSR2, &saver, NULL);
}

void progress_end(struct progress *p)
{
    clear_bar(p);
    fflush(stderr);
}
