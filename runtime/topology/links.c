/* SPDX-License-Identifier: BSD-3-Clause
 * topology/links.c - matrices that hwloc knows: latencies of NUMA nodes, NVLink, and XGMI.
 *
 * hwloc's matrix NVLinkBandwidth holds GPUs, NVSwitches (PCI devices) and processors. GPUs are
 * joined directly, or through NVSwitches, of which some are joined to each other; what goes through
 * a processor is no link between GPUs. XGMIBandwidth holds AMD's GPUs, directly joined or through
 * each other.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/topology/node.h"

#define TW_LINKS_MOST 1024 /* objects of a matrix */

static tw_status_t tw_latencies(tw_node_t *node, hwloc_topology_t topology)
{
    const size_t              n     = (size_t)node->count[TW_PART_NUMA];
    struct hwloc_distances_s *d     = NULL;
    unsigned                  found = 1;

    if (hwloc_distances_get_by_type(topology, HWLOC_OBJ_NUMANODE, &found, &d,
                                    HWLOC_DISTANCES_KIND_MEANS_LATENCY, 0) != 0 ||
        found == 0) {
        return TW_OK;
    }
    node->latency = calloc(n > 0 ? n * n : 1, sizeof(int));
    for (unsigned i = 0; node->latency != NULL && i < d->nbobjs; i++) {
        for (unsigned j = 0; j < d->nbobjs; j++) {
            const uint64_t value = d->values[i * d->nbobjs + j];

            if (d->objs[i] != NULL && d->objs[j] != NULL && d->objs[i]->logical_index < n &&
                d->objs[j]->logical_index < n && value < 100000) {
                node->latency[d->objs[i]->logical_index * n + d->objs[j]->logical_index] =
                    (int)value;
            }
        }
    }
    hwloc_distances_release(topology, d);
    return node->latency != NULL ? TW_OK : TW_ERR_NO_MEMORY;
}

/* The GPU that an object of a matrix is, or is a device of; -1: none. */
static int tw_gpu_of(const tw_node_t *node, hwloc_obj_t obj)
{
    for (; obj != NULL && (obj->type == HWLOC_OBJ_OS_DEVICE || obj->type == HWLOC_OBJ_PCI_DEVICE);
         obj = obj->parent) {
        for (int i = 0; i < node->count[TW_PART_GPU]; i++) {
            if (node->gpus[i].object == obj->gp_index) {
                return i;
            }
        }
    }
    return -1;
}

/* Bandwidths of direct links, and for GPUs on the same web of NVSwitches what the smaller of the
 * two has towards them. group[i] is the web that object i is in. */
static void tw_nvlink_fill(tw_node_t *node, const struct hwloc_distances_s *d, const int *gpu,
                           const int *group)
{
    const size_t n = (size_t)node->count[TW_PART_GPU], m = d->nbobjs;

    for (size_t i = 0; i < m; i++) {
        for (size_t j = 0; j < m; j++) {
            uint64_t up = 0, down = 0;

            if (gpu[i] < 0 || gpu[j] < 0 || gpu[i] == gpu[j]) {
                continue;
            }
            for (size_t k = 0; group[i] == group[j] && k < m; k++) {
                if (gpu[k] < 0 && group[k] == group[i]) {
                    up += d->values[i * m + k];
                    down += d->values[j * m + k];
                }
            }
            up = up < down ? up : down;
            up += d->values[i * m + j];
            node->nvlink[(size_t)gpu[i] * n + (size_t)gpu[j]] = up < INT64_MAX ? (int64_t)up : 0;
        }
    }
}

static tw_status_t tw_nvlink_read(tw_node_t *node, const struct hwloc_distances_s *d)
{
    const size_t m     = d->nbobjs;
    int         *gpu   = calloc(m, 2 * sizeof(int));
    int         *group = gpu + m;

    if (node->nvlink == NULL) {
        node->nvlink = calloc((size_t)node->count[TW_PART_GPU] * (size_t)node->count[TW_PART_GPU],
                              sizeof(*node->nvlink));
    }
    if (gpu == NULL || node->nvlink == NULL) {
        free(gpu);
        return TW_ERR_NO_MEMORY;
    }
    for (size_t i = 0; i < m; i++) {
        gpu[i]   = tw_gpu_of(node, d->objs[i]);
        group[i] = (int)i;
    }
    /* Join what is linked and at most one GPU: two GPUs meet in a web only through its switches. */
    for (size_t pass = 0, changed = 1; changed && pass < m; pass++) {
        changed = 0;
        for (size_t i = 0; i < m; i++) {
            for (size_t j = 0; j < m; j++) {
                const int is_switch =
                    gpu[j] < 0 && d->objs[j] != NULL && d->objs[j]->type == HWLOC_OBJ_PCI_DEVICE;

                if (is_switch && d->values[i * m + j] > 0 && group[i] != group[j] &&
                    (gpu[i] >= 0 ||
                     (d->objs[i] != NULL && d->objs[i]->type == HWLOC_OBJ_PCI_DEVICE))) {
                    const int low = group[i] < group[j] ? group[i] : group[j];

                    group[i] = group[j] = low;
                    changed             = 1;
                }
            }
        }
    }
    tw_nvlink_fill(node, d, gpu, group);
    free(gpu);
    return TW_OK;
}

tw_status_t tw_links_discover(tw_node_t *node, hwloc_topology_t topology)
{
    static const char *const names[] = {"NVLinkBandwidth", "XGMIBandwidth"};
    tw_status_t              status  = tw_latencies(node, topology);

    for (int i = 0; i < 2 && status == TW_OK && node->count[TW_PART_GPU] > 0; i++) {
        struct hwloc_distances_s *d     = NULL;
        unsigned                  found = 1;

        if (hwloc_distances_get_by_name(topology, names[i], &found, &d, 0) != 0 || found == 0) {
            continue;
        }
        if (d->nbobjs <= TW_LINKS_MOST) {
            status = tw_nvlink_read(node, d);
        }
        hwloc_distances_release(topology, d);
    }
    return status;
}
