/* SPDX-License-Identifier: BSD-3-Clause
 * transport/api/message.c - see thinwire/message.h: messages by MPI on the communicator's
 * duplicate, with the tags that operations leave free.
 */
#include "config.h"

#include <stdlib.h>

#include <thinwire/message.h>

#include "runtime/transport/comm/comm.h"
#include "runtime/transport/comm/progress_thread.h"
#include "runtime/transport/shm/layout.h"

#define TW_MESSAGE_PART ((size_t)1 << 30) /* bytes of one message of MPI's, whose counts are ints */

_Static_assert(TW_MESSAGE_TAGS % (TW_TAG_ROUNDS * TW_TAG_STAGES) == 0, "whole operations");

struct tw_message {
    tw_comm_t  *comm;
    int         peer;
    int         parts;
    MPI_Request requests[];
};

static tw_status_t tw_message_check(const tw_comm_t *comm, const void *bytes, size_t size, int peer,
                                    int lowest, int tag, tw_message_t **message_p)
{
    if (comm == NULL || message_p == NULL || (bytes == NULL && size > 0)) {
        return TW_ERR_INVALID_ARG;
    }
    if (comm->status != TW_OK) {
        return TW_ERR_DEAD;
    }
    if (peer < lowest || peer >= comm->size) {
        TW_ERROR(&comm->log, "message: rank %d; accepted: 0 to %d%s", peer, comm->size - 1,
                 lowest < 0 ? ", or TW_ANY_RANK" : "");
        return TW_ERR_RANGE;
    }
    if (tag < 0 || tag >= TW_MESSAGE_TAGS) {
        TW_ERROR(&comm->log, "message: tag %d; accepted: 0 to %d", tag, TW_MESSAGE_TAGS - 1);
        return TW_ERR_RANGE;
    }
    if (peer == TW_ANY_RANK && size > TW_MESSAGE_PART) {
        TW_ERROR(&comm->log, "message: %zu bytes of any rank; accepted: up to %zu", size,
                 TW_MESSAGE_PART);
        return TW_ERR_RANGE;
    }
    return TW_OK;
}

static int tw_message_post(tw_message_t *message, bool sending, void *at, int size, int tag)
{
    tw_comm_t   *comm    = message->comm;
    MPI_Request *request = &message->requests[message->parts];

    if (sending) {
        return comm->mpi->Isend(at, size, MPI_BYTE, message->peer, tag, comm->comm, request);
    }
    return comm->mpi->Irecv(at, size, MPI_BYTE,
                            message->peer == TW_ANY_RANK ? MPI_ANY_SOURCE : message->peer, tag,
                            comm->comm, request);
}

static void tw_message_count(tw_comm_t *comm, size_t size, int peer, size_t parts)
{
    if (peer != comm->rank) {
        comm->stats.messages_sent += parts;
        comm->stats.bytes_uncompressed += size;
        tw_comm_count_sent(comm, size, comm->nodes->node_of[peer] == comm->nodes->mine);
    }
}

static tw_status_t tw_message_start(tw_comm_t *comm, bool sending, void *bytes, size_t size,
                                    int peer, int tag, tw_message_t **message_p)
{
    const size_t  parts   = size > 0 ? (size - 1) / TW_MESSAGE_PART + 1 : 1;
    tw_message_t *message = malloc(sizeof(*message) + parts * sizeof(message->requests[0]));
    tw_status_t   status  = TW_OK;
    size_t        at      = 0;

    if (message == NULL) {
        return TW_ERR_NO_MEMORY;
    }
    *message = (tw_message_t){.comm = comm, .peer = peer};
    tw_comm_enter(comm);
    do {
        const size_t rest = size - at;
        const size_t part = rest < TW_MESSAGE_PART ? rest : TW_MESSAGE_PART;

        status =
            tw_comm_mpi(comm,
                        tw_message_post(message, sending, bytes != NULL ? (char *)bytes + at : NULL,
                                        (int)part, (int)comm->tag_messages + tag),
                        sending ? "MPI_Isend" : "MPI_Irecv");
        at += part;
        message->parts++;
    } while (status == TW_OK && at < size);
    if (status == TW_OK) {
        comm->requests++;
        if (sending) {
            tw_message_count(comm, size, peer, parts);
        }
        *message_p = message;
    } else {
        free(message); /* the communicator is dead: MPI keeps what it was given */
    }
    tw_comm_leave(comm);
    return status;
}

tw_status_t tw_message_send(tw_comm_t *comm, const void *bytes, size_t size, int peer, int tag,
                            tw_message_t **message_p)
{
    const tw_status_t status = tw_message_check(comm, bytes, size, peer, 0, tag, message_p);

    return status != TW_OK
               ? status
               : tw_message_start(comm, true, (void *)(uintptr_t)bytes, size, peer, tag, message_p);
}

tw_status_t tw_message_recv(tw_comm_t *comm, void *bytes, size_t size, int peer, int tag,
                            tw_message_t **message_p)
{
    const tw_status_t status =
        tw_message_check(comm, bytes, size, peer, TW_ANY_RANK, tag, message_p);

    return status != TW_OK ? status
                           : tw_message_start(comm, false, bytes, size, peer, tag, message_p);
}

tw_status_t tw_message_test(tw_message_t **message_p, int *done_p, int *peer_p)
{
    tw_message_t *message = message_p != NULL ? *message_p : NULL;
    MPI_Status    from;
    tw_comm_t    *comm;
    tw_status_t   status;

    if (message == NULL || done_p == NULL) {
        return TW_ERR_INVALID_ARG;
    }
    comm    = message->comm;
    *done_p = 0;
    tw_comm_enter(comm);
    if (comm->status != TW_OK) {
        status = TW_ERR_DEAD;
    } else if (message->parts > 1) {
        status = tw_comm_mpi(
            comm,
            comm->mpi->Testall(message->parts, message->requests, done_p, MPI_STATUSES_IGNORE),
            "MPI_Testall");
    } else {
        status = tw_comm_mpi(comm, comm->mpi->Testall(1, message->requests, done_p, &from),
                             "MPI_Testall");
        if (status == TW_OK && *done_p && message->peer == TW_ANY_RANK) {
            message->peer = from.MPI_SOURCE;
        }
    }
    if (status == TW_OK && *done_p) {
        if (peer_p != NULL) {
            *peer_p = message->peer;
        }
        comm->requests--;
    }
    tw_comm_leave(comm);
    if (status != TW_OK || *done_p) {
        free(message);
        *message_p = NULL;
    }
    return status;
}
