/* SPDX-License-Identifier: BSD-3-Clause
 * train/hash.h - a fast 64-bit hash of bytes: for equality of weights and damage of files, not
 * against an adversary.
 */
#ifndef TW_TRAIN_HASH_H
#define TW_TRAIN_HASH_H

#include <stddef.h>
#include <stdint.h>

/** Hash of n bytes, started from seed; the hash of pieces is not the hash of the whole. */
uint64_t tw_hash(uint64_t seed, const void *bytes, size_t n);

#endif /* TW_TRAIN_HASH_H */
