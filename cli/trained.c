/* trained.c - shared by the commands that use a trained encoder: RUN and DATA. */
#include "trained.h"
#include "talk.h"

/* Operands are counted before anything is opened: 2, or 1 with --weights. */
int trained_open(struct coke_run **run, const char **data, struct args *a, int n,
                 const char *const *operands)
{
    const char *weights = args_has(a, "weights") ? args_text(a, "weights") : NULL;
    int wanted = weights ? 1 : 2;
    if (n != wanted)
        return talk_fail(COKE_EUSAGE,
                         weights ? "--weights needs one data set and no run, not %d operands"
                                 : "expected a run and a data set, not %d operands",
                         n);
    int rc = args_use_threads(a);
    if (rc)
        return rc;
    *data = operands[wanted - 1];
    rc = coke_run_open(run, weights ? weights : operands[0], args_options(a, "use"));
    return rc ? talk_fail_library(rc) : COKE_OK;
}

/* A copy of o in which auto channels are the encoder's. Encoders of other channel numbers take
 * images as they come. */
static int fit_channels(struct coke_options **out, const struct coke_options *o,
                        int64_t channels)
{
    int64_t given = 0;
    int rc = coke_options_copy(out, o);
    if (!rc)
        rc = coke_options_get_int(*out, "channels", &given);
    if (!rc && !given && (channels == 1 || channels == 3))
        rc = coke_options_set_int(*out, "channels", channels);
    return rc;
}

int trained_open_data(struct coke_dataset **out, const struct args *a,
                      const struct coke_run *run, const char *source,
                      const struct coke_options *o)
{
    struct coke_options *with = NULL;
    int rc = fit_channels(&with, o, coke_run_channels(run));
    if (!rc)
        rc = coke_dataset_open(out, source, with);
    coke_options_free(with);
    if (rc)
        return talk_fail_library(rc);
    if (!args_flag(a, "quiet") && coke_dataset_note(*out)[0])
        talk_line("coke: ", coke_dataset_note(*out));
    return COKE_OK;
}

int trained_fail(int rc)
{
    return talk_fail_library(rc) == COKE_ESTOPPED ? COKE_EFAIL : rc;
}
