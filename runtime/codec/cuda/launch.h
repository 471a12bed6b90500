/* SPDX-License-Identifier: BSD-3-Clause
 * codec/cuda/launch.h - between cuda.c, which checks a call and describes it in numbers, and
 * the kernels, which know nothing of codecs and specs. Compiles as C and as CUDA.
 */
#ifndef TW_CODEC_CUDA_LAUNCH_H
#define TW_CODEC_CUDA_LAUNCH_H

#include <stddef.h>
#include <stdint.h>

#include "runtime/codec/cuda/value.h"

typedef enum tw_cuda_verb {
    TW_CUDA_ENCODE,
    TW_CUDA_DECODE,
    TW_CUDA_DECODE_ADD,
    TW_CUDA_ENCODE_FEEDBACK,
    TW_CUDA_VERBS
} tw_cuda_verb_t;

/* Values that a thread takes with one vector load; that a warp takes with one; and the lanes of
 * onebit, which divide every block. */
#define TW_CUDA_GROUP   4
#define TW_CUDA_WARP    32
#define TW_CUDA_ROW     (TW_CUDA_GROUP * TW_CUDA_WARP)
#define TW_CUDA_THREADS 256 /* of every kernel's thread block but onebit's encoders */
#define TW_CUDA_WARPS   (TW_CUDA_THREADS / TW_CUDA_WARP)
#define TW_CUDA_TILE    16 /* values that a thread of a team keeps in registers */

/* The one parameter of every kernel. It goes to the device with the launch, tables included: so any
 * number of codecs and devices are served without memory of their own, and a codec may be destroyed
 * as soon as its last call has returned. */
typedef struct tw_cuda_work {
    const uint8_t *src;      /* elements, or codes when decoding */
    uint8_t       *dst;      /* codes, or elements when decoding */
    uint8_t       *residual; /* TW_CUDA_ENCODE_FEEDBACK          */
    size_t         n;        /* values                           */
    size_t         rows; /* codecs without blocks: the first rows * TW_CUDA_ROW values by vectors */
    size_t         block; /* values per block                                                     */
    size_t blocks;        /* the last one may be short                                            */
    size_t units;         /* what the decoders of blocks share out: so many per block             */
    size_t units_per_block;
    int    vector;           /* codecs with blocks: vector loads are allowed   */
    int    k, round;         /* bitpack of double                              */
    int    divisor;          /* of a division                                  */
    tw_cuda_levels_t levels; /* tree8, static8, mantissa8                      */
} tw_cuda_work_t;

typedef void (*tw_cuda_kernel_t)(tw_cuda_work_t work);

/* A kernel, how many thread blocks to start, of how many threads. */
typedef struct tw_cuda_launch {
    tw_cuda_kernel_t kernel;
    size_t           blocks;
    unsigned         threads;
} tw_cuda_launch_t;

#ifdef __cplusplus
extern "C" {
#endif

/* Each sets the fields of work that describe the division of labour, from the others, and chooses
 * the kernel; processors: of the device. */
tw_cuda_launch_t tw_cuda_values_launch(tw_cuda_work_t *work, tw_cuda_kind_t kind,
                                       tw_cuda_verb_t verb, int processors);
tw_cuda_launch_t tw_cuda_double_launch(tw_cuda_work_t *work, tw_cuda_verb_t verb, int processors);
tw_cuda_launch_t tw_cuda_scaled8_launch(tw_cuda_work_t *work, tw_cuda_scaled_t type,
                                        tw_cuda_verb_t verb, int processors);
tw_cuda_launch_t tw_cuda_onebit_launch(tw_cuda_work_t *work, tw_cuda_verb_t verb, int processors);
/* src: float32; dst: uint32 per block, zero before. */
tw_cuda_launch_t tw_cuda_absmax_launch(tw_cuda_work_t *work, int processors);
/* The two steps, 0 and 1, of a norm; 0 and 2 of its square; see cuda.h. src: float32; dst: the
 * double that becomes it; residual: TW_CUDA_NORM_WORK doubles. */
tw_cuda_launch_t tw_cuda_norm_launch(tw_cuda_work_t *work, int step);
/* dst: n elements of 4 or 8 bytes, divided in place by work->divisor. */
tw_cuda_launch_t tw_cuda_divide_launch(tw_cuda_work_t *work, size_t element);
/* dst: n doubles, which become 0 unless the first is above 0. */
tw_cuda_launch_t tw_cuda_moments_empty_launch(void);

#ifdef __cplusplus
}
#endif

#endif /* TW_CODEC_CUDA_LAUNCH_H */
