/* SPDX-License-Identifier: BSD-3-Clause
 * transport/coll/native/native.c - see native.h.
 *
 * MPI chooses the order of additions, not rank order; nothing is quantised. The library does not
 * see MPI's traffic: bytes_sent counts the least bytes that must be sent (coll/traffic.h).
 */
#include "config.h"

#include <limits.h>
#include <string.h>

#include "runtime/codec/narrow.h"
#include "runtime/transport/coll/native/native.h"
#include "runtime/transport/coll/traffic.h"
#include "runtime/transport/link/mpi_type.h"

static MPI_Datatype tw_native_type(const tw_collective_call_t *call)
{
    return tw_mpi_type(call->codec->dtype);
}

static size_t tw_native_element(const tw_collective_call_t *call)
{
    return call->codec->element;
}

/* As MPI counts: the vector, or one rank's block. */
static size_t tw_native_count(const tw_collective_call_t *call)
{
    const tw_operation_t operation = call->collective->operation;

    return operation == TW_OPERATION_REDUCE_SCATTER || operation == TW_OPERATION_ALLGATHER
               ? call->in.each
               : call->count;
}

/* Of all ranks' blocks. */
static size_t tw_native_total(const tw_collective_call_t *call)
{
    size_t total = 0;

    for (int r = 0; r < call->comm->size; r++) {
        total += tw_blocks_count(&call->in, r);
    }
    return total;
}

/* Values of the result on this rank that were added up. */
static size_t tw_native_summed(const tw_collective_call_t *call)
{
    switch (call->collective->operation) {
    case TW_OPERATION_ALLREDUCE:
        return call->count;
    case TW_OPERATION_REDUCE:
        return call->comm->rank == call->root ? call->count : 0;
    case TW_OPERATION_REDUCE_SCATTER:
        return tw_blocks_count(&call->in, call->comm->rank);
    default:
        return 0;
    }
}

bool tw_native_serves_type(tw_operation_t operation, tw_dtype_t dtype)
{
    return (operation != TW_OPERATION_ALLREDUCE && operation != TW_OPERATION_REDUCE &&
            operation != TW_OPERATION_REDUCE_SCATTER) ||
           !tw_dtype_is_narrow(tw_dtype_row(dtype));
}

static bool tw_native_adds(const tw_collective_call_t *call)
{
    return tw_native_serves_type(call->collective->operation, call->codec->dtype);
}

bool tw_native_fits(const tw_collective_call_t *call)
{
    const tw_blocks_t *in = &call->in;
    size_t             at = 0;

    if (!tw_native_adds(call)) {
        return false;
    }

    if (in->counts == NULL) {
        return tw_native_count(call) <= INT_MAX;
    }
    for (int r = 0; r < call->comm->size; r++) {
        const size_t first = in->displacements != NULL ? in->displacements[r] : at;

        if (in->counts[r] > INT_MAX || first > INT_MAX || at > INT_MAX) {
            return false;
        }
        at += in->counts[r];
    }
    return at <= INT_MAX;
}

/* What MPI sends is not seen, nor, with several nodes, how: all of it is the network's then. */
static void tw_native_bytes(const tw_collective_call_t *call)
{
    tw_comm_t     *comm  = call->comm;
    const uint64_t bytes = tw_traffic_least(call, comm->size, tw_native_element(call));

    tw_comm_count_sent(comm, bytes, comm->nodes->count == 1);
    comm->stats.bytes_received += bytes;
    comm->stats.bytes_uncompressed += bytes;
}

static void tw_native_average(const tw_collective_call_t *call)
{
    const size_t summed =
        tw_reduction_row((int)call->reduction)->divides ? tw_native_summed(call) : 0;

    if (summed > 0) {
        tw_average(call->codec->type, call->comm->size, summed, call->recv);
    }
}

/* MPI wants all ranks in place or none, and its alltoall and nonblocking reductions go different
 * ways by it; ours need not be. Bytes to be copied of what this rank sends; 0: none. */
static size_t tw_native_displaced(const tw_collective_call_t *call, bool blocking)
{
    size_t values = 0;

    if (call->send != TW_IN_PLACE) {
        return 0;
    }
    if (call->collective->operation == TW_OPERATION_ALLTOALL) {
        values = call->count * (size_t)call->comm->size;
    } else if (call->collective->operation == TW_OPERATION_ALLREDUCE && !blocking) {
        values = call->count;
    } else if (call->collective->operation == TW_OPERATION_REDUCE_SCATTER && !blocking) {
        values = tw_native_total(call);
    }
    return values * tw_native_element(call);
}

