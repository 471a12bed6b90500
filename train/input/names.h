/* SPDX-License-Identifier: BSD-3-Clause
 * input/names.h - the names in a folder, in the order of their bytes: the same in every locale, so
 * on every rank.
 */
#ifndef TW_INPUT_NAMES_H
#define TW_INPUT_NAMES_H

#include <dirent.h>

typedef struct tw_names {
    struct dirent **entry; /* sorted */
    int             n;
} tw_names_t;

/** Read them.
 * @param wanted  of which to keep; NULL: all.
 * @return 0, or -1 with errno and nothing to release. */
int tw_names_create(tw_names_t *names, const char *folder, int (*wanted)(const struct dirent *));

void tw_names_destroy(tw_names_t *names); /* a zeroed one is allowed */

#endif /* TW_INPUT_NAMES_H */
