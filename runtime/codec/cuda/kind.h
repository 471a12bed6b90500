/* SPDX-License-Identifier: BSD-3-Clause
 * codec/cuda/kind.h - which kernels make the codes of a codec in device memory. Compiles as C and
 * as CUDA.
 */
#ifndef TW_CODEC_CUDA_KIND_H
#define TW_CODEC_CUDA_KIND_H

typedef enum tw_cuda_kind {
    TW_CUDA_NONE, /* none: buffers in device memory are TW_ERR_UNSUPPORTED */
    /* One value, one code (values.cu); the kernels are made once for each. bf16 is
     * TW_CUDA_ROUND2. */
    TW_CUDA_CUT1, /* bitpack: the 1 .. 4 most significant bytes */
    TW_CUDA_CUT2,
    TW_CUDA_CUT3,
    TW_CUDA_CUT4, /* fp32, too */
    TW_CUDA_ROUND1,
    TW_CUDA_ROUND2,
    TW_CUDA_ROUND3,
    TW_CUDA_FP16,
    TW_CUDA_FIXED8,      /* by the table of levels          */
    TW_CUDA_DOUBLE_CUT1, /* bitpack of doubles (doubles.cu) */
    TW_CUDA_DOUBLE_CUT8 = TW_CUDA_DOUBLE_CUT1 + 7,
    TW_CUDA_DOUBLE_ROUND1,
    TW_CUDA_DOUBLE_ROUND7 = TW_CUDA_DOUBLE_ROUND1 + 6,
    TW_CUDA_BLOCKS_TREE8, /* bytes scaled by their block's maximum (scaled8.cu) */
    TW_CUDA_BLOCKS_INT8,
    TW_CUDA_BLOCKS_ONEBIT /* onebit.cu */
} tw_cuda_kind_t;

#endif /* TW_CODEC_CUDA_KIND_H */
