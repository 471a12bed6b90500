/* SPDX-License-Identifier: BSD-3-Clause
 * codec/int4/int4.c - 16 levels from -8 to 7, scaled by the largest value of each group of 32, with
 * its sign: 4.5 bits a value.
 *
 * Layout: docs/wire-format.md, "int4": per block the groups' scales as bfloat16, and the codes.
 * Error:  |x - x'| <= 0.125 of the group's largest magnitude: what lies opposite to it is cut at
 *         7/8; next to the largest float 0.1285. Inf or NaN: the group decodes to NaN, and leaves
 *         the residual as it was. A group below 2^-123 decodes to zeros; zero is +0.
 * Again:  encoding what was decoded gives the same bytes.
 */
#include "config.h"

#include <stdio.h>

#include "runtime/codec/int4/int4.h"

#define INT4_BLOCK 4096

static size_t int4_bytes(size_t n)
{
    return tw_int4_scales(n) + tw_int4_codes(n);
}

static size_t int4_size(const tw_codec_t *codec, size_t n)
{
    return n / codec->block * int4_bytes(codec->block) + int4_bytes(n % codec->block);
}

static tw_status_t int4_finish(tw_codec_t *codec, const tw_spec_why_t *why)
{
    (void)why;
    codec->block           = codec->block != 0 ? codec->block : INT4_BLOCK;
    codec->bytes_per_value = 0.5 + 2.0 / TW_INT4_GROUP;
    codec->bound           = 0.1285;
    codec->finer           = "tree8";
    snprintf(codec->spec, sizeof(codec->spec), "int4:block=%zu", codec->block);
    return TW_OK;
}

TW_KERNELS_OF(tw_int4);

/* Advised to nobody: its error is absolute in a group, as that of `int` is. */
const tw_codec_ops_t tw_codec_int4 = {
    .name    = "int4",
    .form    = "int4[:block=N]",
    .help    = "16 levels, scaled by the largest value of each 32: 4.5 bits, with feedback or not",
    .id      = 11,
    .option  = tw_blocks_option,
    .finish  = int4_finish,
    .size    = int4_size,
    .kernels = TW_KERNELS(tw_int4),
    .offers  = {{"int4", TW_F32, TW_OFFER_REPORT}},
};
