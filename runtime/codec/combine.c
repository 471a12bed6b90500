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
