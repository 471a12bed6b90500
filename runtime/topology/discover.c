/* SPDX-License-Identifier: BSD-3-Clause
 * topology/discover.c - a machine as hwloc shows it, copied into a tw_node_t: packages, NUMA nodes
 * and cores here, what hangs on PCIe in pci.c.
 *
 * hwloc leaves out what a cgroup forbids to this process. Its CUDA and OpenCL back ends are not
 * asked: they would start those libraries, and PCI says where the GPUs are.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/context.h"
#include "runtime/topology/node.h"

int tw_node_add(tw_node_t *node, tw_part_kind_t kind, int parent, tw_where_t where)
{
    const int  at = node->part_count;
    tw_part_t *part;
    int       *kinds;

    if (at == node->part_room) {
        const int   room  = at > 0 ? 2 * at : 64;
        tw_part_t  *parts = realloc(node->parts, (size_t)room * sizeof(*parts));
        tw_where_t *wh;

        node->parts = parts != NULL ? parts : node->parts;
        wh          = realloc(node->where, (size_t)room * sizeof(*wh));
        node->where = wh != NULL ? wh : node->where;
        if (parts == NULL || wh == NULL) {
            return -1;
        }
        node->part_room = room;
    }
    if ((node->count[kind] & (node->count[kind] - 1)) == 0) { /* grows at powers of two */
        const size_t room = node->count[kind] > 0 ? 2 * (size_t)node->count[kind] : 1;

        kinds = realloc(node->kind[kind], room * sizeof(*kinds));
        if (kinds == NULL) {
            return -1;
        }
        node->kind[kind] = kinds;
    }
    part                                  = &node->parts[at];
    *part                                 = (tw_part_t){.kind     = kind,
                                                        .parent   = parent,
                                                        .index    = node->count[kind],
                                                        .os_index = -1,
                                                        .device   = -1,
                                                        .active   = 1};
    node->where[at]                       = where;
    node->kind[kind][node->count[kind]++] = at;
    node->part_count++;
    return at;
}

const char *tw_hwloc_info(hwloc_obj_t obj, const char *name)
{
    const char *text = obj != NULL ? hwloc_obj_get_info_by_name(obj, name) : NULL;

    return text != NULL ? text : "";
}

tw_where_t tw_where_of(const tw_node_t *node, hwloc_topology_t topology, hwloc_const_bitmap_t set)
{
    tw_where_t where = {-1, -1};

    if (set == NULL || hwloc_bitmap_iszero(set)) {
        return where;
    }
    for (int i = 0; i < node->count[TW_PART_PACKAGE]; i++) {
        hwloc_obj_t package = hwloc_get_obj_by_type(topology, HWLOC_OBJ_PACKAGE, (unsigned)i);

        /* A machine without packages has one that is all of it. */
        if (package == NULL || hwloc_bitmap_isincluded(set, package->cpuset)) {
            where.package = i;
            break;
        }
    }
    for (int i = 0; i < node->count[TW_PART_NUMA]; i++) {
        hwloc_obj_t numa = hwloc_get_obj_by_type(topology, HWLOC_OBJ_NUMANODE, (unsigned)i);

        if (numa != NULL && hwloc_bitmap_isincluded(set, numa->cpuset)) {
            where.numa = i;
            break;
        }
    }
    return where;
}

static int tw_add_machine(tw_node_t *node, hwloc_topology_t topology)
{
    hwloc_obj_t root = hwloc_get_root_obj(topology);
    const int   at   = tw_node_add(node, TW_PART_MACHINE, -1, (tw_where_t){-1, -1});

    if (at >= 0) {
        const char *name = tw_hwloc_info(root, "DMIProductName");

        tw_node_text(node->parts[at].name, sizeof(node->parts[at].name),
                     name[0] != '\0' && strstr(name, "filled by") == NULL ? name : "machine");
        tw_node_text(node->parts[at].model, sizeof(node->parts[at].model),
                     tw_hwloc_info(root, "Architecture"));
        node->all = hwloc_bitmap_dup(root->cpuset);
    }
    return at >= 0 && node->all != NULL;
}

static int tw_add_packages(tw_node_t *node, hwloc_topology_t topology)
{
    const int found = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PACKAGE);
    const int n     = found > 0 ? found : 1;

    for (int i = 0; i < n; i++) {
        hwloc_obj_t obj = hwloc_get_obj_by_type(topology, HWLOC_OBJ_PACKAGE, (unsigned)i);
        const int   at  = tw_node_add(node, TW_PART_PACKAGE, 0, (tw_where_t){i, -1});
        const char *model;

        if (at < 0) {
            return 0;
        }
        model = tw_hwloc_info(obj, "CPUModel");
        snprintf(node->parts[at].name, sizeof(node->parts[at].name), "package %d", i);
        tw_node_text(node->parts[at].model, sizeof(node->parts[at].model), model);
        node->parts[at].os_index = obj != NULL ? (int)obj->os_index : -1;
    }
    return 1;
}

static int tw_add_numa(tw_node_t *node, hwloc_topology_t topology)
{
    const int n = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_NUMANODE);

    for (int i = 0; i < n; i++) {
        hwloc_obj_t      obj    = hwloc_get_obj_by_type(topology, HWLOC_OBJ_NUMANODE, (unsigned)i);
        const tw_where_t inside = tw_where_of(node, topology, obj->cpuset);
        const int        parent =
            inside.package >= 0 ? tw_node_at(node, TW_PART_PACKAGE, inside.package) : 0;
        const int at = tw_node_add(node, TW_PART_NUMA, parent, (tw_where_t){inside.package, i});

        if (at < 0) {
            return 0;
        }
        snprintf(node->parts[at].name, sizeof(node->parts[at].name), "NUMA node %d", i);
        node->parts[at].os_index = (int)obj->os_index;
        node->parts[at].bytes    = obj->attr->numanode.local_memory;
    }
    return 1;
}

