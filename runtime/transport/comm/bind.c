/* SPDX-License-Identifier: BSD-3-Clause
 * transport/comm/bind.c - ranks bind themselves to what their places say: cores and memory, and a CUDA
 * device.
 *
 * What CUDA counts for a rank is asked only where a rank wants a device: it starts the driver. Whether all
 * goes well is agreed on before and after, so that all ranks leave together; each rank that fails says
 * why. A rank that takes what there is (auto) goes on without a device instead.
 */
#include "config.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/context.h"
#include "runtime/topology/settings.h"
#include "runtime/transport/comm/bind.h"
#include "runtime/transport/comm/place.h"
#include "runtime/transport/comm/sync.h"
#include "runtime/transport/engine/progress_thread.h"

#define TW_DEVICE_BUS 32  /* bytes of a PCI bus id */
#define TW_DEVICE_WHY 256 /* of a line             */

/* A rank that wants a device. */
typedef struct tw_wish {
    int         device;             /* a number, TW_BIND_NONE or TW_BIND_AUTO                 */
    int         fixed;              /* the only number that will do; -1: any                  */
    const char *by;                 /* how it was said                                        */
    tw_status_t bad;                /* the status of a number that is out of range            */
    int         count;              /* devices that CUDA counts here; 0: none                 */
    char        why[TW_DEVICE_WHY]; /* there is none                        */
    char        devices[TW_SEAT_DEVICES]; /* tw_rank_t.devices                    */
} tw_wish_t;

/* Bus ids in CUDA's order, or that of one device; with the name of the part of a GPU where
 * CUDA_VISIBLE_DEVICES names one: CUDA then counts that alone. */
static void tw_wish_list(const tw_comm_t *comm, tw_wish_t *wish)
{
    const char  *visible = getenv("CUDA_VISIBLE_DEVICES");
    const char  *part    = visible != NULL ? visible + strspn(visible, " \t") : "";
    const int    mig     = strncmp(part, "MIG-", 4) == 0 ? (int)strcspn(part, ", \t") : 0;
    const int    first   = wish->fixed >= 0 ? wish->fixed : 0;
    const int    end     = wish->fixed >= 0 ? first + 1 : wish->count;
    const size_t size    = sizeof(wish->devices);
    size_t       used    = 0;

    for (int d = first; d < end; d++) {
        char bus[TW_DEVICE_BUS];

        if (comm->device.ops->bus(d, bus, sizeof(bus)) != TW_OK) {
            snprintf(bus, sizeof(bus), "device %d",
                     d); /* a name is enough to tell it from others */
        }
        if (used + strlen(bus) + (size_t)mig + 3 > size) {
            break;
        }
        used += (size_t)snprintf(wish->devices + used, size - used, "%s%s%s%.*s",
                                 d > first ? "," : "", bus, mig > 0 ? "/" : "", mig, part);
    }
}

/* All GPUs that there are, AMD's, on which nobody computes; "" where that is not so. */
static const char *tw_wish_amd(const tw_comm_t *comm)
{
    tw_node_t       *node = NULL;
    const tw_part_t *gpu;
    bool             amd = false;

    if (tw_node_create(comm->ctx, NULL, "", &node) == TW_OK) {
        gpu = tw_node_find(node, TW_PART_GPU, 0);
        amd = gpu != NULL && !gpu->cuda;
    }
    tw_node_destroy(node);
    return amd ? "; computing on GPUs of AMD is unsupported" : "";
}

/* What CUDA says to the wish; a failure is logged. */
static tw_status_t tw_wish_ask(const tw_comm_t *comm, tw_wish_t *wish)
{
    tw_status_t status;

    if (wish->device == TW_BIND_NONE) {
        return TW_OK;
    }
    status = comm->device.ops->count(&wish->count, wish->why, sizeof(wish->why));
    if (status != TW_OK && wish->device == TW_BIND_AUTO) {
        /* Nobody expects a device of a library that has no CUDA. */
        tw_log_write(
            &comm->log, strcmp(comm->device.ops->name, "none") == 0 ? TW_LOG_INFO : TW_LOG_WARN,
            "%s: %s%s; computing on the processor", wish->by, wish->why, tw_wish_amd(comm));
        return TW_OK;
    }
    if (status != TW_OK) {
        TW_ERROR(&comm->log, "%s: %s%s; accepted: auto, none", wish->by, wish->why,
                 tw_wish_amd(comm));
        return status;
    }
    if (wish->device >= wish->count) {
        TW_ERROR(&comm->log, "%s: this rank has %d device%s; accepted: auto, none, 0 to %d",
                 wish->by, wish->count, wish->count == 1 ? "" : "s", wish->count - 1);
        return wish->bad;
    }
    tw_wish_list(comm, wish);
    return TW_OK;
}

static void tw_bind_remember(tw_context_t *ctx, int device)
{
    pthread_mutex_lock(&ctx->lock);
    ctx->device = device + 1;
    pthread_mutex_unlock(&ctx->lock);
}

