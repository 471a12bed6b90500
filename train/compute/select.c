/* SPDX-License-Identifier: BSD-3-Clause
 * compute/select.c - which instruction set to use, and the scalar faces of inline functions.
 */
#include "config.h"

#include <string.h>

#include "train/compute/kernels.h"
#include "train/compute/kernels_inline.h"

const tw_compute_kernels_t *tw_kernels_for(const char *level)
{
    static const tw_compute_kernels_t scalar = {"scalar"};
#ifdef HAVE_AVX512
    static const tw_compute_kernels_t avx512 = {"avx512"};

    if (strcmp(level, "avx512") == 0) {
        return &avx512;
    }
#endif
#ifdef HAVE_AVX2
    static const tw_compute_kernels_t avx2 = {"avx2"};

    if (strcmp(level, "avx512") == 0 || strcmp(level, "avx2") == 0) {
        return &avx2;
    }
#endif
    (void)level;
    return &scalar;
}

float tw_kernels_exp(float x)
{
    return tw_exp(x);
}

float tw_drop_rate(float rate, float less)
{
    const float left = rate * (1.0f - less);

    return left < 0.9999f ? left : 0.9999f;
}

tw_drop_t tw_drop_make(uint64_t key, float rate)
{
    tw_drop_t drop = {
        .key = key, .threshold = (int32_t)(rate * 0x1p31f), .scale = 1.0f / (1.0f - rate)};

    return drop;
}
