/* SPDX-License-Identifier: BSD-3-Clause
 * train/base/random.h - counter-based random numbers: functions of their use, not of the rank.
 *
 * A key is mixed from the run's seed and the use of the number (purpose, step, example, layer).
 * There is no generator state that depends on the rank, the number of ranks or earlier draws. So
 * masks, weights and the order of examples are equal for any number of ranks, and a resumed run
 * continues with the same numbers.
 */
#ifndef TW_TRAIN_RANDOM_H
#define TW_TRAIN_RANDOM_H

#include <stdint.h>

#include "train/compute/portable.h"

typedef enum tw_random_purpose {
    TW_RANDOM_WEIGHTS = 1,
    TW_RANDOM_ORDER   = 2,
    TW_RANDOM_DROPOUT = 3,
    TW_RANDOM_DIGITS  = 4,
    TW_RANDOM_IMAGES  = 5,
    TW_RANDOM_AUGMENT = 6
} tw_random_purpose_t;

/* A bijection of 64-bit words in which every input bit flips about half of the output bits. */
TW_PORTABLE uint64_t tw_random_mix(uint64_t x)
{
    x ^= x >> 32;
    x *= UINT64_C(0xd6e8feb86659fd93);
    x ^= x >> 32;
    x *= UINT64_C(0xd6e8feb86659fd93);
    x ^= x >> 32;
    return x;
}

/* The common part of the keys of all b. */
TW_PORTABLE uint64_t tw_random_key_base(uint64_t seed, tw_random_purpose_t purpose, uint64_t a)
{
    const uint64_t key = tw_random_mix(seed + UINT64_C(0x9e3779b97f4a7c15) * (uint64_t)purpose);

    return tw_random_mix(key + UINT64_C(0x9e3779b97f4a7c15) * (a + 1));
}

TW_PORTABLE uint64_t tw_random_key_at(uint64_t base, uint64_t b)
{
    return tw_random_mix(base + UINT64_C(0xc2b2ae3d27d4eb4f) * (b + 1));
}

TW_PORTABLE uint64_t tw_random_key(uint64_t seed, tw_random_purpose_t purpose, uint64_t a,
                                   uint64_t b)
{
    return tw_random_key_at(tw_random_key_base(seed, purpose, a), b);
}

/* The index-th 64-bit number of a key. */
TW_PORTABLE uint64_t tw_random_bits(uint64_t key, uint64_t index)
{
    return tw_random_mix(key + UINT64_C(0x9e3779b97f4a7c15) * (index + 1));
}

/* The index-th number of a key in [0, 1), a multiple of 2^-24: exact in float. */
TW_PORTABLE float tw_random_uniform(uint64_t key, uint64_t index)
{
    return (float)(tw_random_bits(key, index) >> 40) * 0x1p-24f;
}

/* The index-th number of a key in 0 .. n-1; the bias of at most n/2^32 does not matter here. */
TW_PORTABLE uint32_t tw_random_below(uint64_t key, uint64_t index, uint32_t n)
{
    return (uint32_t)(((tw_random_bits(key, index) >> 32) * n) >> 32);
}

#endif /* TW_TRAIN_RANDOM_H */
