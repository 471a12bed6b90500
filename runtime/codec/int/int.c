/* SPDX-License-Identifier: BSD-3-Clause
 * codec/int/int.c - integers of B bits, scaled by the absolute maximum of each block; `int8` is the
 * name of those of float32 with B = 8, whose blocks it has of 4096 by default: one codec, one id.
 *
 * Layout: docs/wire-format.md, "int": per block a scale of the elements' type and the codes, a
 *         stream of bits; int.h has the arithmetic.
 * Error:  |x - x'| <= maximum / (2^B - 2) + rounding, twice that with scale=2k: absolute in a
 *         block, so that a value below about 2^-B of the block's maximum becomes zero. Inf or NaN:
 *         the block decodes to NaN. A block whose maximum is below 2^(B - 127), of doubles
 *         2^(B - 1023), decodes to zeros. The sign of zero is not kept.
 * Again:  encoding what was decoded gives the same bytes.
 * A grid (step=2^K): |x - x'| <= 2^K / 2 for all that fits in q steps, NaN for all else; sums of
 * what was decoded are on the grid.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "runtime/base/text.h"
#include "runtime/codec/int/grid.h"

#define INT_BLOCK  256
#define INT8_BLOCK 4096

#define INT_LEVEL(bits) bits,
static const int int_levels[] = {TW_INT_EACH_F64(INT_LEVEL)};

static size_t int_size(const tw_codec_t *codec, size_t n)
{
    const size_t rest = n % codec->block;
    const int    bits = tw_int(codec)->bits;

    if (tw_int(codec)->grid) {
        return tw_int_bytes(bits, n);
    }
    return n / codec->block * (codec->element + tw_int_bytes(bits, codec->block)) +
           (rest > 0 ? codec->element + tw_int_bytes(bits, rest) : 0);
}

static void int_encode(const tw_codec_t *codec, const uint8_t *src, size_t n, uint8_t *residual,
                       uint8_t *dst)
{
    if (codec->dtype == TW_F64) {
        tw_int_encode_f64(codec, src, n, residual, dst);
    } else {
        tw_int_encode_f32(codec, src, n, residual, dst);
    }
}

static void int_decode(const tw_codec_t *codec, const uint8_t *src, size_t n, uint8_t *dst,
                       bool add)
{
    if (codec->dtype == TW_F64) {
        tw_int_decode_f64(codec, src, n, dst, add);
    } else {
        tw_int_decode_f32(codec, src, n, dst, add);
    }
}

TW_BLOCK_KERNELS(tw_int_scalar, int_encode, int_decode);

/* "4, 6, 8 or 10": the levels for the codec's elements. */
static void int_accepted(const tw_codec_t *codec, char *text, size_t size)
{
    const int most = codec->dtype == TW_F64 ? TW_INT_BITS_F64 : TW_INT_BITS_F32;
    size_t    used = 0;

    for (size_t i = 0; i < sizeof(int_levels) / sizeof(*int_levels) && used < size; i++) {
        const char *before = i == 0 ? "" : int_levels[i] == most ? " or " : ", ";

        if (int_levels[i] <= most) {
            used += (size_t)snprintf(text + used, size - used, "%s%d", before, int_levels[i]);
        }
    }
}

static tw_status_t int_bits(tw_codec_t *codec, const char *key, const tw_spec_why_t *why)
{
    const uint64_t most = codec->dtype == TW_F64 ? TW_INT_BITS_F64 : TW_INT_BITS_F32;
    tw_int_t      *type = codec->state;
    uint64_t       bits = 0;
    char           accepted[80];

    if (type->bits != 0) {
        tw_why_set(why, "codec int: B is given twice, %d and %s; accepted: %s", type->bits, key,
                   codec->ops->form);
        return TW_ERR_SPEC;
    }
    if (tw_text_whole(key, 1, most, &bits)) {
        for (size_t i = 0; i < sizeof(int_levels) / sizeof(*int_levels); i++) {
            type->bits = int_levels[i] == (int)bits ? (int)bits : type->bits;
        }
    }
    if (type->bits == 0) {
        int_accepted(codec, accepted, sizeof(accepted));
        tw_why_set(why, "codec int: B=%s is not accepted; B takes %s for %s", key, accepted,
                   codec->dtype == TW_F64 ? "double" : "float32");
        return TW_ERR_SPEC;
    }
    return TW_OK;
}

