/* SPDX-License-Identifier: BSD-3-Clause
 * codec/kernels.h - the loops of a codec for one instruction set, and the lists of them.
 *
 * A codec's scalar kernels are its definition; those of every other instruction set give the same
 * bytes and the same decoded bits (tests/codec/test_twins.c). They stand in
 * <codec>/<codec>_<isa>.c, compiled with that set's flags, and are named in kernels_<isa>.c; a
 * codec that a list does not name, or that its kernels do not fit, gets those of the next lower
 * set.
 *
 * Kernels get checked arguments: n above 0, buffers of any alignment that do not overlap,
 * floating-point mode round to nearest with denormals kept. They get a piece of a vector that
 * begins at a multiple of the block; they read and write nothing beyond it.
 */
#ifndef TW_CODEC_KERNELS_H
#define TW_CODEC_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <thinwire/codec.h>

#include "runtime/codec/cpu.h"

typedef struct tw_kernels {
    /* Both NULL where they are not needed. fits: can these do what the codec's options ask for?
     * prepare: fills codec->vectors, by malloc(), with the tables that the loops want; false
     * without memory. */
    bool (*fits)(const tw_codec_t *codec);
    bool (*prepare)(tw_codec_t *codec);

    /* stream: what is written will not be read again from the cache, so stores may go past it;
     * whoever uses such stores makes them visible to other threads before returning. */
    void (*encode)(const tw_codec_t *codec, const uint8_t *src, size_t n, uint8_t *dst,
                   bool stream);
    void (*decode)(const tw_codec_t *codec, const uint8_t *src, size_t n, uint8_t *dst,
                   bool stream);
    /* acc[i] = fl(acc[i] + decoded[i]). */
    void (*decode_add)(const tw_codec_t *codec, const uint8_t *src, size_t n, uint8_t *acc);
    /* dst = encode(v), v = fl(src + residual); residual = fl(v - decode(dst)), left as it was where
     * v or its reconstruction is not finite: in the whole block for codecs that have blocks, else
     * in that value. */
    void (*encode_feedback)(const tw_codec_t *codec, const uint8_t *src, size_t n,
                            uint8_t *residual, uint8_t *dst);
} tw_kernels_t;

/* Ids of codecs, compared between ranks; never reused. */
enum {
    TW_ID_FP32 = 1,
    TW_ID_BITPACK,
    TW_ID_BF16,
    TW_ID_FP16,
    TW_ID_TREE8,
    TW_ID_INT8,
    TW_ID_STATIC8,
    TW_ID_MANTISSA8,
    TW_ID_ONEBIT,
    TW_ID_END,
    TW_ID_AUTO = 255 /* no codec, and in no list */
};

/* What there is for one instruction set. */
typedef struct tw_isa {
    const tw_kernels_t *kernels[TW_ID_END]; /* by codec id; NULL: none. Scalar has all */
    /* Bits of the largest |x| of n float32, n above 0: ordered as integers, so that Inf and NaN
     * come out on top; the sign bit is clear. */
    uint32_t (*absmax)(const uint8_t *src, size_t n);
} tw_isa_t;

extern const tw_isa_t tw_isa_scalar;

/* The instruction set's list, or NULL if it was not built. */
const tw_isa_t *tw_isa(tw_cpu_level_id_t level);

/* The best kernels that codec->cpu allows: sets codec->kernels, codec->isa and codec->vectors. */
tw_status_t tw_kernels_choose(tw_codec_t *codec);

/* The best absmax up to a level. */
uint32_t tw_absmax(tw_cpu_level_id_t level, const void *src, size_t n);

#endif /* TW_CODEC_KERNELS_H */
