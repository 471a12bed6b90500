/* SPDX-License-Identifier: BSD-3-Clause
 * transport/comm/place.c - what topology needs from MPI: how many ranks this machine has, which of them
 * this is, and what each is bound to and sees already. All of them compute the same places from that.
 * Then all ranks tell each other with whom they are near: orders and groups follow without a message.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/topology/near.h"
#include "runtime/transport/comm/place.h"
#include "runtime/transport/comm/sync.h"

/* What ranks of a machine tell each other. */
typedef struct tw_seat_facts {
    char     binding[TW_PUS_TEXT];
    char     devices[TW_SEAT_DEVICES];
    uint64_t hash; /* of the map */
    int      rank; /* of the communicator */
} tw_seat_facts_t;

static void tw_seat_release(tw_comm_seat_t *seat)
{
    while (seat != NULL) {
        tw_comm_seat_t *before = seat->before;

        tw_node_destroy(seat->node);
        free(seat->places);
        free(seat->levels);
        free(seat->peers);
        free(seat);
        seat = before;
    }
}

static tw_status_t tw_seat_own_facts(const tw_comm_t *comm, const tw_node_t *node,
                                     const char *devices, tw_seat_facts_t *facts)
{
    memset(facts, 0, sizeof(*facts));
    facts->hash = tw_node_hash(node);
    facts->rank = comm->rank;
    if (tw_node_binding(node, facts->binding, sizeof(facts->binding)) != TW_OK) {
        TW_WARN(&comm->log, "this rank's binding is too long a list, and is taken for none");
        facts->binding[0] = '\0';
    }
    if (devices == NULL) {
        return tw_visible_devices(node, getenv("CUDA_VISIBLE_DEVICES"), facts->devices,
                                  sizeof(facts->devices));
    }
    snprintf(facts->devices, sizeof(facts->devices), "%s", devices);
    return TW_OK;
}

/* Where ranks have different maps, because of cgroups, none knows what another may use: the launcher has
 * divided the machine, and each rank is placed on its part. */
static void tw_seat_part(const tw_comm_t *comm, tw_comm_seat_t *seat, tw_seat_facts_t *facts)
{
    for (int r = 0; r < seat->ranks; r++) {
        if (facts[r].hash != facts[0].hash) {
            if (seat->rank == 0) {
                TW_WARN(&comm->log,
                        "ranks of this machine see different parts of it; each is placed "
                        "by itself");
            }
            facts[0]    = facts[seat->rank];
            seat->rank  = 0;
            seat->ranks = 1;
            return;
        }
    }
}

/* Places from what all ranks of the machine said, and the levels of this rank. */
static tw_status_t tw_seat_place_all(tw_comm_seat_t *seat, const tw_seat_facts_t *facts, int *own)
{
    const size_t ranks  = seat->ranks > 0 ? (size_t)seat->ranks : 1;
    tw_rank_t   *list   = calloc(ranks, sizeof(*list));
    int         *levels = calloc(ranks, TW_NEAR_LEVELS * sizeof(*levels));
    tw_status_t  status = list != NULL && levels != NULL ? TW_OK : TW_ERR_NO_MEMORY;

    for (int r = 0; r < seat->ranks && status == TW_OK; r++) {
        list[r] = (tw_rank_t){.binding = facts[r].binding, .devices = facts[r].devices};
    }
    if (status == TW_OK) {
        status = tw_place(seat->node, seat->ranks, list, &seat->places);
    }
    if (status == TW_OK) {
        tw_near_levels(seat->node, seat->places, seat->ranks, levels);
        for (int l = 0; l < TW_NEAR_LEVELS && seat->ranks > 1; l++) {
            own[l] = facts[levels[seat->rank * TW_NEAR_LEVELS + l]].rank;
        }
    }
    free(list);
    free(levels);
    return status;
}

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

/* The order of messages: ranks of other machines, because theirs take longest, from the next rank on;
 * then those of this one in the order of exchange. */
static tw_status_t tw_seat_order(const tw_comm_t *comm, tw_comm_seat_t *seat,
                                 const tw_seat_facts_t *facts)
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
            if (facts[r].rank == turn->rank) {
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

/* The facts of all ranks of the machine, in their order; *facts_p NULL where one cannot have them. The
 * result is MPI's. */
static int tw_seat_gather(const tw_comm_t *comm, tw_comm_seat_t *seat, MPI_Comm local,
                          const char *devices, tw_seat_facts_t **facts_p)
{
    tw_seat_facts_t *facts;
    int              well, all = 0, result;

    MPI_Comm_rank(local, &seat->rank);
    MPI_Comm_size(local, &seat->ranks);
    facts = calloc((size_t)seat->ranks, sizeof(*facts));
    well  = facts != NULL && seat->node != NULL &&
           tw_seat_own_facts(comm, seat->node, devices, &facts[seat->rank]) == TW_OK;
    result = MPI_Allreduce(&well, &all, 1, MPI_INT, MPI_MIN, local);
    if (result == MPI_SUCCESS && all) {
        result = MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, facts, (int)sizeof(*facts),
                               MPI_BYTE, local);
    }
    if (result != MPI_SUCCESS || !all) {
        free(facts);
        facts = NULL;
    }
    *facts_p = facts;
    return result;
}

