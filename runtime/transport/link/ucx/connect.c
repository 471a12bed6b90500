/* SPDX-License-Identifier: BSD-3-Clause
 * transport/link/ucx/connect.c - opening the UCX endpoint of a communicator: every rank creates a
 * worker, the ranks exchange the workers' addresses by MPI, and every rank connects to every other.
 *
 * UCX can report that a peer is lost (UCP_ERR_HANDLING_MODE_PEER), but then does not use shared
 * memory. Only connections between nodes use this mode, since a node fails as a whole.
 */
#include "config.h"

#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/bytes.h"
#include "runtime/transport/comm/sync.h"
#include "runtime/transport/comm/progress_thread.h"
#include "runtime/transport/link/ucx/ucx.h"

#define TW_UCX_WHY      256
#define TW_UCX_NETWORKS 4096             /* bytes of UCX_NET_DEVICES */
#define TW_UCX_HOST     sizeof(uint64_t) /* bytes before an address: which node it is on */

/* A connection is gone. While closing that is what peers do. */
static void tw_ucx_lost(void *arg, ucp_ep_h ep, ucs_status_t status)
{
    const tw_ucx_peer_t *peer = arg;

    (void)ep;
    if (peer->ucx->lost < 0) {
        peer->ucx->lost        = peer->rank;
        peer->ucx->lost_status = status;
    }
}

static tw_ucx_t *tw_ucx_new(const tw_comm_t *comm)
{
    const size_t size = (size_t)comm->size;
    tw_ucx_t    *ucx  = calloc(1, sizeof(*ucx));

    if (ucx == NULL) {
        return NULL;
    }
    ucx->lost               = -1;
    ucx->peers              = calloc(size, sizeof(*ucx->peers));
    ucx->farewells.requests = calloc(2 * size, sizeof(ucs_status_ptr_t));
    ucx->farewells.peers    = calloc(2 * size, sizeof(int));
    ucx->farewells.capacity = 2 * comm->size;
    if (ucx->peers == NULL || ucx->farewells.requests == NULL || ucx->farewells.peers == NULL) {
        tw_ucx_release(ucx);
        return NULL;
    }
    return ucx;
}

/* Of several OpenFabrics devices the one near this rank's GPU, unless the user has chosen. The
 * system's interfaces stay, as if nothing were set: UCX may be without verbs, and takes the faster
 * ones anyway. What it does not know of these it need not warn of. */
static ucs_status_t tw_ucx_near(const tw_comm_t *comm, tw_ucx_t *ucx, ucp_config_t *config)
{
    struct if_nameindex *names;
    char                 list[TW_UCX_NETWORKS];
    size_t               used;
    ucs_status_t         status;

    if (comm->network[0] == '\0' || getenv("UCX_NET_DEVICES") != NULL) {
        return UCS_OK;
    }
    used  = (size_t)snprintf(list, sizeof(list), "%s", comm->network);
    names = if_nameindex();
    for (int i = 0; names != NULL && names[i].if_name != NULL; i++) {
        if (used + strlen(names[i].if_name) + 2 < sizeof(list)) {
            used += (size_t)snprintf(list + used, sizeof(list) - used, ",%s", names[i].if_name);
        }
    }
    if (names != NULL) {
        if_freenameindex(names);
    }
    status = ucx->call.ucp_config_modify(config, "WARN_INVALID_CONFIG", "n");
    return status == UCS_OK ? ucx->call.ucp_config_modify(config, "NET_DEVICES", list) : status;
}

/* Have messages wake this rank when it sleeps. */
static ucs_status_t tw_ucx_watch(const tw_comm_t *comm, const tw_ucx_t *ucx)
{
    int                descriptor;
    const ucs_status_t status = ucx->call.ucp_worker_get_efd(ucx->worker, &descriptor);

    return status == UCS_OK && comm->mpi->Comm_watch(comm->comm, descriptor) != MPI_SUCCESS
               ? UCS_ERR_IO_ERROR
               : status;
}

/* Context and worker; local. */
static tw_status_t tw_ucx_start(const tw_comm_t *comm, tw_ucx_t *ucx, char *why)
{
    const bool                sleeps   = comm->mpi->Comm_watch != NULL;
    const uint64_t            features = UCP_FEATURE_TAG | (sleeps ? UCP_FEATURE_WAKEUP : 0);
    const ucp_params_t        params   = {.field_mask =
                                              UCP_PARAM_FIELD_FEATURES | UCP_PARAM_FIELD_TAG_SENDER_MASK |
                                              UCP_PARAM_FIELD_ESTIMATED_NUM_EPS |
                                              UCP_PARAM_FIELD_ESTIMATED_NUM_PPN | UCP_PARAM_FIELD_NAME,
                                          .features          = features,
                                          .tag_sender_mask   = (uint64_t)UINT32_MAX << 32,
                                          .estimated_num_eps = (size_t)comm->size,
                                          .estimated_num_ppn = (size_t)comm->local_ranks,
                                          .name              = "thinwire"};
    const ucp_worker_params_t worker   = {.field_mask  = UCP_WORKER_PARAM_FIELD_THREAD_MODE,
                                          .thread_mode = UCS_THREAD_MODE_SERIALIZED};
    ucp_config_t             *config;
    const char               *call = "ucp_config_read";
    ucs_status_t              status;

    if (tw_ucx_load(&ucx->call, why, TW_UCX_WHY) != TW_OK) {
        return TW_ERR_UNSUPPORTED;
    }
    status = ucx->call.ucp_config_read(NULL, NULL, &config);
    if (status == UCS_OK) {
        call   = "ucp_config_modify";
        status = tw_ucx_near(comm, ucx, config);
        if (status == UCS_OK) {
            call   = "ucp_init";
            status = ucx->call.ucp_init_version(UCP_API_MAJOR, UCP_API_MINOR, &params, config,
                                                &ucx->context);
        }
        ucx->call.ucp_config_release(config);
    }
    if (status == UCS_OK) {
        call   = "ucp_worker_create";
        status = ucx->call.ucp_worker_create(ucx->context, &worker, &ucx->worker);
    }
    if (status == UCS_OK && sleeps) {
        call   = "ucp_worker_get_efd";
        status = tw_ucx_watch(comm, ucx);
    }
    if (status != UCS_OK) {
        snprintf(why, TW_UCX_WHY, "%s: %s", call, ucx->call.ucs_status_string(status));
        return TW_ERR_NETWORK;
    }
    return TW_OK;
}

