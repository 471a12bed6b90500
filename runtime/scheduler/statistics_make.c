/* SPDX-License-Identifier: BSD-3-Clause
 * scheduler/statistics_make.c - groups of ranks that share batch statistics: their communicators,
 * and memory for the largest exchange, on which all ranks agree.
 */
#include "config.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/bytes.h"
#include "runtime/scheduler/statistics.h"
#include "runtime/transport/engine/progress_thread.h"

/* Bytes of `each` elements of this rank and of all ranks; false where they exceed memory. */
static bool tw_statistics_bytes(size_t each, int ranks, size_t element, size_t *bytes)
{
    return tw_size_mul(each, element, bytes) && tw_size_mul(*bytes, (size_t)ranks + 1, bytes) &&
           *bytes <= PTRDIFF_MAX;
}

static tw_status_t tw_statistics_check(const tw_comm_t *comm, const tw_statistics_config_t *config)
{
    const int size = tw_comm_size(comm);
    size_t    most, bytes;

    if (config->group < 0) {
        return TW_ERR_INVALID_ARG;
    }
    if (!tw_size_mul(config->channels, 2, &most) || !tw_size_add(most, config->layers, &most) ||
        !tw_size_mul(most, TW_WORDS, &bytes) ||
        !tw_statistics_bytes(most, size, sizeof(double), &bytes) ||
        !tw_statistics_bytes(config->states, size, sizeof(float), &bytes)) {
        return TW_ERR_RANGE;
    }
    return TW_OK;
}

/* A communicator of this rank's group. The library's own: not bound to places again, without a
 * thread. */
static tw_status_t tw_statistics_split(tw_statistics_t *s)
{
    tw_comm_t  *world = s->world;
    MPI_Comm    group = MPI_COMM_NULL;
    tw_status_t status;

    status = tw_comm_mpi(
        world,
        MPI_Comm_split(world->comm, s->ranks > 1 ? world->rank / s->config.group : MPI_UNDEFINED,
                       world->rank, &group),
        "MPI_Comm_split");
    if (status == TW_OK && group != MPI_COMM_NULL) {
        status = tw_comm_create_with(world->ctx, world->mpi, group, &s->own);
        MPI_Comm_free(&group);
    }
    return status;
}

/* Exchange as much as there will ever be, of nothing: later exchanges need no more memory, on which
 * all ranks would have to agree first. */
static tw_status_t tw_statistics_rehearse(tw_comm_t *comm, void *mine, void *all, size_t words)
{
    tw_request_t *request = NULL;
    tw_status_t   status;

    memset(mine, 0, words * sizeof(float));
    status = tw_iallgather(comm, mine, all, words, NULL, &request);
    return status == TW_OK ? tw_wait(&request) : status;
}

/* Buffers for exchanges inside the group; collective over it. */
static tw_status_t tw_statistics_room(tw_statistics_t *s)
{
    const size_t most = tw_statistics_most(&s->config);
    size_t       bytes;
    void        *buffer = NULL;
    tw_status_t  status;

    if (s->comm == NULL || !tw_statistics_bytes(most, s->ranks, sizeof(double), &bytes)) {
        return TW_OK;
    }
    tw_comm_enter(s->comm);
    status = tw_comm_agreed_get(s->comm, bytes, &buffer);
    tw_comm_leave(s->comm);
    s->buffer = buffer;
    return status == TW_OK
               ? tw_statistics_rehearse(s->comm, s->buffer, s->buffer + most, TW_WORDS * most)
               : status;
}

/* The same for running statistics, over all ranks. */
static tw_status_t tw_statistics_room_for_states(tw_statistics_t *s)
{
    const size_t most   = s->config.states;
    size_t       bytes  = 0;
    void        *buffer = NULL;
    tw_status_t  status;

    if (most == 0 || s->world->size == 1 ||
        !tw_statistics_bytes(most, s->world->size, sizeof(float), &bytes)) {
        return TW_OK;
    }
    tw_comm_enter(s->world);
    status = tw_comm_agreed_get(s->world, bytes, &buffer);
    tw_comm_leave(s->world);
    s->states = buffer;
    return status == TW_OK ? tw_statistics_rehearse(s->world, s->states, s->states + most, most)
                           : status;
}

