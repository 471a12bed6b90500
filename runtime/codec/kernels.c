/* SPDX-License-Identifier: BSD-3-Clause
 * codec/kernels.c - see kernels.h.
 */
#include "config.h"

#include <stdlib.h>

#include "runtime/base/fpmode.h"
#include "runtime/codec/int/int.h"
#include "runtime/codec/kernels.h"
#include "runtime/codec/ops.h"
#include "runtime/codec/square_sum.h"

tw_status_t tw_kernels_choose(tw_codec_t *codec)
{
    for (tw_cpu_level_id_t level = codec->cpu;; level = tw_cpu_below(level)) {
        const tw_kernels_t *kernels = codec->ops->kernels[level];

        if (kernels != NULL && kernels->choose != NULL) {
            kernels = kernels->choose(codec);
        }
        if (kernels != NULL) {
            if (kernels->prepare != NULL && !kernels->prepare(codec)) {
                return TW_ERR_NO_MEMORY;
            }
            codec->isa     = level;
            codec->kernels = kernels;
            return TW_OK;
        }
    }
}

uint32_t tw_absmax(tw_cpu_level_id_t level, const void *src, size_t n)
{
    switch (level) {
#ifdef HAVE_AVX512
    case TW_CPU_AVX512:
        return tw_absmax_avx512(src, n);
#endif
#ifdef HAVE_AVX2
    case TW_CPU_AVX2:
        return tw_absmax_avx2(src, n);
#endif
#if defined(HAVE_NEON) || defined(HAVE_VSX)
    case TW_CPU_NEON:
    case TW_CPU_VSX:
        return tw_absmax_vec4(src, n);
#endif
    case TW_CPU_SCALAR:
        return tw_int_most_f32(src, NULL, n);
    default:
        return tw_absmax(tw_cpu_below(level), src, n);
    }
}

TW_IN_FPMODE double tw_square_sum(tw_cpu_level_id_t level, const void *src, size_t n)
{
    switch (level) {
#ifdef HAVE_AVX512
    case TW_CPU_AVX512:
        return tw_square_sum_avx512(src, n);
#endif
#ifdef HAVE_AVX2
    case TW_CPU_AVX2:
        return tw_square_sum_avx2(src, n);
#endif
#if defined(HAVE_NEON) || defined(HAVE_VSX)
    case TW_CPU_NEON:
    case TW_CPU_VSX:
        return tw_square_sum_vec4(src, n);
#endif
    case TW_CPU_SCALAR:
        return tw_square_sum_scalar(src, n);
    default:
        return tw_square_sum(tw_cpu_below(level), src, n);
    }
}
