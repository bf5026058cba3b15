/* api_agreement.c - public: how well clusters agree with known classes. */
#include "coke.h"
#include "core/error.h"
#include "eval/agreement.h"

int coke_agreement(const int32_t *truth, const int32_t *labels, int64_t n, int32_t classes,
                   int32_t clusters, struct coke_agreement *out)
{
    struct ck_agreement a;
    if (n < 0 || classes < 1 || clusters < 1)
        return ck_fail(COKE_EUSAGE, "%lld samples, %d classes, %d clusters", (long long)n,
                       (int)classes, (int)clusters);
    for (int64_t i = 0; i < n; i++)
        if (truth[i] >= classes || labels[i] >= clusters)
            return ck_fail(COKE_EUSAGE, "sample %lld: class %d of %d, cluster %d of %d",
                           (long long)i, (int)truth[i], (int)classes, (int)labels[i],
                           (int)clusters);
    int rc = ck_agreement(truth, labels, n, classes, clusters, &a);
    if (rc)
        return rc;
    *out = (struct coke_agreement){a.n, a.accuracy, a.many_to_one, a.nmi, a.ari};
    return COKE_OK;
}
