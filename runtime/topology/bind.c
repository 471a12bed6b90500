/* SPDX-License-Identifier: BSD-3-Clause
 * topology/bind.c - what this process is bound to, and binding it to its place.
 */
#include "config.h"

#include <errno.h>
#include <string.h>

#include "runtime/topology/node.h"

tw_status_t tw_node_binding(const tw_node_t *node, char *pus, size_t size)
{
    hwloc_bitmap_t set;
    int            length = 0;

    if (node == NULL || pus == NULL || size == 0) {
        return TW_ERR_INVALID_ARG;
    }
    set = node->live ? hwloc_bitmap_alloc() : NULL;
    if (set != NULL && hwloc_get_cpubind(node->hwloc, set, HWLOC_CPUBIND_PROCESS) == 0) {
        hwloc_bitmap_and(set, set, node->all);
        if (!hwloc_bitmap_iszero(set) && !hwloc_bitmap_isequal(set, node->all)) {
            length = hwloc_bitmap_list_snprintf(pus, size, set);
        }
    }
    hwloc_bitmap_free(set);
    if (length < 0 || (size_t)length >= size) {
        return TW_ERR_RANGE;
    }
    pus[length] = '\0';
    return TW_OK;
}

/* Memory of the place's NUMA node first, others when it is full. A container may forbid it. */
static void tw_prefer_memory(const tw_node_t *node, const tw_place_t *place)
{
    const hwloc_obj_t numa =
        place->numa >= 0
            ? hwloc_get_obj_by_type(node->hwloc, HWLOC_OBJ_NUMANODE, (unsigned)place->numa)
            : NULL;

    if (numa != NULL && node->count[TW_PART_NUMA] > 1 &&
        hwloc_set_membind(node->hwloc, numa->nodeset, HWLOC_MEMBIND_BIND,
                          HWLOC_MEMBIND_THREAD | HWLOC_MEMBIND_BYNODESET) != 0) {
        TW_INFO(&node->log, "memory of NUMA node %d cannot be preferred: %s", place->numa,
                strerror(errno));
    }
}

tw_status_t tw_place_apply(const tw_node_t *node, const tw_place_t *place)
{
    hwloc_bitmap_t set;
    tw_status_t    status = TW_OK;

    if (node == NULL || place == NULL || place->pus == NULL) {
        return TW_ERR_INVALID_ARG;
    }
    if (!node->live || !hwloc_topology_is_thissystem(node->hwloc)) {
        TW_ERROR(&node->log, "a place on another machine cannot be bound to");
        return TW_ERR_UNSUPPORTED;
    }
    set = hwloc_bitmap_alloc();
    if (set == NULL) {
        return TW_ERR_NO_MEMORY;
    }
    if (hwloc_bitmap_list_sscanf(set, place->pus) != 0 || hwloc_bitmap_iszero(set)) {
        status = TW_ERR_INVALID_ARG;
    } else if (hwloc_set_cpubind(node->hwloc, set, HWLOC_CPUBIND_PROCESS) != 0) {
        TW_ERROR(&node->log, "cannot bind to hardware threads %s: %s", place->pus, strerror(errno));
        status = TW_ERR_UNSUPPORTED;
    } else {
        tw_prefer_memory(node, place);
    }
    hwloc_bitmap_free(set);
    return status;
}
