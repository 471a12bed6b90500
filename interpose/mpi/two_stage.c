/* SPDX-License-Identifier: BSD-3-Clause
 * interpose/mpi/two_stage.c - see two_stage.h.
 */
#include "config.h"

#include <stdlib.h>

#include <thinwire/collective.h>

#include "interpose/next.h"
#include "interpose/mpi/two_stage.h"
#include "interpose/mpi/vectors.h"
#include "runtime/base/clock.h"
#include "runtime/transport/comm/comm.h"

typedef struct tw_two_stage {
    struct tw_two_stage *next;
    tw_call_t            call;
    tw_request_t        *request; /* of the transport                                        */
    MPI_Request          generalized;
    tw_vectors_t         vectors;
} tw_two_stage_t;

static tw_two_stage_t *tw_two_stage_list;
static int             tw_two_stage_count;
static bool            tw_two_stage_hooked;
static pthread_mutex_t tw_two_stage_lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- the MPI library's progress engine ------------------------------------------------------- */

/* Advance one operation; true if it is complete. Its communicator may be busy in a blocking call,
 * which then advances it itself. */
static bool tw_two_stage_test(tw_two_stage_t *op)
{
    int          done   = 0;
    tw_status_t  status = TW_OK;
    tw_device_t *device;

    if (pthread_mutex_trylock(&op->call.comm->lock) != 0) {
        return false;
    }
    device = op->call.comm->device;
    tw_device_enter(op->call.comm->handle, device);
    status = tw_test(&op->request, &done);
    tw_device_leave(device);
    pthread_mutex_unlock(&op->call.comm->lock);
    if (status != TW_OK) {
        tw_give_up(op->call.comm->handle, "a compressed MPI_Iallreduce failed: %s",
                   tw_status_text(status));
    }
    return done != 0;
}

static void tw_two_stage_complete(tw_two_stage_t *op)
{
    const uint64_t start = tw_clock_ns();

    tw_vectors_finish(&op->call, &op->vectors);
    tw_call_more(&op->call, tw_clock_ns() - start);
    pthread_mutex_lock(&tw_state.lock);
    op->call.comm->two_stage--;
    pthread_mutex_unlock(&tw_state.lock);
    tw_comms_let_go(op->call.comm);
    tw_next.Grequest_complete(
        op->generalized); /* last: the program may free the communicator at once */
    free(op);
}

/* Called by MPI while it waits, in any thread; what it calls may wait too and come back here. */
static int tw_two_stage_hook(void)
{
    tw_two_stage_t **at, *complete = NULL;
    int              moved = 0;

    if (__atomic_load_n(&tw_two_stage_count, __ATOMIC_ACQUIRE) == 0 ||
        pthread_mutex_trylock(&tw_two_stage_lock) != 0) {
        return 0;
    }
    at = &tw_two_stage_list;
    while (*at != NULL) {
        tw_two_stage_t *op = *at;

        if (tw_two_stage_test(op)) {
            *at      = op->next;
            op->next = complete;
            complete = op;
            __atomic_fetch_sub(&tw_two_stage_count, 1, __ATOMIC_RELEASE);
        } else {
            at = &op->next;
        }
    }
    pthread_mutex_unlock(&tw_two_stage_lock);
    while (complete != NULL) {
        tw_two_stage_t *op = complete;

        complete = op->next;
        tw_two_stage_complete(op);
        moved++;
    }
    return moved;
}

/* Open MPI's progress engine; MPICH has no such functions. */
static bool tw_two_stage_engine(const char *function)
{
    int (*call)(int (*)(void)) = NULL;

    *(void **)&call = tw_late_symbol(function);
    return call != NULL && call(tw_two_stage_hook) == 0;
}

