/* SPDX-License-Identifier: BSD-3-Clause
 * tests/yield.c - preloaded into programs that MPICH starts (tests/environment.sh): a rank that
 * waits lets the others run, as Open MPI's do by mpi_yield_when_idle. MPICH 4 has no such setting,
 * and with more ranks than cores every call then takes a slice of the scheduler's time: a barrier
 * of 7 ranks on 2 cores 26 ms, with this 20 us.
 */
#include "config.h"

#include <dlfcn.h>
#include <sched.h>

/* What MPICH (ch4:ucx, that of Debian and Ubuntu) calls while it waits; the result: what was in
 * it. */
__attribute__((visibility("default"))) unsigned ucp_worker_progress(void *worker);

unsigned ucp_worker_progress(void *worker)
{
    static _Thread_local unsigned (*next)(void *);
    unsigned events;

    if (!next)
        *(void **)&next = dlsym(RTLD_NEXT, "ucp_worker_progress");
    if (!next) /* Python loads MPI for itself alone */
        *(void **)&next =
            dlsym(dlopen("libucp.so.0", RTLD_LAZY | RTLD_NOLOAD), "ucp_worker_progress");
    events = next(worker);
    if (events == 0)
        sched_yield();
    return events;
}