/* All ranks' levels, and with them this rank's order of messages. */
static tw_status_t tw_seat_tell(tw_comm_t *comm, tw_comm_seat_t *seat, const tw_seat_facts_t *facts,
                                const int *own)
{
    const size_t bytes = (size_t)comm->size * TW_NEAR_LEVELS * sizeof(int);
    void        *all;
    tw_status_t  status = tw_comm_agreed_get(comm, bytes, &all);

    if (status != TW_OK) {
        return status;
    }
    status = tw_sync_allgather(comm, own, all, TW_NEAR_LEVELS * (int)sizeof(int), "places");
    if (status == TW_OK) {
        memcpy(seat->levels, all, bytes);
        status =
            tw_comm_agree(comm, seat->places != NULL ? tw_seat_order(comm, seat, facts) : TW_OK);
    }
    tw_pool_put(&comm->pool, all);
    return status;
}

static tw_status_t tw_seat_fill(tw_comm_t *comm, tw_comm_seat_t *seat, const char *devices)
{
    tw_seat_facts_t *facts = NULL;
    MPI_Comm         local = MPI_COMM_NULL;
    tw_status_t      mine  = TW_OK, status;
    int              own[TW_NEAR_LEVELS], result;

    for (int l = 0; l < TW_NEAR_LEVELS; l++) {
        own[l] = l + 1 < TW_NEAR_LEVELS ? comm->rank : comm->leader;
    }
    /* With the communicator's log lines, which carry its rank. */
    if (tw_node_create(comm->ctx, NULL, getenv("CUDA_VISIBLE_DEVICES"), &seat->node) != TW_OK) {
        TW_WARN(&comm->log, "this machine could not be described: its ranks have no places");
    }
    result = MPI_Comm_split_type(comm->comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &local);
    if (result == MPI_SUCCESS) {
        result = tw_seat_gather(comm, seat, local, devices, &facts);
        MPI_Comm_free(&local);
    }
    status = tw_comm_mpi(comm, result, "placing the ranks of a machine");
    if (status == TW_OK && facts != NULL) {
        tw_seat_part(comm, seat, facts);
        mine = tw_seat_place_all(seat, facts, own);
        mine = mine == TW_ERR_NO_MEMORY ? mine : TW_OK; /* has said why there are no places */
    }
    if (status == TW_OK) {
        status = tw_comm_agree(comm, mine);
    }
    if (status == TW_OK) {
        status = tw_seat_tell(comm, seat, facts, own);
    }
    free(facts);
    return status;
}

tw_status_t tw_comm_seat_make(tw_comm_t *comm, const char *devices)
{
    const size_t    size = (size_t)comm->size;
    tw_comm_seat_t *seat = calloc(1, sizeof(*seat));
    tw_status_t     status;

    if (seat != NULL) {
        seat->levels = calloc(size * TW_NEAR_LEVELS, sizeof(*seat->levels));
        seat->peers  = calloc(size, sizeof(*seat->peers));
    }
    status = tw_comm_agree(comm, seat != NULL && seat->levels != NULL && seat->peers != NULL
                                     ? TW_OK
                                     : TW_ERR_NO_MEMORY);
    if (status == TW_OK) {
        status = tw_seat_fill(comm, seat, devices);
    }
    if (status != TW_OK) {
        tw_seat_release(seat);
        return status;
    }
    seat->before       = comm->seat;
    comm->seat         = seat;
    comm->seat_release = tw_seat_release;
    comm->peers        = seat->places != NULL ? seat->peers : NULL;
    comm->network[0]   = '\0';
    if (seat->places != NULL) {
        (void)tw_place_network(seat->node, tw_seat_place(seat), comm->network,
                               sizeof(comm->network));
    }
    return TW_OK;
}

tw_status_t tw_comm_groups(const tw_comm_t *comm, int group, int *position)
{
    int        *order;
    tw_status_t status;

    for (int r = 0; r < comm->size; r++) {
        position[r] = r;
    }
    if (comm->seat == NULL) {
        return TW_OK;
    }
    order = malloc((size_t)comm->size * sizeof(*order));
    if (order == NULL) {
        return TW_ERR_NO_MEMORY;
    }
    status = tw_near_groups(comm->seat->levels, comm->size, group, order);
    for (int i = 0; i < comm->size && status == TW_OK; i++) {
        position[order[i]] = i;
    }
    free(order);
    return status;
}
