/* golden_average.c - recorded parameters that follow others as a moving average. */
#include "golden_method.h"
#include "nn/average.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Both forms of the schedule: "span" reaches its end at the last of `steps`, "open" one later. */
static double tau_of(const struct replay *p, int64_t i, int64_t steps)
{
    char key[64];
    snprintf(key, sizeof key, "%s_form", p->name);
    int span = strcmp(golden_word(p->c, key), "span") == 0;
    return ck_average_tau(replay_number(p, "start"), replay_number(p, "end"), i, steps - span);
}

static int compare_taus(struct replay *p, const char *what, int64_t steps)
{
    const struct golden_array *a = golden_array(p->c, "%s_%s", p->name, what);
    if (!a || a->n != steps)
        return golden_refuse(p->r, "%s_%s is missing or of another size", p->name, what);
    for (int64_t i = 0; i < steps; i++) {
        double tau = tau_of(p, i, steps);
        if (golden_close_f64(p->r, a->name, &tau, &a->d[i], 1, GOLDEN_F64))
            return -1;
    }
    return 0;
}

/* The parameters of a network, which are float32, and the same average in double. */
static int compare_values(struct replay *p, const char *what, int64_t steps)
{
    const struct golden_array *online = golden_array(p->c, "online_%s", what);
    const struct golden_array *first = golden_array(p->c, "target_%s_init", what);
    if (!online || !first || online->n != steps * first->n)
        return golden_refuse(p->r, "online_%s or target_%s_init is missing", what, what);
    int64_t n = first->n;
    double *wide = replay_room(steps * n), *narrow = replay_room(steps * n);
    float *value = malloc((size_t)n * sizeof *value);
    memcpy(value, first->f, (size_t)n * sizeof *value);
    for (int64_t t = 0; t < steps; t++) {
        struct ck_param average = {.size = n, .value = value};
        struct ck_param from = {.size = n, .value = online->f + t * n};
        double tau = tau_of(p, t, steps);
        ck_average_params(&average, &from, 1, tau);
        for (int64_t i = 0; i < n; i++) {
            double before = t ? wide[(t - 1) * n + i] : (double)first->f[i];
            wide[t * n + i] = ck_average_of(before, (double)from.value[i], tau);
            narrow[t * n + i] = (double)value[i];
        }
    }
    int rc = replay_close(p, what, wide) || replay_close_run(p, what, "f64", narrow, 5e-7) ||
                     replay_close_run(p, what, "f32", narrow, 5e-7)
                 ? -1
                 : 0;
    free(wide);
    free(narrow);
    free(value);
    return rc;
}

int golden_replay_average(struct replay *p)
{
    int64_t steps = (int64_t)golden_number(p->c, "steps", 0);
    int64_t more = (int64_t)golden_number(p->c, "long_steps", 0);
    return compare_taus(p, "tau", steps) || compare_taus(p, "tau_long", more) ||
                   compare_values(p, "weight", steps) || compare_values(p, "bias", steps)
               ? -1
               : 0;
}
