/* SPDX-License-Identifier: BSD-3-Clause
 * interpose/mpi/allreduce.c - MPI_Allreduce, by the transport on the private duplicate, and
 * MPI_Iallreduce: of one stage (everyone gets everyone's codes and adds them in rank order) where
 * that moves fewer bytes than the native collective and takes no more than two message sizes, else
 * of two stages by the transport where the MPI library calls us while it waits (two_stage.h).
 */
#include "config.h"

#include <thinwire/collective.h>

#include "interpose/mpi/form.h"
#include "interpose/handlers.h"
#include "interpose/next.h"
#include "interpose/mpi/transfer.h"
#include "interpose/mpi/two_stage.h"
#include "interpose/mpi/vectors.h"
#include "interpose/mpi/verify.h"
#include "runtime/base/clock.h"
#include "runtime/transport/auto/auto.h"
#include "runtime/transport/link/mpi_type.h"

/* ---- blocking -------------------------------------------------------------------------------- */

static bool tw_call_feedback(const tw_call_t *call)
{
    return tw_state.config.error_feedback != 0 && !(call->choice->absolute > 0) &&
           tw_reduction_row((int)call->reduction)->feedback;
}

/* The transport's reduction of uncompressed vectors; counters go to the call. Whatever runs on the
 * communicator is advanced here. */
static tw_status_t tw_allreduce_transport(tw_call_t *call, tw_comm_t *comm, const void *from,
                                          void *to)
{
    tw_how_t              how = {.codec = call->choice->codec, .exec = &tw_state.exec};
    const tw_abs_state_t *abs = &comm->autos->abs;
    uint64_t              repeats;
    tw_stats_t            before, after;
    tw_status_t           status;

    pthread_mutex_lock(&call->comm->lock);
    repeats = abs->repeats;
    if (tw_call_feedback(call)) {
        how.feedback = tw_comms_feedback(call->comm, call->type.name, call->choice->dtype,
                                         call->values, &call->dropped);
    }
    tw_comm_stats(comm, &before);
    tw_device_enter(call->comm->handle, call->comm->device);
    status = tw_allreduce(comm, from, to, call->values, call->reduction, &how);
    tw_device_leave(call->comm->device);
    tw_comm_stats(comm, &after);
    call->bounded  = call->choice->absolute > 0;
    call->repeated = abs->repeats > repeats;
    call->bits     = call->bounded ? abs->bits : 0;
    pthread_mutex_unlock(&call->comm->lock);
    call->sent += after.bytes_sent - before.bytes_sent;
    call->encode_ns += after.encode_ns - before.encode_ns;
    call->decode_ns += after.decode_ns - before.decode_ns;
    return status;
}

static tw_status_t tw_allreduce_sum(tw_call_t *call, tw_comm_t *comm, const void *sendbuf,
                                    void *recvbuf)
{
    tw_vectors_t v;
    tw_status_t  status;

    tw_vectors_make(call, &v, sendbuf, recvbuf);
    status = tw_allreduce_transport(call, comm, v.from, v.to);
    if (tw_vectors_retry(call, &v, status)) {
        status = tw_allreduce_transport(call, comm, v.from, v.to);
    }
    tw_vectors_finish(call, &v);
    return status;
}

/* MPI's own result, in host memory. */
static int tw_allreduce_exact(const tw_call_t *call, const void *from, void *exact, int count,
                              MPI_Datatype datatype, MPI_Comm comm)
{
    tw_type_t type = call->type;
    void     *copy;
    int       result;

    type.device = call->on_device ? tw_device_of(comm, from) : NULL;
    from        = tw_form_values(call, &type, from, (size_t)count, &copy);
    result      = tw_next.Allreduce(from, exact, count, datatype, call->mpi_op, comm);
    tw_buffer_put(copy);
    return result;
}

static void tw_allreduce_verify(tw_call_t *call, const void *recvbuf, size_t count,
                                const void *exact)
{
    const uint64_t start  = tw_clock_ns();
    tw_type_t      type   = call->type;
    tw_errors_t    errors = {0};

    type.device = call->on_device ? tw_device_of(call->comm->handle, recvbuf) : NULL;
    tw_verify_compare(call, &errors, &type, recvbuf, count, exact);
    tw_verify_conclude(call, &errors);
    if (call->stepped &&
        tw_call_feedback(call)) { /* what the coarser codec lost is not the finer one's */
        pthread_mutex_lock(&call->comm->lock);
        tw_device_enter(call->comm->handle, call->comm->device);
        tw_feedback_clear(tw_comms_feedback(call->comm, call->type.name, call->choice->dtype,
                                            call->values, &call->dropped));
        tw_device_leave(call->comm->device);
        pthread_mutex_unlock(&call->comm->lock);
    }
    tw_verify_spent(call, start, false);
}

