/* SPDX-License-Identifier: BSD-3-Clause
 * codec/bitpack/bitpack_vec4.c - bitpack by NEON or VSX for float32: the loops of
 * bitpack/bitpack_vec4.h.
 */
#include "config.h"

#include "runtime/codec/bitpack/bitpack_vec4.h"

#define KERNELS(name, to_codes, to_values, width)                                                  \
    TW_V4_VALUES_LOOPS(name, to_codes, to_values, width)                                           \
    static const tw_kernels_t name = {TW_VERBS_OF(name)};

KERNELS(cut_1, pack_1, unpack_1, 1)
KERNELS(cut_2, pack_2, unpack_2, 2)
KERNELS(cut_3, pack_3, unpack_3, 3)
KERNELS(round_1, pack_1_rounded, unpack_1_rounded, 1)
KERNELS(round_2, pack_2_rounded, unpack_2, 2)
KERNELS(round_3, pack_3_rounded, unpack_3, 3)

extern const tw_kernels_t tw_fp32_vec4;

/* By rounding and K - 1; none of double. */
static const tw_kernels_t *const of_float[2][4] = {{&cut_1, &cut_2, &cut_3, &tw_fp32_vec4},
                                                   {&round_1, &round_2, &round_3}};

TW_KERNELS_CHOSEN(tw_bitpack_vec4,
                  codec->dtype == TW_F32
                      ? of_float[tw_bitpack(codec)->round][tw_bitpack(codec)->k - 1]
                      : NULL);
