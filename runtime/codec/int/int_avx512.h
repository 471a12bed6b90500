/* SPDX-License-Identifier: BSD-3-Clause
 * codec/int/int_avx512.h - codes of `int` by AVX-512: 16 integers of 32 bits in a register, and
 * their stream of bits.
 *
 * Two neighbours are joined in 64 bits where a code is no whole bytes, and two such pairs in 128
 * bits where a pair is none either. The bytes then stand in runs, and one permutation puts them
 * together; with masks, as many registers as fit go into one. On the way back a permutation gives
 * each integer the four bytes that its code touches, and two shifts cut it out. The number of bits
 * is a constant wherever this is inlined.
 */
#ifndef TW_CODEC_INT_AVX512_H
#define TW_CODEC_INT_AVX512_H

#include "runtime/codec/int/grid.h"
#include "runtime/codec/absmax_avx512.h"

#define TW_EACH_16(of, i, bits)                                                                    \
    of((i), bits), of((i) + 1, bits), of((i) + 2, bits), of((i) + 3, bits), of((i) + 4, bits),     \
        of((i) + 5, bits), of((i) + 6, bits), of((i) + 7, bits), of((i) + 8, bits),                \
        of((i) + 9, bits), of((i) + 10, bits), of((i) + 11, bits), of((i) + 12, bits),             \
        of((i) + 13, bits), of((i) + 14, bits), of((i) + 15, bits)
#define TW_EACH_64(of, bits)                                                                       \
    TW_EACH_16(of, 0, bits), TW_EACH_16(of, 16, bits), TW_EACH_16(of, 32, bits),                   \
        TW_EACH_16(of, 48, bits)

/* Where byte i of the codes of a register stands, again and again; of codes of more than 32 bits,
 * in integers of 64, as many whole bytes each. */
#define TW_INT_WIDE(bits) (((bits) + 7) / 8)
#define TW_INT_TO_CODES(i, bits)                                                                   \
    (char)((bits) > 32 ? (i) / TW_INT_WIDE(bits) * 8 % 64 + (i) % TW_INT_WIDE(bits)                \
                       : (i) % (2 * (bits)) / TW_INT_OWN(bits) * TW_INT_RUN(bits) +                \
                             (i) % (2 * (bits)) % TW_INT_OWN(bits))
/* Where byte i of 16 integers stands among the codes; of the wide ones at the upper end. */
#define TW_INT_OF_CODES(i, bits)                                                                   \
    (char)((bits) > 32 ? ((i) / 8 * TW_INT_WIDE(bits) + (i) % 8 + TW_INT_WIDE(bits) - 8) % 64      \
                       : ((i) / 4 * (bits) / 8 + (i) % 4) % 64)
/* What is above the code of integer i in those four bytes. */
#define TW_INT_ABOVE(i, bits) (32 - (bits) - (i) * (bits) % 8)

typedef struct tw_int_tables512 {
    char to_codes[64], of_codes[64];
    int  above[16];
} tw_int_tables512_t;

#define TW_INT_TABLES512(bits)                                                                     \
    {                                                                                              \
        {TW_EACH_64(TW_INT_TO_CODES, bits)}, {TW_EACH_64(TW_INT_OF_CODES, bits)},                  \
        {                                                                                          \
            TW_EACH_16(TW_INT_ABOVE, 0, bits)                                                      \
        }                                                                                          \
    }

TW_INLINE512 __m512i tw_int_joined512(int bits, __m512i v)
{
    const int64_t mask = (INT64_C(1) << bits) - 1;

    if (bits % 8 == 0) {
        return v;
    }
    v = _mm512_ternarylogic_epi64(_mm512_and_si512(v, _mm512_set1_epi64(mask)),
                                  _mm512_srli_epi64(v, (unsigned)(32 - bits)),
                                  _mm512_set1_epi64(mask << bits), 0xf8); /* a | (b & c) */
    if (bits % 4 == 0) {
        return v;
    }
    return _mm512_or_si512(v, _mm512_slli_epi64(_mm512_bsrli_epi128(v, 8), (unsigned)(2 * bits)));
}

/* The codes of 64 integers, of which m count, to dst. */
TW_INLINE512 void tw_int_pack512(int bits, __m512i places, const __m512i *v, size_t m, uint8_t *dst)
{
    const int    together = bits <= 8 ? 4 : bits <= 16 ? 2 : 1;
    const size_t each = (size_t)(2 * bits), bytes = tw_int_bytes(bits, m);

#pragma GCC unroll 4
    for (int j = 0; j < 4; j += together) {
        const size_t at = each * (size_t)j, all = each * (size_t)together;
        __m512i      out = _mm512_permutexvar_epi8(places, tw_int_joined512(bits, v[j]));

#pragma GCC unroll 4
        for (int k = 1; k < together; k++) {
            out = _mm512_mask_permutexvar_epi8(out, tw_first512(each) << (each * (size_t)k), places,
                                               tw_int_joined512(bits, v[j + k]));
        }
        if (m == TW_GROUP && all == 64) {
            _mm512_storeu_si512(dst + at, out);
        } else if (m == TW_GROUP) {
            _mm512_mask_storeu_epi8(dst + at, tw_first512(all), out);
        } else if (bytes > at) {
            _mm512_mask_storeu_epi8(dst + at, tw_first512(bytes - at < all ? bytes - at : all),
                                    out);
        }
    }
}

