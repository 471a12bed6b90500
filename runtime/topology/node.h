/* SPDX-License-Identifier: BSD-3-Clause
 * topology/node.h - what stands behind tw_node_t: a machine copied out of hwloc, in arrays.
 *
 * All that decides (place*.c, exchange.c) reads these arrays only; hwloc is met in discover.c,
 * pci.c, xml.c and bind.c.
 */
#ifndef TW_TOPOLOGY_NODE_H
#define TW_TOPOLOGY_NODE_H

#include <hwloc.h>

#include <thinwire/topology.h>

#include "runtime/base/log.h"

#define TW_PLACE_RANKS 4096 /* of a machine */

/* Where a device or a core is. */
typedef struct tw_where {
    int package; /* -1: not known */
    int numa;    /* -1: not known, or several */
} tw_where_t;

typedef struct tw_gpu_facts {
    int      part;
    uint64_t bus;    /* domain, bus, device, function: the order; UINT64_MAX: has none */
    uint64_t object; /* hwloc's number of what it is: gp_index */
    char     uuid[64];
    int      barred; /* CUDA does not count it: AMD's, or this process may not open it */
} tw_gpu_facts_t;

struct tw_node {
    tw_log_t         log;
    hwloc_topology_t hwloc;    /* of this machine; NULL for one from a file             */
    int              live;     /* this machine, not a file                              */
    const char      *source;   /* its name for log lines, while it is being made        */
    hwloc_bitmap_t   all;      /* hardware threads there are                            */
    hwloc_bitmap_t  *core_pus; /* by core                                               */
    tw_part_t       *parts;
    tw_where_t      *where; /* by part                                               */
    int              part_count, part_room;
    int             *kind[TW_PART_KINDS]; /* parts of each kind by their index           */
    int              count[TW_PART_KINDS];
    tw_gpu_facts_t  *gpus;    /* by index, once discovered                             */
    int64_t         *nvlink;  /* count[GPU] squared, MB/s, XGMI too; NULL: none         */
    int             *latency; /* count[NUMA] squared; NULL: not known                  */
};

/* Append a part; kind, parent, index and where are set, the rest is zero. -1: no memory. */
int tw_node_add(tw_node_t *node, tw_part_kind_t kind, int parent, tw_where_t where);

/* Copy foreign text (a file's, a driver's); what is not printable ASCII becomes '?'. */
void tw_node_text(char *to, size_t size, const char *from);

/* Fill a topology from an XML file; TW_OK or an error that was logged. */
tw_status_t tw_xml_load(const tw_log_t *log, const char *path, hwloc_topology_t topology);

/* What hwloc says of an object by a name; "": nothing. */
const char *tw_hwloc_info(hwloc_obj_t obj, const char *name);

/* The filters that both sources use. */
int tw_hwloc_configure(hwloc_topology_t topology);

/* GPUs, network interfaces and what they hang on; needs packages and NUMA nodes. */
tw_status_t tw_pci_discover(tw_node_t *node, hwloc_topology_t topology);

/* Latencies of NUMA nodes, NVLink and XGMI; needs GPUs in their order. */
tw_status_t tw_links_discover(tw_node_t *node, hwloc_topology_t topology);

/* Which GPUs the driver, a container or a device cgroup keeps from this process, by what stands
 * below root ("" is this system, a folder a made-up one). Sets barred. */
void tw_visible_bar(tw_node_t *node, const char *root);

/* The GPUs that a text of CUDA_VISIBLE_DEVICES shows (NULL: all), in its order; returns how many.
 * What is wrong with the text is logged. list has room for all GPUs. */
int tw_visible_list(const tw_node_t *node, const char *visible, int *list);

/* Set tw_part_t.device of all GPUs by the text of CUDA_VISIBLE_DEVICES, or NULL. */
tw_status_t tw_visible_apply(tw_node_t *node, const char *visible);

/* The place in the machine that a set of hardware threads is inside of. */
tw_where_t tw_where_of(const tw_node_t *node, hwloc_topology_t topology, hwloc_const_bitmap_t set);

/* Part index of the i-th part of a kind. */
static inline int tw_node_at(const tw_node_t *node, tw_part_kind_t kind, int i)
{
    return node->kind[kind][i];
}

static inline tw_where_t tw_node_where(const tw_node_t *node, tw_part_kind_t kind, int i)
{
    return node->where[node->kind[kind][i]];
}

/* The nearest part of a kind that holds a part; -1: none. */
int tw_node_above(const tw_node_t *node, int part, tw_part_kind_t kind);

#endif /* TW_TOPOLOGY_NODE_H */
