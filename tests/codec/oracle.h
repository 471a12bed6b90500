/* SPDX-License-Identifier: BSD-3-Clause
 * tests/codec/oracle.h - the 8-bit types by brute force: every level is tried, in double. The
 * levels of tree8 are those printed in docs/wire-format.md, those of the fixed types decimal
 * numbers.
 */
#ifndef TW_TESTS_CODEC_ORACLE_H
#define TW_TESTS_CODEC_ORACLE_H

#include <stddef.h>
#include <stdint.h>

#define ORACLE_FIELDS 128
#define ORACLE_BLOCK  64 /* of the specs below that have blocks */
#define ORACLE_TREES  2
#define ORACLE_FIXED  10

typedef struct oracle {
    const char *spec;
    float       magnitude[ORACLE_FIELDS]; /* of each field */
} oracle_t;

/* tree8 with the two splits; static8 and mantissa8 with the five offsets. */
oracle_t oracle_tree(int which);
oracle_t oracle_fixed(int which);

/* The code of one value, static8 and mantissa8. */
uint8_t oracle_fixed_code(const oracle_t *oracle, float x);

/* The 4 + n bytes of one block. */
void oracle_tree8_block(const oracle_t *oracle, const float *x, size_t n, uint8_t *want);
void oracle_int8_block(const float *x, size_t n, uint8_t *want);

/* Bits of the largest |x|. */
uint32_t oracle_absmax(const float *x, size_t n);

/* All floats within 100 ulp of the middle of two levels that follow each other, both signs; returns
 * how many, at most 2 * 201 * ORACLE_FIELDS. */
size_t oracle_thresholds(const oracle_t *oracle, float *x);

#endif /* TW_TESTS_CODEC_ORACLE_H */
