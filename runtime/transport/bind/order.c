/* SPDX-License-Identifier: BSD-3-Clause
 * transport/bind/order.c - derived from places without communication: the order in which a rank's
 * messages start, and groups of ranks near each other.
 */
#include "config.h"

#include <stdlib.h>

#include "runtime/topology/near.h"
#include "runtime/transport/bind/place.h"

/* Rounds of the exchange order in which this rank's GPU meets the others; 0: the same GPU, or none.
 * TW_ERR_NO_MEMORY. round[r] is of rank r of the machine. */
static tw_status_t tw_seat_rounds(const tw_comm_seat_t *seat, int *round)
{
    const int   mine  = seat->places[seat->rank].gpu;
    const int   all   = tw_node_count(seat->node, TW_PART_GPU);
    int        *gpus  = calloc((size_t)all + 1, sizeof(*gpus));
    int         count = 0, rounds = 0;
    tw_round_t *list   = NULL;
    tw_status_t status = gpus != NULL ? TW_OK : TW_ERR_NO_MEMORY;

    for (int g = 0; g < all && status == TW_OK; g++) {
        for (int r = 0; r < seat->ranks; r++) {
            if (seat->places[r].gpu == g) {
                gpus[count++] = g;
                break;
            }
        }
    }
    if (status == TW_OK && mine >= 0 && count > 1 && count <= 1024) {
        status = tw_exchange_order(seat->node, gpus, count, &list, &rounds);
    }
    for (int i = 0; i < rounds; i++) {
        for (int k = 0; k < list[i].count; k++) {
            const tw_pair_t *pair = &list[i].pairs[k];

            for (int r = 0; r < seat->ranks; r++) {
                if ((pair->a == mine && pair->b == seat->places[r].gpu) ||
                    (pair->b == mine && pair->a == seat->places[r].gpu)) {
                    round[r] = i + 1;
                }
            }
        }
    }
    free(list);
    free(gpus);
    return status;
}

/* A rank, and when its turn is. */
typedef struct tw_turn {
    int rank, elsewhere, level, round, distance;
} tw_turn_t;

static int tw_by_turn(const void *a, const void *b)
{
    const tw_turn_t *x = a, *y = b;

    return x->elsewhere != y->elsewhere ? y->elsewhere - x->elsewhere
           : x->round != y->round       ? x->round - y->round
           : x->level != y->level       ? x->level - y->level
                                        : x->distance - y->distance;
}

tw_status_t tw_seat_order(const tw_comm_t *comm, tw_comm_seat_t *seat)
{
    tw_turn_t  *turns  = calloc((size_t)comm->size, sizeof(*turns));
    int        *round  = calloc((size_t)seat->ranks, sizeof(*round));
    tw_status_t status = turns != NULL && round != NULL ? TW_OK : TW_ERR_NO_MEMORY;

    if (status == TW_OK) {
        status = tw_seat_rounds(seat, round);
    }
    for (int i = 0; i < comm->size && status == TW_OK; i++) {
        tw_turn_t *turn = &turns[i];

        *turn = (tw_turn_t){.rank = (comm->rank + i) % comm->size, .elsewhere = 1, .distance = i};
        while (turn->level < TW_NEAR_LEVELS &&
               seat->levels[turn->rank * TW_NEAR_LEVELS + turn->level] !=
                   seat->levels[comm->rank * TW_NEAR_LEVELS + turn->level]) {
            turn->level++;
        }
        for (int r = 0; r < seat->ranks; r++) {
            if (seat->members[r] == turn->rank) {
                turn->elsewhere = 0;
                turn->round     = round[r];
            }
        }
    }
    if (status == TW_OK) {
        qsort(turns + 1, (size_t)comm->size - 1, sizeof(*turns), tw_by_turn);
        for (int i = 0; i < comm->size; i++) {
            seat->peers[i] = turns[i].rank;
        }
    }
    free(turns);
    free(round);
    return status;
}
