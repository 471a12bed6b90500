/* SPDX-License-Identifier: BSD-3-Clause
 * train/base/hash.h - a fast 64-bit hash of bytes, not cryptographic: for the comparison of weights
 * and the detection of damaged files.
 */
#ifndef TW_TRAIN_HASH_H
#define TW_TRAIN_HASH_H

#include <stddef.h>
#include <stdint.h>

/** Hash of n bytes with a seed. Hashes of pieces do not combine to the hash of the whole. */
uint64_t tw_hash(uint64_t seed, const void *bytes, size_t n);

#endif /* TW_TRAIN_HASH_H */
