/* SPDX-License-Identifier: BSD-3-Clause
 * codec/kernels.c - see kernels.h.
 */
#include "config.h"

#include <stdlib.h>

#include "runtime/codec/kernels.h"
#include "runtime/codec/ops.h"

extern const tw_isa_t tw_isa_avx2, tw_isa_avx512, tw_isa_neon, tw_isa_vsx;

const tw_isa_t *tw_isa(tw_cpu_level_id_t level)
{
    switch (level) {
    case TW_CPU_SCALAR:
        return &tw_isa_scalar;
#ifdef HAVE_AVX2
    case TW_CPU_AVX2:
        return &tw_isa_avx2;
#endif
#ifdef HAVE_AVX512
    case TW_CPU_AVX512:
        return &tw_isa_avx512;
#endif
#ifdef HAVE_NEON
    case TW_CPU_NEON:
        return &tw_isa_neon;
#endif
#ifdef HAVE_VSX
    case TW_CPU_VSX:
        return &tw_isa_vsx;
#endif
    default:
        return NULL;
    }
}

tw_status_t tw_kernels_choose(tw_codec_t *codec)
{
    for (tw_cpu_level_id_t level = codec->cpu;; level = tw_cpu_below(level)) {
        const tw_isa_t     *isa     = tw_isa(level);
        const tw_kernels_t *kernels = isa != NULL ? isa->kernels[codec->ops->id] : NULL;

        if (kernels != NULL && (kernels->fits == NULL || kernels->fits(codec))) {
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
    for (;; level = tw_cpu_below(level)) {
        const tw_isa_t *isa = tw_isa(level);

        if (isa != NULL && isa->absmax != NULL) {
            return isa->absmax(src, n);
        }
    }
}
