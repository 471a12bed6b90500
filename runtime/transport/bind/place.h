/* SPDX-License-Identifier: BSD-3-Clause
 * transport/bind/place.h - where the ranks of a communicator are: their places on their machines,
 * who is near whom, and the order of messages and the groups that follow from it.
 */
#ifndef TW_TRANSPORT_BIND_PLACE_H
#define TW_TRANSPORT_BIND_PLACE_H

#include <thinwire/topology.h>

#include "runtime/transport/comm/comm.h"

#define TW_SEAT_DEVICES 2048 /* bytes of tw_rank_t.devices */

typedef struct tw_comm_seat {
    tw_node_t  *node;        /* this machine; NULL: it could not be described. The context's     */
    tw_place_t *places;      /* of its ranks; NULL: not known                                    */
    int         rank, ranks; /* this one among those that were placed together, and how many     */
    bool        in_job;      /* the launcher has said which of the machine's ranks these are     */
    int        *members;     /* their ranks in the communicator                                  */
    int        *levels;      /* [size * TW_NEAR_LEVELS], see topology/near.h; ranks of comm      */
    int        *peers;       /* tw_comm_t.peers                                                  */
    struct tw_comm_seat *before; /* an older one: what it holds was handed out; NULL             */
} tw_comm_seat_t;

/* Place all ranks, anew if they had places; collective. devices: what CUDA counts for this rank
 * (tw_rank_t); NULL: what the map shows. A machine that cannot be described is warned of, and its
 * ranks have no places; the status is that of the communication and of memory. */
tw_status_t tw_comm_seat_make(tw_comm_t *comm, const char *devices);

/* seat->peers, from its places and levels: ranks of other machines, because their messages take
 * longest, from the next rank on; then those of this one in the order of exchange. @return TW_OK,
 * TW_ERR_NO_MEMORY. */
tw_status_t tw_seat_order(const tw_comm_t *comm, tw_comm_seat_t *seat);

/* Groups of `group` ranks that are near each other: position[r] is where rank r stands when the
 * groups stand one after another; the same on all ranks. Without places the order of ranks. @return
 * TW_OK, TW_ERR_NO_MEMORY. Local. */
tw_status_t tw_comm_groups(const tw_comm_t *comm, int group, int *position);

/* This rank's place; NULL: none. */
static inline const tw_place_t *tw_seat_place(const tw_comm_seat_t *seat)
{
    return seat != NULL && seat->places != NULL ? &seat->places[seat->rank] : NULL;
}

#endif /* TW_TRANSPORT_BIND_PLACE_H */
