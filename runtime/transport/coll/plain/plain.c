/* SPDX-License-Identifier: BSD-3-Clause
 * transport/coll/plain/plain.c - see plain.h.
 *
 * Values are added as MPI adds them, not in the order of ranks; nothing is quantised. What travels
 * is not seen: bytes_sent counts what an algorithm must send that wastes nothing (see
 * tw_plain_bytes()).
 */
#include "config.h"

#include <limits.h>
#include <string.h>

#include "runtime/transport/coll/plain/plain.h"

static size_t tw_plain_element(const tw_plain_args_t *args)
{
    return args->wide ? sizeof(double) : sizeof(float);
}

/* Values of the result on this rank that were added up. */
static size_t tw_plain_summed(const tw_comm_t *comm, const tw_plain_args_t *args)
{
    switch (args->operation) {
    case TW_OPERATION_ALLREDUCE:
        return args->count;
    case TW_OPERATION_REDUCE:
        return comm->rank == args->root ? args->count : 0;
    case TW_OPERATION_REDUCE_SCATTER:
        return args->counts != NULL ? args->counts[comm->rank] : args->count;
    default:
        return 0;
    }
}

bool tw_plain_fits(const tw_comm_t *comm, const tw_plain_args_t *args)
{
    size_t at = 0;

    if (args->counts == NULL) {
        return args->count <= INT_MAX;
    }
    for (int r = 0; r < comm->size; r++) {
        const size_t first = args->displacements != NULL ? args->displacements[r] : at;

        if (args->counts[r] > INT_MAX || first > INT_MAX || at > INT_MAX) {
            return false;
        }
        at += args->counts[r];
    }
    return at <= INT_MAX;
}

/* What this rank sends where no byte is sent in vain: of P ranks and V bytes, 2 (P-1)/P V in an
 * allreduce, (P-1)/P V in a reduction to one or to shares, (P-1) V of blocks; of a broadcast, V
 * from all ranks but the last. */
static void tw_plain_bytes(tw_comm_t *comm, const tw_plain_args_t *args)
{
    const uint64_t others = (uint64_t)comm->size - 1, ranks = (uint64_t)comm->size;
    uint64_t       bytes = (uint64_t)args->count * tw_plain_element(args);
    uint64_t       total = 0;

    for (int r = 0; args->counts != NULL && r < comm->size; r++) {
        total += (uint64_t)args->counts[r] * tw_plain_element(args);
    }
    switch (args->operation) {
    case TW_OPERATION_ALLREDUCE:
        bytes = 2 * others * bytes / ranks;
        break;
    case TW_OPERATION_REDUCE:
        bytes = others * bytes / ranks;
        break;
    case TW_OPERATION_REDUCE_SCATTER:
        bytes = args->counts != NULL ? others * total / ranks : others * bytes;
        break;
    case TW_OPERATION_BCAST:
        bytes = (comm->rank - args->root + comm->size) % comm->size < comm->size - 1 ? bytes : 0;
        break;
    default:
        bytes = args->counts != NULL ? others * total / ranks : others * bytes;
        break;
    }
    comm->stats.bytes_sent += bytes;
    comm->stats.bytes_received += bytes;
    comm->stats.bytes_plain += bytes;
}

static void tw_plain_average(tw_comm_t *comm, const tw_plain_args_t *args)
{
    if (args->reduction == TW_AVERAGE && tw_plain_summed(comm, args) > 0) {
        tw_average(tw_plain_element(args), comm->size, tw_plain_summed(comm, args), args->recv);
    }
}

/* MPI wants all ranks in place or none, and its alltoall and nonblocking reductions go different
 * ways by it; ours need not be. Bytes to be copied of what this rank sends; 0: none. */
static size_t tw_plain_displaced(const tw_comm_t *comm, const tw_plain_args_t *args, bool blocking)
{
    size_t values = 0;

    if (args->send != TW_IN_PLACE) {
        return 0;
    }
    if (args->operation == TW_OPERATION_ALLTOALL) {
        values = args->count * (size_t)comm->size;
    } else if (args->operation == TW_OPERATION_ALLREDUCE && !blocking) {
        values = args->count;
    } else if (args->operation == TW_OPERATION_REDUCE_SCATTER && !blocking) {
        for (int r = 0; r < comm->size; r++) {
            values += args->counts != NULL ? args->counts[r] : args->count;
        }
    }
    return values * tw_plain_element(args);
}