static uint64_t tw_ucx_host(void)
{
    char name[256] = "";

    gethostname(name, sizeof(name) - 1);
    return tw_fnv1a(TW_FNV_START, name, strlen(name));
}

/* Connect to rank r, whose worker has this node and address. */
static tw_status_t tw_ucx_connect(tw_comm_t *comm, tw_ucx_t *ucx, int r, const uint8_t *place,
                                  char *why)
{
    const uint64_t        own    = tw_ucx_host();
    const bool            local  = memcmp(place, &own, TW_UCX_HOST) == 0;
    tw_ucx_peer_t        *peer   = &ucx->peers[r];
    const ucp_ep_params_t params = {
        .field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                      UCP_EP_PARAM_FIELD_ERR_HANDLER,
        .address     = (const void *)(place + TW_UCX_HOST),
        .err_mode    = local ? UCP_ERR_HANDLING_MODE_NONE : UCP_ERR_HANDLING_MODE_PEER,
        .err_handler = {.cb = tw_ucx_lost, .arg = peer}};
    ucs_status_t status = UCS_OK;

    peer->ucx   = ucx;
    peer->rank  = r;
    peer->local = local;
    if (r != comm->rank) {
        status = ucx->call.ucp_ep_create(ucx->worker, &params, &peer->ep);
    }
    if (status != UCS_OK) {
        peer->ep = NULL;
        snprintf(why, TW_UCX_WHY, "rank %d cannot be reached by UCX: %s", r,
                 ucx->call.ucs_status_string(status));
        return TW_ERR_NETWORK;
    }
    return TW_OK;
}

/* All ranks' nodes and addresses, `room` bytes each, into a buffer of the pool that has one place
 * more for ours. */
static tw_status_t tw_ucx_exchange(tw_comm_t *comm, tw_ucx_t *ucx, uint8_t **addresses_p,
                                   size_t *room_p)
{
    ucp_worker_attr_t attributes = {.field_mask = UCP_WORKER_ATTR_FIELD_ADDRESS};
    const bool        well       = ucx->call.ucp_worker_query(ucx->worker, &attributes) == UCS_OK;
    const uint64_t    host       = tw_ucx_host();
    const int         length     = well ? (int)(TW_UCX_HOST + attributes.address_length) : 0;
    int               most       = 0;
    void             *buffer     = NULL;
    uint8_t          *own;
    tw_status_t       status;

    status = tw_comm_agree(comm, well ? TW_OK : TW_ERR_NETWORK);
    if (status == TW_OK) {
        status = tw_sync_allreduce(comm, &length, &most, 1, sizeof(most), MPI_INT, MPI_MAX,
                                   "the length of UCX addresses");
    }
    if (status == TW_OK) {
        status = tw_comm_agreed_get(comm, (size_t)most * (size_t)(comm->size + 1), &buffer);
    }
    if (status == TW_OK) {
        own = (uint8_t *)buffer + (size_t)most * (size_t)comm->size;
        memset(own, 0, (size_t)most);
        memcpy(own, &host, TW_UCX_HOST);
        memcpy(own + TW_UCX_HOST, attributes.address, (size_t)length - TW_UCX_HOST);
        status = tw_sync_allgather(comm, own, buffer, most, "UCX addresses");
    }
    if (well) {
        ucx->call.ucp_worker_release_address(ucx->worker, attributes.address);
    }
    *addresses_p = buffer;
    *room_p      = (size_t)most;
    return status;
}

tw_status_t tw_ucx_open(tw_comm_t *comm)
{
    tw_ucx_t   *ucx             = tw_ucx_new(comm);
    char        why[TW_UCX_WHY] = "out of memory";
    tw_status_t status          = TW_ERR_NO_MEMORY;
    uint8_t    *addresses       = NULL;
    size_t      room            = 0;

    if (ucx != NULL) {
        status = tw_ucx_start(comm, ucx, why);
    }
    status = tw_endpoint_agree(comm, status, why);
    if (status == TW_OK) {
        status = tw_ucx_exchange(comm, ucx, &addresses, &room);
    }
    if (status == TW_OK) {
        comm->endpoint       = &tw_endpoint_ucx;
        comm->endpoint_state = ucx;
        for (int r = 0; r < comm->size && status == TW_OK; r++) {
            status = tw_ucx_connect(comm, ucx, r, addresses + (size_t)r * room, why);
        }
        if (status == TW_OK && !tw_progress_thread_start(comm, false)) {
            snprintf(why, sizeof(why), "no thread can be started");
            status = TW_ERR_NO_MEMORY;
        }
        status = tw_endpoint_agree(comm, status, why);
        tw_pool_put(&comm->pool, addresses);
    }
    if (status != TW_OK && comm->status == TW_OK && ucx != NULL) {
        tw_progress_thread_stop(comm);
        tw_ucx_cut(comm, ucx);
        tw_comm_agree(comm, TW_OK); /* all have cut */
        tw_ucx_release(ucx);
        comm->endpoint       = &tw_endpoint_mpi;
        comm->endpoint_state = NULL;
    }
    return status;
}
