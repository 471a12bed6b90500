/* SPDX-License-Identifier: BSD-3-Clause
 * codec/bitpack/bitpack.h - the loops of bitpack for one instruction set, by K - 1.
 *
 * pack: n elements at src give n * K bytes at dst, truncated; unpack: the other way, low bytes
 * zero. Any alignment; no byte beyond the n elements is read or written. Rounding is scalar.
 */
#ifndef TW_CODEC_BITPACK_H
#define TW_CODEC_BITPACK_H

#include "runtime/codec/values.h"

/* Of a codec: its options. */
typedef struct tw_bitpack {
    int  k;     /* bytes kept */
    bool round; /* to nearest */
} tw_bitpack_t;

static inline const tw_bitpack_t *tw_bitpack(const tw_codec_t *codec)
{
    return codec->state;
}

typedef void (*tw_bitpack_fn_t)(const uint8_t *src, size_t n, uint8_t *dst);

typedef struct tw_bitpack_loops {
    tw_bitpack_fn_t pack32[4], unpack32[4];
    tw_bitpack_fn_t pack64[8], unpack64[8];
} tw_bitpack_loops_t;

extern const tw_bitpack_loops_t tw_bitpack_scalar_loops;

void tw_bitpack_encode(const tw_codec_t *codec, const tw_bitpack_loops_t *loops, const uint8_t *src,
                       size_t n, uint8_t *dst);
void tw_bitpack_decode(const tw_codec_t *codec, const tw_bitpack_loops_t *loops, const uint8_t *src,
                       size_t n, uint8_t *dst);

/* The kernels `name`, which encode and decode by these loops where fits() says so. */
#define TW_BITPACK_KERNELS(name, loops, fits_or_null)                                              \
    static void name##_encode(const tw_codec_t *codec, const uint8_t *src, size_t n, uint8_t *dst, \
                              bool stream)                                                         \
    {                                                                                              \
        (void)stream;                                                                              \
        tw_bitpack_encode(codec, loops, src, n, dst);                                              \
    }                                                                                              \
    static void name##_decode(const tw_codec_t *codec, const uint8_t *src, size_t n, uint8_t *dst, \
                              bool stream)                                                         \
    {                                                                                              \
        (void)stream;                                                                              \
        tw_bitpack_decode(codec, loops, src, n, dst);                                              \
    }                                                                                              \
    extern const tw_kernels_t name;                                                                \
    const tw_kernels_t        name = {.fits            = fits_or_null,                             \
                                      .encode          = name##_encode,                            \
                                      .decode          = name##_decode,                            \
                                      .decode_add      = tw_values_decode_add,                     \
                                      .encode_feedback = tw_values_encode_feedback}

#endif /* TW_CODEC_BITPACK_H */
