/* SPDX-License-Identifier: BSD-3-Clause
 * codec/int/int_scalar.h - the blocks of `int` by plain C, which is their definition, for one type
 * of elements: included by int_f32.c and int_f64.c.
 */
#ifndef TW_CODEC_INT_SCALAR_H
#define TW_CODEC_INT_SCALAR_H

#include "runtime/base/bytes.h"
#include "runtime/codec/chunk.h"
#include "runtime/codec/int/grid.h"

#ifndef INT_DOUBLE
#define INT_DOUBLE 0
#endif

#if INT_DOUBLE
typedef double  int_number_t;
typedef int64_t int_code_t;

#define INT_NAME(name)  tw_int_##name##_f64
#define INT_BITS(x)     tw_double_bits(x)
#define INT_OF_BITS(u)  tw_bits_double(u)
#define INT_STORE(p, u) tw_store_le64(p, u)
#define INT_LOAD(p)     tw_load_le64(p)
#define INT_UNSIGNED    uint64_t
#define INT_FRACTION    52
#define INT_INFINITY    (UINT64_C(0x7ff) << 52)
#define INT_NAN         (UINT64_C(0x7ff8) << 48)
#define INT_ROUND       0x1.8p52
#else
typedef float   int_number_t;
typedef int32_t int_code_t;

#define INT_NAME(name)  tw_int_##name##_f32
#define INT_BITS(x)     tw_float_bits(x)
#define INT_OF_BITS(u)  tw_bits_float(u)
#define INT_STORE(p, u) tw_store_le32(p, u)
#define INT_LOAD(p)     tw_load_le32(p)
#define INT_UNSIGNED    uint32_t
#define INT_FRACTION    23
#define INT_INFINITY    0x7f800000u
#define INT_NAN         0x7fc00000u
#define INT_ROUND       0x1.8p23f
#endif

#define INT_HEADER sizeof(int_number_t)

TW_CHUNK_OF(int_number_t, int_chunk)

/* One maximum per place in the group, so that the loop has no chain through all values. */
INT_UNSIGNED INT_NAME(most)(const uint8_t *src, const uint8_t *residual, size_t n)
{
    int_number_t v[TW_CHUNK];
    int_code_t   most[TW_GROUP] = {0}, result = 0;

    for (size_t i = 0; i < n; i += TW_CHUNK) {
        const size_t m = tw_chunk_count(n, i);

        int_chunk_load(v, src + i * sizeof(*v), residual != NULL ? residual + i * sizeof(*v) : NULL,
                       m);
        for (size_t g = 0; g < m; g += TW_GROUP) {
            for (size_t j = 0; j < TW_GROUP; j++) {
                const int_code_t bits = (int_code_t)(INT_BITS(v[g + j]) << 1 >> 1);

                most[j] = bits > most[j] ? bits : most[j];
            }
        }
    }
    for (size_t j = 0; j < TW_GROUP; j++) {
        result = most[j] > result ? most[j] : result;
    }
    return (INT_UNSIGNED)result;
}

/* The smallest power of two by which the maximum is at most q; so integers of at most q keep their
 * value. Where q times that is beyond the largest number, the one below, and the factor is the
 * ordinary one: the maximum becomes q. */
static void int_power(INT_UNSIGNED most, int bits, int_number_t q, int_number_t *factor,
                      int_number_t *scale)
{
    const INT_UNSIGNED exponent = most >> INT_FRACTION;

    *scale = INT_OF_BITS((exponent - (INT_UNSIGNED)(bits - 2)) << INT_FRACTION);
    if (q * *scale < INT_OF_BITS(most)) {
        if (INT_BITS(q * (*scale * 2)) == INT_INFINITY) {
            return;
        }
        *scale *= 2;
    }
    *factor = 1 / *scale;
}

bool INT_NAME(header)(const tw_codec_t *codec, INT_UNSIGNED most, size_t n, uint8_t *dst,
                      int_number_t *factor, int_number_t *scale)
{
    const int          bits = tw_int(codec)->bits;
    const int_number_t q    = (int_number_t)((INT64_C(1) << (bits - 1)) - 1);

    *factor = *scale = 0;
    if (most >= INT_INFINITY) {
        INT_STORE(dst, INT_NAN);
        memset(dst + INT_HEADER, 0, tw_int_bytes(bits, n));
        return false;
    }
    /* Below, the scale would not be a normal number, or q / maximum not finite. */
    if (most >> INT_FRACTION >= (INT_UNSIGNED)bits) {
        *factor = q / INT_OF_BITS(most);
        *scale  = INT_OF_BITS(most) / q;
        if (tw_int(codec)->power) {
            int_power(most, bits, q, factor, scale);
        } else if (INT_BITS(*scale * q) == INT_INFINITY) {
            *scale = INT_OF_BITS(INT_BITS(*scale) - 1); /* else the maximum would be Inf */
        }
    }
    INT_STORE(dst, INT_BITS(*scale));
    return true;
}

/* |y| is at most q and two roundings. Adding 1.5 * 2^(bits of the fraction) rounds it to an
 * integer, half to even, in the low bits. Whole groups. */
static void int_codes(const int_number_t *restrict v, size_t n, int_number_t factor,
                      int_code_t *restrict codes)
{
    for (size_t g = 0; g < n; g += TW_GROUP) {
        for (size_t i = 0; i < TW_GROUP; i++) {
            const int_number_t rounded = v[g + i] * factor + INT_ROUND;

            codes[g + i] = (int_code_t)(INT_BITS(rounded) - INT_BITS((int_number_t)INT_ROUND));
        }
    }
}

