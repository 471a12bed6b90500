/* SPDX-License-Identifier: BSD-3-Clause
 * tests/codec/specs.c - see specs.h.
 */
#include "tests/codec/specs.h"

const test_spec_t test_specs[] = {
    {"fp32", TW_F32},
    {"bitpack:1", TW_F32},
    {"bitpack:2", TW_F32},
    {"bitpack:3", TW_F32},
    {"bitpack:4", TW_F32},
    {"bitpack:1,round", TW_F32},
    {"bitpack:2,round", TW_F32},
    {"bitpack:3,round", TW_F32},
    {"bitpack:1", TW_F64},
    {"bitpack:2", TW_F64},
    {"bitpack:3", TW_F64},
    {"bitpack:4", TW_F64},
    {"bitpack:5", TW_F64},
    {"bitpack:6", TW_F64},
    {"bitpack:7", TW_F64},
    {"bitpack:8", TW_F64},
    {"bitpack:1,round", TW_F64},
    {"bitpack:2,round", TW_F64},
    {"bitpack:3,round", TW_F64},
    {"bitpack:4,round", TW_F64},
    {"bitpack:5,round", TW_F64},
    {"bitpack:6,round", TW_F64},
    {"bitpack:7,round", TW_F64},
    {"bf16", TW_F32},
    {"fp16", TW_F32},
    {"tree8", TW_F32},
    {"tree8:block=64", TW_F32},
    {"tree8:split=0.55,block=320", TW_F32},
    {"int8", TW_F32},
    {"int8:block=192", TW_F32},
    {"static8", TW_F32},
    {"static8:offset=1", TW_F32},
    {"static8:offset=10000", TW_F32},
    {"mantissa8", TW_F32},
    {"mantissa8:offset=100", TW_F32},
    {"onebit", TW_F32},
    {"onebit:block=64", TW_F32},
    {"onebit:block=448", TW_F32},
};

const int test_spec_count = sizeof(test_specs) / sizeof(test_specs[0]);
