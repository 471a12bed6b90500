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

/* values[i] = values[i] combined with decoded[i], in the codec's type, which is that of its sums
 * (tw_codec_t.wide), whatever the caller's floating-point mode. `tile` has tw_codec_tile() elements
 * of any alignment. Else as tw_codec_decode_add(). */
tw_status_t tw_codec_decode_combine(const tw_codec_t *codec, const tw_exec_t *exec,
                                    const tw_reduction_row_t *reduction, const void *codes,
                                    size_t n, void *tile, void *values);

/* out[i] = a[i] combined with b[i], likewise. */
void tw_combine(const tw_dtype_row_t *type, const tw_reduction_row_t *reduction, const void *a,
                const void *b, size_t n, void *out);

/* values[i] = fl(values[i] / ranks), likewise. */
void tw_average(const tw_dtype_row_t *type, int ranks, size_t n, void *values);

/* Vectors of elements of the codec's type, `count` of them, which are what is combined. */
typedef struct tw_terms {
    const void *(*at)(const void *self, int term);
    const void *self;
    int         count;
} tw_terms_t;

/* For a codec whose sums are of another type than its elements (tw_codec_t.wide): the first n
 * elements of all terms, combined in that type and in order. To `sum`; or, where it is NULL, each
 * rounded once to an element of `out`, which may be one of the terms. An average is divided by the
 * number of terms only there. */
void tw_codec_combine_terms(const tw_codec_t *codec, const tw_reduction_row_t *reduction,
                            const tw_terms_t *terms, size_t n, void *sum, void *out);

#endif /* TW_CODEC_COMBINE_H */
