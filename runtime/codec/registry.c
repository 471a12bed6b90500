/* SPDX-License-Identifier: BSD-3-Clause
 * codec/registry.c - the list of codecs. Ids are never reused.
 */
#include "config.h"

#include "runtime/codec/ops.h"

extern const tw_codec_ops_t tw_codec_fp32, tw_codec_bitpack, tw_codec_bf16, tw_codec_fp16,
    tw_codec_tree8, tw_codec_int8, tw_codec_static8, tw_codec_mantissa8, tw_codec_onebit;

const tw_codec_ops_t *const tw_codecs[] = {
    &tw_codec_fp32, &tw_codec_bitpack, &tw_codec_bf16,      &tw_codec_fp16,   &tw_codec_tree8,
    &tw_codec_int8, &tw_codec_static8, &tw_codec_mantissa8, &tw_codec_onebit, NULL,
};

size_t tw_codec_count(void)
{
    size_t count = 0;

    while (tw_codecs[count] != NULL) {
        count++;
    }
    return count;
}

tw_status_t tw_codec_describe(size_t index, const char **name, const char **form, const char **help)
{
    if (index >= tw_codec_count()) {
        return TW_ERR_RANGE;
    }
    if (name != NULL) {
        *name = tw_codecs[index]->name;
    }
    if (form != NULL) {
        *form = tw_codecs[index]->form;
    }
    if (help != NULL) {
        *help = tw_codecs[index]->help;
    }
    return TW_OK;
}
