/* SPDX-License-Identifier: BSD-3-Clause
 * codec/codecs.h - the list of codecs, a line each: its table is tw_codec_NAME. TW_CODEC(NAME) is
 * what the including file makes of it; the order is that of reports.
 */
TW_CODEC(fp32)
TW_CODEC(bitpack)
TW_CODEC(bf16)
TW_CODEC(fp16)
TW_CODEC(tree8)
TW_CODEC(int)
TW_CODEC(int8)
TW_CODEC(int4)
TW_CODEC(static8)
TW_CODEC(mantissa8)
TW_CODEC(onebit)
