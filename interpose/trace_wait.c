/* SPDX-License-Identifier: BSD-3-Clause
 * interpose/trace_wait.c - which recorded collective a request of the program stands for: its wait is
 * recorded when a completion call has completed it. See trace.h.
 */
#include "config.h"

#include <stdlib.h>

#include "interpose/next.h"
#include "interpose/state.h"
#include "interpose/trace.h"
#include "runtime/base/bytes.h"
#include "runtime/base/clock.h"

#define TW_TRACE_BITS 8

struct tw_trace_under_way {
    tw_trace_under_way_t *next;
    MPI_Request           request;
    uint32_t              start, wait; /* ids; start: in slot 0 */
    uint32_t              slot;
    bool                  claimed; /* by the completion call at hand */
};

static tw_trace_under_way_t *tw_trace_table[1 << TW_TRACE_BITS];
static tw_trace_under_way_t *tw_trace_spare;
static size_t                tw_trace_under_ways;

static tw_trace_under_way_t **tw_trace_at(MPI_Request request)
{
    return &tw_trace_table[tw_hash_word((uintptr_t)request, TW_TRACE_BITS)];
}

/* Behind others of the same handle, which MPI may give to several that are complete at once. */
static void tw_trace_file(MPI_Request request)
{
    tw_trace_under_way_t **at = tw_trace_at(request), *one = tw_trace_spare;

    if (one != NULL) {
        tw_trace_spare = one->next;
    } else {
        one = malloc(sizeof(*one));
    }
    if (one == NULL) {
        return; /* its wait is not recorded */
    }
    while (*at != NULL) {
        at = &(*at)->next;
    }
    *one = (tw_trace_under_way_t){.request = request,
                                  .start   = tw_trace.started.start,
                                  .wait    = tw_trace.started.wait,
                                  .slot    = tw_trace.started.slot};
    *at  = one;
    tw_trace_under_ways++;
}

void tw_trace_request(int result, const MPI_Request *request)
{
    if (!tw_tracing() || !tw_trace_mine() || tw_trace.started.start == TW_TRACE_NO_ID) {
        return;
    }
    if (result == MPI_SUCCESS && *request != MPI_REQUEST_NULL) {
        tw_trace_file(*request);
    } else {
        tw_trace.words.word[tw_trace.started.start].busy &= ~(UINT64_C(1) << tw_trace.started.slot);
    }
    tw_trace.started.start = TW_TRACE_NO_ID;
}

void tw_trace_request_f(MPI_Fint result, const MPI_Fint *request)
{
    if (tw_tracing()) {
        const MPI_Request handle =
            result == MPI_SUCCESS ? tw_mpi_request_f2c(*request) : MPI_REQUEST_NULL;

        tw_trace_request(result, &handle);
    }
}

void tw_trace_requests_renumber(const uint32_t *map)
{
    for (int i = 0; i < 1 << TW_TRACE_BITS; i++) {
        for (tw_trace_under_way_t *one = tw_trace_table[i]; one != NULL; one = one->next) {
            one->start = map[one->start];
            one->wait  = map[one->wait];
        }
    }
}

/* ---- completion ---------------------------------------------------------------------------- */

/* Is the call looked at, and may it have some of ours? */
static bool tw_trace_waits(tw_trace_waits_t *waits, int count)
{
    *waits = (tw_trace_waits_t){.list = waits->small};
    if (!tw_tracing() || tw_inside != 0 || !tw_trace_mine()) {
        return false;
    }
    waits->start_ns = tw_clock_ns();
    if (count > TW_TRACE_SMALL && tw_trace_under_ways > TW_TRACE_SMALL) {
        waits->list = malloc((size_t)count * sizeof(*waits->list));
    }
    return tw_trace_under_ways > 0 && waits->list != NULL;
}

static void tw_trace_claim(tw_trace_waits_t *waits, int index, MPI_Request request)
{
    tw_trace_under_way_t *one = *tw_trace_at(request);

    while (one != NULL && (one->request != request || one->claimed)) {
        one = one->next;
    }
    if (one != NULL) {
        one->claimed                = true;
        waits->list[waits->count++] = (tw_trace_waiting_t){index, one};
    }
}

void tw_trace_wait_begin(tw_trace_waits_t *waits, int count, const MPI_Request requests[])
{
    if (tw_trace_waits(waits, count)) {
        for (int i = 0; i < count; i++) {
            tw_trace_claim(waits, i, requests[i]);
        }
    }
}

void tw_trace_wait_begin_f(tw_trace_waits_t *waits, int count, const MPI_Fint requests[])
{
    if (tw_trace_waits(waits, count)) {
        for (int i = 0; i < count; i++) {
            tw_trace_claim(waits, i, tw_mpi_request_f2c(requests[i]));
        }
    }
}

static void tw_trace_complete(tw_trace_under_way_t *one)
{
    tw_trace_under_way_t **at = tw_trace_at(one->request);

    while (*at != one) {
        at = &(*at)->next;
    }
    *at            = one->next;
    one->next      = tw_trace_spare;
    tw_trace_spare = one;
    tw_trace_under_ways--;
    tw_trace.words.word[one->start].busy &= ~(UINT64_C(1) << one->slot);
    tw_trace_add(one->wait);
}

/* The time is what all of the call took. */
static bool tw_trace_waited(const tw_trace_waits_t *waits)
{
    if (waits->start_ns != 0) {
        tw_trace_passed(waits->start_ns, tw_clock_ns(), waits->count > 0);
    }
    return waits->start_ns != 0;
}

static void tw_trace_waits_over(tw_trace_waits_t *waits)
{
    if (waits->list != waits->small) {
        free(waits->list);
    }
    tw_trace.mark_ns = tw_clock_ns();
}

void tw_trace_wait_end(tw_trace_waits_t *waits, bool complete)
{
    if (!tw_trace_waited(waits)) {
        return;
    }
    for (int k = 0; k < waits->count; k++) {
        waits->list[k].what->claimed = false;
        if (complete) {
            tw_trace_complete(waits->list[k].what);
        }
    }
    tw_trace_waits_over(waits);
}

void tw_trace_wait_end_at(tw_trace_waits_t *waits, int n, const int indices[], int first)
{
    if (!tw_trace_waited(waits)) {
        return;
    }
    for (int k = 0; k < waits->count; k++) {
        bool complete = false;

        for (int i = 0; i < n && !complete; i++) {
            complete = indices[i] - first == waits->list[k].index;
        }
        waits->list[k].what->claimed = false;
        if (complete) {
            tw_trace_complete(waits->list[k].what);
        }
    }
    tw_trace_waits_over(waits);
}
