/* SPDX-License-Identifier: BSD-3-Clause
 * input/names.c - see names.h.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "train/input/names.h"

static int by_bytes(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

int tw_names_create(tw_names_t *names, const char *folder, int (*wanted)(const struct dirent *))
{
    names->n = scandir(folder, &names->entry, wanted, by_bytes);
    if (names->n < 0) {
        *names = (tw_names_t){.n = 0};
        return -1;
    }
    return 0;
}

void tw_names_destroy(tw_names_t *names)
{
    for (int k = 0; k < names->n; k++) {
        free(names->entry[k]);
    }
    free(names->entry);
    *names = (tw_names_t){.n = 0};
}
