/* SPDX-License-Identifier: BSD-3-Clause
 * host/select.c - which loops to use; what was not built falls to the next below.
 */
#include "config.h"

#include <string.h>

#include "train/compute/host/loops.h"

const tw_host_loops_t *tw_host_loops_for(const char *level)
{
#ifdef HAVE_AVX512
    if (strcmp(level, "avx512") == 0) {
        return &tw_host_loops_avx512;
    }
#endif
#ifdef HAVE_AVX2
    if (strcmp(level, "avx512") == 0 || strcmp(level, "avx2") == 0) {
        return &tw_host_loops_avx2;
    }
#endif
    (void)level;
    return &tw_host_loops_scalar;
}