/* "2^-14" */
static tw_status_t int_step(tw_codec_t *codec, const char *value, const tw_spec_why_t *why)
{
    const int least = TW_GRID_LEAST(codec->dtype), most = TW_GRID_MOST(codec->dtype);
    tw_int_t *type   = codec->state;
    double    number = 0.0;

    if (value == NULL || strncmp(value, "2^", 2) != 0 || !tw_text_number(value + 2, &number) ||
        !(number >= least && number <= most) || number != floor(number)) {
        tw_why_set(why, "codec int: step=%s is not accepted; step takes 2^K, K = %d..%d for %s",
                   value != NULL ? value : "", least, most,
                   codec->dtype == TW_F64 ? "double" : "float32");
        return TW_ERR_SPEC;
    }
    type->grid     = true;
    type->exponent = (int)number;
    return TW_OK;
}

static tw_status_t int_option(tw_codec_t *codec, const char *key, const char *value,
                              const tw_spec_why_t *why)
{
    if (value == NULL && key[0] >= '0' && key[0] <= '9') {
        return int_bits(codec, key, why);
    }
    if (strcmp(key, "scale") == 0) {
        if (value == NULL || strcmp(value, "2k") != 0) {
            tw_why_set(why, "codec int: scale=%s is not accepted; scale takes 2k: powers of two",
                       value != NULL ? value : "");
            return TW_ERR_SPEC;
        }
        ((tw_int_t *)codec->state)->power = true;
        return TW_OK;
    }
    if (strcmp(key, "step") == 0) {
        return int_step(codec, value, why);
    }
    return tw_blocks_option(codec, key, value, why);
}

/* Of float32 the codecs with the next larger size and a smaller error; of double the next level by
 * whole bytes. */
static const char *int_finer(const tw_codec_t *codec)
{
    static const char *const of_f64[] = {"int:8",  "int:12", "int:16", "int:24",
                                         "int:32", "int:40", "int:48", "bitpack:7"};
    static const int         below[]  = {8, 12, 16, 24, 32, 40, 48, 64};
    const int                bits     = tw_int(codec)->bits;
    size_t                   i        = 0;

    if (codec->dtype == TW_F64) {
        while (below[i] <= bits) {
            i++;
        }
        return of_f64[i];
    }
    return bits < 6    ? "int4"
           : bits < 8  ? "tree8"
           : bits < 12 ? "int:12"
           : bits < 16 ? "bf16"
                       : "bitpack:3";
}

static void int_put(const tw_codec_t *codec, double number, uint8_t *element)
{
    if (codec->dtype == TW_F64) {
        tw_store_le64(element, tw_double_bits(number));
    } else {
        tw_store_le32(element, tw_float_bits((float)number));
    }
}

static tw_status_t int_finish_grid(tw_codec_t *codec, const tw_spec_why_t *why)
{
    tw_int_t    *type = codec->state;
    const double step = ldexp(1.0, type->exponent), half = ldexp(1.0, type->bits - 1);

    if (codec->block != 0 || type->power) {
        tw_why_set(why, "%s",
                   "codec int: step=2^K takes neither block nor scale: it has one scale");
        return TW_ERR_SPEC;
    }
    type->power = true;
    type->fits  = (half - 0.5) * step; /* where rounding to even is beyond q */
    type->lost  = -half * step;
    int_put(codec, step, type->step);
    int_put(codec, (half - 1) * step, type->most);
    codec->block           = TW_GROUP;
    codec->bytes_per_value = type->bits / 8.0;
    codec->bound           = INFINITY; /* not relative to any value */
    snprintf(codec->spec, sizeof(codec->spec), "int:%d,step=2^%d", type->bits, type->exponent);
    return TW_OK;
}

