/* SPDX-License-Identifier: BSD-3-Clause
 * codec/combine.c - see combine.h.
 */
#include "config.h"

#include "runtime/base/fpmode.h"
#include "runtime/codec/combine.h"

#define TW_TILE ((size_t)1024)

size_t tw_codec_tile(const tw_codec_t *codec, const tw_reduction_row_t *reduction)
{
    if (tw_reduction_is_fused(reduction) || codec->identity) {
        return 0;
    }
    return codec->block > TW_TILE ? codec->block : TW_TILE / codec->block * codec->block;
}

void tw_combine(const tw_dtype_row_t *type, const tw_reduction_row_t *reduction, const void *a,
                const void *b, size_t n, void *out)
{
    const tw_fpmode_t mode = tw_fpmode_enter();

    type->combine[reduction->combination](a, b, n, out);
    tw_fpmode_leave(mode);
}

void tw_average(const tw_dtype_row_t *type, int ranks, size_t n, void *values)
{
    const tw_fpmode_t mode = tw_fpmode_enter();

    type->divide(values, n, ranks);
    tw_fpmode_leave(mode);
}

/* sum = n elements of all terms from `first` on. */
static void tw_combine_tile(const tw_codec_t *plain, const tw_reduction_row_t *reduction,
                            const tw_terms_t *terms, size_t first, size_t n, uint8_t *sum)
{
    float        tile[TW_TILE];
    const size_t at = first * (size_t)plain->bytes_per_value;

    plain->kernels->decode(plain, (const uint8_t *)terms->at(terms->self, 0) + at, n, sum, false);
    for (int t = 1; t < terms->count; t++) {
        const uint8_t *term = (const uint8_t *)terms->at(terms->self, t) + at;

        if (tw_reduction_is_fused(reduction)) {
            plain->kernels->decode_add(plain, term, n, sum);
        } else {
            plain->kernels->decode(plain, term, n, (uint8_t *)tile, false);
            plain->type->combine[reduction->combination](sum, tile, n, sum);
        }
    }
}

void tw_codec_combine_terms(const tw_codec_t *codec, const tw_reduction_row_t *reduction,
                            const tw_terms_t *terms, size_t n, void *sum, void *out)
{
    const tw_fpmode_t mode  = tw_fpmode_enter();
    const tw_codec_t *plain = codec->plain;
    float             tile[TW_TILE];

    for (size_t i = 0; i < n; i += TW_TILE) {
        const size_t m = n - i < TW_TILE ? n - i : TW_TILE;

        if (sum != NULL) {
            tw_combine_tile(plain, reduction, terms, i, m, (uint8_t *)sum + i * plain->element);
            continue;
        }
        tw_combine_tile(plain, reduction, terms, i, m, (uint8_t *)tile);
        if (reduction->divides) {
            plain->type->divide(tile, m, terms->count);
        }
        plain->kernels->encode(plain, (const uint8_t *)tile, m, (uint8_t *)out + i * codec->element,
                               false);
    }
    tw_fpmode_leave(mode);
}

tw_status_t tw_codec_decode_combine(const tw_codec_t *codec, const tw_exec_t *exec,
                                    const tw_reduction_row_t *reduction, const void *codes,
                                    size_t n, void *tile, void *values)
{
    const size_t step   = tw_codec_tile(codec, reduction);
    tw_status_t  status = TW_OK;
    size_t       bytes  = 0;

    if (tw_reduction_is_fused(reduction)) {
        return tw_codec_decode_add(codec, exec, codes, n, values);
    }
    if (codec->identity) {
        tw_combine(codec->type, reduction, values, codes, n, values);
        return TW_OK;
    }
    for (size_t i = 0; i < n && status == TW_OK; i += step) {
        const size_t m  = n - i < step ? n - i : step;
        uint8_t     *at = (uint8_t *)values + i * codec->element;

        status = tw_codec_size(codec, i, &bytes);
        if (status == TW_OK) {
            status = tw_codec_decode(codec, exec, (const uint8_t *)codes + bytes, m, tile);
        }
        if (status == TW_OK) {
            tw_combine(codec->type, reduction, at, tile, m, at);
        }
    }
    return status;
}
