/* SPDX-License-Identifier: BSD-3-Clause
 * transport/comm/bind.c - what topology needs from MPI: how many ranks this node has, which of them this
 * is, and what each is bound to and sees already. All of them compute the same places from that.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <thinwire/topology.h>

#include "runtime/base/context.h"
#include "runtime/topology/settings.h"
#include "runtime/transport/comm/bind.h"
#include "runtime/transport/comm/sync.h"

#define TW_VISIBLE_TEXT 1024

/* What ranks of a node tell each other. */
typedef struct tw_bind_facts {
    char binding[TW_PUS_TEXT];
    char visible[TW_VISIBLE_TEXT];
    int  visible_set; /* CUDA_VISIBLE_DEVICES exists, perhaps empty */
} tw_bind_facts_t;

static void tw_bind_own_facts(const tw_comm_t *comm, const tw_node_t *node, tw_bind_facts_t *facts)
{
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");

    memset(facts, 0, sizeof(*facts));
    facts->visible_set = visible != NULL;
    snprintf(facts->visible, sizeof(facts->visible), "%s", visible != NULL ? visible : "");
    if (tw_node_binding(node, facts->binding, sizeof(facts->binding)) != TW_OK) {
        TW_WARN(&comm->log, "this rank's binding is too long a list, and is taken for none");
        facts->binding[0] = '\0';
    }
}

/* One place from what all ranks of the node said. */
static tw_status_t tw_bind_place(const tw_node_t *node, const tw_bind_facts_t *facts, int ranks,
                                 tw_place_t **places_p)
{
    tw_rank_t  *list = calloc((size_t)ranks, sizeof(*list));
    tw_status_t status;

    if (list == NULL) {
        return TW_ERR_NO_MEMORY;
    }
    for (int r = 0; r < ranks; r++) {
        list[r] = (tw_rank_t){.binding = facts[r].binding,
                              .visible = facts[r].visible_set ? facts[r].visible : NULL};
    }
    status = tw_place(node, ranks, list, places_p);
    free(list);
    return status;
}

static void tw_bind_apply(tw_comm_t *comm, const tw_node_t *node, const tw_place_t *place)
{
    const tw_part_t *nic     = tw_node_find(node, TW_PART_NIC, place->nic);
    const int        wish    = comm->ctx->config.threads;
    char             gpu[32] = "none";

    if (tw_place_apply(node, place) != TW_OK) {
        return; /* has said why */
    }
    comm->exec.threads = wish > 0 ? wish : place->core_count;
    if (place->gpu >= 0) {
        snprintf(gpu, sizeof(gpu), "%d (device %d)", place->gpu, place->device);
    }
    TW_INFO(&comm->log, "bound to hardware threads %s; NUMA node %d, GPU %s, network interface %s",
            place->pus, place->numa, gpu, nic != NULL ? nic->name : "none");
}

/* The ranks of the node exchange their facts and bind themselves. */
static int tw_bind_node(tw_comm_t *comm, MPI_Comm local, tw_node_t *node)
{
    tw_bind_facts_t *facts;
    tw_place_t      *places = NULL;
    int              rank = 0, ranks = 1, result, well, all = 0;

    MPI_Comm_rank(local, &rank);
    MPI_Comm_size(local, &ranks);
    facts  = calloc((size_t)ranks, sizeof(*facts));
    well   = facts != NULL && node != NULL;
    result = MPI_Allreduce(&well, &all, 1, MPI_INT, MPI_MIN, local);
    if (result == MPI_SUCCESS && all) {
        tw_bind_own_facts(comm, node, &facts[rank]);
        result = MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, facts, (int)sizeof(*facts),
                               MPI_BYTE, local);
    }
    if (result == MPI_SUCCESS && all && tw_bind_place(node, facts, ranks, &places) == TW_OK) {
        tw_bind_apply(comm, node, &places[rank]);
    }
    free(places);
    free(facts);
    return result;
}

tw_status_t tw_comm_bind(tw_comm_t *comm)
{
    tw_topology_config_t config;
    tw_node_t           *node  = NULL;
    MPI_Comm             local = MPI_COMM_NULL;
    tw_status_t          status;
    int                  any = 0, result;

    status = tw_comm_agree(comm, tw_settings_load(&comm->log, &tw_topology_settings, &config));
    if (status == TW_OK) {
        status = tw_sync_allreduce(comm, &config.bind, &any, 1, sizeof(any), MPI_INT, MPI_MAX,
                                   "the wish to bind");
    }
    if (status != TW_OK || !any) {
        return status;
    }
    /* With the communicator's log lines, which carry its rank. */
    if (tw_node_create(comm->ctx, NULL, getenv("CUDA_VISIBLE_DEVICES"), &node) != TW_OK) {
        TW_WARN(&comm->log, "this machine could not be described: no rank of the node is bound");
    }
    result = MPI_Comm_split_type(comm->comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &local);
    if (result == MPI_SUCCESS) {
        result = tw_bind_node(comm, local, node);
        MPI_Comm_free(&local);
    }
    tw_node_destroy(node);
    return tw_comm_mpi(comm, result, "binding the ranks of a node");
}
