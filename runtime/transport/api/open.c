/* SPDX-License-Identifier: BSD-3-Clause
 * transport/api/open.c - construction and destruction of a communicator from its parts.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/lsan_interface.h>
#endif

#include <thinwire/message.h>

#include "runtime/base/clock.h"
#include "runtime/base/context.h"
#include "runtime/base/descriptor.h"
#include "runtime/base/threads.h"
#include "runtime/transport/auto/auto.h"
#include "runtime/transport/api/open.h"
#include "runtime/transport/comm/sync.h"
#include "runtime/transport/comm/progress_thread.h"
#include "runtime/transport/device/device.h"
#include "runtime/transport/engine/progress.h"
#include "runtime/transport/link/link.h"

/* How many ranks this machine has, and which is the lowest. */
static int tw_comm_neighbours(tw_comm_t *comm, MPI_Comm machine)
{
    const tw_mpi_ops_t *mpi = comm->mpi;
    MPI_Request         request;
    int                 done   = 0;
    int                 result = mpi->Comm_size(machine, &comm->local_ranks);

    comm->leader = comm->rank;
    if (result == MPI_SUCCESS) {
        result = mpi->Ibcast(&comm->leader, 1, MPI_INT, 0, machine, &request);
    }
    while (result == MPI_SUCCESS && !done) {
        result = mpi->Testall(1, &request, &done, MPI_STATUSES_IGNORE);
        comm->system->yield(TW_DESCRIPTOR_NONE);
    }
    return result;
}

