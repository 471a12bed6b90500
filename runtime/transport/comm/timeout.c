/* SPDX-License-Identifier: BSD-3-Clause
 * transport/comm/timeout.c - THINWIRE_TIMEOUT: time without progress.
 *
 * Only time in which this process ran and polled counts: between two polls without progress at most
 * an eighth of the limit. So there is no false timeout after a process was stopped, a machine was
 * suspended, or a program computed. Time does not count while this rank's device has work of an
 * operation to do, or work of the caller queued before it.
 */
#include "config.h"

#include "runtime/base/clock.h"
#include "runtime/transport/comm/comm.h"

void tw_comm_moved(tw_comm_t *comm)
{
    if (comm->system->moved != NULL) {
        comm->system->moved();
    }
    if (comm->config.timeout > 0.0) {
        comm->waited_ns = 0;
        comm->looked_ns = 0;
        comm->pending   = -1;
    }
}

bool tw_comm_timed_out(tw_comm_t *comm)
{
    const uint64_t limit_ns = (uint64_t)(comm->config.timeout * 1e9), most_ns = limit_ns / 8 + 1;
    const uint64_t before = comm->waited_ns / most_ns;
    uint64_t       now, gap_ns;
    int            pending;

    if (limit_ns == 0) {
        return false;
    }
    now    = tw_clock_ns();
    gap_ns = comm->looked_ns == 0 || comm->engine->computes(comm) ? 0 : now - comm->looked_ns;
    comm->looked_ns = now;
    comm->waited_ns += gap_ns < most_ns ? gap_ns : most_ns;
    if (comm->waited_ns / most_ns != before) { /* one message of several is progress, too */
        pending = comm->engine->pending(comm);
        if (comm->pending >= 0 && pending != comm->pending) {
            tw_comm_moved(comm);
        }
        comm->pending = pending;
    }
    return comm->waited_ns >= limit_ns;
}
