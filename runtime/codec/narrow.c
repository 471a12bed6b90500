/* SPDX-License-Identifier: BSD-3-Clause
 * codec/narrow.c - see narrow.h. The tile of values that are converted at a time stays in a cache.
 */
#include "config.h"

#include <math.h>
#include <string.h>

#include "runtime/base/bytes.h"
#include "runtime/codec/narrow.h"

#define TW_NARROW_TILE ((size_t)1024)

/* Whole blocks. */
static size_t narrow_tile(const tw_codec_t *codec)
{
    return codec->block > TW_NARROW_TILE ? codec->block
                                         : TW_NARROW_TILE / codec->block * codec->block;
}

typedef struct narrow_piece {
    size_t         first, n; /* values */
    const uint8_t *codes;
} narrow_piece_t;

/* The next piece after `*piece` of n values whose codes begin at `codes`; false: that was all. */
static bool narrow_next(const tw_codec_t *codec, const uint8_t *codes, size_t n,
                        narrow_piece_t *piece)
{
    const size_t step = narrow_tile(codec);

    piece->first += piece->n;
    piece->n     = n - piece->first < step ? n - piece->first : step;
    piece->codes = codes;
    if (piece->first > 0 && piece->n > 0) {
        piece->codes += codec->wide->ops->size(codec->wide, piece->first);
    }
    return piece->n > 0;
}

static void narrow_encode(const tw_codec_t *codec, const uint8_t *src, size_t n, uint8_t *dst,
                          bool stream)
{
    const tw_codec_t *wide = codec->wide, *plain = codec->plain;
    narrow_piece_t    piece = {.n = 0};
    float             v[TW_NARROW_BLOCK];

    while (narrow_next(codec, dst, n, &piece)) {
        plain->kernels->decode(plain, src + piece.first * codec->element, piece.n, (uint8_t *)v,
                               false);
        wide->kernels->encode(wide, (const uint8_t *)v, piece.n, (uint8_t *)(uintptr_t)piece.codes,
                              stream);
    }
}

static void narrow_decode(const tw_codec_t *codec, const uint8_t *src, size_t n, uint8_t *dst,
                          bool stream)
{
    const tw_codec_t *wide = codec->wide, *plain = codec->plain;
    narrow_piece_t    piece = {.n = 0};
    float             v[TW_NARROW_BLOCK];

    while (narrow_next(codec, src, n, &piece)) {
        wide->kernels->decode(wide, piece.codes, piece.n, (uint8_t *)v, false);
        plain->kernels->encode(plain, (const uint8_t *)v, piece.n,
                               dst + piece.first * codec->element, stream);
    }
}

static void narrow_decode_add(const tw_codec_t *codec, const uint8_t *src, size_t n, uint8_t *acc)
{
    codec->wide->kernels->decode_add(codec->wide, src, n, acc);
}

static void narrow_encode_feedback(const tw_codec_t *codec, const uint8_t *src, size_t n,
                                   uint8_t *residual, uint8_t *dst)
{
    const tw_codec_t *wide = codec->wide, *plain = codec->plain;
    narrow_piece_t    piece = {.n = 0};
    float             v[TW_NARROW_BLOCK];

    while (narrow_next(codec, dst, n, &piece)) {
        plain->kernels->decode(plain, src + piece.first * codec->element, piece.n, (uint8_t *)v,
                               false);
        wide->kernels->encode_feedback(wide, (const uint8_t *)v, piece.n,
                                       residual + piece.first * wide->element,
                                       (uint8_t *)(uintptr_t)piece.codes);
    }
}

static const tw_kernels_t narrow_kernels = {.encode          = narrow_encode,
                                            .decode          = narrow_decode,
                                            .decode_add      = narrow_decode_add,
                                            .encode_feedback = narrow_encode_feedback};

/* Codes are the elements, little-endian. */
static void narrow_copy(const tw_codec_t *codec, const uint8_t *src, size_t n, uint8_t *dst,
                        bool stream)
{
    (void)stream;
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    memcpy(dst, src, n * codec->element);
#else
    for (size_t i = 0; i < n * codec->element; i++) {
        dst[i] = src[i / codec->element * codec->element + codec->element - 1 - i % codec->element];
    }
#endif
}

static const tw_kernels_t narrow_plain_kernels = {.encode          = narrow_copy,
                                                  .decode          = narrow_copy,
                                                  .decode_add      = narrow_decode_add,
                                                  .encode_feedback = narrow_encode_feedback};

static tw_status_t narrow_accepted(const tw_codec_t *codec, const tw_codec_t *wide,
                                   const tw_spec_why_t *why)
{
    const tw_dtype_row_t *type = codec->type;

    if (wide->bytes_per_value >= (double)type->bytes &&
        !tw_dtype_is_lossless(codec->dtype, wide->spec)) {
        tw_why_set(
            why,
            "codec %s makes no %s shorter; accepted: %s, which leaves it as it is, and codecs "
            "of less than %zu bytes a value",
            wide->spec, type->name, type->lossless, type->bytes);
        return TW_ERR_UNSUPPORTED;
    }
    if (wide->block > TW_NARROW_BLOCK) {
        tw_why_set(why, "codec %s: block=%zu is not accepted for %s; accepted: at most %zu",
                   wide->ops->name, wide->block, type->name, TW_NARROW_BLOCK);
        return TW_ERR_UNSUPPORTED;
    }
    return TW_OK;
}

tw_status_t tw_narrow_finish(tw_codec_t *codec, tw_codec_t *wide, tw_codec_t *plain,
                             const tw_spec_why_t *why)
{
    const bool        lossless = tw_dtype_is_lossless(codec->dtype, wide->spec);
    const tw_status_t status   = narrow_accepted(codec, wide, why);

    if (status != TW_OK) {
        return status;
    }
    codec->ops             = wide->ops;
    codec->wide            = wide;
    codec->plain           = plain;
    codec->block           = wide->block;
    codec->bytes_per_value = wide->bytes_per_value;
    codec->bound           = lossless ? 0.0 : wide->bound + ldexp(1.0, -codec->type->fraction - 1);
    codec->finer           = lossless ? NULL : codec->type->lossless;
    codec->feedback        = wide->feedback;
    codec->lossless        = lossless;
    codec->identity        = lossless && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
    codec->isa             = wide->isa;
    codec->kernels         = lossless ? &narrow_plain_kernels : &narrow_kernels;
    memcpy(codec->spec, wide->spec, sizeof(codec->spec));
    return TW_OK;
}
