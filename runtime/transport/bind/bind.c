/* SPDX-License-Identifier: BSD-3-Clause
 * transport/bind/bind.c - binding of ranks to their places: cores and memory, and a CUDA device
 * (wish.c).
 */
#include "config.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/context.h"
#include "runtime/topology/settings.h"
#include "runtime/transport/bind/bind.h"
#include "runtime/transport/bind/place.h"
#include "runtime/transport/comm/sync.h"
#include "runtime/transport/bind/wish.h"
#include "runtime/transport/comm/progress_thread.h"

static int tw_bind_remembered(tw_context_t *ctx)
{
    int device;

    pthread_mutex_lock(&ctx->lock);
    device = ctx->device - 1;
    pthread_mutex_unlock(&ctx->lock);
    return device;
}

static void tw_bind_cores(tw_comm_t *comm)
{
    const tw_place_t *place   = tw_seat_place(comm->seat);
    const tw_node_t  *node    = comm->seat->node;
    const int         threads = comm->ctx->config.threads;
    char              gpu[32] = "none";
    const tw_part_t  *nic;

    if (place == NULL || tw_place_apply(node, place) != TW_OK) {
        return; /* has said why */
    }
    nic                = tw_node_find(node, TW_PART_NIC, place->nic);
    comm->exec.threads = threads > 0 ? threads : place->core_count;
    if (place->gpu >= 0) {
        snprintf(gpu, sizeof(gpu), "%d (device %d)", place->gpu, place->device);
    }
    TW_INFO(&comm->log, "bound to hardware threads %s; NUMA node %d, GPU %s, network interface %s",
            place->pus, place->numa, gpu, nic != NULL ? nic->name : "none");
}

/* Cores if one rank wants them, devices for those who want one. Collective. */
static tw_status_t tw_bind_all(tw_comm_t *comm, int cores, tw_wish_t *wish, int *device_p)
{
    const int   wants[3] = {cores, wish->device != TW_BIND_NONE, wish->device == TW_BIND_ALIKE};
    int         any[3]   = {0, 0, 0};
    tw_status_t status;

    *device_p = -1;
    status    = tw_sync_allreduce(comm, wants, any, 3, sizeof(any[0]), MPI_INT, MPI_MAX,
                                  "the wish to bind");
    if (status != TW_OK || (!any[0] && !any[1])) {
        return status;
    }
    wish->alike = any[2] != 0;
    if (any[1]) {
        status = tw_wish_ask(comm, wish);
    }
    if (status == TW_OK) { /* a rank for which CUDA counts none has what the map shows */
        status =
            tw_comm_seat_make(comm, wish->count > 0 || wants[1] != any[1] ? wish->devices : NULL);
    }
    if (status == TW_OK && wish->fixed >= 0 && wish->count > 0 && comm->seat->places != NULL) {
        comm->seat->places[comm->seat->rank].device = wish->fixed; /* others were left out */
    }
    if (status == TW_OK && any[0]) {
        tw_bind_cores(comm);
    }
    return status == TW_OK && any[1] ? tw_wish_take(comm, wish, device_p) : status;
}

/* "THINWIRE_DEVICE=2". What another communicator of the context has taken stays: over fewer ranks,
 * the rank's place may be another. */
static void tw_wish_of_setting(const tw_comm_t *comm, tw_wish_t *wish, int device)
{
    *wish = (tw_wish_t){.device = device, .fixed = device, .setting = true};
    if (device == TW_BIND_AUTO) {
        wish->fixed = tw_bind_remembered(comm->ctx);
    }
    snprintf(wish->by, sizeof(wish->by), device < 0 ? "THINWIRE_DEVICE=auto" : "THINWIRE_DEVICE=%d",
             device);
}

static void tw_wish_of_call(tw_wish_t *wish, int device)
{
    *wish = (tw_wish_t){.device = device, .fixed = device};
    snprintf(wish->by, sizeof(wish->by), device < 0 ? "device auto" : "device %d", device);
}

tw_status_t tw_comm_bind(tw_comm_t *comm)
{
    tw_topology_config_t config;
    tw_wish_t            wish;
    int                  device;
    tw_status_t          status;

    status = tw_comm_agree(comm, tw_settings_load(&comm->log, &tw_topology_settings, &config));
    if (status != TW_OK) {
        return status;
    }
    tw_wish_of_setting(comm, &wish, config.device);
    return tw_bind_all(comm, config.bind, &wish, &device);
}

static tw_status_t tw_bind_device(tw_comm_t *comm, int device, int *device_p, char *why,
                                  size_t size)
{
    tw_topology_config_t config;
    tw_wish_t            wish;
    tw_status_t          status = TW_OK;

    if (device == TW_BIND_SETTING) {
        status = tw_settings_load(&comm->log, &tw_topology_settings, &config);
    }
    status = tw_comm_agree(comm, status);
    if (status != TW_OK) {
        return status;
    }
    if (device == TW_BIND_SETTING) {
        tw_wish_of_setting(comm, &wish, config.device);
    } else {
        tw_wish_of_call(&wish, device);
    }
    status = tw_bind_all(comm, 0, &wish, device_p);
    if (status == TW_OK && size > 0) {
        snprintf(why, size, "%s", wish.why);
    }
    return status;
}

tw_status_t tw_comm_bind_device(tw_comm_t *comm, int device, int *device_p, char *why, size_t size)
{
    tw_status_t status = tw_comm_check(comm);
    int         taken;

    if (status != TW_OK || device_p == NULL || (why == NULL && size > 0) ||
        device < TW_BIND_ALIKE) {
        return status != TW_OK ? status : TW_ERR_INVALID_ARG;
    }
    tw_comm_enter(comm);
    status = tw_bind_device(comm, device, &taken, why, size);
    tw_comm_leave(comm);
    if (status == TW_OK) {
        *device_p = taken;
    }
    return status;
}

tw_status_t tw_comm_place(tw_comm_t *comm, const tw_node_t **node_p, const tw_place_t **place_p)
{
    tw_status_t status = tw_comm_check(comm);

    if (status != TW_OK || place_p == NULL) {
        return status != TW_OK ? status : TW_ERR_INVALID_ARG;
    }
    tw_comm_enter(comm);
    if (comm->seat == NULL) {
        status = tw_comm_seat_make(comm, NULL);
    }
    if (status == TW_OK && tw_seat_place(comm->seat) == NULL) {
        status = TW_ERR_UNSUPPORTED;
    }
    if (status == TW_OK) {
        *place_p = tw_seat_place(comm->seat);
        if (node_p != NULL) {
            *node_p = comm->seat->node;
        }
    }
    tw_comm_leave(comm);
    return status;
}
