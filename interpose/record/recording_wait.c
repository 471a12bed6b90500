/* SPDX-License-Identifier: BSD-3-Clause
 * interpose/record/recording_wait.c - which recorded collective a request of the program stands
 * for: its wait is recorded when a completion call has completed it. See recording.h.
 */
#include "config.h"

#include <stdlib.h>

#include "interpose/next.h"
#include "interpose/state.h"
#include "interpose/record/recording.h"
#include "interpose/record/recording_state.h"
#include "runtime/base/clock.h"

static void tw_recording_slot_free(const tw_recording_started_t *started)
{
    tw_recording.words.word[started->start].busy &= ~(UINT64_C(1) << started->slot);
}

static void tw_recording_complete(tw_recording_under_way_t *one)
{
    tw_recording_unfile(one);
    tw_recording_slot_free(&one->started);
    tw_recording_add(one->started.wait);
}

void tw_recording_request(int result, tw_requests_t request)
{
    MPI_Request handle;

    if (!tw_is_recording() || !tw_recording_mine() ||
        tw_recording.started.start == TW_RECORDING_NO_ID) {
        return;
    }
    handle = result == MPI_SUCCESS ? tw_request_at(request, 0) : MPI_REQUEST_NULL;
    if (handle != MPI_REQUEST_NULL) {
        const tw_recording_under_way_t what = {.request = handle, .started = tw_recording.started};
        tw_recording_under_way_t      *forgotten = tw_recording_forgotten(handle);

        if (forgotten != NULL) {
            tw_recording_complete(forgotten);
        }
        tw_recording_file(&what);
    } else {
        tw_recording_slot_free(&tw_recording.started);
    }
    tw_recording.started.start = TW_RECORDING_NO_ID;
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
        waits->list[waits->count++] = (tw_recording_waiting_t){index, false, one};
    }
}

void tw_recording_wait_begin(tw_recording_waits_t *waits, int count, tw_requests_t requests)
{
    if (tw_recording_waits(waits, count)) {
        for (int i = 0; i < count; i++) {
            tw_recording_claim(waits, i, tw_request_at(requests, i));
        }
    }
}

static int tw_recording_by_order(const void *a, const void *b)
{
    const uint64_t x = ((const tw_recording_waiting_t *)a)->what->started.order,
                   y = ((const tw_recording_waiting_t *)b)->what->started.order;

    return (x > y) - (x < y);
}

/* Those that were started first come first, as they mostly do. */
static void tw_recording_sort(tw_recording_waits_t *waits)
{
    int k = 1;

    while (k < waits->count && tw_recording_by_order(&waits->list[k - 1], &waits->list[k]) < 0) {
        k++;
    }
    if (k < waits->count) {
        qsort(waits->list, (size_t)waits->count, sizeof(*waits->list), tw_recording_by_order);
    }
}

/* The k-th is complete: that is taken for the first that is not, and what the requests between them
 * stand for moves on by one. */
static void tw_recording_complete_first(tw_recording_waits_t *waits, int k)
{
    tw_recording_started_t *mine = &waits->list[k].what->started;

    for (int i = k - 1; i >= 0; i--) {
        if (!waits->list[i].complete) {
            const tw_recording_started_t other = waits->list[i].what->started;

            waits->list[i].what->started = *mine;
            *mine                        = other;
        }
    }
    tw_recording_complete(waits->list[k].what);
}

/* `others`: what the call has completed are requests of other kinds alone, and so is its time. Else
 * all of its time is the collectives', which it has completed or looked at. */
static void tw_recording_waits_end(tw_recording_waits_t *waits, bool others, bool completed)
{
    if (waits->count > 0 && !others) {
        tw_recording_passed(waits->start_ns, tw_clock_ns(), true);
    } else {
        tw_recording_passed_messages(waits->start_ns, tw_clock_ns(), completed);
    }
    tw_recording_sort(waits);
    for (int k = 0; k < waits->count; k++) {
        waits->list[k].what->claimed = false;
    }
    for (int k = 0; k < waits->count; k++) {
        if (waits->list[k].complete) {
            tw_recording_complete_first(waits, k);
        }
    }
    if (waits->list != waits->small) {
        free(waits->list);
    }
    tw_recording_leave();
}

void tw_recording_wait_end(tw_recording_waits_t *waits, bool complete)
{
    if (waits->start_ns == 0) {
        return;
    }
    for (int k = 0; k < waits->count; k++) {
        waits->list[k].complete = complete;
    }
    tw_recording_waits_end(waits, false, complete);
}

void tw_recording_wait_end_at(tw_recording_waits_t *waits, int n, const int indices[], int first)
{
    bool ours = false;

    if (waits->start_ns == 0) {
        return;
    }
    for (int k = 0; k < waits->count; k++) {
        for (int i = 0; i < n && !waits->list[k].complete; i++) {
            waits->list[k].complete = indices[i] - first == waits->list[k].index;
        }
        ours = ours || waits->list[k].complete;
    }
    tw_recording_waits_end(waits, n > 0 && !ours, n > 0);
}