/* MPI's blocking collective on memory of the host. */
static tw_status_t tw_native_call(const tw_collective_call_t *call)
{
    const tw_mpi_ops_t *mpi    = call->comm->mpi;
    const MPI_Datatype  type   = tw_native_type(call);
    const MPI_Comm      comm   = call->comm->comm;
    const void         *send   = call->send == TW_IN_PLACE ? MPI_IN_PLACE : call->send;
    void               *recv   = call->recv;
    const int           n      = (int)tw_native_count(call);
    int                 result = MPI_SUCCESS;
    tw_status_t         status;

    switch (call->collective->operation) {
    case TW_OPERATION_ALLREDUCE:
        result = mpi->Allreduce(send, recv, n, type, tw_mpi_op(call->reduction), comm);
        break;
    case TW_OPERATION_REDUCE:
        result = mpi->Reduce(send, recv, n, type, tw_mpi_op(call->reduction), call->root, comm);
        break;
    case TW_OPERATION_REDUCE_SCATTER:
        result = mpi->Reduce_scatter_block(send, recv, n, type, tw_mpi_op(call->reduction), comm);
        break;
    case TW_OPERATION_BCAST:
        result = mpi->Bcast(recv, n, type, call->root, comm);
        break;
    case TW_OPERATION_ALLGATHER:
        result = mpi->Allgather(send, n, type, recv, n, type, comm);
        break;
    case TW_OPERATION_ALLTOALL:
        result = mpi->Alltoall(send, n, type, recv, n, type, comm);
        break;
    }
    status = tw_comm_mpi(call->comm, result, call->name);
    if (status == TW_OK) {
        const tw_traffic_t traffic = tw_traffic(call, false, tw_native_element(call));

        tw_native_average(call);
        tw_native_bytes(call);
        tw_comm_count(call->comm, &traffic);
        call->comm->stats.calls++;
    }
    return status;
}

tw_status_t tw_native_run(const tw_collective_call_t *call)
{
    const size_t         bytes = tw_native_displaced(call, true);
    tw_collective_call_t mine  = *call;
    void                *copy  = NULL;
    tw_status_t          status;

    if (tw_how_on_device(call->how) || tw_comm_device_owns(call->comm, call->values)) {
        return tw_native_run_device(call);
    }
    if (bytes == 0) {
        return tw_native_call(call);
    }
    status = tw_comm_copy_in_place(call->comm, call->recv, bytes, &copy);
    if (status == TW_OK) {
        mine.send = copy;
        status    = tw_native_call(&mine);
        tw_pool_put(&call->comm->pool, copy);
    }
    return status;
}

/* counts and displacements as MPI wants them: ints[0 .. P) and ints[P .. 2 P). */
static void tw_native_ints(const tw_collective_call_t *call, int *ints)
{
    const tw_blocks_t *in    = &call->in;
    const int          ranks = call->comm->size;
    size_t             at    = 0;

    for (int r = 0; r < ranks; r++) {
        ints[r]         = (int)in->counts[r];
        ints[ranks + r] = (int)(in->displacements != NULL ? in->displacements[r] : at);
        at += in->counts[r];
    }
}

/* Where the blocks of an allgatherv begin. MPICH 4.0 ignores the displacement of a single rank, so
 * that one's is added here. */
static void *tw_native_blocks_at(const tw_collective_call_t *call, int *ints)
{
    uint8_t *recv = call->recv;

    if (call->comm->size == 1 && ints[1] > 0) {
        recv += (size_t)ints[1] * tw_native_element(call);
        ints[1] = 0;
    }
    return recv;
}

tw_status_t tw_native_start(const tw_collective_call_t *call, int *ints, MPI_Request *request)
{
    const tw_mpi_ops_t *mpi    = call->comm->mpi;
    const MPI_Datatype  type   = tw_native_type(call);
    const MPI_Comm      comm   = call->comm->comm;
    const void         *send   = call->send == TW_IN_PLACE ? MPI_IN_PLACE : call->send;
    void               *recv   = call->recv;
    const bool          blocks = call->in.counts != NULL;
    const int           n      = (int)tw_native_count(call);
    int                 result = MPI_SUCCESS;

    if (blocks) {
        tw_native_ints(call, ints);
    }
    switch (call->collective->operation) {
    case TW_OPERATION_ALLREDUCE:
        result = mpi->Iallreduce(send, recv, n, type, tw_mpi_op(call->reduction), comm, request);
        break;
    case TW_OPERATION_REDUCE:
        result = mpi->Ireduce(send, recv, n, type, tw_mpi_op(call->reduction), call->root, comm,
                              request);
        break;
    case TW_OPERATION_REDUCE_SCATTER:
        result = blocks ? mpi->Ireduce_scatter(send, recv, ints, type, tw_mpi_op(call->reduction),
                                               comm, request)
                        : mpi->Ireduce_scatter_block(send, recv, n, type,
                                                     tw_mpi_op(call->reduction), comm, request);
        break;
    case TW_OPERATION_BCAST:
        result = mpi->Ibcast(recv, n, type, call->root, comm, request);
        break;
    case TW_OPERATION_ALLGATHER:
        result = blocks ? mpi->Iallgatherv(send, ints[call->comm->rank], type,
                                           tw_native_blocks_at(call, ints), ints,
                                           ints + call->comm->size, type, comm, request)
                        : mpi->Iallgather(send, n, type, recv, n, type, comm, request);
        break;
    case TW_OPERATION_ALLTOALL:
        result = mpi->Ialltoall(send, n, type, recv, n, type, comm, request);
        break;
    }
    return tw_comm_mpi(call->comm, result, call->name);
}

