/* SPDX-License-Identifier: BSD-3-Clause
 * transport/link/ucx/ucx.h - shared declarations of the UCX endpoint.
 *
 * UCX is loaded when a communicator uses it, not when the program starts: loading UCX installs
 * signal handlers in the process.
 */
#ifndef TW_TRANSPORT_LINK_UCX_UCX_H
#define TW_TRANSPORT_LINK_UCX_UCX_H

#include <stdbool.h>
#include <stdint.h>

#include <ucp/api/ucp.h>

#include "runtime/transport/link/link.h"

/* clang-format off */
/* The UCX functions in use; the use of any other fails to link. */
#define TW_UCX_LIST(X)                                                                             \
    X(ucp_get_version_string) X(ucp_config_read) X(ucp_config_modify) X(ucp_config_release) X(ucp_init_version)         \
    X(ucp_cleanup) X(ucp_context_query) X(ucp_worker_create) X(ucp_worker_query) X(ucp_worker_release_address)          \
    X(ucp_worker_destroy) X(ucp_worker_progress) X(ucp_worker_get_efd) X(ucp_worker_arm) X(ucp_worker_flush_nbx) X(ucp_ep_create)          \
    X(ucp_ep_close_nbx) X(ucp_tag_send_nbx) X(ucp_tag_recv_nbx) X(ucp_request_check_status)        \
    X(ucp_request_free) X(ucs_status_string)
/* clang-format on */

typedef struct tw_ucx_calls {
#define X(name) __typeof__(&name) name;
    TW_UCX_LIST(X)
#undef X
} tw_ucx_calls_t;

struct tw_ucx;

typedef struct tw_ucx_peer {
    struct tw_ucx *ucx;
    int            rank;
    bool           local;    /* on this rank's node      */
    ucp_ep_h       ep;       /* NULL for this rank       */
    uint8_t        farewell; /* receive buffer           */
} tw_ucx_peer_t;

/* tw_comm_t.endpoint_state */
typedef struct tw_ucx {
    tw_ucx_calls_t call;
    ucp_context_h  context;
    ucp_worker_h   worker;
    tw_ucx_peer_t *peers;     /* comm->size                                             */
    tw_messages_t  farewells; /* messages exchanged on closing                          */
    uint64_t       posted;    /* messages sent                                          */
    uint64_t       delivered; /* messages that a complete flush has covered             */
    uint64_t       flushing;  /* messages that the current flush covers                 */
    void          *flush;     /* the current flush, or NULL                             */
    bool           moved;     /* since it was asked last what to sleep on               */
    int            lost;      /* a rank that UCX has reported lost; -1: none            */
    ucs_status_t   lost_status;
    bool           closing; /* peers may disconnect now                               */
} tw_ucx_t;

/* Load UCX; on failure `why` is one line of text with the reason. */
tw_status_t tw_ucx_load(tw_ucx_calls_t *calls, char *why, size_t size);

/* Are all sent messages known to have arrived? Starts a flush if not. */
bool tw_ucx_idle(tw_comm_t *comm);

/* Close the connections; all ranks must do so before any rank destroys its worker. */
void tw_ucx_cut(tw_comm_t *comm, tw_ucx_t *ucx);

/* Release all resources. */
void tw_ucx_release(tw_ucx_t *ucx);

tw_status_t tw_ucx_progress(tw_comm_t *comm);
tw_status_t tw_ucx_open(tw_comm_t *comm);
tw_status_t tw_ucx_close(tw_comm_t *comm);
void        tw_ucx_abandon(tw_comm_t *comm);

#endif /* TW_TRANSPORT_LINK_UCX_UCX_H */