extern const tw_codec_ops_t tw_codec_int8;

static tw_status_t int_finish(tw_codec_t *codec, const tw_spec_why_t *why)
{
    const tw_int_t *type = tw_int(codec);

    if (type->bits == 0) {
        tw_why_set(why, "codec int: B, the bits of a value, is missing; accepted: %s",
                   codec->ops->form);
        return TW_ERR_SPEC;
    }
    if (type->grid) {
        return int_finish_grid(codec, why);
    }
    codec->block           = codec->block != 0 ? codec->block : INT_BLOCK;
    codec->bytes_per_value = type->bits / 8.0 + (double)codec->element / (double)codec->block;
    codec->bound           = (type->power ? 2.0 : 1.0) / (ldexp(1.0, type->bits) - 2.0) +
                   (codec->dtype == TW_F64 ? 0x1p-51 : 0x1p-22);
    codec->finer = int_finer(codec);
    if (codec->dtype == TW_F32 && type->bits == 8 && !type->power) {
        codec->ops  = &tw_codec_int8;
        codec->cuda = TW_CUDA_BLOCKS_INT8;
        snprintf(codec->spec, sizeof(codec->spec), "int8:block=%zu", codec->block);
        return TW_OK;
    }
    snprintf(codec->spec, sizeof(codec->spec), "int:%d,block=%zu%s", type->bits, codec->block,
             type->power ? ",scale=2k" : "");
    return TW_OK;
}

static tw_status_t int8_finish(tw_codec_t *codec, const tw_spec_why_t *why)
{
    ((tw_int_t *)codec->state)->bits = 8;
    codec->block                     = codec->block != 0 ? codec->block : INT8_BLOCK;
    return int_finish(codec, why);
}

TW_KERNELS_OF(tw_int);

/* Not offered to `auto`: the error is absolute in a block, and what that promises counts for every
 * value. */
const tw_codec_ops_t tw_codec_int = {
    .name    = "int",
    .form    = "int:B[,block=N][,scale=2k] or int:B,step=2^K",
    .types   = TW_TYPE(TW_F32) | TW_TYPE(TW_F64),
    .help    = "integers of B bits, B = 4..20 (double: 4..48), scaled by the maximum of each block",
    .id      = 10,
    .state   = sizeof(tw_int_t),
    .option  = int_option,
    .finish  = int_finish,
    .size    = int_size,
    .kernels = TW_KERNELS(tw_int),
    .offers  = {{"int:12", TW_F32, TW_OFFER_REPORT | TW_OFFER_BLOCK},
                {"int:16", TW_F32, TW_OFFER_REPORT | TW_OFFER_BLOCK},
                {"int:24", TW_F64, TW_OFFER_REPORT | TW_OFFER_BLOCK},
                {"int:32", TW_F64, TW_OFFER_REPORT | TW_OFFER_BLOCK},
                {"int:48", TW_F64, TW_OFFER_REPORT | TW_OFFER_BLOCK}},
};

const tw_codec_ops_t tw_codec_int8 = {
    .name    = "int8",
    .form    = "int8[:block=N]",
    .help    = "int:8 of blocks of 4096: scaled by the maximum of each block / 127",
    .id      = 6,
    .state   = sizeof(tw_int_t),
    .option  = tw_blocks_option,
    .finish  = int8_finish,
    .size    = int_size,
    .kernels = TW_KERNELS(tw_int),
    .offers  = {{"int8", TW_F32, TW_OFFER_AUTO | TW_OFFER_REPORT | TW_OFFER_BLOCK}},
};
