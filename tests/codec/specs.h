/* SPDX-License-Identifier: BSD-3-Clause
 * tests/codec/specs.h - the codecs that tests go through.
 */
#ifndef TW_TESTS_CODEC_SPECS_H
#define TW_TESTS_CODEC_SPECS_H

#include <thinwire/codec.h>

typedef struct test_spec {
    const char *spec;
    tw_dtype_t  dtype;
} test_spec_t;

/* Every codec of the list, with every option that changes bytes, and small blocks. */
#define TEST_SPECS_MAX 96
extern test_spec_t test_specs[TEST_SPECS_MAX];
extern int         test_spec_count;

#endif /* TW_TESTS_CODEC_SPECS_H */
