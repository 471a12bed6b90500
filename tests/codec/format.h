/* SPDX-License-Identifier: BSD-3-Clause
 * tests/codec/format.h - the level tables of docs/wire-format.md, which are the definition.
 */
#ifndef TW_TESTS_CODEC_FORMAT_H
#define TW_TESTS_CODEC_FORMAT_H

/* Read the 128 magnitudes that follow the heading "### <title>". Fails the test if there are not
 * exactly 128, in order. */
void format_table(const char *title, float magnitude[128]);

#endif /* TW_TESTS_CODEC_FORMAT_H */
