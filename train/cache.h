/* SPDX-License-Identifier: BSD-3-Clause
 * train/cache.h - files that save the next run some time, in $XDG_CACHE_HOME/thinwire or
 * ~/.cache/thinwire. A run does not fail for them.
 */
#ifndef TW_TRAIN_CACHE_H
#define TW_TRAIN_CACHE_H

#include <stddef.h>
#include <stdint.h>

/** The path of the file for a hash, "HASH.SUFFIX". "" where the environment names no folder. */
void tw_cache_path(char *path, size_t size, uint64_t hash, const char *suffix);

/** Make the folders of a path; those that are there are left alone. */
void tw_cache_folders(const char *path);

#endif /* TW_TRAIN_CACHE_H */