/* MPI's blocking collective on memory of the host. */
static tw_status_t tw_plain_call(tw_comm_t *comm, const tw_plain_args_t *args)
{
    const tw_mpi_ops_t *mpi    = comm->mpi;
    const MPI_Datatype  type   = args->wide ? MPI_DOUBLE : MPI_FLOAT;
    const void         *send   = args->send == TW_IN_PLACE ? MPI_IN_PLACE : args->send;
    const int           n      = (int)args->count;
    int                 result = MPI_SUCCESS;
    tw_status_t         status;

    switch (args->operation) {
    case TW_OPERATION_ALLREDUCE:
        result = mpi->Allreduce(send, args->recv, n, type, MPI_SUM, comm->comm);
        break;
    case TW_OPERATION_REDUCE:
        result = mpi->Reduce(send, args->recv, n, type, MPI_SUM, args->root, comm->comm);
        break;
    case TW_OPERATION_REDUCE_SCATTER:
        result = mpi->Reduce_scatter_block(send, args->recv, n, type, MPI_SUM, comm->comm);
        break;
    case TW_OPERATION_BCAST:
        result = mpi->Bcast(args->recv, n, type, args->root, comm->comm);
        break;
    case TW_OPERATION_ALLGATHER:
        result = mpi->Allgather(send, n, type, args->recv, n, type, comm->comm);
        break;
    case TW_OPERATION_ALLTOALL:
        result = mpi->Alltoall(send, n, type, args->recv, n, type, comm->comm);
        break;
    }
    status = tw_comm_mpi(comm, result, args->name);
    if (status == TW_OK) {
        tw_plain_average(comm, args);
        tw_plain_bytes(comm, args);
        comm->stats.calls++;
    }
    return status;
}

tw_status_t tw_plain_run(tw_comm_t *comm, const tw_plain_args_t *args)
{
    const size_t       bytes = tw_plain_displaced(comm, args, true);
    tw_plain_args_t    mine  = *args;
    tw_request_shape_t shape = {.count = 0};
    void              *copy  = NULL;
    tw_status_t        status;

    tw_plain_values(comm, args, &shape);
    if (tw_comm_device_owns(comm, shape.values)) {
        return tw_plain_run_device(comm, args, &shape);
    }
    if (bytes == 0) {
        return tw_plain_call(comm, args);
    }
    status = tw_comm_copy_in_place(comm, args->recv, bytes, &copy);
    if (status == TW_OK) {
        mine.send = copy;
        status    = tw_plain_call(comm, &mine);
        tw_pool_put(&comm->pool, copy);
    }
    return status;
}

/* counts and displacements as MPI wants them: ints[0 .. P) and ints[P .. 2 P). */
static void tw_plain_ints(const tw_comm_t *comm, const tw_plain_args_t *args, int *ints)
{
    size_t at = 0;

    for (int r = 0; r < comm->size; r++) {
        ints[r]              = (int)args->counts[r];
        ints[comm->size + r] = (int)(args->displacements != NULL ? args->displacements[r] : at);
        at += args->counts[r];
    }
}

/* Where the blocks of an allgatherv begin. MPICH 4.0 ignores the displacement of a single rank, so
 * that one's is added here. */
static void *tw_plain_blocks_at(const tw_comm_t *comm, const tw_plain_args_t *args, int *ints)
{
    uint8_t *recv = args->recv;

    if (comm->size == 1 && ints[1] > 0) {
        recv += (size_t)ints[1] * tw_plain_element(args);
        ints[1] = 0;
    }
    return recv;
}

tw_status_t tw_plain_start(tw_comm_t *comm, const tw_plain_args_t *args, int *ints,
                           MPI_Request *request)
{
    const tw_mpi_ops_t *mpi    = comm->mpi;
    const MPI_Datatype  type   = args->wide ? MPI_DOUBLE : MPI_FLOAT;
    const void         *send   = args->send == TW_IN_PLACE ? MPI_IN_PLACE : args->send;
    const int           n      = (int)args->count;
    int                 result = MPI_SUCCESS;

    if (args->counts != NULL) {
        tw_plain_ints(comm, args, ints);
    }
    switch (args->operation) {
    case TW_OPERATION_ALLREDUCE:
        result = mpi->Iallreduce(send, args->recv, n, type, MPI_SUM, comm->comm, request);
        break;
    case TW_OPERATION_REDUCE:
        result = mpi->Ireduce(send, args->recv, n, type, MPI_SUM, args->root, comm->comm, request);
        break;
    case TW_OPERATION_REDUCE_SCATTER:
        result = args->counts != NULL ? mpi->Ireduce_scatter(send, args->recv, ints, type, MPI_SUM,
                                                             comm->comm, request)
                                      : mpi->Ireduce_scatter_block(send, args->recv, n, type,
                                                                   MPI_SUM, comm->comm, request);
        break;
    case TW_OPERATION_BCAST:
        result = mpi->Ibcast(args->recv, n, type, args->root, comm->comm, request);
        break;
    case TW_OPERATION_ALLGATHER:
        result = args->counts != NULL
                     ? mpi->Iallgatherv(send, ints[comm->rank], type,
                                        tw_plain_blocks_at(comm, args, ints), ints,
                                        ints + comm->size, type, comm->comm, request)
                     : mpi->Iallgather(send, n, type, args->recv, n, type, comm->comm, request);
        break;
    case TW_OPERATION_ALLTOALL:
        result = mpi->Ialltoall(send, n, type, args->recv, n, type, comm->comm, request);
        break;
    }
    return tw_comm_mpi(comm, result, args->name);
}