/* Integers 16 j .. 16 j + 15 of m from their codes; those behind the end may be anything. */
TW_INLINE512 __m512i tw_int_unpack512(int bits, __m512i places, __m512i above, const uint8_t *src,
                                      size_t m, int j)
{
    const size_t at = (size_t)(2 * bits * j), bytes = tw_int_bytes(bits, m);
    __m512i      v;

    if (m == TW_GROUP && bits == 8) {
        return _mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i *)(const void *)(src + at)));
    }
    if (m == TW_GROUP && bits == 16) {
        return _mm512_cvtepi16_epi32(_mm256_loadu_si256((const __m256i *)(const void *)(src + at)));
    }
    if (m == TW_GROUP && bits == 32) {
        return _mm512_loadu_si512(src + at);
    }
    v = _mm512_maskz_loadu_epi8(m == TW_GROUP ? tw_first512((size_t)(2 * bits))
                                : bytes > at  ? tw_first512(bytes - at)
                                              : 0,
                                src + at);
    v = _mm512_permutexvar_epi8(places, v);
    v = bits % 8 == 0 ? _mm512_slli_epi32(v, (unsigned)(32 - bits)) : _mm512_sllv_epi32(v, above);
    return _mm512_srai_epi32(v, (unsigned)(32 - bits));
}

/* What the loops keep in registers within a block; factor and scale of doubles are these' bits. */
typedef struct tw_int_how512 {
    __m512i to_codes, of_codes, above;
    __m512  factor, scale;
} tw_int_how512_t;

/* One type of elements; groups are of 64 values, of which m count. */
typedef struct tw_int_set512 {
    size_t e; /* bytes of an element */
    /* The header of a block, and what its codes want; false: poison, and all is written. */
    bool (*start)(tw_int_how512_t *how, const tw_codec_t *codec, const uint8_t *src, size_t n,
                  uint8_t *residual, uint8_t *dst, bool feedback);
    void (*encode)(const tw_int_how512_t *how, int bits, const uint8_t *src, size_t m,
                   uint8_t *residual, uint8_t *dst, bool feedback);
    void (*scale)(tw_int_how512_t *how, const uint8_t *header);
    void (*decode)(const tw_int_how512_t *how, int bits, const uint8_t *src, size_t m, uint8_t *dst,
                   bool stream, bool add);
} tw_int_set512_t;

TW_INLINE512 tw_int_how512_t tw_int_start512(const tw_int_tables512_t *tables)
{
    return (tw_int_how512_t){.to_codes = _mm512_loadu_si512(tables->to_codes),
                             .of_codes = _mm512_loadu_si512(tables->of_codes),
                             .above    = _mm512_loadu_si512(tables->above)};
}

/* What follows a group. */
TW_INLINE512 void tw_int_fetch512(const uint8_t *p, size_t e)
{
    tw_prefetch512(p);
    if (e == 8) {
        tw_prefetch512(p + 4 * TW_GROUP);
    }
}

TW_INLINE512 void tw_int_encode_block512(const tw_int_set512_t *set, tw_int_how512_t *how, int bits,
                                         const tw_codec_t *codec, const uint8_t *src, size_t n,
                                         uint8_t *residual, uint8_t *dst, bool feedback)
{
    const size_t e = set->e;

    if (!set->start(how, codec, src, n, residual, dst, feedback)) {
        return;
    }
    dst += e;
    for (; n >= TW_GROUP; n -= TW_GROUP, src += e * TW_GROUP, dst += 8 * bits) {
        tw_int_fetch512(src, e);
        if (feedback) {
            tw_int_fetch512(residual, e);
        }
        set->encode(how, bits, src, TW_GROUP, residual, dst, feedback);
        residual = feedback ? residual + e * TW_GROUP : NULL;
    }
    if (n > 0) {
        set->encode(how, bits, src, n, residual, dst, feedback);
    }
}

