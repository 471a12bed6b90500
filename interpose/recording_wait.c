/* SPDX-License-Identifier: BSD-3-Clause
 * interpose/recording_wait.c - which recorded collective a request of the program stands for: its wait is
 * recorded when a completion call has completed it. See recording.h.
 */
#include "config.h"

#include <stdlib.h>

#include "interpose/next.h"
#include "interpose/state.h"
#include "interpose/recording.h"
#include "interpose/recording_state.h"
#include "runtime/base/clock.h"

static void tw_recording_complete(tw_recording_under_way_t *one)
{
    tw_recording_unfile(one);
    tw_recording.words.word[one->start].busy &= ~(UINT64_C(1) << one->slot);
    tw_recording_add(one->wait);
}

void tw_recording_request(int result, const MPI_Request *request)
{
    if (!tw_is_recording() || !tw_recording_mine() ||
        tw_recording.started.start == TW_RECORDING_NO_ID) {
        return;
    }
    if (result == MPI_SUCCESS && *request != MPI_REQUEST_NULL) {
        const tw_recording_under_way_t what      = {.request = *request,
                                                    .start   = tw_recording.started.start,
                                                    .wait    = tw_recording.started.wait,
                                                    .slot    = tw_recording.started.slot};
        tw_recording_under_way_t      *forgotten = tw_recording_forgotten(*request);

        if (forgotten != NULL) {
            tw_recording_complete(forgotten);
        }
        tw_recording_file(&what);
    } else {
        tw_recording.words.word[tw_recording.started.start].busy &=
            ~(UINT64_C(1) << tw_recording.started.slot);
    }
    tw_recording.started.start = TW_RECORDING_NO_ID;
}

void tw_recording_request_f(MPI_Fint result, const MPI_Fint *request)
{
    if (tw_is_recording()) {
        const MPI_Request handle =
            result == MPI_SUCCESS ? tw_mpi_request_f2c(*request) : MPI_REQUEST_NULL;

        tw_recording_request(result, &handle);
    }
}

/* ---- completion ---------------------------------------------------------------------------- */

/* Is the call looked at, and may it have some of ours? */
static bool tw_recording_waits(tw_recording_waits_t *waits, int count)
{
    *waits = (tw_recording_waits_t){.list = waits->small};
    if (!tw_is_recording() || tw_inside != 0 || !tw_recording_mine()) {
        return false;
    }
    tw_recording_enter();
    waits->start_ns = tw_clock_ns();
    if (count > TW_RECORDING_SMALL && tw_recording_under_ways > TW_RECORDING_SMALL) {
        waits->list = malloc((size_t)count * sizeof(*waits->list));
    }
    return tw_recording_under_ways > 0 && waits->list != NULL;
}

static void tw_recording_claim(tw_recording_waits_t *waits, int index, MPI_Request request)
{
    tw_recording_under_way_t *one = tw_recording_find(request);

    if (one != NULL) {
        one->claimed                = true;
        waits->list[waits->count++] = (tw_recording_waiting_t){index, one};
    }
}

void tw_recording_wait_begin(tw_recording_waits_t *waits, int count, const MPI_Request requests[])
{
    if (tw_recording_waits(waits, count)) {
        for (int i = 0; i < count; i++) {
            tw_recording_claim(waits, i, requests[i]);
        }
    }
}

void tw_recording_wait_begin_f(tw_recording_waits_t *waits, int count, const MPI_Fint requests[])
{
    if (tw_recording_waits(waits, count)) {
        for (int i = 0; i < count; i++) {
            tw_recording_claim(waits, i, tw_mpi_request_f2c(requests[i]));
        }
    }
}

/* The time is what all of the call took. */
static bool tw_recording_waited(const tw_recording_waits_t *waits)
{
    if (waits->start_ns != 0) {
        tw_recording_passed(waits->start_ns, tw_clock_ns(), waits->count > 0);
    }
    return waits->start_ns != 0;
}

static void tw_recording_waits_over(tw_recording_waits_t *waits)
{
    if (waits->list != waits->small) {
        free(waits->list);
    }
    tw_recording_leave();
}

void tw_recording_wait_end(tw_recording_waits_t *waits, bool complete)
{
    if (!tw_recording_waited(waits)) {
        return;
    }
    for (int k = 0; k < waits->count; k++) {
        waits->list[k].what->claimed = false;
        if (complete) {
            tw_recording_complete(waits->list[k].what);
        }
    }
    tw_recording_waits_over(waits);
}

void tw_recording_wait_end_at(tw_recording_waits_t *waits, int n, const int indices[], int first)
{
    if (!tw_recording_waited(waits)) {
        return;
    }
    for (int k = 0; k < waits->count; k++) {
        bool complete = false;

        for (int i = 0; i < n && !complete; i++) {
            complete = indices[i] - first == waits->list[k].index;
        }
        waits->list[k].what->claimed = false;
        if (complete) {
            tw_recording_complete(waits->list[k].what);
        }
    }
    tw_recording_waits_over(waits);
}