static int tw_bind_remembered(tw_context_t *ctx)
{
    int device;

    pthread_mutex_lock(&ctx->lock);
    device = ctx->device - 1;
    pthread_mutex_unlock(&ctx->lock);
    return device;
}

/* Make it the current device. */
static tw_status_t tw_wish_take(tw_comm_t *comm, tw_wish_t *wish, int *device_p)
{
    const tw_place_t *place              = tw_seat_place(comm->seat);
    char              why[TW_DEVICE_WHY] = "";
    int               device             = wish->fixed;
    tw_status_t       status;

    *device_p = -1;
    if (wish->device == TW_BIND_NONE || wish->count == 0) {
        return TW_OK;
    }
    if (device < 0) { /* without a map in turn */
        device = place != NULL ? place->device : comm->seat->rank % wish->count;
    }
    status = comm->device.ops->select(device, why, sizeof(why));
    if (status == TW_OK) {
        TW_INFO(&comm->log, "%s: device %d, GPU %d, network interface %s", wish->by, device,
                place != NULL ? place->gpu : -1,
                comm->network[0] != '\0' ? comm->network : "as it comes");
        tw_bind_remember(comm->ctx, device);
        *device_p = device;
        return TW_OK;
    }
    if (wish->device == TW_BIND_AUTO) {
        TW_WARN(&comm->log, "%s: %s; computing on the processor", wish->by, why);
        return TW_OK;
    }
    TW_ERROR(&comm->log, "%s: %s; accepted: auto, none, a device that is free", wish->by, why);
    return status;
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
    const int   wants[2] = {cores, wish->device != TW_BIND_NONE};
    int         any[2]   = {0, 0};
    tw_status_t status;

    *device_p = -1;
    status    = tw_sync_allreduce(comm, wants, any, 2, sizeof(any[0]), MPI_INT, MPI_MAX,
                                  "the wish to bind");
    if (status != TW_OK || (!any[0] && !any[1])) {
        return status;
    }
    if (any[1]) {
        status = tw_comm_agree(comm, tw_wish_ask(comm, wish));
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
    return status == TW_OK && any[1] ? tw_comm_agree(comm, tw_wish_take(comm, wish, device_p))
                                     : status;
}

/* "THINWIRE_DEVICE=2". What another communicator of the context has taken stays: over fewer ranks, the
 * rank's place may be another. */
static void tw_wish_of_setting(const tw_comm_t *comm, tw_wish_t *wish, int device, char *by,
                               size_t size)
{
    *wish = (tw_wish_t){.device = device, .fixed = device, .by = by, .bad = TW_ERR_SETTING};
    if (device == TW_BIND_AUTO) {
        wish->fixed = tw_bind_remembered(comm->ctx);
    }
    if (device >= 0) {
        snprintf(by, size, "THINWIRE_DEVICE=%d", device);
    } else {
        snprintf(by, size, "THINWIRE_DEVICE=%s", device == TW_BIND_AUTO ? "auto" : "none");
    }
}

tw_status_t tw_comm_bind(tw_comm_t *comm)
{
    tw_topology_config_t config;
    tw_wish_t            wish;
    char                 by[32];
    int                  device;
    tw_status_t          status;

    status = tw_comm_agree(comm, tw_settings_load(&comm->log, &tw_topology_settings, &config));
    if (status != TW_OK) {
        return status;
    }
    tw_wish_of_setting(comm, &wish, config.device, by, sizeof(by));
    return tw_bind_all(comm, config.bind, &wish, &device);
}

static tw_status_t tw_bind_device(tw_comm_t *comm, int device, int *device_p)
{
    tw_topology_config_t config;
    tw_wish_t            wish;
    char                 by[48];
    tw_status_t          status = TW_OK;

    if (device == TW_BIND_SETTING) {
        status = tw_settings_load(&comm->log, &tw_topology_settings, &config);
    }
    status = tw_comm_agree(comm, status);
    if (status != TW_OK) {
        return status;
    }
    if (device == TW_BIND_SETTING) {
        tw_wish_of_setting(comm, &wish, config.device, by, sizeof(by));
    } else {
        wish = (tw_wish_t){.device = device, .fixed = device, .by = by, .bad = TW_ERR_RANGE};
        snprintf(by, sizeof(by),
                 device < 0 ? "tw_comm_bind_device(auto)" : "tw_comm_bind_device(%d)", device);
    }
    return tw_bind_all(comm, 0, &wish, device_p);
}

tw_status_t tw_comm_bind_device(tw_comm_t *comm, int device, int *device_p)
{
    tw_status_t status = tw_comm_check(comm);
    int         taken;

    if (status != TW_OK || device_p == NULL || device < TW_BIND_SETTING) {
        return status != TW_OK ? status : TW_ERR_INVALID_ARG;
    }
    tw_comm_enter(comm);
    status = tw_bind_device(comm, device, &taken);
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
