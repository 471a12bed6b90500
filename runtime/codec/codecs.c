/* SPDX-License-Identifier: BSD-3-Clause
 * codec/codecs.c - the tables of the codecs that codecs.h lists. A file of its own: a program may
 * link one with a longer list in its place (tests/codec/extra).
 */
#include "config.h"

#include "runtime/codec/ops.h"

#define TW_CODEC(name) extern const tw_codec_ops_t tw_codec_##name;
#include "runtime/codec/codecs.h"
#undef TW_CODEC

const tw_codec_ops_t *const tw_codecs[] = {
#define TW_CODEC(name) &tw_codec_##name,
#include "runtime/codec/codecs.h"
#undef TW_CODEC
    NULL,
};
