/* SPDX-License-Identifier: BSD-3-Clause
 * sockets/schedule.h - collectives as lists of messages and sums. What is started at a time stands
 * between two WAITs.
 */
#ifndef TW_SOCKETS_SCHEDULE_H
#define TW_SOCKETS_SCHEDULE_H

#include "runtime/sockets/world.h"

typedef enum tw_step_kind { TW_STEP_SEND, TW_STEP_RECV, TW_STEP_FOLD, TW_STEP_WAIT } tw_step_kind_t;

typedef struct tw_step {
    tw_step_kind_t    kind;
    int               peer;
    uint8_t          *at;   /* of the message; of the sum */
    const uint8_t    *from; /* what is added to it        */
    size_t            bytes;
    tw_tcp_message_t *message; /* under way; NULL: done, or not begun */
} tw_step_t;

typedef struct tw_tcp_schedule {
    tw_tcp_group_t *group;
    int             tag, count, begun;
    MPI_Datatype    type;
    MPI_Op          op;
    uint8_t        *work; /* released at the end */
    tw_step_t       steps[];
} tw_tcp_schedule_t;

/* A schedule of at most `steps` steps with that much memory to work in; NULL: no memory. */
tw_tcp_message_t *tw_schedule_new(tw_tcp_group_t *group, int steps, size_t work, MPI_Datatype type,
                                  MPI_Op op);
void tw_schedule_add(tw_tcp_message_t *m, tw_step_kind_t kind, int peer, const void *at,
                     size_t bytes);
/* sum = sum op from */
void tw_schedule_fold(tw_tcp_message_t *m, void *sum, const void *from, size_t bytes);
/* Begin; m NULL: no memory. The result is MPI's. */
int tw_schedule_start(tw_tcp_group_t *group, tw_tcp_message_t *m, MPI_Request *request);

#endif /* TW_SOCKETS_SCHEDULE_H */