/* ---- in the engine --------------------------------------------------------------------------- */

/* What an operation keeps: the arguments, with the counts in ints. */
typedef struct tw_plain_state {
    tw_plain_args_t args;
    MPI_Request     request;
} tw_plain_state_t;

enum { TW_PLAIN_COUNTS = 0, TW_PLAIN_FIRSTS = 1, TW_PLAIN_INTS = 2 }; /* op->array */

/* In the lane's slot. */
static tw_plain_state_t *tw_plain_state(const tw_request_t *op, const tw_lane_t *lane)
{
    (void)op;
    return (tw_plain_state_t *)(void *)lane->codes;
}

static tw_status_t tw_plain_step(tw_request_t *op, tw_lane_t *lane)
{
    tw_plain_state_t *state = tw_plain_state(op, lane);

    if (lane->stage == 0) {
        const size_t    bytes = tw_plain_displaced(op->comm, &state->args, false);
        tw_plain_args_t mine;
        tw_status_t     status = TW_OK;

        state->args.send = state->args.send == TW_IN_PLACE ? TW_IN_PLACE : op->send;
        state->args.recv = op->recv;
        mine             = state->args;
        if (bytes > 0) {
            status    = tw_comm_copy_in_place(op->comm, op->recv, bytes, &op->copy);
            mine.send = op->copy;
        }
        return status == TW_OK
                   ? tw_plain_start(op->comm, &mine, (int *)(void *)op->array[TW_PLAIN_INTS],
                                    &state->request)
                   : status;
    }
    tw_pool_put(&op->comm->pool, op->copy);
    op->copy = NULL;
    tw_plain_average(op->comm, &state->args);
    tw_plain_bytes(op->comm, &state->args);
    return TW_OK;
}

static bool tw_plain_ready(tw_request_t *op, tw_lane_t *lane, tw_status_t *status_p)
{
    tw_comm_t *comm = op->comm;
    int        done = 0;

    *status_p = tw_comm_mpi(
        comm, comm->mpi->Testall(1, &tw_plain_state(op, lane)->request, &done, MPI_STATUSES_IGNORE),
        "MPI_Testall");
    return *status_p == TW_OK && done;
}

const tw_algorithm_ops_t tw_plain_mpi = {
    .name = "mpi", .stages = 1, .step = tw_plain_step, .host_only = true};

tw_status_t tw_plain(tw_comm_t *comm, const tw_plain_args_t *args, const tw_how_t *how,
                     tw_form_t form, tw_request_t **request_p)
{
    tw_request_shape_t shape = {.algorithm  = &tw_plain_mpi,
                                .operation  = args->name,
                                .count      = args->counts != NULL ? 0 : args->count,
                                .root       = args->root,
                                .reduction  = args->reduction,
                                .longest    = 1,
                                .slots      = 1,
                                .slot_bytes = sizeof(tw_plain_state_t),
                                .arrays     = 3};
    tw_plain_state_t  *state;
    tw_request_t      *op;
    tw_status_t        status;

    if (form == TW_BLOCKING && args->counts == NULL && tw_plain_blocks(comm)) {
        return tw_plain_run(comm, args);
    }
    for (int r = 0; args->counts != NULL && r < comm->size; r++) {
        shape.count += args->counts[r];
    }
    tw_plain_values(comm, args, &shape);
    status = tw_request_create(comm, how, &shape, form == TW_PLAN, &op);
    if (status != TW_OK) {
        return status;
    }
    state       = tw_plain_state(op, &op->lane[0]);
    state->args = *args;
    op->send    = args->send == TW_IN_PLACE ? NULL : args->send;
    op->recv    = args->recv;
    for (int r = 0; args->counts != NULL && r < comm->size; r++) {
        op->array[TW_PLAIN_COUNTS][r] = args->counts[r];
        op->array[TW_PLAIN_FIRSTS][r] = args->displacements != NULL ? args->displacements[r] : 0;
    }
    if (args->counts != NULL) { /* the caller's need not live until a plan is started */
        state->args.counts        = op->array[TW_PLAIN_COUNTS];
        state->args.displacements = args->displacements != NULL ? op->array[TW_PLAIN_FIRSTS] : NULL;
    }
    op->poll   = tw_plain_ready;
    op->rounds = 1;
    return tw_request_finish(op, form, request_p);
}
