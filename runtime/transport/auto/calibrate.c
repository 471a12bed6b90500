/* SPDX-License-Identifier: BSD-3-Clause
 * transport/auto/calibrate.c - the phases of a measurement; see calibrate.h.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/base/clock.h"
#include "runtime/base/fpmode.h"
#include "runtime/transport/auto/calibrate.h"
#include "runtime/transport/comm/sync.h"
#include "runtime/transport/comm/progress_thread.h"
#include "runtime/transport/engine/request.h"

/* Numbers as a codec meets them. */
static void tw_gauge_fill(uint8_t *bytes, size_t room)
{
    uint32_t state = 12345;

    for (size_t at = 0; at + sizeof(float) <= room; at += sizeof(float)) {
        float x;

        state = state * 1664525u + 1013904223u;
        x     = (float)(int32_t)state * 0x1p-31f;
        memcpy(bytes + at, &x, sizeof(x));
    }
}

static tw_status_t tw_calibrate_phases(tw_gauge_t *g, double seconds, tw_facts_t *facts)
{
    static const struct {
        double part;
        tw_status_t (*measure)(tw_gauge_t *, tw_facts_t *);
    } phases[]         = {{0.15, tw_gauge_links},
                          {0.05, tw_gauge_processor},
                          {0.20, tw_gauge_codecs},
                          {0.35, tw_gauge_native},
                          {0.25, tw_gauge_factors}};
    tw_status_t status = TW_OK;

    for (size_t p = 0; p < sizeof(phases) / sizeof(phases[0]) && status == TW_OK; p++) {
        tw_gauge_phase(g, phases[p].part * seconds);
        status = phases[p].measure(g, facts);
    }
    return status;
}

/* Room for a vector for every rank, or less where there are many. */
static size_t tw_calibrate_room(const tw_comm_t *comm, bool long_form)
{
    const size_t least = ((size_t)64 << 10) * (size_t)comm->size;
    const size_t usual = long_form ? (size_t)64 << 20 : (size_t)1 << 20;

    return least > usual ? least : usual;
}

TW_IN_FPMODE static tw_status_t tw_calibrate_here(tw_comm_t *comm, double seconds,
                                                  tw_facts_t *facts)
{
    const tw_stats_t stats = comm->stats;
    tw_gauge_t       g     = {
                  .comm = comm, .node = comm->nodes->node_of, .long_form = seconds >= TW_CALIBRATE_LONG};
    tw_facts_t  found = {.ranks       = comm->size,
                         .nodes       = comm->nodes->count,
                         .local_ranks = comm->nodes->most,
                         .long_form   = g.long_form};
    void       *send = NULL, *recv = NULL, *requests = NULL;
    tw_status_t status;

    tw_comm_enter(comm);
    g.room = tw_calibrate_room(comm, g.long_form);
    status = tw_comm_agreed_get(comm, g.room, &send);
    if (status == TW_OK) {
        status = tw_comm_agreed_get(comm, g.room, &recv);
    }
    if (status == TW_OK) {
        status = tw_comm_agreed_get(
            comm, 2 * TW_GAUGE_MESSAGES * (size_t)comm->size * sizeof(MPI_Request), &requests);
    }
    if (status == TW_OK) {
        g.send     = send;
        g.recv     = recv;
        g.requests = requests;
        tw_gauge_fill(send, g.room);
        memset(recv, 0, g.room);
    }
    if (status == TW_OK) {
        status = tw_calibrate_phases(&g, seconds, &found);
    }
    if (status == TW_OK) {
        status = tw_calibration_share(comm, &found);
    }
    if (comm->status == TW_OK) {
        tw_pool_put(&comm->pool, send);
        tw_pool_put(&comm->pool, recv);
        tw_pool_put(&comm->pool, requests);
        tw_pool_trim(&comm->pool, comm->reserved);
    }
    comm->stats = stats; /* what was counted here is no traffic of the program */
    if (status == TW_OK) {
        *facts = found;
    }
    tw_comm_leave(comm);
    return status;
}

tw_status_t tw_calibrate(tw_comm_t *comm, double seconds, tw_facts_t *facts)
{
    const tw_fpmode_t mode   = tw_fpmode_enter();
    const tw_status_t status = tw_calibrate_here(comm, seconds, facts);

    tw_fpmode_leave(mode);
    return status;
}
