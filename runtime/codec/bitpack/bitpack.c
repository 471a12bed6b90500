/* SPDX-License-Identifier: BSD-3-Clause
 * codec/bitpack/bitpack.c - the K most significant bytes of each value.
 *
 * Layout: docs/wire-format.md, "bitpack": K bytes per value, the least significant kept one first.
 * Error:  truncating: towards zero, less than one unit of the last kept bit. It is the bit mask and
 *         nothing else, so Inf and NaN do not survive everywhere:
 *             Inf            K = 1: 2^127 (double: 2^1009), finite; else Inf
 *             NaN            K = 1: as Inf; else Inf if the kept mantissa bits are 0, else NaN
 *             float32, K = 1: 7 of 8 exponent bits remain: 1.0 becomes 0.5
 *         round: to nearest on the bit pattern, half to even; NaN stays NaN (made quiet), Inf stays
 *         Inf, what rounds beyond the largest number becomes Inf. With K = 1 the byte has no room
 *         for the whole exponent: 0x7f means NaN, 0x7e Inf, 0x7d is the largest number.
 * Twins:  bitpack_avx2.c, bitpack_avx512.c for truncating; equal bytes (tests/codec/test_twins.c).
 * Source: S0 ("Reducing Data Motion to Accelerate the Training of Deep Neural Networks"), Bitpack;
 *         differs in: little-endian wherever it runs, rounding as an option.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>

#include "runtime/base/bytes.h"
#include "runtime/codec/bitpack/bitpack.h"
#include "runtime/base/rounding.h"
#include "runtime/codec/values.h"

#define TOP_NAN 0x7fu /* magnitudes of the only byte when K = 1 and round */
#define TOP_INF 0x7eu

#define INLINE static inline __attribute__((always_inline))
#define LITTLE (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__)

/* The loops below are inlined with constant k and width (bytes kept, bytes of an element), so that
 * each pair of them becomes a loop of its own. */

INLINE uint64_t load_element(const uint8_t *src, int width)
{
    uint32_t w;
    uint64_t u;

    if (width == 8) {
        memcpy(&u, src, 8);
        return u;
    }
    memcpy(&w, src, 4);
    return w;
}

INLINE void store_element(uint8_t *dst, uint64_t u, int width)
{
    const uint32_t w = (uint32_t)u;

    if (width == 8) {
        memcpy(dst, &u, 8);
    } else {
        memcpy(dst, &w, 4);
    }
}

/* The low k bytes of v, little-endian. */
INLINE void store_code(uint8_t *dst, uint64_t v, int k)
{
    if (k == 8) {
        tw_store_le64(dst, v);
        return;
    }
    if (k >= 4) {
        tw_store_le32(dst, (uint32_t)v);
    }
    for (int b = k >= 4 ? 4 : 0; b < k; b++) {
        dst[b] = (uint8_t)(v >> 8 * b);
    }
}

INLINE uint64_t load_code(const uint8_t *src, int k)
{
    uint64_t v = k >= 4 ? tw_load_le32(src) : 0;

    if (k == 8) {
        return tw_load_le64(src);
    }
    for (int b = k >= 4 ? 4 : 0; b < k; b++) {
        v |= (uint64_t)src[b] << 8 * b;
    }
    return v;
}

INLINE void pack(const uint8_t *src, size_t n, uint8_t *dst, int k, int width)
{
    if (k == width && LITTLE) {
        memcpy(dst, src, (size_t)k * n);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        const uint64_t u = load_element(src + (size_t)width * i, width);

        store_code(dst + (size_t)k * i, u >> 8 * (width - k), k);
    }
}

INLINE void unpack(const uint8_t *src, size_t n, uint8_t *dst, int k, int width)
{
    if (k == width && LITTLE) {
        memcpy(dst, src, (size_t)k * n);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        const uint64_t u = load_code(src + (size_t)k * i, k) << 8 * (width - k);

        store_element(dst + (size_t)width * i, u, width);
    }
}

/* K = 1: NaN, Inf and what rounds beyond 0x7d get codes of their own. The magnitude is rounded
 * apart from the sign, for it may carry beyond its 31 or 63 bits. */
INLINE uint64_t round_to_byte(uint64_t u, int width)
{
    const uint64_t infinity  = width == 8 ? UINT64_C(0x7ff) << 52 : 0x7f800000u;
    const int      drop      = 8 * (width - 1);
    const uint64_t magnitude = u & ((UINT64_C(1) << (8 * width - 1)) - 1);
    const uint64_t top =
        (magnitude + ((UINT64_C(1) << (drop - 1)) - 1) + (magnitude >> drop & 1)) >> drop;

    return (u >> drop & 0x80) | (magnitude > infinity ? TOP_NAN : top < TOP_INF ? top : TOP_INF);
}