/* Rank, size, tags and neighbours on the machine. */
static tw_status_t tw_comm_facts(tw_comm_t *comm)
{
    const tw_mpi_ops_t *mpi = comm->mpi;
    MPI_Comm            node;
    int                *tag_ub = NULL;
    int                 found  = 0;
    int                 result;

    result = mpi->Comm_rank(comm->comm, &comm->rank);
    if (result == MPI_SUCCESS) {
        result = mpi->Comm_size(comm->comm, &comm->size);
    }
    comm->log.rank = comm->rank;
    if (result == MPI_SUCCESS) {
        result = mpi->Comm_get_attr(comm->comm, MPI_TAG_UB, &tag_ub, &found);
    }
    comm->tag_messages = (found ? *tag_ub : 32767) - TW_MESSAGE_TAGS + 1;
    comm->tag_cycle    = (uint64_t)comm->tag_messages / (TW_TAG_ROUNDS * TW_TAG_STAGES) - 1;
    if (result == MPI_SUCCESS) {
        result = mpi->Comm_split_type(comm->comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    }
    if (result == MPI_SUCCESS) {
        result = tw_comm_neighbours(comm, node);
        mpi->Comm_free(&node);
    }
    return tw_comm_mpi(comm, result, "setting up the communicator");
}

static tw_status_t tw_comm_configure(tw_comm_t *comm)
{
    const size_t most = ((size_t)1 << 31) - 1;
    tw_status_t  status;

    status = tw_settings_load(&comm->log, &tw_transport_settings, &comm->config);
    if (status == TW_OK) {
        status = tw_settings_load(&comm->log, &tw_policy_settings, &comm->policy);
    }
    if (status == TW_OK && (comm->config.chunk == 0 || comm->config.message_limit == 0)) {
        TW_ERROR(&comm->log, "THINWIRE_CHUNK and THINWIRE_MESSAGE_LIMIT must be at least 1 byte");
        status = TW_ERR_SETTING;
    }
    if (comm->config.message_limit > most) {
        comm->config.message_limit = most;
    }
    return status;
}

/* Which ranks share a node: the same on all ranks. */
static tw_status_t tw_comm_nodes(tw_comm_t *comm)
{
    void       *leaders;
    tw_status_t status = tw_comm_agreed_get(comm, (size_t)comm->size * sizeof(int), &leaders);

    if (status != TW_OK) {
        return status;
    }
    status = tw_sync_allgather(comm, &comm->leader, leaders, sizeof(int), "the layout of nodes");
    if (status == TW_OK) {
        status = tw_comm_agree(comm, tw_nodes_make(leaders, comm->size, comm->rank,
                                                   comm->config.node_ranks, comm->nodes));
    }
    tw_pool_put(&comm->pool, leaders);
    return status;
}

static void tw_comm_threads(tw_comm_t *comm)
{
    const int wish = comm->ctx->config.threads;

    comm->exec         = (tw_exec_t){.memory = TW_MEMORY_HOST, .stream = NULL};
    comm->exec.threads = wish > 0 ? wish : tw_threads_share(comm->local_ranks);
}

static void tw_comm_leave_seat(tw_comm_t *comm)
{
    if (comm->seat != NULL) {
        comm->seat_release(comm->seat);
    }
    comm->seat  = NULL;
    comm->peers = NULL;
}

/* In this order: MPI may hold locks while an attribute is deleted, for which the thread would
 * wait. */
static void tw_comm_stop_thread(tw_comm_t *comm)
{
    tw_progress_thread_stop(comm);
    if (comm->thread_release != NULL) {
        comm->thread_release(comm);
    }
}

/* After an error MPI may still write into buffers of unfinished operations: they are never freed.
 */
static void tw_comm_abandon(tw_comm_t *comm)
{
#ifdef __SANITIZE_ADDRESS__
    __lsan_ignore_object(comm);
#endif
    tw_comm_stop_thread(comm);
    if (comm->endpoint_state != NULL) {
        comm->endpoint->abandon(comm);
    }
    if (comm->mpi->Comm_abandon != NULL) {
        comm->mpi->Comm_abandon(&comm->comm);
    }
    tw_auto_close(comm, false);
    tw_comm_leave_seat(comm);
    tw_codec_destroy(comm->fp32);
    comm->fp32 = NULL;
}

/* A communicator and what its parts keep in it, released with it by free(). */
typedef struct tw_comm_parts {
    tw_comm_t        comm; /* first: its address is that of the whole */
    tw_nodes_t       nodes;
    tw_segment_t     node;
    tw_comm_device_t device;
} tw_comm_parts_t;

static tw_comm_t *tw_comm_alloc(void)
{
    tw_comm_parts_t *parts = calloc(1, sizeof(*parts));

    if (parts == NULL) {
        return NULL;
    }
    parts->comm.nodes  = &parts->nodes;
    parts->comm.node   = &parts->node;
    parts->comm.device = &parts->device;
    return &parts->comm;
}

tw_status_t tw_comm_create_with(tw_context_t *ctx, const tw_mpi_ops_t *mpi, MPI_Comm parent,
                                tw_comm_t **comm_p)
{
    return tw_comm_open(ctx, mpi, parent, NULL, comm_p);
}

tw_status_t tw_comm_open(tw_context_t *ctx, const tw_mpi_ops_t *mpi, MPI_Comm parent,
                         tw_status_t (*prepare)(tw_comm_t *comm), tw_comm_t **comm_p)
{
    tw_comm_t  *comm;
    tw_status_t status;
    int         inter = 0;

    if (ctx == NULL || comm_p == NULL || parent == MPI_COMM_NULL) {
        return TW_ERR_INVALID_ARG;
    }
    if (mpi->Comm_test_inter(parent, &inter) != MPI_SUCCESS) {
        return TW_ERR_MPI;
    }
    if (inter) {
        TW_ERROR(&ctx->log, "an inter-communicator was given; accepted: an intracommunicator");
        return TW_ERR_UNSUPPORTED;
    }
    comm = tw_comm_alloc();
    if (comm == NULL) {
        return TW_ERR_NO_MEMORY;
    }
    comm->ctx      = ctx;
    comm->log      = ctx->log;
    comm->mpi      = mpi;
    comm->endpoint = &tw_endpoint_mpi;
    comm->engine   = &tw_engine;
    comm->system   = ctx->system != NULL ? ctx->system : &tw_system;
    tw_comm_device_init(comm);
    tw_pool_init(&comm->pool);
    if (mpi->Comm_dup(parent, &comm->comm) != MPI_SUCCESS) {
        TW_ERROR(&comm->log, "MPI_Comm_dup failed");
        status = TW_ERR_MPI;
        goto err_free;
    }
    mpi->Comm_set_errhandler(comm->comm, MPI_ERRORS_RETURN);
    status = tw_comm_facts(comm);
    if (status != TW_OK) {
        goto err_free_dup;
    }
    status = tw_comm_configure(comm);
    tw_comm_threads(comm);
    if (status == TW_OK) {
        status = tw_codec_create(ctx, "fp32", TW_F32, &comm->fp32, NULL, 0);
    }
    status = tw_comm_agree(comm, status);
    if (status == TW_OK) {
        status = tw_comm_compare_wire(comm);
    }
    if (status == TW_OK) {
        status = tw_comm_nodes(comm);
    }
    if (status == TW_OK) {
        status = tw_auto_open(comm);
    }
    if (status == TW_OK && prepare != NULL) {
        status = prepare(comm);
    }
    if (status == TW_OK) {
        status = tw_endpoint_open(comm); /* last: it closes itself where it fails */
    }
    if (status != TW_OK) {
        goto err_free_dup;
    }
    *comm_p = comm;
    return TW_OK;

err_free_dup:
    if (comm->status != TW_OK) {
        tw_comm_abandon(comm);
        return status;
    }
    tw_auto_close(comm, false);
    tw_codec_destroy(comm->fp32);
    tw_nodes_free(comm->nodes);
    tw_comm_leave_seat(comm);
    mpi->Comm_free(&comm->comm);
err_free:
    tw_pool_fini(&comm->pool);
    free(comm);
    return status;
}

tw_status_t tw_comm_destroy(tw_comm_t *comm)
{
    tw_status_t status = tw_comm_status(comm);

    if (comm == NULL) {
        return TW_ERR_INVALID_ARG;
    }
    if (status != TW_OK) {
        tw_comm_abandon(comm);
        return TW_OK;
    }
    if (comm->requests > 0 || comm->feedbacks > 0) {
        TW_ERROR(&comm->log, "%d requests or plans and %d feedback objects still exist",
                 comm->requests, comm->feedbacks);
        return TW_ERR_BUSY;
    }
    tw_auto_close(comm, true);
    tw_comm_stop_thread(comm);
    status = tw_device_slots_release(comm);
    if (status == TW_OK) {
        status = comm->endpoint->close(comm);
    }
    if (status != TW_OK) {
        tw_comm_abandon(comm);
        return status;
    }
    status = tw_comm_mpi(comm, comm->mpi->Comm_free(&comm->comm), "MPI_Comm_free");
    tw_codec_destroy(comm->fp32);
    tw_node_release(comm);
    tw_nodes_free(comm->nodes);
    tw_comm_leave_seat(comm);
    tw_comm_device_close(comm);
    tw_pool_fini(&comm->pool);
    free(comm);
    return status;
}
