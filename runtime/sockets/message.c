/* SPDX-License-Identifier: BSD-3-Clause
 * sockets/message.c - messages between two ranks of a communicator, and waiting for them.
 */
#include "config.h"

#include <string.h>

#include "runtime/base/clock.h"
#include "runtime/base/descriptor.h"
#include "runtime/sockets/world.h"

size_t tw_mpi_extent(MPI_Datatype type)
{
    static const size_t bytes[] = {
        [MPI_DATATYPE_NULL] = 0, [MPI_BYTE] = 1,     [MPI_UNSIGNED_CHAR] = 1, [MPI_UINT16_T] = 2,
        [MPI_INT] = sizeof(int), [MPI_UINT64_T] = 8, [MPI_FLOAT] = 4,         [MPI_DOUBLE] = 8};

    return bytes[type];
}

/* ---- starting -------------------------------------------------------------------------------- */

/* A message to this rank itself. */
static bool tw_tcp_to_self(tw_peer_t *self, tw_tcp_message_t *send)
{
    tw_tcp_message_t *taker;

    send->done       = true;
    send->frame.kind = TW_FRAME_EAGER;
    taker            = tw_match_arrival(send->world, self, &send->frame);
    if (taker == NULL || !tw_match_place(taker)) {
        return false;
    }
    if (send->frame.size > 0) {
        memcpy(taker->data, send->data, send->frame.size);
    }
    tw_match_complete(taker);
    return true;
}

tw_tcp_message_t *tw_tcp_send(tw_tcp_group_t *group, const void *data, size_t size, int dest,
                              uint64_t context, int tag)
{
    tw_world_t       *world = group->world;
    const int         rank  = group->ranks[dest];
    tw_tcp_message_t *m     = tw_tcp_new(world, size <= TW_EAGER ? TW_FRAME_EAGER : TW_FRAME_OFFER);

    if (m == NULL) {
        return NULL;
    }
    m->frame.context = context;
    m->frame.tag     = tag;
    m->frame.size    = size;
    m->frame.sender  = ++world->number;
    m->data          = (uint8_t *)(uintptr_t)data;
    m->asked         = true;
    if (rank != world->rank) {
        tw_stream_send(world, rank, m);
    } else if (!tw_tcp_to_self(&world->peers[rank], m)) {
        tw_tcp_free(m);
        return NULL;
    }
    return m;
}

static void tw_tcp_post(tw_world_t *world, tw_tcp_message_t *receive)
{
    int rank;

    if (receive->source == MPI_ANY_SOURCE) {
        tw_list_append(&world->wild, receive);
        return;
    }
    rank = receive->group->ranks[receive->source];
    tw_list_append(&world->peers[rank].posted, receive);
    if (rank != world->rank) {
        tw_stream_reach(world, rank);
    }
}

tw_tcp_message_t *tw_tcp_recv(tw_tcp_group_t *group, void *data, size_t size, int source,
                              uint64_t context, int tag)
{
    tw_world_t       *world = group->world;
    tw_tcp_message_t *m     = tw_tcp_new(world, 0);
    tw_tcp_message_t *found = NULL;
    const int         last  = source == MPI_ANY_SOURCE ? group->size - 1 : source;

    if (m == NULL) {
        return NULL;
    }
    m->frame  = (tw_frame_t){.context = context, .tag = tag, .sender = ++world->number};
    m->data   = data;
    m->room   = size;
    m->asked  = true;
    m->group  = group;
    m->source = source;
    for (int r = source == MPI_ANY_SOURCE ? 0 : source; r <= last && found == NULL; r++) {
        found     = tw_list_match(&world->peers[group->ranks[r]].unexpected, &m->frame);
        m->source = found != NULL ? r : source;
    }
    if (found == NULL) {
        tw_tcp_post(world, m);
        return m;
    }
    if (!tw_match_fits(m, found->frame.size)) {
        tw_tcp_free(m);
        return NULL;
    }
    if (found->frame.kind == TW_FRAME_OFFER) {
        tw_stream_take(world, group->ranks[m->source], m, &found->frame);
        tw_tcp_free(found);
    } else {
        found->taker = m;
        if (found->done) {
            tw_match_complete(found);
        }
    }
    return m;
}

/* The request of a message that was started, with the lock held, which is given back. */
static int tw_tcp_ask(tw_world_t *world, tw_tcp_message_t *m, MPI_Request *request)
{
    int error = world->error;

    if (error == MPI_SUCCESS && m == NULL) {
        error = TW_FAILED(TW_FAILED_MEMORY, 0, world->rank);
    }
    *request = m;
    pthread_mutex_unlock(&world->lock);
    return error;
}

int MPI_Isend(const void *data, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,
              MPI_Request *request)
{
    pthread_mutex_lock(&comm->world->lock);
    return tw_tcp_ask(
        comm->world,
        tw_tcp_send(comm, data, (size_t)count * tw_mpi_extent(type), dest, comm->context, tag),
        request);
}

