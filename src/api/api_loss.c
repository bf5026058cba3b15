/* api_loss.c - public functions of the loss and the schedule. A loss has scratch memory: one
 * thread at a time. */
#include "api/check_args.h"
#include "nn/label_loss.h"
#include "nn/schedule.h"

/* Not CK_OPTIONS: the struct of this kind is called setup. */
int coke_loss_new(struct coke_loss **out, const struct coke_options *options)
{
    struct ck_loss_setup plain;
    CK_ARGS_OUT(out);
    const struct ck_loss_setup *o = ck_options_as(options, ck_loss_setup_table(), &plain);
    return o ? ck_label_loss_new(out, o) : COKE_EUSAGE;
}

void coke_loss_free(struct coke_loss *l)
{
    ck_label_loss_free(l);
}

/* out also holds the caller's arrays for gradients, so it is read, not zeroed. */
int coke_loss_step(struct coke_loss *l, const struct coke_loss_input *in,
                   struct coke_loss_output *out)
{
    struct coke_loss_input all;
    struct coke_loss_output full;
    CK_ARGS(l, in, out);
    CK_READ(all, in);
    CK_READ(full, out);
    CK_ARGS(all.proj, all.centers, all.labels);
    CK_RETURN_RESULT(out, full, ck_label_loss_step(l, &all, &full));
}

int coke_schedule_rate(double rate, int64_t epochs, int64_t warmup, int64_t steps,
                       int64_t epoch, int64_t step, double *out)
{
    CK_ARGS(out);
    return ck_schedule_rate_at(rate, epochs, warmup, steps, epoch, step, out);
}
