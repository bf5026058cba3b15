/* gemm.c - products of f32 matrices, computed by oneDNN. */
#include "kernels/gemm.h"
#include "core/error.h"
#include "core/mem.h"
#include "core/thread.h"
#include "kernels/amx.h"

#include <oneapi/dnnl/dnnl.h>

/* Where the sizes of tiles are hidden, oneDNN reads 0 and dies of SIGILL in its first kernel on
 * them. */
static void cap_isa(void)
{
    if (ck_amx_sizes_hidden())
        dnnl_set_max_cpu_isa(dnnl_cpu_isa_avx512_core_bf16);
}

void ck_gemm_prepare(void)
{
    static struct ck_once once = CK_ONCE;
    ck_once(&once, cap_isa);
}

/* C = beta * C for k = 0, where oneDNN returns without touching C. */
static void scale(int64_t m, int64_t n, float beta, float *c, int64_t ldc)
{
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++)
            c[i * ldc + j] = beta != 0 ? beta * c[i * ldc + j] : 0;
}

/* The first product makes oneDNN generate 6 MB of code; a failure to do so crashes it. */
enum { ROOM = 16 << 20 };

/* dnnl_sgemm is row-major, unlike the sgemm of BLAS. */
int ck_gemm(int64_t m, int64_t n, int64_t k, float alpha, struct ck_matrix a,
            struct ck_matrix b, float beta, float *c, int64_t ldc)
{
    CK_RETURN_IF(ck_mem_check_room(ROOM));
    ck_gemm_prepare();
    dnnl_status_t status = dnnl_sgemm(a.transposed ? 'T' : 'N', b.transposed ? 'T' : 'N', m, n,
                                      k, alpha, a.data, a.ld, b.data, b.ld, beta, c, ldc);
    if (status == dnnl_success && k == 0)
        scale(m, n, beta, c, ldc);
    if (status == dnnl_success)
        return COKE_OK;
    return ck_fail(status == dnnl_out_of_memory ? COKE_ENOMEM : COKE_EUSAGE,
                   "matrix product %lld x %lld x %lld with rows of %lld, %lld and %lld floats: "
                   "oneDNN error %d",
                   (long long)m, (long long)k, (long long)n, (long long)a.ld, (long long)b.ld,
                   (long long)ldc, (int)status);
}
