/* SPDX-License-Identifier: BSD-3-Clause
 * codec/kernels.h - the loops of a codec for one instruction set.
 *
 * A codec's scalar kernels are its definition; those of every other instruction set give the same
 * bytes and the same decoded bits (tests/codec/test_twins.c). They stand in
 * <codec>/<codec>_<isa>.c, compiled with that set's flags, and are named in the codec's table; a
 * codec without kernels for a set, or that these do not fit, gets those of the next lower set.
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
    /* Both NULL where they are not needed. choose: the kernels that these are with the codec's
     * options, NULL for none; they have nothing else then. prepare: fills codec->vectors, by
     * malloc(), with the tables that the loops want; false without memory. */
    const struct tw_kernels *(*choose)(const tw_codec_t *codec);
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

/* What lies `bytes` behind a residual, if there is one. */
static inline __attribute__((always_inline)) uint8_t *tw_beyond(uint8_t *residual, size_t bytes)
{
    return residual != NULL ? residual + bytes : NULL;
}

/* The verbs name_encode() and so on from two statements, which see the verbs' parameters and are
 * made for each of them:
 *     to    dst = encode(src), or encode(src + residual) with feedback, without which it is NULL
 *     back  dst = decode(src), or dst += decode(src) with add
 * stream is true for encode and decode only. */
#define TW_VERBS(name, to, back)                                                                   \
    static void name##_encode(const tw_codec_t *codec, const uint8_t *src, size_t n, uint8_t *dst, \
                              bool stream)                                                         \
    {                                                                                              \
        uint8_t *const residual = NULL;                                                            \
        const bool     feedback = false;                                                           \
        (void)codec, (void)residual, (void)feedback, (void)stream;                                 \
        to;                                                                                        \
    }                                                                                              \
    static void name##_encode_feedback(const tw_codec_t *codec, const uint8_t *src, size_t n,      \
                                       uint8_t *residual, uint8_t *dst)                            \
    {                                                                                              \
        const bool feedback = true, stream = false;                                                \
        (void)codec, (void)feedback, (void)stream;                                                 \
        to;                                                                                        \
    }                                                                                              \
    static void name##_decode(const tw_codec_t *codec, const uint8_t *src, size_t n, uint8_t *dst, \
                              bool stream)                                                         \
    {                                                                                              \
        const bool add = false;                                                                    \
        (void)codec, (void)add, (void)stream;                                                      \
        back;                                                                                      \
    }                                                                                              \
    static void name##_decode_add(const tw_codec_t *codec, const uint8_t *src, size_t n,           \
                                  uint8_t *dst)                                                    \
    {                                                                                              \
        const bool add = true, stream = false;                                                     \
        (void)codec, (void)add, (void)stream;                                                      \
        back;                                                                                      \
    }
/* Their table. */
#define TW_VERBS_OF(name)                                                                          \
    .encode = name##_encode, .decode = name##_decode, .decode_add = name##_decode_add,             \
    .encode_feedback = name##_encode_feedback

/* Both, where other files see the table. */
#define TW_VERBS_EXTERN(name, to, back)                                                            \
    TW_VERBS(name, to, back)                                                                       \
    extern const tw_kernels_t name;                                                                \
    const tw_kernels_t        name = {TW_VERBS_OF(name)}

/* The kernels `name`, which are what `choice` says, an expression that sees the codec. */
#define TW_KERNELS_CHOSEN(name, choice)                                                            \
    static const tw_kernels_t *name##_choose(const tw_codec_t *codec)                              \
    {                                                                                              \
        return choice;                                                                             \
    }                                                                                              \
    extern const tw_kernels_t name;                                                                \
    const tw_kernels_t        name = {.choose = name##_choose}

/* For the table of a codec that has kernels for all instruction sets, those that this build has:
 * NAME_scalar, NAME_avx2, NAME_avx512, NAME_vec4 (NEON and VSX). */
#define TW_KERNELS_OF(name)                                                                        \
    extern const tw_kernels_t name##_scalar, name##_avx2, name##_avx512, name##_vec4
#define TW_KERNELS(name)                                                                           \
    {                                                                                              \
        [TW_CPU_SCALAR] = &name##_scalar,                                                          \
        TW_KERNELS_AVX2(name) TW_KERNELS_AVX512(name) TW_KERNELS_NEON(name) TW_KERNELS_VSX(name)   \
    }
#ifdef HAVE_AVX2
#define TW_KERNELS_AVX2(name) [TW_CPU_AVX2] = &name##_avx2,
#else
#define TW_KERNELS_AVX2(name)
#endif
#ifdef HAVE_AVX512
#define TW_KERNELS_AVX512(name) [TW_CPU_AVX512] = &name##_avx512,
#else
#define TW_KERNELS_AVX512(name)
#endif
#ifdef HAVE_NEON
#define TW_KERNELS_NEON(name) [TW_CPU_NEON] = &name##_vec4,
#else
#define TW_KERNELS_NEON(name)
#endif
#ifdef HAVE_VSX
#define TW_KERNELS_VSX(name) [TW_CPU_VSX] = &name##_vec4,
#else
#define TW_KERNELS_VSX(name)
#endif

/* The best kernels that codec->cpu allows: sets codec->kernels, codec->isa and codec->vectors. */
tw_status_t tw_kernels_choose(tw_codec_t *codec);

/* Bits of the largest |x| of n float32, n above 0: ordered as integers, so that Inf and NaN come
 * out on top; the sign bit is clear. By the best instructions up to a level. */
uint32_t tw_absmax(tw_cpu_level_id_t level, const void *src, size_t n);
uint32_t tw_absmax_avx2(const uint8_t *src, size_t n);
uint32_t tw_absmax_avx512(const uint8_t *src, size_t n);
uint32_t tw_absmax_vec4(const uint8_t *src, size_t n);

/* Sum of the squares of n float32, 0 for none, in double, added in the order of square_sum.h: the
 * same bits by every instruction set. Inf or NaN if one is among the values (NaN before Inf). By
 * the best instructions up to a level. tw_cuda_norm() adds in another order. */
double tw_square_sum(tw_cpu_level_id_t level, const void *src, size_t n);
double tw_square_sum_avx2(const uint8_t *src, size_t n);
double tw_square_sum_avx512(const uint8_t *src, size_t n);
double tw_square_sum_vec4(const uint8_t *src, size_t n);

#endif /* TW_CODEC_KERNELS_H */
