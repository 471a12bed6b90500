/* SPDX-License-Identifier: BSD-3-Clause
 * train/base/cache.c - see cache.h.
 */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "train/base/cache.h"

void tw_cache_path(char *path, size_t size, uint64_t hash, const char *suffix)
{
    const char *base = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    int         n = 0;

    path[0] = '\0';
    if (base != NULL && base[0] == '/') {
        n = snprintf(path, size, "%s/thinwire/%016" PRIx64 ".%s", base, hash, suffix);
    } else if (home != NULL && home[0] == '/') {
        n = snprintf(path, size, "%s/.cache/thinwire/%016" PRIx64 ".%s", home, hash, suffix);
    }
    if (n < 0 || (size_t)n >= size) {
        path[0] = '\0';
    }
}

void tw_cache_folders(const char *path)
{
    char part[4096];

    for (const char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        snprintf(part, sizeof(part), "%.*s", (int)(slash - path), path);
        mkdir(part, 0777);
    }
}
