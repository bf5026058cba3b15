/* pixels.c - selects the version of the pixel arithmetic. */
#include "kernels/pixels.h"
#include "kernels/kernels.h"

#include <stddef.h>

static const struct ck_pixels *version_for(const struct ck_kernels *k)
{
    k = ck_kernels_f32(k);
#if defined(__x86_64__)
    if (k == &ck_kernels_avx512)
        return &ck_pixels_avx512;
    if (k == &ck_kernels_avx2)
        return &ck_pixels_avx2;
#endif
    return k ? &ck_pixels_ref : NULL;
}

const struct ck_pixels *ck_pixels(void)
{
    return version_for(ck_kernels());
}

const struct ck_pixels *ck_pixels_named(const char *name)
{
    return version_for(ck_kernels_named(name));
}
