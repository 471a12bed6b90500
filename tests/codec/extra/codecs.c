/* SPDX-License-Identifier: BSD-3-Clause
 * tests/codec/extra/codecs.c - the codecs, and one more: linked in the place of
 * runtime/codec/codecs.c, so that every test that goes through the list shows what a new codec gets
 * by its table and one line.
 */
#include "config.h"

#include "runtime/codec/ops.h"

#define TW_CODEC(name) extern const tw_codec_ops_t tw_codec_##name;
#include "runtime/codec/codecs.h"
TW_CODEC(complement)
#undef TW_CODEC

const tw_codec_ops_t *const tw_codecs[] = {
#define TW_CODEC(name) &tw_codec_##name,
#include "runtime/codec/codecs.h"
    TW_CODEC(complement)
#undef TW_CODEC
        NULL,
};
