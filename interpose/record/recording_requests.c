/* SPDX-License-Identifier: BSD-3-Clause
 * interpose/record/recording_requests.c - which recorded collective a request of the program stands
 * for; see recording_state.h.
 */
#include "config.h"

#include <stdlib.h>

#include "interpose/record/recording_state.h"
#include "runtime/base/bytes.h"

#define TW_RECORDING_BITS 8

size_t tw_recording_under_ways;

static tw_recording_under_way_t *tw_recording_table[1 << TW_RECORDING_BITS];
static tw_recording_under_way_t *tw_recording_spare;

static tw_recording_under_way_t **tw_recording_at(MPI_Request request)
{
    return &tw_recording_table[tw_hash_word((uintptr_t)request, TW_RECORDING_BITS)];
}

/* Behind others of the same handle, which MPI may give to several that are complete at once. */
void tw_recording_file(const tw_recording_under_way_t *what)
{
    tw_recording_under_way_t **at  = tw_recording_at(what->request);
    tw_recording_under_way_t  *one = tw_recording_spare;

    if (one != NULL) {
        tw_recording_spare = one->next;
    } else {
        one = malloc(sizeof(*one));
    }
    if (one == NULL) {
        return;
    }
    while (*at != NULL) {
        at = &(*at)->next;
    }
    *one      = *what;
    one->next = NULL;
    *at       = one;
    tw_recording_under_ways++;
}

/* The first of many with one handle: somebody else waits for them, on another thread. */
tw_recording_under_way_t *tw_recording_forgotten(MPI_Request request)
{
    tw_recording_under_way_t *first = NULL;
    unsigned                  n     = 0;

    for (tw_recording_under_way_t *one = *tw_recording_at(request); one != NULL; one = one->next) {
        if (one->request == request && !one->claimed) {
            first = first == NULL ? one : first;
            n++;
        }
    }
    return n >= TW_RECORDING_ALIKE ? first : NULL;
}

tw_recording_under_way_t *tw_recording_find(MPI_Request request)
{
    tw_recording_under_way_t *one = *tw_recording_at(request);

    while (one != NULL && (one->request != request || one->claimed)) {
        one = one->next;
    }
    return one;
}

void tw_recording_unfile(tw_recording_under_way_t *what)
{
    tw_recording_under_way_t **at = tw_recording_at(what->request);

    while (*at != what) {
        at = &(*at)->next;
    }
    *at                = what->next;
    what->next         = tw_recording_spare;
    tw_recording_spare = what;
    tw_recording_under_ways--;
}

void tw_recording_requests_renumber(const uint32_t *map)
{
    for (int i = 0; i < 1 << TW_RECORDING_BITS; i++) {
        for (tw_recording_under_way_t *one = tw_recording_table[i]; one != NULL; one = one->next) {
            one->started.start = map[one->started.start];
            one->started.wait  = map[one->started.wait];
        }
    }
}