/* ---- the row, and its operation -------------------------------------------------------------- */

/* What an operation keeps, in the lane's slot: the call, with the counts in op->array. */
typedef struct tw_native_state {
    tw_collective_call_t call;
    MPI_Request          request;
} tw_native_state_t;

enum { TW_NATIVE_COUNTS = 0, TW_NATIVE_FIRSTS = 1, TW_NATIVE_INTS = 2, TW_NATIVE_ARRAYS = 3 };

static tw_native_state_t *tw_native_state(const tw_lane_t *lane)
{
    return (tw_native_state_t *)(void *)lane->codes;
}

static tw_status_t tw_native_step(tw_request_t *op, tw_lane_t *lane)
{
    tw_native_state_t    *state = tw_native_state(lane);
    tw_collective_call_t *call  = &state->call;

    if (lane->stage == 0) {
        const size_t         bytes = tw_native_displaced(call, false);
        tw_collective_call_t mine;
        tw_status_t          status = TW_OK;

        call->send = call->send == TW_IN_PLACE ? TW_IN_PLACE : op->send;
        call->recv = op->recv;
        mine       = *call;
        if (bytes > 0) {
            status    = tw_comm_copy_in_place(op->comm, op->recv, bytes, &op->copy);
            mine.send = op->copy;
        }
        return status == TW_OK ? tw_native_start(&mine, (int *)(void *)op->array[TW_NATIVE_INTS],
                                                 &state->request)
                               : status;
    }
    tw_pool_put(&op->comm->pool, op->copy);
    op->copy = NULL;
    tw_native_average(call);
    tw_native_bytes(call);
    return TW_OK;
}

static bool tw_native_ready(tw_request_t *op, tw_lane_t *lane, tw_status_t *status_p)
{
    tw_comm_t *comm = op->comm;
    int        done = 0;

    *status_p = tw_comm_mpi(
        comm, comm->mpi->Testall(1, &tw_native_state(lane)->request, &done, MPI_STATUSES_IGNORE),
        "MPI_Testall");
    return *status_p == TW_OK && done;
}

static void tw_native_fill(tw_request_t *op, const tw_collective_call_t *call)
{
    tw_collective_call_t *kept = &tw_native_state(&op->lane[0])->call;

    *kept       = *call;
    kept->codec = op->codec;
    kept->how   = NULL;
    if (call->in.counts != NULL) { /* the caller's need not live until a plan is started */
        memcpy(op->array[TW_NATIVE_COUNTS], call->in.counts,
               sizeof(size_t) * (size_t)op->comm->size);
        kept->in.counts = op->array[TW_NATIVE_COUNTS];
    }
    if (call->in.displacements != NULL) {
        memcpy(op->array[TW_NATIVE_FIRSTS], call->in.displacements,
               sizeof(size_t) * (size_t)op->comm->size);
        kept->in.displacements = op->array[TW_NATIVE_FIRSTS];
    }
    op->poll   = tw_native_ready;
    op->rounds = 1;
}

static const tw_algorithm_ops_t tw_native_ops = {
    .name = "mpi", .stages = 1, .fill = tw_native_fill, .step = tw_native_step, .host_only = true};

static void tw_native_shape(const tw_collective_call_t *call, tw_request_shape_t *shape)
{
    (void)call;
    shape->algorithm  = &tw_native_ops;
    shape->longest    = 1;
    shape->slots      = 1;
    shape->slot_bytes = sizeof(tw_native_state_t);
    shape->arrays     = TW_NATIVE_ARRAYS;
}

static tw_status_t tw_native_serves(const tw_collective_call_t *call)
{
    return !tw_native_adds(call) ? TW_ERR_UNSUPPORTED : tw_native_fits(call) ? TW_OK : TW_ERR_RANGE;
}

static bool tw_native_at_once(const tw_collective_call_t *call, tw_status_t *status_p)
{
    if (call->in.counts != NULL || !tw_native_fits(call) || !tw_native_blocks(call->comm)) {
        return false;
    }
    *status_p = tw_native_run(call);
    return true;
}

const tw_algorithm_row_t tw_native_row = {.name   = "mpi",
                                          .number = TW_ALGORITHM_MPI,
                                          .serves = tw_native_serves,
                                          .needs =
                                              "counts that fit an int, and in reductions elements "
                                              "that MPI adds: no 16-bit ones",
                                          .at_once = tw_native_at_once,
                                          .shape   = tw_native_shape};
