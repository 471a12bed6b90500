/* SPDX-License-Identifier: BSD-3-Clause
 * train/base/cache.h - cache files in $XDG_CACHE_HOME/thinwire or ~/.cache/thinwire. Their errors
 * do not fail a run.
 */
#ifndef TW_TRAIN_CACHE_H
#define TW_TRAIN_CACHE_H

#include <stddef.h>
#include <stdint.h>

/** The path of the file for a hash, "HASH.SUFFIX"; "" if the environment names no folder. */
void tw_cache_path(char *path, size_t size, uint64_t hash, const char *suffix);

/** Create the missing folders of a path. */
void tw_cache_folders(const char *path);

#endif /* TW_TRAIN_CACHE_H */
