/* SPDX-License-Identifier: BSD-3-Clause
 * base/threads.c - cores of the binding, and whether we are inside a parallel region.
 */
#include "config.h"

#include <sched.h>

#ifdef _OPENMP
#include <omp.h>
#endif

#include "runtime/base/threads.h"

int tw_threads_bound(void)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof(set), &set) != 0 || CPU_COUNT(&set) < 1) {
        return 1;
    }
    return CPU_COUNT(&set);
}

int tw_threads_share(int local_ranks)
{
    const int share = tw_threads_bound() / (local_ranks > 0 ? local_ranks : 1);

    return share > 0 ? share : 1;
}

int tw_threads_nested(void)
{
#ifdef _OPENMP
    return omp_in_parallel();
#else
    return 0;
#endif
}
