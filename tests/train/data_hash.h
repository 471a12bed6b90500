/* SPDX-License-Identifier: BSD-3-Clause
 * tests/train/data_hash.h - a hash of all pixels and labels of a set in memory.
 */
#ifndef TW_TESTS_DATA_HASH_H
#define TW_TESTS_DATA_HASH_H

#include "train/base/hash.h"
#include "train/input/data.h"

static inline uint64_t data_hash(const tw_data_t *data)
{
    const uint64_t shape[4] = {data->shape.c, data->shape.h, data->shape.w, data->classes};
    uint64_t       hash     = tw_hash(data->pixels, shape, sizeof(shape));

    hash = tw_hash(hash, data->train.pixels, data->train.n * data->pixels);
    hash = tw_hash(hash, data->train.labels, data->train.n * sizeof(*data->train.labels));
    hash = tw_hash(hash, data->test.pixels, data->test.n * data->pixels);
    return tw_hash(hash, data->test.labels, data->test.n * sizeof(*data->test.labels));
}

#endif /* TW_TESTS_DATA_HASH_H */
