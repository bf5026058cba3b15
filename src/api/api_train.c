/* api_train.c - public functions of trainings. A training is collective in a group and uses the
 * process-wide thread team, so one runs at a time. */
#include "api/check_args.h"
#include "train/train_options.h"
#include "train/loop.h"

/* Presets are a static table: the strings live as long as the process. */
const char *coke_train_preset_name(int i)
{
    return ck_train_preset_name(i);
}

const char *coke_train_preset_about(int i)
{
    return ck_train_preset_about(i);
}

/* Sets the options that the preset names; later calls of coke_options_set override them. */
int coke_train_preset(struct coke_options *options, const char *name)
{
    CK_ARGS(options, name);
    struct ck_train_options *o = ck_options_edit(options, ck_train_option_table());
    return o ? ck_train_preset(o, name) : COKE_EUSAGE;
}

/* Resumes if the folder `run` holds a checkpoint (control->fresh: does not). out is filled also
 * when the training was stopped. */
int coke_train_run(struct coke_dataset *data, const struct coke_options *options,
                   const char *run, const struct coke_train_control *control,
                   const struct coke_callbacks *callbacks, struct coke_train_summary *out)
{
    struct coke_train_control c;
    struct coke_callbacks cb;
    struct coke_train_summary full;
    CK_ARGS(data, run);
    CK_READ(c, control);
    CK_READ(cb, callbacks);
    CK_RESULT(full, out);
    CK_OPTIONS(o, train, options);
    CK_RETURN_RESULT(out, full, ck_train_run(data, o, run, &c, &cb, &full));
}
