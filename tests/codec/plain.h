/* SPDX-License-Identifier: BSD-3-Clause
 * tests/codec/plain.h - codecs that are there to compare with: their definition is all their code.
 */
#ifndef TW_TESTS_CODEC_PLAIN_H
#define TW_TESTS_CODEC_PLAIN_H

#include "runtime/codec/ops.h"

static inline bool test_is_plain(const tw_codec_t *codec)
{
    for (int level = 0; level < TW_CPU_LEVELS; level++) {
        if (level != TW_CPU_SCALAR && codec->ops->kernels[level] != NULL) {
            return false;
        }
    }
    return true;
}

#endif /* TW_TESTS_CODEC_PLAIN_H */
