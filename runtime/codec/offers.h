/* SPDX-License-Identifier: BSD-3-Clause
 * codec/offers.h - what codecs say to those that choose among them.
 */
#ifndef TW_CODEC_OFFERS_H
#define TW_CODEC_OFFERS_H

#include "runtime/codec/ops.h"

/* The index-th offer to one of `to` (tw_offer_to_t) for elements of dtype, in the order of the list
 * of codecs; NULL: there are no more. */
const tw_codec_offer_t *tw_codec_offer(unsigned to, tw_dtype_t dtype, size_t index);

/* The spec that an error contract goes to when this codec has broken it, for elements of its type;
 * "": elements as they are. */
const char *tw_codec_finer(const tw_codec_t *codec);

/* Bytes of an element where the codec loses nothing and has no blocks, so that collectives may
 * leave the values as they are; else 0. */
static inline size_t tw_codec_exact_element(const tw_codec_t *codec)
{
    return codec->lossless && codec->block == 1 ? codec->element : 0;
}

#endif /* TW_CODEC_OFFERS_H */
