/* SPDX-License-Identifier: BSD-3-Clause
 * base/traits.h - the order in which reports and commands list codecs: that of --max-error, from
 * fewest bytes to most, and of equal bytes the larger error first.
 */
#ifndef TW_BASE_TRAITS_H
#define TW_BASE_TRAITS_H

#include <stdbool.h>

#include <thinwire/codec.h>

static inline bool tw_traits_before(const tw_codec_traits_t *a, const tw_codec_traits_t *b)
{
    return a->bytes != b->bytes ? a->bytes < b->bytes : a->max_error > b->max_error;
}

#endif /* TW_BASE_TRAITS_H */