INLINE void pack_rounded(const uint8_t *src, size_t n, uint8_t *dst, int k, int width)
{
    const int drop = 8 * (width - k);

    for (size_t i = 0; i < n; i++) {
        const uint64_t u = load_element(src + (size_t)width * i, width);
        uint64_t       code;

        if (k == 1) {
            code = round_to_byte(u, width);
        } else {
            code = width == 8 ? tw_round_top64(u, drop) : tw_round_top32((uint32_t)u, drop);
        }
        store_code(dst + (size_t)k * i, code, k);
    }
}

/* K = 1, round: the bytes that stand for NaN and Inf. */
INLINE void expand_bytes(const uint8_t *src, size_t n, uint8_t *dst, int width)
{
    const uint64_t infinity = width == 8 ? UINT64_C(0x7ff) << 52 : 0x7f800000u;
    const uint64_t quiet    = width == 8 ? UINT64_C(1) << 51 : 0x00400000u;
    const int      drop     = 8 * (width - 1);

    for (size_t i = 0; i < n; i++) {
        const uint64_t top = src[i] & 0x7fu, sign = (uint64_t)(src[i] & 0x80u) << drop;

        store_element(dst + (size_t)width * i,
                      sign | (top == TOP_NAN   ? infinity | quiet
                              : top == TOP_INF ? infinity
                                               : top << drop),
                      width);
    }
}

