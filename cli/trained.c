/* trained.c - what the commands that use a trained encoder share: RUN and DATA. */
#include "trained.h"
#include "talk.h"

#include <assert.h>
#include <string.h>

enum { DATA_ROWS = 16 };

const struct coke_option_table *trained_data_table(void)
{
    static struct coke_option row[DATA_ROWS];
    static struct coke_option_table t;
    t = *coke_dataset_option_table();
    assert(t.n <= DATA_ROWS);
    for (int i = 0; i < t.n; i++) {
        row[i] = t.row[i];
        if (strcmp(row[i].name, "channels") == 0)
            row[i].help = "images as 1: grey, 3: colour; auto: as the encoder takes them";
    }
    t.row = row;
    return &t;
}

int trained_open(struct coke_run **run, const char **data, const struct trained *t, int n,
                 const char *const *operands)
{
    int wanted = t->weights ? 1 : 2;
    if (n != wanted)
        return talk_fail(COKE_EUSAGE,
                         t->weights
                             ? "with --weights one data set is needed, and no run: there are %d"
                             : "a run and a data set are needed: there are %d operands",
                         n);
    if (coke_set_threads((int)t->threads))
        return talk_fail_library(COKE_EUSAGE);
    *data = operands[wanted - 1];
    int rc = coke_run_open(run, t->weights ? t->weights : operands[0], &t->use);
    return rc ? talk_fail_library(rc) : COKE_OK;
}

int trained_open_data(struct coke_dataset **out, const struct trained *t,
                      const struct coke_run *run, const char *source,
                      const struct coke_dataset_options *o)
{
    struct coke_dataset_options with = *o;
    int64_t channels = coke_run_channels(run);
    if (!with.channels && (channels == 1 || channels == 3))
        with.channels = channels;
    with.cache_dir = t->cache;
    int rc = coke_dataset_open(out, source, &with);
    if (rc)
        return talk_fail_library(rc);
    if (!t->quiet && coke_dataset_note(*out)[0])
        talk_line("coke: ", coke_dataset_note(*out));
    return COKE_OK;
}

int trained_fail(int rc)
{
    return talk_fail_library(rc) == COKE_ESTOPPED ? COKE_EFAIL : rc;
}
