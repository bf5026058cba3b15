/* truth.c - the true classes of the images that are evaluated. */
#include "eval/truth.h"
#include "core/error.h"
#include "core/mem.h"

#include <string.h>

static int32_t find_class(const struct ck_dataset *set, const char *name)
{
    for (int32_t c = 0; c < set->classes; c++)
        if (strcmp(set->class_name[c], name) == 0)
            return c;
    return -1;
}

int64_t ck_truth_known(const int32_t *label, int64_t n)
{
    int64_t known = 0;
    for (int64_t i = 0; i < n; i++)
        known += label[i] >= 0;
    return known;
}

int ck_truth_check(const struct coke_dataset *d)
{
    const struct ck_dataset *set = d->set;
    if (!set->label || set->classes < 1 || ck_truth_known(set->label, set->n) == 0)
        return ck_fail(
            COKE_EUSAGE,
            "%s has no labels; evaluation needs classes: a subfolder for each, or a column "
            "in a list",
            set->source);
    int32_t first = -1;
    for (int64_t i = 0; i < set->n; i++) {
        if (set->label[i] < 0 || set->label[i] == first)
            continue;
        if (first >= 0)
            return COKE_OK;
        first = set->label[i];
    }
    return ck_fail(COKE_EUSAGE,
                   "%s: all its labels are of one class ('%s'); at least 2 are needed",
                   set->source, set->class_name[first]);
}

int ck_truth_get(const struct coke_dataset *d, const struct coke_dataset *classes_of,
                 int32_t *label)
{
    const struct ck_dataset *set = d->set, *other = classes_of->set;
    int rc = COKE_OK;
    int32_t *map = ck_alloc_array((size_t)set->classes + 1, sizeof *map);
    if (!map)
        return COKE_ENOMEM;
    for (int32_t c = 0; c < set->classes; c++)
        /* usually the numbers agree */
        map[c] = c < other->classes && strcmp(set->class_name[c], other->class_name[c]) == 0
                     ? c
                     : find_class(other, set->class_name[c]);
    for (int64_t i = 0; i < set->n; i++) {
        int32_t c = set->label ? set->label[i] : -1;
        label[i] = c < 0 ? -1 : map[c];
        if (c >= 0 && map[c] < 0)
            CK_FAIL(COKE_EUSAGE, "%s: class '%s' is not among the %d classes of %s",
                    set->source, set->class_name[c], other->classes, other->source);
    }
done:
    ck_free(map);
    return rc;
}