int MPI_Irecv(void *data, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
              MPI_Request *request)
{
    pthread_mutex_lock(&comm->world->lock);
    return tw_tcp_ask(
        comm->world,
        tw_tcp_recv(comm, data, (size_t)count * tw_mpi_extent(type), source, comm->context, tag),
        request);
}

/* ---- progress, tests ------------------------------------------------------------------------- */

static void tw_world_progress(tw_world_t *world)
{
    tw_tcp_list_t running = world->collectives;

    tw_stream_poll(world);
    tw_nap_at(world->epoll);
    world->collectives = (tw_tcp_list_t){NULL, NULL};
    for (tw_tcp_message_t *m; world->error == MPI_SUCCESS && (m = tw_list_pop(&running)) != NULL;) {
        m->advance(m);
        if (!m->done) {
            tw_list_append(&world->collectives, m);
        } else {
            world->moved++;
        }
    }
}

int tw_mpi_comm_progress(MPI_Comm comm)
{
    int error;

    pthread_mutex_lock(&comm->world->lock);
    tw_world_progress(comm->world);
    error = comm->world->error;
    pthread_mutex_unlock(&comm->world->lock);
    return error;
}

/* All events were taken at the last look, and nothing moved since: the next one is an edge. */
int tw_world_descriptor(tw_world_t *world)
{
    int descriptor;

    pthread_mutex_lock(&world->lock);
    descriptor  = world->error != MPI_SUCCESS                  ? TW_DESCRIPTOR_NONE
                  : world->held || world->seen != world->moved ? TW_DESCRIPTOR_AGAIN
                                                               : world->epoll;
    world->seen = world->moved;
    pthread_mutex_unlock(&world->lock);
    return descriptor;
}

int tw_mpi_comm_descriptor(MPI_Comm comm)
{
    return tw_world_descriptor(comm->world);
}

/* Release a request that is done; its error. */
static int tw_request_end(MPI_Request *request)
{
    const int error = (*request)->error;

    tw_tcp_free(*request);
    *request = MPI_REQUEST_NULL;
    return error;
}

/* The world of requests, which is theirs all, advanced and locked; NULL: there are none. */
static tw_world_t *tw_requests_enter(int count, MPI_Request requests[])
{
    int first = 0;

    while (first < count && requests[first] == MPI_REQUEST_NULL) {
        first++;
    }
    if (first == count) {
        return NULL;
    }
    pthread_mutex_lock(&requests[first]->world->lock);
    tw_world_progress(requests[first]->world);
    return requests[first]->world;
}

int MPI_Testsome(int count, MPI_Request requests[], int *done, int indices[], MPI_Status statuses[])
{
    tw_world_t *world = tw_requests_enter(count, requests);
    int         error = world != NULL ? world->error : MPI_SUCCESS;

    (void)statuses;
    *done = world != NULL ? 0 : MPI_UNDEFINED;
    for (int i = 0; i < count && world != NULL && error == MPI_SUCCESS; i++) {
        if (requests[i] != MPI_REQUEST_NULL && requests[i]->done) {
            error              = tw_request_end(&requests[i]);
            indices[(*done)++] = i;
        }
    }
    if (world != NULL) {
        pthread_mutex_unlock(&world->lock);
    }
    return error;
}

int MPI_Testall(int count, MPI_Request requests[], int *flag, MPI_Status statuses[])
{
    tw_world_t *world = tw_requests_enter(count, requests);
    int         error = world != NULL ? world->error : MPI_SUCCESS;

    *flag = error == MPI_SUCCESS;
    for (int i = 0; i < count && *flag; i++) {
        *flag = requests[i] == MPI_REQUEST_NULL || requests[i]->done;
    }
    if (count == 1 && *flag && requests[0] != MPI_REQUEST_NULL && statuses != NULL) {
        statuses[0].MPI_SOURCE = requests[0]->source;
    }
    for (int i = 0; i < count && *flag; i++) {
        const int one = requests[i] != MPI_REQUEST_NULL ? tw_request_end(&requests[i]) : 0;

        error = error == MPI_SUCCESS ? one : error;
    }
    if (world != NULL) {
        pthread_mutex_unlock(&world->lock);
    }
    return error;
}

int tw_tcp_wait(MPI_Request *request)
{
    tw_world_t *world = *request != MPI_REQUEST_NULL ? (*request)->world : NULL;
    uint64_t    since = tw_clock_ns(), seen = 0, moved;
    int         done = 0, error = MPI_SUCCESS;

    tw_nap_moved();
    while (error == MPI_SUCCESS && !done) {
        error = MPI_Testall(1, request, &done, MPI_STATUSES_IGNORE);
        if (error != MPI_SUCCESS || done) {
            break;
        }
        pthread_mutex_lock(&world->lock);
        moved = world->moved;
        pthread_mutex_unlock(&world->lock);
        if (seen != moved) {
            seen  = moved;
            since = tw_clock_ns();
        } else if (world->limit_ns > 0 && tw_clock_ns() - since > world->limit_ns) {
            error = TW_FAILED(TW_FAILED_TIME, 0, world->rank);
        }
        tw_nap(tw_world_descriptor(world));
    }
    return error;
}
