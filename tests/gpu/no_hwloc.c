/* SPDX-License-Identifier: BSD-3-Clause
 * tests/gpu/no_hwloc.c - in the place of runtime/topology where tests/gpu/run compiles the transport, so that
 * it needs no hwloc: a machine that cannot be described. Its ranks have no places, and take the devices that CUDA
 * counts in turn. Without a map nobody asks for what stands in one.
 */
#include "config.h"

#include <stddef.h>

#include "runtime/topology/near.h"

tw_status_t tw_node_create(tw_context_t *ctx, const char *xml, const char *visible,
                           tw_node_t **node_p)
{
    (void)ctx, (void)xml, (void)visible, (void)node_p;
    return TW_ERR_UNSUPPORTED;
}

void tw_node_destroy(tw_node_t *node)
{
    (void)node;
}

void tw_node_log(tw_node_t *node, const tw_log_t *log)
{
    (void)node, (void)log;
}

uint64_t tw_node_hash(const tw_node_t *node)
{
    (void)node;
    return 0;
}

int tw_node_count(const tw_node_t *node, tw_part_kind_t kind)
{
    (void)node, (void)kind;
    return 0;
}

const tw_part_t *tw_node_find(const tw_node_t *node, tw_part_kind_t kind, int i)
{
    (void)node, (void)kind, (void)i;
    return NULL;
}

tw_status_t tw_node_binding(const tw_node_t *node, char *pus, size_t size)
{
    (void)node, (void)pus, (void)size;
    return TW_ERR_UNSUPPORTED;
}

tw_status_t tw_place(const tw_node_t *node, int ranks, const tw_rank_t *facts,
                     tw_place_t **places_p)
{
    (void)node, (void)ranks, (void)facts, (void)places_p;
    return TW_ERR_UNSUPPORTED;
}

tw_status_t tw_place_apply(const tw_node_t *node, const tw_place_t *place)
{
    (void)node, (void)place;
    return TW_ERR_UNSUPPORTED;
}

tw_status_t tw_place_network(const tw_node_t *node, const tw_place_t *place, char *text,
                             size_t size)
{
    (void)node, (void)place, (void)text, (void)size;
    return TW_ERR_UNSUPPORTED;
}

tw_status_t tw_exchange_order(const tw_node_t *node, const int *gpus, int count,
                              tw_round_t **rounds_p, int *rounds_count_p)
{
    (void)node, (void)gpus, (void)count, (void)rounds_p, (void)rounds_count_p;
    return TW_ERR_UNSUPPORTED;
}

void tw_near_levels(const tw_node_t *node, const tw_place_t *places, int ranks, int *levels)
{
    (void)node, (void)places, (void)ranks, (void)levels;
}

tw_status_t tw_near_groups(const int *levels, int ranks, int group, int *order)
{
    (void)levels, (void)ranks, (void)group, (void)order;
    return TW_ERR_UNSUPPORTED;
}

tw_status_t tw_visible_devices(const tw_node_t *node, const char *visible, char *text, size_t size)
{
    (void)node, (void)visible, (void)text, (void)size;
    return TW_ERR_UNSUPPORTED;
}

/* Not of a map, but asked without one, too: no part of a GPU. */
const char *tw_visible_part(const char *visible, int *length_p)
{
    (void)visible;
    *length_p = 0;
    return "";
}
