/* SPDX-License-Identifier: BSD-3-Clause
 * codec/cuda/work.c - see work.h.
 */
#include "config.h"

#include "runtime/base/bytes.h"
#include "runtime/codec/cuda/work.h"
#include "runtime/codec/levels.h"

_Static_assert(TW_CUDA_LEVELS == TW_LEVELS_MAX && TW_CUDA_BIN == TW_LEVELS_BIN &&
                   TW_CUDA_BINS == TW_LEVELS_BINS,
               "bins as in levels.h");

static void tw_cuda_levels_copy(tw_cuda_levels_t *to, const tw_levels_t *from)
{
    for (int c = 0; c < 256; c++) {
        to->value[c] = tw_float_bits(from->value[c]);
    }
    for (int j = 0; j < TW_CUDA_LEVELS; j++) {
        to->threshold[j] = j < from->count ? from->threshold[j] : 0xffffffffu;
        to->code[j]      = j < from->count ? from->code[j] : 0;
    }
    to->low  = from->low;
    to->high = from->high;
}

tw_cuda_launch_t tw_cuda_work_describe(tw_cuda_work_t *work, const tw_codec_t *codec,
                                       tw_cuda_verb_t verb, const uint8_t *src, size_t n,
                                       uint8_t *dst, uint8_t *residual, int processors)
{
    *work = (tw_cuda_work_t){
        .src = src, .dst = dst, .residual = residual, .n = n, .block = codec->block};
    if (codec->lossless && (verb == TW_CUDA_ENCODE || verb == TW_CUDA_DECODE)) {
        return (tw_cuda_launch_t){0};
    }
    if (codec->table != NULL) {
        tw_cuda_levels_copy(&work->levels, codec->table);
    }
    switch (codec->cuda) {
    case TW_CUDA_BLOCKS_TREE8:
        return tw_cuda_scaled8_launch(work, TW_CUDA_TREE8, verb, processors);
    case TW_CUDA_BLOCKS_INT8:
        return tw_cuda_scaled8_launch(work, TW_CUDA_INT8, verb, processors);
    case TW_CUDA_BLOCKS_ONEBIT:
        return tw_cuda_onebit_launch(work, verb, processors);
    default:
        if (codec->cuda >= TW_CUDA_DOUBLE_CUT1) {
            work->round = codec->cuda >= TW_CUDA_DOUBLE_ROUND1;
            work->k     = 1 + (int)codec->cuda -
                      (int)(work->round ? TW_CUDA_DOUBLE_ROUND1 : TW_CUDA_DOUBLE_CUT1);
            return tw_cuda_double_launch(work, verb, processors);
        }
        return tw_cuda_values_launch(work, codec->cuda, verb, processors);
    }
}
