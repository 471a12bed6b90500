/* SPDX-License-Identifier: BSD-3-Clause
 * transport/bind/place.c - MPI communication for topology: the number of ranks on this machine, the
 * number of this rank, and each rank's binding and visible devices. All of these ranks compute the
 * same places from that. Then all ranks exchange their near levels, from which orders and groups
 * are computed without communication.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/bytes.h"
#include "runtime/topology/near.h"
#include "runtime/transport/bind/machine.h"
#include "runtime/transport/bind/place.h"
#include "runtime/transport/comm/sync.h"

/* What ranks of a machine tell each other. */
typedef struct tw_seat_facts {
    char     binding[TW_PUS_TEXT];
    char     devices[TW_SEAT_DEVICES];
    uint64_t hash;                    /* of the map */
    int      rank;                    /* of the communicator */
    int      local_rank, local_ranks; /* of the job, on this machine; 0 of 0: not known       */
    int      picked; /* the number of the device that devices was cut down to; -1: it was not */
} tw_seat_facts_t;

static void tw_seat_release(tw_comm_seat_t *seat)
{
    while (seat != NULL) {
        tw_comm_seat_t *before = seat->before;

        free(seat->places);
        free(seat->members);
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
    facts->hash   = tw_node_hash(node);
    facts->rank   = comm->rank;
    facts->picked = -1;
    (void)tw_machine_local(&facts->local_rank, &facts->local_ranks);
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

/* A list of devices becomes as many texts, one behind the other; returns how many. */
static int tw_seat_cut(char *devices)
{
    int count = devices[0] != '\0';

    for (char *at = devices; (at = strchr(at, ',')) != NULL; at++) {
        *at = '\0';
        count++;
    }
    return count;
}

static const char *tw_seat_nth(const char *cut, int n)
{
    for (; n > 0; n--) {
        cut += strlen(cut) + 1;
    }
    return cut;
}

/* Of several devices the one whose turn it is: where ranks cannot know what the others take, each
 * takes the one of its own number among them. */
static void tw_seat_pick(tw_seat_facts_t *facts, int turn)
{
    const int count = tw_seat_cut(facts->devices);

    if (count > 1) {
        const char *one = tw_seat_nth(facts->devices, turn % count);

        facts->picked = turn % count;
        memmove(facts->devices, one, strlen(one) + 1);
    }
}

/* Where ranks have different maps, because of cgroups, none knows what another may use: the
 * launcher has divided the machine, and each rank is placed on its part. */
static void tw_seat_part(const tw_comm_t *comm, tw_comm_seat_t *seat, tw_seat_facts_t *facts)
{
    for (int r = 0; r < seat->ranks; r++) {
        if (facts[r].hash != facts[0].hash) {
            if (seat->rank == 0) {
                TW_WARN(&comm->log,
                        "ranks of this machine see different parts of it; each is placed "
                        "by itself");
            }
            facts[0] = facts[seat->rank];
            tw_seat_pick(&facts[0], seat->in_job ? facts[0].local_rank : seat->rank);
            facts[0].local_ranks = 0;
            seat->rank           = 0;
            seat->ranks          = 1;
            return;
        }
    }
}

/* Do the launcher's numbers fit together? Else nobody has one. */
static void tw_seat_number(tw_comm_seat_t *seat, tw_seat_facts_t *facts)
{
    seat->in_job = true;
    for (int r = 0; r < seat->ranks; r++) {
        seat->in_job = seat->in_job && facts[r].local_ranks >= seat->ranks &&
                       facts[r].local_ranks == facts[0].local_ranks;
        for (int q = 0; q < r; q++) {
            seat->in_job = seat->in_job && facts[q].local_rank != facts[r].local_rank;
        }
    }
    for (int r = 0; r < seat->ranks && !seat->in_job; r++) {
        facts[r].local_ranks = 0;
    }
}

/* What tw_place() is told of all ranks of the job on this machine, list[]; at[r]: where rank r of
 * the seat stands in it. Ranks outside of the communicator are taken for free ones that see what
 * others do; where there are some, devices are taken in turn, as nobody knows what those are near
 * to. */
static void tw_seat_list(const tw_comm_seat_t *seat, tw_seat_facts_t *facts, int ranks,
                         char *devices, tw_rank_t *list, int *at)
{
    int count;

    snprintf(devices, TW_SEAT_DEVICES, "%s", facts[0].devices);
    count = tw_seat_cut(devices);
    for (int i = 0; i < ranks; i++) {
        list[i].devices = count > 1 ? tw_seat_nth(devices, i % count) : "";
    }
    for (int r = 0; r < seat->ranks; r++) {
        at[r] = facts[r].local_ranks > 0 ? facts[r].local_rank : r;
        if (ranks > seat->ranks) {
            tw_seat_pick(&facts[r], facts[r].local_rank);
        }
        list[at[r]] = (tw_rank_t){.binding = facts[r].binding, .devices = facts[r].devices};
    }
}

/* Of the places of all ranks of the job those of the seat come to the front, with their devices'
 * numbers. */
static tw_status_t tw_seat_keep(tw_comm_seat_t *seat, const tw_seat_facts_t *facts, int ranks,
                                const int *at)
{
    const size_t bytes = (size_t)ranks * sizeof(*seat->places);
    tw_place_t  *all   = malloc(bytes);

    if (all == NULL) {
        return TW_ERR_NO_MEMORY;
    }
    memcpy(all, seat->places, bytes);
    for (int r = 0; r < seat->ranks; r++) {
        seat->members[r] = facts[r].rank;
        seat->places[r]  = all[at[r]];
        if (facts[r].picked >= 0 && seat->places[r].device >= 0) {
            seat->places[r].device = facts[r].picked;
        }
    }
    free(all);
    return TW_OK;
}

/* Places from what all ranks of the machine said, and the levels of this rank. */
static tw_status_t tw_seat_place_all(tw_comm_seat_t *seat, tw_seat_facts_t *facts, int *own)
{
    const int   ranks  = facts[0].local_ranks > 0 ? facts[0].local_ranks : seat->ranks;
    tw_rank_t  *list   = calloc((size_t)ranks, sizeof(*list));
    int        *at     = calloc((size_t)ranks, sizeof(*at));
    int        *levels = calloc((size_t)ranks, TW_NEAR_LEVELS * sizeof(*levels));
    char        devices[TW_SEAT_DEVICES];
    tw_status_t status = list != NULL && at != NULL && levels != NULL ? TW_OK : TW_ERR_NO_MEMORY;

    if (status == TW_OK) {
        tw_seat_list(seat, facts, ranks, devices, list, at);
        status = tw_place(seat->node, ranks, list, &seat->places);
    }
    if (status == TW_OK) {
        status = tw_seat_keep(seat, facts, ranks, at);
    }
    if (status == TW_OK) {
        tw_near_levels(seat->node, seat->places, seat->ranks, levels);
        for (int l = 0; l < TW_NEAR_LEVELS && seat->ranks > 1; l++) {
            own[l] = facts[levels[seat->rank * TW_NEAR_LEVELS + l]].rank;
        }
    }
    free(list);
    free(at);
    free(levels);
    return status;
}

/* The facts of all ranks of the machine, in their order; *facts_p NULL where one cannot have them.
 * The result is MPI's. */
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
static tw_status_t tw_seat_tell(tw_comm_t *comm, tw_comm_seat_t *seat, const int *own)
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
        status = tw_comm_agree(comm, seat->places != NULL ? tw_seat_order(comm, seat) : TW_OK);
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
    seat->node = tw_machine_map(comm->ctx);
    if (seat->node == NULL) {
        TW_WARN(&comm->log, "this machine could not be described: its ranks have no places");
    }
    result = MPI_Comm_split_type(comm->comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &local);
    if (result == MPI_SUCCESS) {
        result = tw_seat_gather(comm, seat, local, devices, &facts);
        MPI_Comm_free(&local);
    }
    status = tw_comm_mpi(comm, result, "placing the ranks of a machine");
    if (status == TW_OK && facts != NULL) {
        tw_seat_number(seat, facts);
        tw_seat_part(comm, seat, facts);
        mine = tw_seat_place_all(seat, facts, own);
        mine = mine == TW_ERR_NO_MEMORY ? mine : TW_OK; /* has said why there are no places */
    }
    if (status == TW_OK) {
        status = tw_comm_agree(comm, mine);
    }
    if (status == TW_OK) {
        status = tw_seat_tell(comm, seat, own);
    }
    free(facts);
    return status;
}

/* UCX_NET_DEVICES of this rank's place, if every rank has a near network, and all are of one
 * InfiniBand subnet: else a rank's near network may not reach another's, and UCX, which knows,
 * chooses from all. Collective. */
static tw_status_t tw_seat_network(tw_comm_t *comm, const tw_comm_seat_t *seat)
{
    const tw_place_t *place = tw_seat_place(seat);
    const tw_part_t *nic = place != NULL ? tw_node_find(seat->node, TW_PART_NIC, place->nic) : NULL;
    const char      *subnet = nic != NULL && nic->active ? nic->subnet : "";
    const uint64_t   own = subnet[0] != '\0' ? tw_fnv1a(TW_FNV_START, subnet, strlen(subnet)) : 0;
    const uint64_t   mine[2] = {own, ~own};
    uint64_t         least[2];
    tw_status_t status = tw_sync_allreduce(comm, mine, least, 2, sizeof(least[0]), MPI_UINT64_T,
                                           MPI_MIN, "the subnets of near networks");

    comm->network[0] = '\0';
    if (status == TW_OK && least[0] != 0 && least[0] == ~least[1]) {
        (void)tw_place_network(seat->node, place, comm->network, sizeof(comm->network));
    }
    return status;
}

tw_status_t tw_comm_seat_make(tw_comm_t *comm, const char *devices)
{
    const size_t    size = (size_t)comm->size;
    tw_comm_seat_t *seat = calloc(1, sizeof(*seat));
    tw_status_t     status;

    if (seat != NULL) {
        seat->levels  = calloc(size * TW_NEAR_LEVELS, sizeof(*seat->levels));
        seat->peers   = calloc(size, sizeof(*seat->peers));
        seat->members = calloc(size, sizeof(*seat->members));
    }
    status = tw_comm_agree(comm, seat != NULL && seat->levels != NULL && seat->peers != NULL &&
                                         seat->members != NULL
                                     ? TW_OK
                                     : TW_ERR_NO_MEMORY);
    if (status == TW_OK) {
        status = tw_seat_fill(comm, seat, devices);
    }
    if (status == TW_OK) {
        status = tw_seat_network(comm, seat);
    }
    if (status != TW_OK) {
        tw_seat_release(seat);
        return status;
    }
    seat->before       = comm->seat;
    comm->seat         = seat;
    comm->seat_release = tw_seat_release;
    comm->peers        = seat->places != NULL ? seat->peers : NULL;
    return TW_OK;
}