#define BITPACK(width, k)                                                                          \
    TW_VALUES_VERBS(cut_##width##_##k, pack(src, n, dst, k, width), unpack(src, n, dst, k, width)) \
    static const tw_kernels_t cut_##width##_##k = {TW_VALUES_VERBS_OF(cut_##width##_##k)};
#define BITPACK_ROUND(width, k)                                                                    \
    TW_VALUES_VERBS(round_##width##_##k, pack_rounded(src, n, dst, k, width),                      \
                    k == 1 ? expand_bytes(src, n, dst, width) : unpack(src, n, dst, k, width))     \
    static const tw_kernels_t round_##width##_##k = {TW_VALUES_VERBS_OF(round_##width##_##k)};

BITPACK(4, 1)
BITPACK(4, 2)
BITPACK(4, 3)
BITPACK(4, 4)
BITPACK(8, 1)
BITPACK(8, 2)
BITPACK(8, 3)
BITPACK(8, 4)
BITPACK(8, 5)
BITPACK(8, 6)
BITPACK(8, 7)
BITPACK(8, 8)
BITPACK_ROUND(4, 1)
BITPACK_ROUND(4, 2)
BITPACK_ROUND(4, 3)
BITPACK_ROUND(8, 1)
BITPACK_ROUND(8, 2)
BITPACK_ROUND(8, 3)
BITPACK_ROUND(8, 4)
BITPACK_ROUND(8, 5)
BITPACK_ROUND(8, 6)
BITPACK_ROUND(8, 7)

/* By rounding and K - 1. */
static const tw_kernels_t *const of_float[2][4] = {{&cut_4_1, &cut_4_2, &cut_4_3, &cut_4_4},
                                                   {&round_4_1, &round_4_2, &round_4_3}};

const tw_kernels_t *const tw_bitpack64_scalar[2][8] = {
    {&cut_8_1, &cut_8_2, &cut_8_3, &cut_8_4, &cut_8_5, &cut_8_6, &cut_8_7, &cut_8_8},
    {&round_8_1, &round_8_2, &round_8_3, &round_8_4, &round_8_5, &round_8_6, &round_8_7}};

TW_KERNELS_CHOSEN(tw_bitpack_scalar,
                  (codec->dtype == TW_F64
                       ? tw_bitpack64_scalar[tw_bitpack(codec)->round]
                       : of_float[tw_bitpack(codec)->round])[tw_bitpack(codec)->k - 1]);

static tw_status_t bitpack_option(tw_codec_t *codec, const char *key, const char *value,
                                  const tw_spec_why_t *why)
{
    tw_bitpack_t *bitpack = codec->state;
    const int     most    = (int)codec->element;

    if (value == NULL && strcmp(key, "round") == 0) {
        bitpack->round = true;
        return TW_OK;
    }
    if (value != NULL || key[0] < '0' || key[0] > '9') {
        return tw_codec_no_option(codec, key, value, why);
    }
    if (key[0] < '1' || key[0] > '0' + most || key[1] != '\0') {
        tw_why_set(why, "codec bitpack: K=%s is not accepted; K takes 1..%d for %s", key, most,
                   codec->dtype == TW_F32 ? "float32" : "double");
        return TW_ERR_SPEC;
    }
    if (bitpack->k != 0) {
        tw_why_set(why, "codec bitpack: K is given twice, %d and %s; accepted: %s", bitpack->k, key,
                   codec->ops->form);
        return TW_ERR_SPEC;
    }
    bitpack->k = key[0] - '0';
    return TW_OK;
}

static double bitpack_bound(const tw_codec_t *codec)
{
    const tw_bitpack_t *bitpack = tw_bitpack(codec);
    const int           mantissa =
        8 * bitpack->k - (codec->element == 8 ? 12 : 9); /* bits of it that are kept */

    if (codec->lossless) {
        return 0.0;
    }
    if (mantissa < 0) { /* bits of the exponent are lost */
        return bitpack->round ? INFINITY : 1.0;
    }
    return ldexp(1.0, bitpack->round ? -mantissa - 1 : -mantissa);
}

/* As many whole bytes as integers with a scale have a smaller error, unless there is none but the
 * elements as they are. */
static const char *bitpack_finer(const tw_codec_t *codec)
{
    static const char *const of_f64[] = {"int:8",  "int:16", "int:24", "int:32",
                                         "int:40", "int:48", NULL,     NULL};
    static const char *const of_f32[] = {"int:12", "int:16", NULL, NULL};
    const int                k        = tw_bitpack(codec)->k;

    return codec->element == 8 ? of_f64[k - 1] : of_f32[k - 1];
}

static tw_status_t bitpack_finish(tw_codec_t *codec, const tw_spec_why_t *why)
{
    const tw_bitpack_t *bitpack = tw_bitpack(codec);

    if (bitpack->k == 0) {
        tw_why_set(why, "codec bitpack: K, the bytes to keep, is missing; accepted: %s",
                   codec->ops->form);
        return TW_ERR_SPEC;
    }
    if (bitpack->round && bitpack->k == (int)codec->element) {
        tw_why_set(why,
                   "codec bitpack: round is not accepted with K=%d, which keeps every bit; "
                   "leave it out",
                   bitpack->k);
        return TW_ERR_SPEC;
    }
    codec->block           = 1;
    codec->bytes_per_value = bitpack->k;
    codec->lossless        = bitpack->k == (int)codec->element;
    codec->bound           = bitpack_bound(codec);
    codec->finer           = bitpack_finer(codec);
    codec->cuda =
        (tw_cuda_kind_t)((codec->element == 8
                              ? (bitpack->round ? TW_CUDA_DOUBLE_ROUND1 : TW_CUDA_DOUBLE_CUT1)
                              : (bitpack->round ? TW_CUDA_ROUND1 : TW_CUDA_CUT1)) +
                         bitpack->k - 1);
    snprintf(codec->spec, sizeof(codec->spec), "bitpack:%d%s", bitpack->k,
             bitpack->round ? ",round" : "");
    return TW_OK;
}

TW_KERNELS_OF(tw_bitpack);

const tw_codec_ops_t tw_codec_bitpack = {
    .name    = "bitpack",
    .form    = "bitpack:K[,round]",
    .types   = TW_TYPE(TW_F32) | TW_TYPE(TW_F64),
    .help    = "the K most significant bytes, K = 1..4 (1..8 for double)",
    .id      = 2,
    .state   = sizeof(tw_bitpack_t),
    .option  = bitpack_option,
    .finish  = bitpack_finish,
    .size    = tw_values_size,
    .kernels = TW_KERNELS(tw_bitpack),
    .offers  = {{"bitpack:3", TW_F32, TW_OFFER_AUTO | TW_OFFER_REPORT | TW_OFFER_ADVICE},
                {"bitpack:2", TW_F32, TW_OFFER_AUTO | TW_OFFER_REPORT | TW_OFFER_ADVICE},
                {"bitpack:8", TW_F64, TW_OFFER_AUTO},
                {"bitpack:7", TW_F64, TW_OFFER_REPORT | TW_OFFER_ADVICE},
                {"bitpack:6", TW_F64, TW_OFFER_REPORT | TW_OFFER_ADVICE},
                {"bitpack:5", TW_F64, TW_OFFER_REPORT | TW_OFFER_ADVICE},
                {"bitpack:4", TW_F64,
                 TW_OFFER_AUTO | TW_OFFER_REPORT | TW_OFFER_ADVICE | TW_OFFER_FIRST},
                {"bitpack:3", TW_F64, TW_OFFER_AUTO | TW_OFFER_REPORT | TW_OFFER_ADVICE},
                {"bitpack:2", TW_F64, TW_OFFER_AUTO | TW_OFFER_REPORT | TW_OFFER_ADVICE}},
};
