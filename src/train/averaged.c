/* averaged.c - the moving average of a training's weights. */
#include "train/averaged.h"
#include "core/error.h"
#include "nn/average.h"

#include <math.h>
#include <string.h>

#define PREFIX "ema."

static int is_on(const struct ck_session *s)
{
    return s->o.ema > 0;
}

int ck_averaged_init(struct ck_session *s)
{
    if (!is_on(s))
        return COKE_OK;
    CK_RETURN_IF(ck_encoder_init(&s->average, &s->o.encoder));
    s->average_ready = 1;
    return COKE_OK;
}

void ck_averaged_release(struct ck_session *s)
{
    if (s->average_ready)
        ck_encoder_release(&s->average);
    s->average_ready = 0;
}

struct coke_encoder *ck_averaged_encoder(struct ck_session *s)
{
    return is_on(s) ? &s->average : &s->encoder;
}

/* The first update copies; then the average is over about the last tenth of the steps until the
 * decay is reached, so that early weights are forgotten. */
static double decay_at(const struct ck_session *s, int64_t epoch, int64_t step)
{
    int64_t first = s->method->learns_at_once ? 0 : 1;
    double t = (double)((epoch - first) * s->steps + step);
    return epoch < first ? 0 : fmin(s->o.ema, t / (t + 9));
}

void ck_averaged_update(struct ck_session *s, int64_t epoch, int64_t step)
{
    const struct ck_net *from = &s->encoder.net;
    struct ck_net *to = &s->average.net;
    if (!is_on(s))
        return;
    double decay = decay_at(s, epoch, step);
    ck_average_params(to->param, from->param, to->nparams, decay);
    ck_average_params(to->buffer, from->buffer, to->nbuffers, decay);
    for (int i = 0; i < to->ncounters; i++)
        to->counter[i].value = from->counter[i].value;
}

/* ---- files ---- */

int ck_averaged_owns(const char *tensor)
{
    return strncmp(tensor, PREFIX, sizeof PREFIX - 1) == 0;
}

int ck_averaged_save(const struct ck_session *s, struct ck_state *out)
{
    struct ck_state own = {0};
    int rc = COKE_OK;
    if (!is_on(s))
        return COKE_OK;
    CK_TRY(ck_net_save(&s->average.net, &own));
    CK_TRY(ck_state_add_part(out, PREFIX, &own));
done:
    ck_state_release(&own);
    return rc;
}

int ck_averaged_read(const struct ck_state *from, struct ck_net *net, const char *path,
                     int *found)
{
    struct ck_state own = {0};
    int rc = COKE_OK;
    CK_TRY(ck_state_take_part(&own, PREFIX, from));
    *found = own.ntensors > 0;
    if (*found)
        CK_TRY(ck_net_load(net, &own, path, NULL));
done:
    ck_state_release(&own);
    return rc;
}

int ck_averaged_load(struct ck_session *s, const struct ck_state *from, const char *path)
{
    int found;
    if (!is_on(s))
        return COKE_OK;
    CK_RETURN_IF(ck_averaged_read(from, &s->average.net, path, &found));
    return found ? COKE_OK
                 : ck_fail(COKE_EFORMAT, "%s: the averaged weights '" PREFIX "*' are missing",
                           path);
}
