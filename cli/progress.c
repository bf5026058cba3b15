/* progress.c - progress on stderr: a bar on a terminal, log lines elsewhere; and signals that
 * stop or save. */
#include "progress.h"
#include "talk.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

enum { BAR = 24, LINE = 320 };
static const double redraw = 0.1;   /* seconds between two redraws of the bar */
static const double log_every = 10; /* seconds between two lines within a phase */
/* An epoch with backward passes takes this many times epoch 0 without; measured 2 to 3. */
static const double after_epoch0 = 2.5;

/* Set by signal handlers, read by the callback on the main thread. */
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

/* SA_RESETHAND restores the default action, so that the second signal kills. */
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

/* Before any other line, so that it does not continue behind the bar. */
static void clear_bar(struct progress *p)
{
    if (p->drawn)
        fputs("\r\033[K", stderr);
    p->drawn = 0;
}

static int is_epoch(const char *phase)
{
    return strcmp(phase, "epoch") == 0;
}

/* "epoch 3/10", "epoch 3", "repair". The last epoch of a training of 101 is "epoch 100/100". */
static void name_phase(const struct progress *p, const struct coke_progress *s, char *out,
                       size_t size)
{
    long long first = p->training ? 0 : 1;
    if (!is_epoch(s->phase))
        snprintf(out, size, "%s", s->phase);
    else if (s->epochs)
        snprintf(out, size, "epoch %lld/%lld", (long long)s->epoch + first,
                 (long long)s->epochs - 1 + first);
    else
        snprintf(out, size, "epoch %lld", (long long)s->epoch + first);
}

/* Estimated seconds left in this phase and the known number of epochs after it. */
static double time_left(const struct progress *p, const struct coke_progress *s, double rate)
{
    double left = (double)(s->total - s->done) / rate, whole = (double)s->total / rate;
    if (!s->epochs || !is_epoch(s->phase))
        return left;
    if (p->training && s->epoch == 0)
        whole *= after_epoch0;
    if (p->epoch_seconds > 0)
        whole = p->epoch_seconds;
    return left + (double)(s->epochs - s->epoch - 1) * whole;
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
        name_time(time_left(p, s, rate), left, sizeof left);
        n = snprintf(out, size, " %s %s/s, %s left", talk_count(rate, count, sizeof count),
                     s->unit ? s->unit : "rows", left);
    }
    if (s->detail && (size_t)n < size)
        n += snprintf(out + n, size - (size_t)n, "%s %s", n ? "," : "", s->detail);
    if (s->objective > 0 && (size_t)n < size)
        snprintf(out + n, size - (size_t)n, "%s objective %.4f", n ? "," : "", s->objective);
}

/* Columns of the terminal. */
static int count_columns(void)
{
    struct winsize w;
    const char *set = getenv("COLUMNS");
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &w) == 0 && w.ws_col > 0)
        return w.ws_col;
    int columns = set ? atoi(set) : 0;
    return columns > 0 ? columns : 80;
}

/* Bytes of text that fit, up to a comma: half a number would be another one. */
static int fit(const char *text, int room)
{
    int n = (int)strlen(text);
    if (n <= room)
        return n;
    for (n = room; n > 0 && text[n] != ','; n--)
        ;
    return n > 0 ? n : room > 0 ? room : 0;
}

/* Redraws the whole line: \r moves to its start, ESC [K clears it. Color only around the bar. One
 * line at most, with a free column at its end: a longer one would scroll at every redraw. Without
 * room for numbers beside the bar the bar is omitted. */
static void draw_bar(struct progress *p, const struct coke_progress *s, double fraction,
                     double t)
{
    char name[48], words[192], bar[BAR + 1], line[LINE];
    int full = (int)(fraction * BAR), room = count_columns() - 1;
    name_phase(p, s, name, sizeof name);
    describe(p, s, t, words, sizeof words);
    memset(bar, '-', BAR);
    memset(bar, '#', (size_t)full);
    bar[BAR] = 0;
    int has_bar = room >= 2 * BAR;
    int n = snprintf(line, sizeof line, "%-10s ", name);
    snprintf(line + n, sizeof line - (size_t)n, "%3.0f %%%s", 100 * fraction, words);
    int before = n < room ? n : room, after = room - before - (has_bar ? BAR + 3 : 0);
    fprintf(stderr, "\r\033[K%.*s", before, line);
    if (has_bar)
        fprintf(stderr, "[%s%s%s] ", p->color ? "\033[32m" : "", bar,
                p->color ? "\033[0m" : "");
    fprintf(stderr, "%.*s", fit(line + n, after), line + n);
    fflush(stderr);
    p->drawn = 1;
}

/* A line per tenth of the phase at most, and not more often than log_every except at its
 * end. */
static void log_line(struct progress *p, const struct coke_progress *s, double fraction,
                     double t)
{
    char name[48], words[192];
    int tenths = (int)(fraction * 10), whole = s->done >= s->total;
    if (tenths <= p->said || (!whole && t - p->last_shown < log_every))
        return;
    p->said = tenths;
    name_phase(p, s, name, sizeof name);
    describe(p, s, t, words, sizeof words);
    fprintf(stderr, "%s: %.0f %%%s\n", name, 100 * fraction, words);
    p->last_shown = t;
}

/* A new phase or epoch: rates and tenths count from here. The time of an epoch runs until the
 * next begins, evaluation and checkpoint included. The first epoch of a process does not count:
 * it may be the rest of one, or epoch 0. */
static void start_phase(struct progress *p, const struct coke_progress *s, double t)
{
    int follows = is_epoch(p->phase) && is_epoch(s->phase);
    if (follows && p->epochs_seen > 0)
        p->epoch_seconds = t - p->phase_start;
    p->epochs_seen += follows;
    snprintf(p->phase, sizeof p->phase, "%s", s->phase);
    p->epoch = s->epoch;
    p->phase_start = t;
    p->first = s->done;
    p->said = 0;
    if (p->last_shown <= 0)
        p->last_shown = t;
}

/* The answer for the library. A request to save is answered once, a stop until the end. */
static int wish(void)
{
    int wanted = save ? COKE_ANSWER_SAVE : 0;
    save = 0;
    return stop ? 1 : wanted;
}

/* Callback: runs on the thread that called the library, between batches. */
static int show(void *user, const struct coke_progress *s)
{
    struct progress *p = user;
    int wanted = wish();
    if (wanted == 1 || p->quiet || s->total <= 0)
        return wanted;
    double t = now(), fraction = (double)s->done / (double)s->total;
    if (s->epoch != p->epoch || strcmp(s->phase, p->phase) != 0)
        start_phase(p, s, t);
    if (!p->terminal) {
        log_line(p, s, fraction, t);
    } else if (t - p->last_shown >= redraw || s->done == s->total) {
        draw_bar(p, s, fraction, t);
        p->last_shown = t;
    }
    return wanted;
}

/* Callback: choices of the library, as log lines. Not with --quiet. */
static void say(void *user, const char *line)
{
    struct progress *p = user;
    if (p->quiet)
        return;
    clear_bar(p);
    talk_line("", line);
}

/* Callback: warnings, also with --quiet. */
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

/* SA_RESTART: a request to save must not interrupt system calls, as work continues. */
void progress_train(struct progress *p)
{
    struct sigaction stopper = {.sa_handler = ask_to_stop, .sa_flags = (int)SA_RESETHAND};
    struct sigaction saver = {.sa_handler = ask_to_save, .sa_flags = SA_RESTART};
    p->training = 1;
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
