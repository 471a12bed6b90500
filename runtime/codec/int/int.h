/* SPDX-License-Identifier: BSD-3-Clause
 * codec/int/int.h - what the kernels of `int` share: the options, and header and size of a block.
 *
 * With a the absolute maximum of a block and q = 2^(B-1) - 1: scale = fl(a / q), y = fl(x fl(q /
 * a)), and the code is y rounded to the nearest integer, half to even: B bits of two's complement,
 * one after another from the lowest bit of the first byte on. All blocks but the last are multiples
 * of 64 values, so each 8 of their codes are B whole bytes.
 *
 * With step=2^K, a grid, the scale is that of all blocks, and no block has a header; a value that
 * is not within q steps has the code -2^(B-1), which decodes to NaN. grid.h has what that takes.
 */
#ifndef TW_CODEC_INT_H
#define TW_CODEC_INT_H

#include "runtime/base/bytes.h"
#include "runtime/base/int_bits.h"
#include "runtime/codec/blocks.h"

/* Of a codec: its options; of a grid also what its loops want. */
typedef struct tw_int {
    int     bits;  /* B */
    bool    power; /* scales are powers of two, as that of a grid is */
    bool    grid;
    int     exponent;         /* K */
    double  fits, lost;       /* |v| below `fits` has a code; the value of -2^(B-1) */
    uint8_t step[8], most[8]; /* the elements 2^K, which is the scale, and q 2^K */
} tw_int_t;

/* K of a grid, for these elements: q steps, and factors, are normal numbers then. */
#define TW_GRID_LEAST(dtype) ((dtype) == TW_F64 ? -960 : -120)
#define TW_GRID_MOST(dtype)  ((dtype) == TW_F64 ? 960 : 100)

static inline const tw_int_t *tw_int(const tw_codec_t *codec)
{
    return codec->state;
}

/* Bytes of n codes. */
static inline size_t tw_int_bytes(int bits, size_t n)
{
    return n / 8 * (size_t)bits + (n % 8 * (size_t)bits + 7) / 8;
}

/* Where codes of up to 32 bits, in integers of 32, are joined to whole bytes: bytes from the start
 * of such a run to that of the next, and how many of them are its own. */
#define TW_INT_RUN(bits) ((bits) % 8 == 0 ? 4 : (bits) % 4 == 0 ? 8 : 16)
#define TW_INT_OWN(bits) (TW_INT_RUN(bits) * (bits) / 32)

/* The bits of the largest |v|, v = src, or src + residual where there is one: as integers they
 * order like the magnitudes, Inf and NaN on top. */
uint32_t tw_int_most_f32(const uint8_t *src, const uint8_t *residual, size_t n);
uint64_t tw_int_most_f64(const uint8_t *src, const uint8_t *residual, size_t n);

/* The scale, at dst, of a block of n values with this absolute maximum, and factor and scale for
 * its codes. False for poison: then the codes are written too, nothing is left to do. */
bool tw_int_header_f32(const tw_codec_t *codec, uint32_t most, size_t n, uint8_t *dst,
                       float *factor, float *scale);
bool tw_int_header_f64(const tw_codec_t *codec, uint64_t most, size_t n, uint8_t *dst,
                       double *factor, double *scale);

/* One block, as in blocks.h, by plain C. */
void tw_int_encode_f32(const tw_codec_t *codec, const uint8_t *src, size_t n, uint8_t *residual,
                       uint8_t *dst);
void tw_int_encode_f64(const tw_codec_t *codec, const uint8_t *src, size_t n, uint8_t *residual,
                       uint8_t *dst);
void tw_int_decode_f32(const tw_codec_t *codec, const uint8_t *src, size_t n, uint8_t *dst,
                       bool add);
void tw_int_decode_f64(const tw_codec_t *codec, const uint8_t *src, size_t n, uint8_t *dst,
                       bool add);

/* The kernels `name` from those for each number of bits, of float32 and of double. */
#define TW_INT_KERNELS(name, of_f32, of_f64)                                                       \
    TW_KERNELS_CHOSEN(name, (codec->dtype == TW_F64 ? (of_f64) : (of_f32))[tw_int(codec)->bits])

#endif /* TW_CODEC_INT_H */