static int tw_allreduce_codes(tw_call_t *call, tw_comm_t *duplicate, const void *sendbuf,
                              void *recvbuf, int count, MPI_Datatype datatype, MPI_Comm comm)
{
    void       *exact  = NULL;
    int         result = MPI_SUCCESS;
    tw_status_t status;

    if (call->verify) { /* first: in place, the input is gone afterwards */
        const uint64_t start = tw_clock_ns();

        exact  = tw_buffer_get(call->comm->handle, (size_t)count * call->type.size);
        result = tw_allreduce_exact(call, sendbuf == MPI_IN_PLACE ? recvbuf : sendbuf, exact, count,
                                    datatype, comm);
        tw_verify_spent(call, start, true);
    }
    if (result == MPI_SUCCESS) {
        status = tw_allreduce_sum(call, duplicate, sendbuf, recvbuf);
        if (status != TW_OK) {
            tw_give_up(comm, "the compressed MPI_Allreduce of %d values failed: %s", count,
                       tw_status_text(status));
        }
    }
    if (exact != NULL && result == MPI_SUCCESS) {
        tw_allreduce_verify(call, recvbuf, (size_t)count, exact);
    }
    tw_buffer_put(exact);
    return result;
}

/* ---- nonblocking ----------------------------------------------------------------------------- */

static int tw_iallreduce_move(const tw_transfer_t *x, MPI_Request *request)
{
    const int units = x->send.lengths[0];

    return tw_next.Iallgather(x->send.codes, units, x->unit_type, x->recv.codes, units,
                              x->unit_type, x->call->comm->handle, request);
}

static const tw_manner_t tw_iallreduce_manner = {.move = tw_iallreduce_move};

static int tw_iallreduce_codes(tw_call_t *call, const void *input, void *recvbuf, int count,
                               MPI_Request *request)
{
    tw_transfer_t *x =
        tw_transfer_sum(call, &tw_iallreduce_manner, input, recvbuf, (size_t)count, true);

    call->sent = (uint64_t)(call->comm->size - 1) * x->send.total;
    return tw_transfer_run(x, request);
}

int tw_on_allreduce(const void *site, const void *sendbuf, void *recvbuf, int count,
                    MPI_Datatype datatype, MPI_Op op, MPI_Comm comm, MPI_Request *request)
{
    tw_call_t  call;
    tw_comm_t *duplicate = NULL;
    int        result    = MPI_SUCCESS;

    tw_call_begin(&call, site, TW_RULE_ALLREDUCE, request != NULL, comm);
    if (tw_call_vector(&call, count, datatype)) {
        tw_call_operation(&call, op);
        if (sendbuf == recvbuf || sendbuf == NULL || recvbuf == NULL || recvbuf == MPI_IN_PLACE) {
            tw_call_refuse(&call, TW_WHY_ARGUMENTS);
        }
    }
    tw_call_buffers(&call, sendbuf, recvbuf);
    if (tw_call_decide(&call)) {
        if (request == NULL) {
            duplicate = tw_comms_duplicate(call.comm);
            if (duplicate != NULL) {
                result =
                    tw_allreduce_codes(&call, duplicate, sendbuf, recvbuf, count, datatype, comm);
                tw_call_end(&call);
                return result;
            }
            tw_call_undo(&call, TW_WHY_MEMORY);
        } else if (tw_choice_all_fit(call.choice, call.values, call.comm->size) ||
                   (tw_encode_always() && tw_two_stage_refusal(&call) != TW_WHY_NOT)) {
            return tw_iallreduce_codes(&call, sendbuf == MPI_IN_PLACE ? recvbuf : sendbuf, recvbuf,
                                       count, request);
        } else {
            tw_why_t why = tw_two_stage_refusal(&call);

            why =
                why == TW_WHY_NOT ? tw_two_stage_iallreduce(&call, sendbuf, recvbuf, request) : why;
            if (why == TW_WHY_NOT) {
                return MPI_SUCCESS;
            }
            tw_call_undo(&call, why);
        }
    }
    result = tw_mpi_allreduce(sendbuf, recvbuf, count, datatype, op, comm, request);
    tw_call_end(&call);
    return result;
}
