/* SPDX-License-Identifier: BSD-3-Clause
 * transport/api/create_store.c - communicators of processes that find each other through a store;
 * in the library without MPI only, whose MPI is runtime/sockets/.
 */
#include "config.h"

#include <string.h>

#include <thinwire/store.h>

#include "runtime/base/context.h"
#include "runtime/sockets/world.h"
#include "runtime/transport/comm/settings.h"
#include "runtime/transport/comm/system.h"

/* Ranks that wait sleep, unless the context is of a simulation. */
static void tw_store_system(tw_context_t *ctx)
{
    static tw_system_ops_t system;

    pthread_mutex_lock(&ctx->lock);
    if (ctx->system == NULL) {
        system       = tw_system;
        system.yield = tw_nap;
        system.moved = tw_nap_moved;
        ctx->system  = &system;
    }
    pthread_mutex_unlock(&ctx->lock);
}

tw_status_t tw_comm_create_store(tw_context_t *ctx, int rank, int size, const tw_store_t *store,
                                 const char *name, const char *towards, tw_comm_t **comm_p)
{
    tw_transport_config_t config;
    MPI_Comm              parent = MPI_COMM_NULL;
    tw_status_t           status;

    if (ctx == NULL || store == NULL || store->put == NULL || store->get == NULL || name == NULL ||
        name[0] == '\0' || strlen(name) > 200 || rank < 0 || rank >= size || size > 1 << 18 ||
        comm_p == NULL) {
        return TW_ERR_INVALID_ARG;
    }
    status = tw_settings_load(&ctx->log, &tw_transport_settings, &config);
    if (status == TW_OK) {
        tw_store_system(ctx);
        status = tw_world_bootstrap(&ctx->log, rank, size, store, name, config.address, towards,
                                    config.timeout, &parent);
    }
    if (status == TW_OK) {
        status = tw_comm_create(ctx, parent, comm_p);
        MPI_Comm_free(&parent);
    }
    return status;
}
