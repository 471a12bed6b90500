/* SPDX-License-Identifier: BSD-3-Clause
 * codec/combine.h - decoded values combined with others: codecs have a kernel that decodes and
 * adds; for all else a tile of values is decoded at a time, which stays in the cache. On memory of
 * the host.
 */
#ifndef TW_CODEC_COMBINE_H
#define TW_CODEC_COMBINE_H

#include "runtime/base/reduction.h"
#include "runtime/codec/ops.h"

/* Values of a tile: one block, or as many as make about 1024; 0: none is needed. */
size_t tw_codec_tile(const tw_codec_t *codec, const tw_reduction_row_t *reduction);

/* values[i] = values[i] combined with decoded[i], in the codec's type, whatever the caller's
 * floating-point mode. `tile` has tw_codec_tile() elements of any alignment. Else as
 * tw_codec_decode_add(). */
tw_status_t tw_codec_decode_combine(const tw_codec_t *codec, const tw_exec_t *exec,
                                    const tw_reduction_row_t *reduction, const void *codes,
                                    size_t n, void *tile, void *values);

/* out[i] = a[i] combined with b[i], likewise. */
void tw_combine(const tw_dtype_row_t *type, const tw_reduction_row_t *reduction, const void *a,
                const void *b, size_t n, void *out);

#endif /* TW_CODEC_COMBINE_H */
