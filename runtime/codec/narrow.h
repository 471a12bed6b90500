/* SPDX-License-Identifier: BSD-3-Clause
 * codec/narrow.h - codecs of elements whose sums are of a wider type (tw_dtype_row_t.sum): 16-bit
 * floats. Codes are those of the wider type's codec of the same spec, tw_codec_t.wide: elements are
 * converted to it, a few blocks at a time; what is decoded is rounded to the elements once.
 *
 * Accepted are specs with fewer bytes a value than the elements have, and the one that the type
 * names as lossless: its codes are the elements.
 */
#ifndef TW_CODEC_NARROW_H
#define TW_CODEC_NARROW_H

#include "runtime/codec/ops.h"

/* Most values of a block. */
#define TW_NARROW_BLOCK ((size_t)16384)

/* Are the sums of such elements of another type? */
static inline bool tw_dtype_is_narrow(const tw_dtype_row_t *type)
{
    return tw_dtype_row(type->sum) != type;
}

/* Take over what `wide` and `plain` are (the elements' own codec; may be the same), which the codec
 * then owns, and choose kernels. TW_ERR_UNSUPPORTED with *why set for a spec that is not accepted:
 * they still are the caller's. */
tw_status_t tw_narrow_finish(tw_codec_t *codec, tw_codec_t *wide, tw_codec_t *plain,
                             const tw_spec_why_t *why);

#endif /* TW_CODEC_NARROW_H */