/* Of a chunk of a grid. */
TW_INLINE512 void tw_grid_put512(const void *self, void *how, int bits, size_t e, const void *v,
                                 size_t m, uint8_t *dst, const uint8_t *end)
{
    const tw_int_set512_t *set = self;

    (void)end;
    for (size_t g = 0; g < m; g += TW_GROUP) {
        set->encode(how, bits, (const uint8_t *)v + g * e, m - g < TW_GROUP ? m - g : TW_GROUP,
                    NULL, dst + tw_int_bytes(bits, g), false);
    }
}

TW_INLINE512 void tw_grid_take512(const void *self, void *how, int bits, size_t e,
                                  const uint8_t *src, const uint8_t *end, size_t m, void *v)
{
    const tw_int_set512_t *set = self;

    (void)end;
    for (size_t g = 0; g < m; g += TW_GROUP) {
        set->decode(how, bits, src + tw_int_bytes(bits, g), m - g < TW_GROUP ? m - g : TW_GROUP,
                    (uint8_t *)v + g * e, false, false);
    }
}

TW_INLINE512 void tw_int_encode512(const tw_int_set512_t *set, const tw_int_tables512_t *tables,
                                   int bits, const tw_codec_t *codec, const uint8_t *src, size_t n,
                                   uint8_t *residual, uint8_t *dst, bool feedback)
{
    const size_t    block = codec->block;
    tw_int_how512_t how   = tw_int_start512(tables);

    if (tw_int(codec)->grid) {
        uint8_t header[16];

        set->start(&how, codec, tw_int(codec)->most, 1, NULL, header, false);
        tw_grid_encode(codec, bits, set->e, src, n, residual, dst, tw_grid_put512, set, &how);
        return;
    }
    for (; n > block; n -= block, src += set->e * block) {
        tw_int_encode_block512(set, &how, bits, codec, src, block, residual, dst, feedback);
        residual = feedback ? residual + set->e * block : NULL;
        dst += set->e + tw_int_bytes(bits, block);
    }
    tw_int_encode_block512(set, &how, bits, codec, src, n, residual, dst, feedback);
}

/* Groups as long as they are whole, and what is left. */
TW_INLINE512 void tw_int_decode_run512(const tw_int_set512_t *set, const tw_int_how512_t *how,
                                       int bits, const uint8_t *src, size_t n, uint8_t *dst,
                                       bool stream, bool add)
{
    for (; n >= TW_GROUP; n -= TW_GROUP, src += 8 * bits, dst += set->e * TW_GROUP) {
        if (!stream) {
            tw_int_fetch512(dst, set->e);
        }
        set->decode(how, bits, src, TW_GROUP, dst, stream, add);
    }
    if (n > 0) {
        set->decode(how, bits, src, n, dst, false, add);
    }
}

/* Past the cache go values at a multiple of 64, if their codes begin with a byte. */
TW_INLINE512 void tw_int_decode512(const tw_int_set512_t *set, const tw_int_tables512_t *tables,
                                   int bits, const tw_codec_t *codec, const uint8_t *src, size_t n,
                                   uint8_t *dst, bool stream, bool add)
{
    const size_t    block = codec->block, e = set->e;
    tw_int_how512_t how = tw_int_start512(tables);

    if (tw_int(codec)->grid) {
        set->scale(&how, tw_int(codec)->step);
        tw_grid_decode(codec, bits, e, src, n, dst, add, tw_grid_take512, set, &how);
        return;
    }
    while (n > 0) {
        const size_t   m     = n < block ? n : block;
        const size_t   head  = stream ? tw_head512(dst, e, m) : m;
        const uint8_t *codes = src + e;

        if (!tw_block_poison(src, e, m, dst)) {
            set->scale(&how, src);
            if (head < m && head * (size_t)bits % 8 == 0) {
                if (head > 0) {
                    set->decode(&how, bits, codes, head, dst, false, false);
                }
                tw_int_decode_run512(set, &how, bits, codes + head * (size_t)bits / 8, m - head,
                                     dst + e * head, true, false);
            } else {
                tw_int_decode_run512(set, &how, bits, codes, m, dst, false, add);
            }
        }
        n -= m;
        src = codes + tw_int_bytes(bits, m);
        dst += e * m;
    }
    if (stream) {
        _mm_sfence();
    }
}

/* The table `name` of kernels for one number of bits. */
#define TW_INT_LOOPS512(name, set, bits)                                                           \
    static const tw_int_tables512_t name##_tables = TW_INT_TABLES512(bits);                        \
    TW_VERBS(                                                                                      \
        name,                                                                                      \
        tw_int_encode512(&(set), &name##_tables, bits, codec, src, n, residual, dst, feedback),    \
        tw_int_decode512(&(set), &name##_tables, bits, codec, src, n, dst, stream, add))           \
    static const tw_kernels_t name = {TW_VERBS_OF(name)};

extern const tw_kernels_t *const tw_int64_avx512[TW_INT_BITS_F64 + 1];

#endif /* TW_CODEC_INT_AVX512_H */
