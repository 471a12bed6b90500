/* SPDX-License-Identifier: BSD-3-Clause
 * codec/mantissa8/mantissa8.c - 8-bit decimal mantissa: m * 10^(x - 7) * offset, m = 0..15.
 *
 * Layout: docs/wire-format.md, "mantissa8". One byte per value, no scale; 114 different magnitudes,
 *         of equal ones the lowest code is sent.
 * Error:  nearest of them; relative about 5 % on normal data inside the range (offset 10: from
 *         1e-6 to 150). Larger numbers become the largest one. NaN and Inf become 0x80, which is
 *         NaN: Inf is not kept.
 * Source: S1 (Dettmers 2016), section 3; differs in: nearest by true search.
 */
#include "config.h"

#include "runtime/codec/fixed8.h"
#include "runtime/codec/values.h"

static tw_fixed8_v_t mantissa8_v(uint32_t m)
{
    return (tw_fixed8_v_t){m, 0};
}

static tw_status_t mantissa8_finish(tw_codec_t *codec, const tw_spec_why_t *why)
{
    return tw_fixed8_finish(codec, mantissa8_v, why);
}

const tw_codec_ops_t tw_codec_mantissa8 = {
    .name    = "mantissa8",
    .form    = "mantissa8[:offset=1|10|100|1000|10000]",
    .help    = "8-bit decimal mantissa with a fixed range; for comparison",
    .id      = 8,
    .state   = sizeof(tw_fixed8_t),
    .option  = tw_fixed8_option,
    .finish  = mantissa8_finish,
    .size    = tw_values_size,
    .kernels = {[TW_CPU_SCALAR] = &tw_fixed8_scalar},
};
