/* SPDX-License-Identifier: BSD-3-Clause
 * base/text.h - numbers as people write them, in settings, codecs, rules, files and options, and
 * how near two words are. Needs nothing else, so the commands are built with it too.
 */
#ifndef TW_BASE_TEXT_H
#define TW_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The whole text is one value, without space before or after it; false: *value is not touched. */

/* Decimal digits, from least to most. */
bool tw_text_whole(const char *text, uint64_t least, uint64_t most, uint64_t *value);

/* 4096, 64k, 16M, 1G (powers of 1024); inf: SIZE_MAX. */
bool tw_text_bytes(const char *text, size_t *bytes);

/* Finite, with a decimal point whatever locale the program has set. */
bool tw_text_number(const char *text, double *value);

/* Levenshtein distance of two names, for "did you mean"; SIZE_MAX if one is above 64 bytes. */
size_t tw_edit_distance(const char *a, const char *b);

#endif /* TW_BASE_TEXT_H */