static int tw_add_cores(tw_node_t *node, hwloc_topology_t topology)
{
    const int              cores = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE);
    const hwloc_obj_type_t type  = cores > 0 ? HWLOC_OBJ_CORE : HWLOC_OBJ_PU;
    const int              n     = hwloc_get_nbobjs_by_type(topology, type);

    node->core_pus = calloc(n > 0 ? (size_t)n : 1, sizeof(hwloc_bitmap_t));
    if (node->core_pus == NULL) {
        return 0;
    }
    for (int i = 0; i < n; i++) {
        hwloc_obj_t obj   = hwloc_get_obj_by_type(topology, type, (unsigned)i);
        tw_where_t  where = tw_where_of(node, topology, obj->cpuset);
        int         parent, at;

        where.package = where.package >= 0 ? where.package : 0;
        parent        = tw_node_at(node, TW_PART_PACKAGE, where.package);
        if (where.numa >= 0 && tw_node_where(node, TW_PART_NUMA, where.numa).package >= 0) {
            parent = tw_node_at(node, TW_PART_NUMA, where.numa);
        }
        at                = tw_node_add(node, TW_PART_CORE, parent, where);
        node->core_pus[i] = hwloc_bitmap_dup(obj->cpuset);
        if (at < 0 || node->core_pus[i] == NULL) {
            return 0;
        }
        snprintf(node->parts[at].name, sizeof(node->parts[at].name), "core %d", i);
        hwloc_bitmap_list_snprintf(node->parts[at].pus, sizeof(node->parts[at].pus), obj->cpuset);
    }
    return 1;
}

int tw_hwloc_configure(hwloc_topology_t topology)
{
    static const char *const unwanted[] = {"cuda", "opencl", "gl", "levelzero"};

    for (size_t i = 0; i < sizeof(unwanted) / sizeof(unwanted[0]); i++) {
        /* An error says that this hwloc has no such back end. */
        hwloc_topology_set_components(topology, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST,
                                      unwanted[i]);
    }
    /* All PCI devices: NVSwitches, which join GPUs, are not important to hwloc. */
    return hwloc_topology_set_io_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_IMPORTANT) != 0 ||
           hwloc_topology_set_type_filter(topology, HWLOC_OBJ_PCI_DEVICE,
                                          HWLOC_TYPE_FILTER_KEEP_ALL) != 0;
}

static tw_status_t tw_node_fill(tw_node_t *node, hwloc_topology_t topology, const char *visible)
{
    tw_status_t status;

    if (hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PU) <= 0 ||
        hwloc_get_root_obj(topology)->cpuset ==
            NULL) { /* hwloc skips what stands behind an error */
        TW_ERROR(&node->log, "%s: a topology without hardware threads", node->source);
        return TW_ERR_FORMAT;
    }
    if (!tw_add_machine(node, topology) || !tw_add_packages(node, topology) ||
        !tw_add_numa(node, topology) || !tw_add_cores(node, topology)) {
        return TW_ERR_NO_MEMORY;
    }
    status = tw_pci_discover(node, topology);
    if (status == TW_OK) {
        status = tw_links_discover(node, topology);
    }
    return status == TW_OK ? tw_visible_apply(node, visible) : status;
}

tw_status_t tw_node_create(tw_context_t *ctx, const char *xml, const char *visible,
                           tw_node_t **node_p)
{
    hwloc_topology_t topology;
    tw_node_t       *node;
    tw_status_t      status = TW_OK;

    if (ctx == NULL || node_p == NULL) {
        return TW_ERR_INVALID_ARG;
    }
    node = calloc(1, sizeof(*node));
    if (node == NULL || hwloc_topology_init(&topology) != 0) {
        free(node);
        return TW_ERR_NO_MEMORY;
    }
    node->log    = ctx->log;
    node->live   = xml == NULL;
    node->source = xml != NULL ? xml : "this machine";
    if (tw_hwloc_configure(topology) != 0) {
        status = TW_ERR_NO_MEMORY;
    } else if (xml != NULL) {
        status = tw_xml_load(&node->log, xml, topology);
    } else if (hwloc_topology_load(topology) != 0) {
        TW_ERROR(&node->log, "hwloc cannot describe this machine");
        status = TW_ERR_IO;
    }
    if (status == TW_OK) {
        status = tw_node_fill(node, topology, visible);
    }
    if (status == TW_OK && node->live) {
        node->hwloc = topology;
    } else {
        hwloc_topology_destroy(topology);
    }
    if (status != TW_OK) {
        tw_node_destroy(node);
        return status;
    }
    node->source = NULL;
    *node_p      = node;
    return TW_OK;
}

void tw_node_destroy(tw_node_t *node)
{
    if (node == NULL) {
        return;
    }
    for (int i = 0; node->core_pus != NULL && i < node->count[TW_PART_CORE]; i++) {
        hwloc_bitmap_free(node->core_pus[i]);
    }
    for (int k = 0; k < TW_PART_KINDS; k++) {
        free(node->kind[k]);
    }
    if (node->hwloc != NULL) {
        hwloc_topology_destroy(node->hwloc);
    }
    hwloc_bitmap_free(node->all);
    free(node->core_pus);
    free(node->parts);
    free(node->where);
    free(node->gpus);
    free(node->nvlink);
    free(node->latency);
    free(node);
}