static void int_values(const int_code_t *restrict codes, size_t n, int_number_t scale,
                       int_number_t *restrict v)
{
    for (size_t g = 0; g < n; g += TW_GROUP) {
        for (size_t i = 0; i < TW_GROUP; i++) {
            v[g + i] = (int_number_t)codes[g + i] * scale;
        }
    }
}

/* n codes as a stream of bits. */
static void int_pack(const int_code_t *restrict codes, size_t n, int bits, uint8_t *restrict dst)
{
    const uint64_t mask = (UINT64_C(1) << bits) - 1;
    uint64_t       held = 0;
    int            fill = 0;

    if (bits == 8) {
        for (size_t i = 0; i < n; i++) {
            dst[i] = (uint8_t)codes[i];
        }
        return;
    }
    for (size_t i = 0; i < n; i++) {
        held |= ((uint64_t)codes[i] & mask) << fill;
        for (fill += bits; fill >= 8; fill -= 8, held >>= 8) {
            *dst++ = (uint8_t)held;
        }
    }
    if (fill > 0) {
        *dst = (uint8_t)held;
    }
}

static void int_unpack(const uint8_t *restrict src, size_t n, int bits, int_code_t *restrict codes)
{
    const uint64_t mask = (UINT64_C(1) << bits) - 1;
    const int64_t  sign = INT64_C(1) << (bits - 1);
    uint64_t       held = 0;
    int            fill = 0;

    memset(codes + n, 0, (tw_group_end(n) - n) * sizeof(*codes));
    if (bits == 8) {
        for (size_t i = 0; i < n; i++) {
            codes[i] = (int8_t)src[i];
        }
        return;
    }
    for (size_t i = 0; i < n; i++, held >>= bits, fill -= bits) {
        for (; fill < bits; fill += 8) {
            held |= (uint64_t)*src++ << fill;
        }
        codes[i] = (int_code_t)(((int64_t)(held & mask) ^ sign) - sign);
    }
}

/* Of a chunk of a grid; how: factor, or scale. */
static void int_grid_put(const void *set, void *how, int bits, size_t e, const void *v, size_t m,
                         uint8_t *dst, const uint8_t *end)
{
    int_code_t codes[TW_CHUNK];

    (void)set;
    (void)e;
    (void)end;
    int_codes(v, m, *(const int_number_t *)how, codes);
    int_pack(codes, m, bits, dst);
}

static void int_grid_take(const void *set, void *how, int bits, size_t e, const uint8_t *src,
                          const uint8_t *end, size_t m, void *v)
{
    int_code_t codes[TW_CHUNK];

    (void)set;
    (void)e;
    (void)end;
    int_unpack(src, m, bits, codes);
    int_values(codes, m, *(const int_number_t *)how, v);
}

/* Two passes over src (+ residual), the second from the cache. Chunks are multiples of 8 codes, so
 * each begins with a byte. */
void INT_NAME(encode)(const tw_codec_t *codec, const uint8_t *src, size_t n, uint8_t *residual,
                      uint8_t *dst)
{
    const int    bits = tw_int(codec)->bits;
    int_number_t v[TW_CHUNK], back[TW_CHUNK], factor, scale;
    int_code_t   codes[TW_CHUNK];

    if (tw_int(codec)->grid) {
        uint8_t header[INT_HEADER];

        INT_NAME(header)(codec, INT_LOAD(tw_int(codec)->most), 1, header, &factor, &scale);
        tw_grid_encode(codec, bits, sizeof(*v), src, n, residual, dst, int_grid_put, NULL, &factor);
        return;
    }
    if (!INT_NAME(header)(codec, INT_NAME(most)(src, residual, n), n, dst, &factor, &scale)) {
        return;
    }
    for (size_t i = 0; i < n; i += TW_CHUNK) {
        const size_t m = tw_chunk_count(n, i);

        int_chunk_load(v, src + i * sizeof(*v), tw_beyond(residual, i * sizeof(*v)), m);
        int_codes(v, m, factor, codes);
        int_pack(codes, m, bits, dst + INT_HEADER + tw_int_bytes(bits, i));
        if (residual != NULL) {
            int_values(codes, m, scale, back);
            int_chunk_residual(residual + i * sizeof(*v), v, back, m);
        }
    }
}

void INT_NAME(decode)(const tw_codec_t *codec, const uint8_t *src, size_t n, uint8_t *dst, bool add)
{
    const int    bits  = tw_int(codec)->bits;
    int_number_t scale = INT_OF_BITS(INT_LOAD(tw_int(codec)->grid ? tw_int(codec)->step : src));
    int_number_t v[TW_CHUNK];
    int_code_t   codes[TW_CHUNK];

    if (tw_int(codec)->grid) {
        tw_grid_decode(codec, bits, sizeof(*v), src, n, dst, add, int_grid_take, NULL, &scale);
        return;
    }
    if (tw_block_poison(src, INT_HEADER, n, dst)) {
        return;
    }
    for (size_t i = 0; i < n; i += TW_CHUNK) {
        const size_t m = tw_chunk_count(n, i);

        int_unpack(src + INT_HEADER + tw_int_bytes(bits, i), m, bits, codes);
        int_values(codes, m, scale, v);
        if (add) {
            codec->type->combine[TW_COMBINE_ADD](dst + i * sizeof(*v), v, m, dst + i * sizeof(*v));
        } else {
            memcpy(dst + i * sizeof(*v), v, m * sizeof(*v));
        }
    }
}

#endif /* TW_CODEC_INT_SCALAR_H */
