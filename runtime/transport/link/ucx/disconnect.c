/* SPDX-License-Identifier: BSD-3-Clause
 * transport/link/ucx/disconnect.c - closing the UCX endpoint of a communicator.
 *
 * A rank closes its connections after it has received a farewell, the last message, from every
 * other rank, and its own farewells have arrived. It destroys its worker after all ranks have
 * closed their connections. If a farewell does not arrive in time (the communicator may be dead on
 * the other rank), the connections are not released.
 */
#include "config.h"

#include <stdlib.h>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/lsan_interface.h>
#endif

#include "runtime/base/descriptor.h"
#include "runtime/transport/engine/progress.h"
#include "runtime/transport/link/ucx/ucx.h"

#define TW_UCX_CLOSE_SECONDS 30.0 /* without THINWIRE_TIMEOUT */

void tw_ucx_release(tw_ucx_t *ucx)
{
    if (ucx->worker != NULL) {
        ucx->call.ucp_worker_destroy(ucx->worker);
    }
    if (ucx->context != NULL) {
        ucx->call.ucp_cleanup(ucx->context);
    }
    free(ucx->farewells.requests);
    free(ucx->farewells.peers);
    free(ucx->peers);
    free(ucx);
}

/* UCX refuses force where it need not say that a peer is gone. */
void tw_ucx_cut(tw_comm_t *comm, tw_ucx_t *ucx)
{
    ucp_request_param_t param = {.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS};

    ucx->closing = true;
    for (int r = 0; r < comm->size; r++) {
        void *request = NULL;

        param.flags = ucx->peers[r].local ? 0 : UCP_EP_CLOSE_FLAG_FORCE;
        if (ucx->peers[r].ep != NULL) {
            request = ucx->call.ucp_ep_close_nbx(ucx->peers[r].ep, &param);
        }
        if (UCS_PTR_IS_PTR(request)) {
            while (ucx->call.ucp_request_check_status(request) == UCS_INPROGRESS) {
                ucx->call.ucp_worker_progress(ucx->worker);
            }
            ucx->call.ucp_request_free(request);
        }
        ucx->peers[r].ep = NULL;
    }
}

/* A farewell to every rank, and room for one from every rank. */
static tw_status_t tw_ucx_say_farewell(tw_comm_t *comm)
{
    tw_ucx_t   *ucx    = comm->endpoint_state;
    tw_status_t status = TW_OK;

    ucx->farewells.count = 0;
    for (int r = 0; r < comm->size && status == TW_OK; r++) {
        if (r != comm->rank) {
            status = tw_endpoint_ucx.recv(comm, &ucx->peers[r].farewell, 1, r, TW_TAG_SYNC,
                                          &ucx->farewells);
        }
    }
    for (int r = 0; r < comm->size && status == TW_OK; r++) {
        if (r != comm->rank) {
            status =
                tw_endpoint_ucx.send(comm, &ucx->peers[r].rank, 1, r, TW_TAG_SYNC, &ucx->farewells);
        }
    }
    return status;
}

/* Until all farewells have come and ours have arrived; false if that does not happen. */
static bool tw_ucx_part(tw_comm_t *comm)
{
    tw_ucx_t *ucx      = comm->endpoint_state;
    bool      complete = false;

    tw_comm_moved(comm);
    while (!complete || !tw_ucx_idle(comm)) {
        if (tw_ucx_progress(comm) != TW_OK ||
            tw_endpoint_ucx.test(comm, &ucx->farewells, &complete) != TW_OK ||
            (!complete && ucx->lost >= 0) || tw_comm_timed_out(comm)) {
            return false;
        }
        comm->system->yield(TW_DESCRIPTOR_NONE);
    }
    return true;
}

/* A rank that did not come. */
static int tw_ucx_missing(tw_comm_t *comm)
{
    tw_ucx_t *ucx = comm->endpoint_state;

    for (int m = 0; ucx->lost < 0 && m < ucx->farewells.count; m++) {
        if (tw_endpoint_ucx.pending(comm, &ucx->farewells, m)) {
            return ucx->farewells.peers[m];
        }
    }
    return ucx->lost;
}

tw_status_t tw_ucx_close(tw_comm_t *comm)
{
    tw_ucx_t   *ucx = comm->endpoint_state;
    tw_status_t status;

    if (comm->config.timeout <= 0.0) {
        comm->config.timeout = TW_UCX_CLOSE_SECONDS;
    }
    ucx->closing = true;
    if (tw_ucx_say_farewell(comm) != TW_OK || !tw_ucx_part(comm)) {
        TW_WARN(&comm->log,
                "rank %d did not come to destroy the communicator; its UCX connections stay",
                tw_ucx_missing(comm));
        tw_ucx_abandon(comm);
        return TW_OK;
    }
    tw_ucx_cut(comm, ucx);
    status = tw_comm_agree(comm, TW_OK);
    if (status != TW_OK) {
        return status;
    }
    tw_ucx_release(ucx);
    comm->endpoint       = &tw_endpoint_mpi;
    comm->endpoint_state = NULL;
    return TW_OK;
}

/* UCX may still write into buffers: nothing is given back. */
void tw_ucx_abandon(tw_comm_t *comm)
{
#ifdef __SANITIZE_ADDRESS__
    __lsan_ignore_object(comm->endpoint_state);
#endif
    comm->endpoint       = &tw_endpoint_mpi;
    comm->endpoint_state = NULL;
}