void tw_two_stage_start(void)
{
    pthread_mutex_lock(&tw_two_stage_lock); /* the hook only tries it */
    if (!tw_two_stage_hooked) {
        __atomic_store_n(&tw_two_stage_hooked, tw_two_stage_engine("opal_progress_register"),
                         __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&tw_two_stage_lock);
}

void tw_two_stage_stop(void)
{
    if (tw_two_stage_hooked) {
        tw_two_stage_engine("opal_progress_unregister");
    }
    tw_two_stage_hooked = false;
}

/* ---- the operation --------------------------------------------------------------------------- */

static int tw_two_stage_query(void *extra, MPI_Status *status)
{
    (void)extra;
    status->MPI_SOURCE = MPI_UNDEFINED;
    status->MPI_TAG    = MPI_UNDEFINED;
    tw_next.Status_set_elements(status, MPI_BYTE, 0);
    tw_next.Status_set_cancelled(status, 0);
    return MPI_SUCCESS;
}

static int tw_two_stage_free(void *extra)
{
    (void)extra;
    return MPI_SUCCESS;
}

static int tw_two_stage_cancel(void *extra, int complete)
{
    (void)extra;
    (void)complete;
    return MPI_SUCCESS;
}

tw_why_t tw_two_stage_refusal(const tw_call_t *call)
{
    if (!__atomic_load_n(&tw_two_stage_hooked, __ATOMIC_ACQUIRE)) {
        return TW_WHY_NO_HOOK;
    }
    return call->comm->duplicate == NULL ? TW_WHY_NO_DUPLICATE : TW_WHY_NOT;
}

/* Start it in the transport; TW_ERR_BUSY, on all ranks alike, where that would have to synchronise.
 */
static tw_status_t tw_two_stage_try(tw_two_stage_t *op, const void *from, void *to)
{
    tw_entry_t    *entry = op->call.comm;
    tw_comm_t     *comm  = entry->duplicate;
    const tw_how_t how   = {.codec = op->call.choice->codec, .exec = &tw_state.exec};
    tw_status_t    status;

    pthread_mutex_lock(&entry->lock);
    tw_device_enter(entry->handle, entry->device);
    comm->asynchronous = true;
    status = tw_iallreduce(comm, from, to, op->call.values, op->call.reduction, &how, &op->request);
    comm->asynchronous = false;
    tw_device_leave(entry->device);
    pthread_mutex_unlock(&entry->lock);
    return status;
}

static tw_status_t tw_two_stage_begin(tw_two_stage_t *op, const void *sendbuf, void *recvbuf)
{
    tw_vectors_t *v = &op->vectors;
    tw_status_t   status;

    tw_vectors_make(&op->call, v, sendbuf, recvbuf);
    status = tw_two_stage_try(op, v->from, v->to);
    if (tw_vectors_retry(&op->call, v, status)) {
        status = tw_two_stage_try(op, v->from, v->to);
    }
    return status;
}

tw_why_t tw_two_stage_iallreduce(tw_call_t *call, const void *sendbuf, void *recvbuf,
                                 MPI_Request *request)
{
    tw_two_stage_t *op = calloc(1, sizeof(*op));
    tw_status_t     status;

    if (op == NULL) {
        tw_give_up(call->comm->handle, "no memory for a request");
    }
    op->call = *call;
    status   = tw_two_stage_begin(op, sendbuf, recvbuf);
    if (status == TW_ERR_BUSY) {
        tw_vectors_drop(&op->vectors);
        free(op);
        return TW_WHY_NO_DUPLICATE;
    }
    if (status != TW_OK ||
        tw_next.Grequest_start(tw_two_stage_query, tw_two_stage_free, tw_two_stage_cancel, op,
                               &op->generalized) != MPI_SUCCESS) {
        tw_give_up(call->comm->handle, "a compressed MPI_Iallreduce failed: %s",
                   tw_status_text(status));
    }
    *request = op->generalized;
    op->call.sent =
        tw_call_moved(call->op, call->comm->size, tw_choice_bytes(call->choice, call->values));
    tw_call_end(&op->call);
    op->call.encode_ns = op->call.decode_ns = 0;
    tw_comms_hold(call->comm);
    pthread_mutex_lock(&tw_state.lock);
    call->comm->two_stage++;
    pthread_mutex_unlock(&tw_state.lock);
    pthread_mutex_lock(&tw_two_stage_lock);
    op->next          = tw_two_stage_list;
    tw_two_stage_list = op;
    __atomic_fetch_add(&tw_two_stage_count, 1, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&tw_two_stage_lock);
    return TW_WHY_NOT;
}
