/* SPDX-License-Identifier: BSD-3-Clause
 * train/base/hash.c - four independent lanes of 64-bit multiplications, then a mix of the lanes.
 */
#include "config.h"

#include <string.h>

#include "train/base/hash.h"
#include "train/base/random.h"

static inline uint64_t absorb(uint64_t lane, uint64_t word)
{
    lane = (lane ^ word) * UINT64_C(0x9fb21c651e98df25);
    return lane ^ (lane >> 29);
}

uint64_t tw_hash(uint64_t seed, const void *bytes, size_t n)
{
    const unsigned char *at      = bytes;
    uint64_t             lane[4] = {seed + 1, seed + 2, seed + 3, seed + 4}, word;
    size_t               left    = n;

    for (; left >= 32; left -= 32, at += 32) {
        for (int k = 0; k < 4; k++) {
            memcpy(&word, at + 8 * k, sizeof(word));
            lane[k] = absorb(lane[k], word);
        }
    }
    for (int k = 0; left > 0; k++) {
        const size_t take = left < sizeof(word) ? left : sizeof(word);

        word = 0;
        memcpy(&word, at, take);
        lane[k] = absorb(lane[k], word);
        at += take;
        left -= take;
    }
    word = tw_random_mix(seed ^ n);
    for (int k = 0; k < 4; k++) {
        word = tw_random_mix(word + lane[k]);
    }
    return word;
}
