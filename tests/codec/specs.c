/* SPDX-License-Identifier: BSD-3-Clause
 * tests/codec/specs.c - see specs.h.
 */
#include <string.h>

#include "runtime/codec/ops.h"
#include "tests/codec/specs.h"

test_spec_t test_specs[TEST_SPECS_MAX] = {
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
    {"int:4", TW_F32},
    {"int:6,block=64", TW_F32},
    {"int:10", TW_F32},
    {"int:12,block=448,scale=2k", TW_F32},
    {"int:16", TW_F32},
    {"int:20", TW_F32},
    {"int:4", TW_F64},
    {"int:6", TW_F64},
    {"int:12", TW_F64},
    {"int:20", TW_F64},
    {"int:24", TW_F64},
    {"int:28,block=192,scale=2k", TW_F64},
    {"int:32", TW_F64},
    {"int:48,block=64", TW_F64},
    {"int8", TW_F32},
    {"int4", TW_F32},
    {"int4:block=192", TW_F32},
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

int test_spec_count;

static bool named(const char *name)
{
    const size_t length = strlen(name);

    for (int i = 0; i < test_spec_count; i++) {
        const char *spec = test_specs[i].spec;

        if (strncmp(spec, name, length) == 0 && (spec[length] == '\0' || spec[length] == ':')) {
            return true;
        }
    }
    return false;
}

/* What has no line above comes by its name alone. */
__attribute__((constructor)) static void complete(void)
{
    while (test_specs[test_spec_count].spec != NULL) {
        test_spec_count++;
    }
    for (size_t c = 0; tw_codecs[c] != NULL && test_spec_count < TEST_SPECS_MAX; c++) {
        if (!named(tw_codecs[c]->name)) {
            test_specs[test_spec_count++] = (test_spec_t){tw_codecs[c]->name, TW_F32};
        }
    }
}
