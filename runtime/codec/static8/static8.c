/* SPDX-License-Identifier: BSD-3-Clause
 * codec/static8/static8.c - 8-bit static tree: a decimal exponent and 4 bits that bisect (0.1, 1).
 *
 * Layout: docs/wire-format.md, "static8". One byte per value, no scale: the range is fixed by the
 *         offset (10: from 1.4e-7 to 9.3), so it fits data whose size is known.
 * Error:  nearest of 128 magnitudes; relative about 4.8 % on normal data inside the range. Larger
 *         numbers become the largest one. NaN and Inf become 0x80, which is NaN: Inf is not kept.
 * Source: S1 (Dettmers 2016), section 3; the value is the lower end of the last interval, as in the
 *         paper's own example (0.2345678 becomes 0.23125); differs in: zero is exact, nearest.
 */
#include "config.h"

#include "runtime/codec/fixed8.h"
#include "runtime/codec/values.h"

/* Lower end of leaf m: the tree's first cut is at 0.45, the later ones in the middle. */
static tw_fixed8_v_t static8_v(uint32_t m)
{
    return (tw_fixed8_v_t){m < 8 ? 10000 + 4375 * m : 45000 + 6875 * (m - 8), 5};
}

static tw_status_t static8_finish(tw_codec_t *codec, const tw_spec_why_t *why)
{
    return tw_fixed8_finish(codec, static8_v, why);
}

const tw_codec_ops_t tw_codec_static8 = {
    .name    = "static8",
    .form    = "static8[:offset=1|10|100|1000|10000]",
    .help    = "8-bit static tree with a fixed range; for comparison",
    .id      = 7,
    .state   = sizeof(tw_fixed8_t),
    .option  = tw_fixed8_option,
    .finish  = static8_finish,
    .size    = tw_values_size,
    .kernels = {[TW_CPU_SCALAR] = &tw_fixed8_scalar},
};
