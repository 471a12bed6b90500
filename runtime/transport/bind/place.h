/* SPDX-License-Identifier: BSD-3-Clause
 * transport/bind/place.h - the places of a communicator's ranks on their machines, the distances
 * between ranks, and the order of messages and the groups derived from them.
 */
#ifndef TW_TRANSPORT_BIND_PLACE_H
#define TW_TRANSPORT_BIND_PLACE_H

#include <thinwire/topology.h>

#include "runtime/transport/comm/comm.h"

#define TW_SEAT_DEVICES 2048 /* bytes of tw_rank_t.devices */

typedef struct tw_comm_seat {
    tw_node_t  *node;        /* this machine, owned by the context; NULL: map creation failed    */
    tw_place_t *places;      /* of its ranks; NULL: unknown                                      */
    int         rank, ranks; /* this rank among those placed together, and their number          */
    bool        in_job;      /* the launcher's numbers of the machine's ranks are known          */
    int        *members;     /* their ranks in the communicator                                  */
    int        *levels;      /* [size * TW_NEAR_LEVELS], see topology/near.h; ranks of comm      */
    int        *peers;       /* tw_comm_t.peers                                                  */
    struct tw_comm_seat *before; /* an older seat, whose data may still be in use; or NULL       */
} tw_comm_seat_t;

/* Place all ranks, again if they have places; collective. devices: the devices that CUDA lists for
 * this rank (tw_rank_t); NULL: those of the map. If the map of a machine cannot be created, a
 * warning is logged and its ranks have no places; the status reports only failures of communication
 * and memory. */
tw_status_t tw_comm_seat_make(tw_comm_t *comm, const char *devices);

/* Set seat->peers from its places and levels: first the ranks of other machines, since their
 * messages take longest, starting at the next rank; then the ranks of this machine in exchange
 * order. @return TW_OK, TW_ERR_NO_MEMORY. */
tw_status_t tw_seat_order(const tw_comm_t *comm, tw_comm_seat_t *seat);

/* This rank's place; NULL: none. */
static inline const tw_place_t *tw_seat_place(const tw_comm_seat_t *seat)
{
    return seat != NULL && seat->places != NULL ? &seat->places[seat->rank] : NULL;
}

#endif /* TW_TRANSPORT_BIND_PLACE_H */
