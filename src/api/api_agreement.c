/* api_agreement.c - public: agreement of clusters with known classes (ACC, NMI, ARI). Pure: no
 * global state, any thread. */
#include "api/check_args.h"
#include "eval/agreement.h"

int coke_agreement(const int32_t *truth, const int32_t *labels, int64_t n, int32_t classes,
                   int32_t clusters, struct coke_agreement_scores *out)
{
    struct ck_agreement a;
    struct coke_agreement_scores full;
    CK_ARGS(truth, labels, out);
    CK_RESULT(full, out);
    CK_RETURN_IF(ck_agreement_checked(truth, labels, n, classes, clusters, &a));
    full = (struct coke_agreement_scores){0, a.n, a.accuracy, a.many_to_one, a.nmi, a.ari};
    CK_RETURN_RESULT(out, full, COKE_OK);
}
