/* sorting.c - --copy-to and --symlink: images into a folder for each cluster. */
#include "sorting.h"
#include "talk.h"
#include "trained.h"

/* The folder, and how; NULL = none. Valid until the option's text is asked for again. */
static const char *sort_folder(struct args *a, enum coke_sort *how)
{
    const char *copy = args_text(a, "copy-to");
    *how = copy ? COKE_SORT_COPY : COKE_SORT_LINK;
    return copy ? copy : args_text(a, "symlink");
}

int sorting_wanted(struct args *a)
{
    return args_text(a, "copy-to") || args_text(a, "symlink");
}

/* The library refuses folders that are not empty, and links to images inside archives. */
int sorting_check(struct args *a, struct coke_dataset *d)
{
    enum coke_sort how;
    if (args_text(a, "copy-to") && args_text(a, "symlink"))
        return talk_fail(COKE_EUSAGE, "--copy-to and --symlink exclude each other");
    const char *dir = sort_folder(a, &how);
    int rc = dir ? coke_dataset_sort(d, NULL, 1, dir, how, NULL, NULL) : COKE_OK;
    return rc ? talk_fail_library(rc) : COKE_OK;
}

int sorting_run(struct args *a, struct coke_dataset *d, const int32_t *cluster, int64_t k,
                struct progress *bar)
{
    enum coke_sort how;
    const char *dir = sort_folder(a, &how);
    struct coke_sort_summary s = COKE_INIT(struct coke_sort_summary);
    struct coke_callbacks callbacks = progress_callbacks(bar);
    if (!dir)
        return COKE_OK;
    int rc = coke_dataset_sort(d, cluster, (int32_t)k, dir, how, &callbacks, &s);
    progress_end(bar);
    if (rc)
        return trained_fail(rc);
    if (!args_flag(a, "quiet"))
        fprintf(stderr, "coke: %lld images in %lld folders below %s; %lld were renamed\n",
                (long long)s.images, (long long)s.folders, dir, (long long)s.renamed);
    return COKE_OK;
}