/* Our buffers may have come from what was kept for operations: keep as much again. */
static tw_status_t tw_statistics_replace(tw_statistics_t *s)
{
    tw_status_t status;

    tw_comm_enter(s->world);
    status = tw_pool_reserve(&s->world->pool, s->world->reserved);
    if (status == TW_OK && s->own != NULL) {
        status = tw_pool_reserve(&s->own->pool, s->own->reserved);
    }
    status = tw_comm_agree(s->world, status);
    tw_comm_leave(s->world);
    return status;
}

/* What a dead communicator was using is not given back. */
static void tw_statistics_put(tw_comm_t *comm, void *buffer)
{
    if (buffer != NULL && tw_comm_status(comm) == TW_OK) {
        tw_pool_put(&comm->pool, buffer);
    }
}

static tw_status_t tw_statistics_release(tw_statistics_t *s)
{
    tw_status_t status = TW_OK;

    if (s->own != NULL && tw_comm_status(s->world) != TW_OK) {
        s->own->status = TW_ERR_DEAD; /* its ranks may be gone, too: released without a message */
    }
    tw_statistics_put(s->comm, s->buffer);
    tw_statistics_put(s->world, s->states);
    if (s->own != NULL) {
        status = tw_comm_destroy(s->own);
    }
    tw_comm_enter(s->world);
    s->world->requests--;
    tw_comm_leave(s->world);
    free(s->layer);
    free(s);
    return status;
}

static tw_statistics_t *tw_statistics_make(tw_comm_t *comm, const tw_statistics_config_t *config)
{
    tw_statistics_t *s = calloc(1, sizeof(*s));
    int              first;

    if (s == NULL) {
        return NULL;
    }
    s->world         = comm;
    s->config        = *config;
    s->config.layers = config->layers > 0 ? config->layers : 1;
    if (s->config.group == 0 || s->config.group > comm->size) {
        s->config.group = comm->size;
    }
    first    = comm->rank / s->config.group * s->config.group;
    s->ranks = comm->size - first < s->config.group ? comm->size - first : s->config.group;
    s->layer = calloc(s->config.layers, sizeof(*s->layer));
    if (s->layer == NULL) {
        free(s);
        return NULL;
    }
    return s;
}

/* The object counts as a plan of the caller's communicator, which cannot be destroyed before it. */
static tw_status_t tw_statistics_agree(tw_comm_t *comm, tw_statistics_t *s)
{
    tw_status_t status;

    tw_comm_enter(comm);
    status = tw_comm_agree(comm, s != NULL ? TW_OK : TW_ERR_NO_MEMORY);
    comm->requests += status == TW_OK;
    tw_comm_leave(comm);
    if (status != TW_OK && s != NULL) {
        free(s->layer);
        free(s);
    }
    return status;
}

tw_status_t tw_statistics_create(tw_comm_t *comm, const tw_statistics_config_t *config,
                                 tw_statistics_t **statistics_p)
{
    tw_status_t      status = tw_comm_check(comm);
    tw_statistics_t *s;

    if (status == TW_OK) {
        status = config != NULL && statistics_p != NULL ? tw_statistics_check(comm, config)
                                                        : TW_ERR_INVALID_ARG;
    }
    if (status != TW_OK) {
        return status;
    }
    s      = tw_statistics_make(comm, config);
    status = tw_statistics_agree(comm, s);
    if (status != TW_OK) {
        return status;
    }
    if (s->config.group > 1 && s->config.group < comm->size) {
        status = tw_statistics_split(s);
    }
    s->comm = s->config.group == comm->size && comm->size > 1 ? comm : s->own;
    if (status == TW_OK) {
        status = tw_statistics_room(s);
    }
    tw_comm_enter(comm);
    status = tw_comm_agree(comm, status); /* groups may fare differently */
    tw_comm_leave(comm);
    if (status == TW_OK) {
        status = tw_statistics_room_for_states(s);
    }
    if (status == TW_OK) {
        status = tw_statistics_replace(s);
    }
    if (status != TW_OK) {
        tw_statistics_release(s);
        return status;
    }
    *statistics_p = s;
    return TW_OK;
}

tw_status_t tw_statistics_destroy(tw_statistics_t *statistics)
{
    if (statistics == NULL) {
        return TW_OK;
    }
    return statistics->request == NULL ? tw_statistics_release(statistics) : TW_ERR_BUSY;
}

int tw_statistics_ranks(const tw_statistics_t *statistics)
{
    return statistics != NULL ? statistics->ranks : 0;
}

const tw_comm_t *tw_statistics_comm(const tw_statistics_t *statistics)
{
    return statistics != NULL ? statistics->comm : NULL;
}
