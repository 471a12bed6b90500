/* SPDX-License-Identifier: BSD-3-Clause
 * transport/coll/names.c - algorithms by name.
 */
#include "config.h"

#include "runtime/transport/coll/native/native.h"

const char *tw_algorithm_name(int algorithm)
{
    static const tw_collective_t *const all[] = {&tw_collective_allreduce, &tw_collective_bcast};

    for (size_t c = 0; c < sizeof(all) / sizeof(all[0]); c++) {
        for (int i = 0; all[c]->rows[i] != NULL; i++) {
            if (algorithm != TW_ALGORITHM_AUTO && (int)all[c]->rows[i]->number == algorithm) {
                return all[c]->rows[i]->name;
            }
        }
    }
    return algorithm == TW_ALGORITHM_MPI ? tw_native_row.name : NULL;
}
