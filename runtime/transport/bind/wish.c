/* SPDX-License-Identifier: BSD-3-Clause
 * transport/bind/wish.c - see wish.h.
 *
 * CUDA lists devices only for a rank that requests one, since that starts the driver. The ranks
 * agree on a status after each step, so that all return together; each rank that fails logs why. A
 * rank with `auto` continues without a device instead; ranks with `alike` (all or none) continue
 * without one together.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/context.h"
#include "runtime/topology/near.h"
#include "runtime/transport/bind/machine.h"
#include "runtime/transport/comm/sync.h"
#include "runtime/transport/device/device.h"
#include "runtime/transport/bind/wish.h"

#define TW_DEVICE_BUS 32 /* bytes of a PCI bus id */

/* Bus ids in CUDA's order, or that of one device; with the name of the part of a GPU where
 * CUDA_VISIBLE_DEVICES names one: CUDA then counts that alone. */
static void tw_wish_list(const tw_comm_t *comm, tw_wish_t *wish)
{
    const int    first = wish->fixed >= 0 ? wish->fixed : 0;
    const int    end   = wish->fixed >= 0 ? first + 1 : wish->count;
    const size_t size  = sizeof(wish->devices);
    size_t       used  = 0;
    int          mig;
    const char  *part = tw_visible_part(getenv("CUDA_VISIBLE_DEVICES"), &mig);

    for (int d = first; d < end; d++) {
        char bus[TW_DEVICE_BUS];

        if (comm->device->ops->bus(d, bus, sizeof(bus)) != TW_OK) {
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
    const tw_node_t *node = tw_machine_map(comm->ctx);
    const tw_part_t *gpu  = node != NULL ? tw_node_find(node, TW_PART_GPU, 0) : NULL;

    return gpu != NULL && !gpu->cuda ? "; computing on GPUs of AMD is unsupported" : "";
}

/* What may be said without a number. */
static const char *tw_wish_accepted(const tw_wish_t *wish)
{
    return wish->setting ? "auto, none" : "auto";
}

/* Who takes what there is goes on without a device, and says so; by the setting once, not for every
 * communicator. Nobody expects one of a library that has no CUDA; and who wants all or none is told
 * why. */
static void tw_wish_do_without(const tw_comm_t *comm, tw_wish_t *wish)
{
    tw_context_t *ctx = comm->ctx;
    bool aloud = wish->device == TW_BIND_AUTO && strcmp(comm->device->ops->name, "none") != 0;

    wish->count = 0;
    if (aloud && wish->setting) {
        pthread_mutex_lock(&ctx->lock);
        aloud        = !ctx->without;
        ctx->without = 1;
        pthread_mutex_unlock(&ctx->lock);
    }
    tw_log_write(&comm->log, aloud ? TW_LOG_WARN : TW_LOG_INFO,
                 "%s: %s; computing on the processor", wish->by, wish->why);
}

/* Where one of those who want all or none has none, none of them has one, and all hear the words of
 * the first. Collective. */
static tw_status_t tw_wish_alike(tw_comm_t *comm, tw_wish_t *wish)
{
    const bool  mine              = wish->device == TW_BIND_ALIKE;
    const int   without           = mine && wish->count == 0 ? comm->rank : comm->size;
    char        said[TW_BIND_WHY] = "", why[TW_BIND_WHY] = "";
    int         first  = comm->size;
    tw_status_t status = TW_OK;

    if (wish->alike) {
        status = tw_sync_allreduce(comm, &without, &first, 1, sizeof(first), MPI_INT, MPI_MIN,
                                   "devices for all or none");
    }
    if (status != TW_OK || first == comm->size) {
        return status;
    }
    if (first == comm->rank) {
        memcpy(said, wish->why, sizeof(said));
    }
    status      = tw_sync_allreduce(comm, said, why, sizeof(why), 1, MPI_UNSIGNED_CHAR, MPI_MAX,
                                    "devices for all or none");
    wish->alike = false; /* that is settled */
    if (status == TW_OK && mine) {
        wish->count = 0;
        snprintf(wish->why, sizeof(wish->why), "rank %d: %.170s", first, why);
    }
    return status;
}

static tw_status_t tw_wish_count(tw_comm_t *comm, tw_wish_t *wish)
{
    char        why[TW_BIND_WHY - 48] = "";
    tw_status_t status;

    if (wish->device == TW_BIND_NONE) {
        return TW_OK;
    }
    status = comm->device->ops->count(&wish->count, why, sizeof(why));
    if (status != TW_OK) {
        snprintf(wish->why, sizeof(wish->why), "%s%s", why, tw_wish_amd(comm));
        if (wish->device < 0) {
            tw_wish_do_without(comm, wish);
            return TW_OK;
        }
        TW_ERROR(&comm->log, "%s: %s; accepted: %s", wish->by, wish->why, tw_wish_accepted(wish));
        return status;
    }
    if (wish->device >= wish->count) {
        TW_ERROR(&comm->log, "%s: this rank has %d device%s; accepted: %s, 0 to %d", wish->by,
                 wish->count, wish->count == 1 ? "" : "s", tw_wish_accepted(wish), wish->count - 1);
        return wish->setting ? TW_ERR_SETTING : TW_ERR_RANGE;
    }
    tw_wish_list(comm, wish);
    return TW_OK;
}

tw_status_t tw_wish_ask(tw_comm_t *comm, tw_wish_t *wish)
{
    const tw_status_t status = tw_comm_agree(comm, tw_wish_count(comm, wish));

    return status == TW_OK ? tw_wish_alike(comm, wish) : status;
}

/* Are all ranks of the job on this machine known, or at least which of them these are? */
static bool tw_wish_all_known(const tw_comm_t *comm)
{
    int size = 0;

    MPI_Comm_size(MPI_COMM_WORLD, &size);
    return comm->seat->in_job || comm->size >= size;
}

/* Which device: the number, that of the place, or without a map the one whose turn it is. */
static int tw_wish_device(const tw_comm_t *comm, const tw_wish_t *wish)
{
    const tw_place_t *place = tw_seat_place(comm->seat);
    int               rank  = comm->seat->rank, ranks;

    if (wish->fixed >= 0 || wish->count == 0) {
        return wish->fixed;
    }
    if (comm->seat->rank == 0 && wish->count > 1 && !tw_wish_all_known(comm)) {
        TW_WARN(&comm->log,
                "%s: this communicator has %d of the job's ranks, and the launcher does not number "
                "those of a machine: others may take the same devices",
                wish->by, comm->size);
    }
    if (place != NULL && place->device >= 0) {
        return place->device;
    }
    (void)tw_machine_local(&rank, &ranks);
    return rank % wish->count;
}

/* Start it, without making it the current one. */
static tw_status_t tw_wish_start(tw_comm_t *comm, tw_wish_t *wish, int device)
{
    tw_status_t status;

    if (wish->count == 0) {
        return TW_OK;
    }
    status = comm->device->ops->start(device, wish->why, sizeof(wish->why));
    if (status == TW_OK) {
        return TW_OK;
    }
    if (wish->device < 0) {
        tw_wish_do_without(comm, wish);
        return TW_OK;
    }
    TW_ERROR(&comm->log, "%s: %s; accepted: %s, a device that is free", wish->by, wish->why,
             tw_wish_accepted(wish));
    return status;
}

/* Make it the current one; where one rank fails, the one before is it again on all. */
static tw_status_t tw_wish_use(tw_comm_t *comm, const tw_wish_t *wish, int device)
{
    const tw_device_ops_t *ops    = comm->device->ops;
    int                    before = -1;
    tw_status_t            mine   = TW_OK, status;

    if (wish->count > 0) {
        before = ops->current(&before) == TW_OK ? before : -1;
        mine   = ops->use(device, NULL);
        if (mine != TW_OK) {
            TW_ERROR(&comm->log, "%s: CUDA does not make device %d the current one", wish->by,
                     device);
        }
    }
    status = tw_comm_agree(comm, mine);
    if (status != TW_OK && mine == TW_OK && before >= 0) {
        (void)ops->use(before, NULL);
    }
    return status;
}

static void tw_wish_remember(tw_context_t *ctx, int device)
{
    pthread_mutex_lock(&ctx->lock);
    ctx->device  = device + 1;
    ctx->without = 0;
    pthread_mutex_unlock(&ctx->lock);
}

tw_status_t tw_wish_take(tw_comm_t *comm, tw_wish_t *wish, int *device_p)
{
    const tw_place_t *place  = tw_seat_place(comm->seat);
    const int         device = tw_wish_device(comm, wish);
    tw_status_t       status;

    *device_p = -1;
    status    = tw_comm_agree(comm, tw_wish_start(comm, wish, device));
    if (status == TW_OK) {
        status = tw_wish_alike(comm, wish);
    }
    if (status == TW_OK) {
        status = tw_wish_use(comm, wish, device);
    }
    if (status != TW_OK || wish->count == 0) {
        return status;
    }
    TW_INFO(&comm->log, "%s: device %d, GPU %d, network interface %s", wish->by, device,
            place != NULL ? place->gpu : -1,
            comm->network[0] != '\0' ? comm->network : "as it comes");
    tw_wish_remember(comm->ctx, device);
    *device_p = device;
    return TW_OK;
}
