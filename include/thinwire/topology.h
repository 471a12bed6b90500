/* SPDX-License-Identifier: BSD-3-Clause
 * thinwire/topology.h - what this machine is, and which GPU, cores, memory and network interface
 * each of its ranks gets. Knows no MPI: whoever does, says how many ranks there are.
 *
 *     tw_node_t    one machine: a tree of parts, found by hwloc or read from an XML file of hwloc
 *     tw_place_t   what one rank gets
 *     tw_round_t   pairs of GPUs that may exchange at the same time
 *
 * The rules of placement stand in docs/topology.md.
 */
#ifndef THINWIRE_TOPOLOGY_H
#define THINWIRE_TOPOLOGY_H

#include <stdint.h>

#include <thinwire/context.h>
#include <thinwire/declare.h>
#include <thinwire/status.h>

TW_BEGIN_DECLS

typedef struct tw_node tw_node_t;

typedef enum tw_part_kind {
    TW_PART_MACHINE,
    TW_PART_PACKAGE,
    TW_PART_NUMA, /* a NUMA node                                                        */
    TW_PART_CORE,
    TW_PART_ROOT,   /* a PCIe root (host bridge) with GPUs or network interfaces below it */
    TW_PART_SWITCH, /* a PCIe switch: several of them share its one link upwards          */
    TW_PART_GPU,    /* of NVIDIA or AMD */
    TW_PART_NIC
} tw_part_kind_t;

#define TW_PART_KINDS 8

/** One part of a machine. Strings are never longer than their arrays; what is not known is "". */
typedef struct tw_part {
    tw_part_kind_t kind;
    int            parent;   /* index of the part it stands in; -1 for the machine               */
    int            index;    /* among its kind, from 0; GPUs in the order of their bus ids, AMD's
                                  after NVIDIA's                                                  */
    int            os_index; /* the system's number of a NUMA node or package; else -1           */
    int            cuda;     /* GPU: 1: NVIDIA's. 0: AMD's, which is found, drawn and given to
                                  ranks, but thinwire cannot compute on it                        */
    int            device;   /* GPU: its number in CUDA, -1 if CUDA_VISIBLE_DEVICES hides it, or
                                  it is none of CUDA's                                            */
    int            fabric;   /* network interface: 1 if it is an OpenFabrics (verbs) device      */
    int            active;   /* network interface: 0 if it is known that no port of it is up     */
    int            port;     /* OpenFabrics device: the first port that is up, 1 if none is known */
    uint64_t       bytes;    /* NUMA node: memory                                                */
    char           bus[24];  /* GPU, network interface: PCI bus id, "0000:3b:00.0"               */
    char           subnet[24]; /* network interface: of an InfiniBand port, the first half of its
                                  GID, "fe80:0000:0000:0000"; else ""                            */
    char           name[64];  /* "GPU 0", "mlx5_0", "eth0", "NUMA node 1", "package 0"            */
    char           model[96]; /* of a GPU or processor; of a network interface its other names    */
    char           pus[256];  /* core: its hardware threads by the system's numbers, "3,27"       */
} tw_part_t;

/** Describe a machine. Takes milliseconds, on a large machine some hundreds of them.
 * @param [in]  ctx      for log lines.
 * @param [in]  xml      an XML file of hwloc (lstopo file.xml), format 2, which a child process
 *                       tries first; NULL: this machine, without what a cgroup forbids to this
 *                       process.
 * @param [in]  visible  text of CUDA_VISIBLE_DEVICES; NULL: all GPUs are visible. An entry that is
 *                       no GPU is warned about, and hides itself and all after it, as in CUDA.
 * @param [out] node_p   set only on TW_OK; release it with tw_node_destroy().
 * @return TW_OK, TW_ERR_INVALID_ARG, TW_ERR_NO_MEMORY; and with one log line that names the file:
 *         TW_ERR_IO (cannot be read), TW_ERR_FORMAT (no topology, or a damaged one),
 *         TW_ERR_UNSUPPORTED (XML format 3).
 * Makes no MPI and no CUDA call. */
tw_status_t tw_node_create(tw_context_t *ctx, const char *xml, const char *visible,
                           tw_node_t **node_p);

/** Release a node; NULL is allowed. Places and rounds made from it stay valid. */
void tw_node_destroy(tw_node_t *node);

/** Number of parts. Part 0 is the machine, and each part stands after the one that holds it. */
int tw_node_parts(const tw_node_t *node);

/** Number of parts of one kind. */
int tw_node_count(const tw_node_t *node, tw_part_kind_t kind);

/** A part by its index in the tree, 0 <= i < tw_node_parts(); NULL otherwise. Lives with the node.
 */
const tw_part_t *tw_node_part(const tw_node_t *node, int i);

/** The i-th part of a kind; NULL if there is none. */
const tw_part_t *tw_node_find(const tw_node_t *node, tw_part_kind_t kind, int i);

/** How far apart two GPUs, network interfaces or cores are. */
typedef enum tw_distance {
    TW_NEAR_SWITCH,  /* under one PCIe switch                                           */
    TW_NEAR_ROOT,    /* under one PCIe root                                             */
    TW_NEAR_NUMA,    /* at one NUMA node                                                */
    TW_NEAR_PACKAGE, /* at one package                                                  */
    TW_FAR           /* at different packages, or where one of them is, is not known    */
} tw_distance_t;

/** The distance of two parts, given as tw_node_part() or tw_node_find() gave them. */
tw_distance_t tw_node_distance(const tw_node_t *node, const tw_part_t *a, const tw_part_t *b);

/** Latency between two NUMA nodes as the firmware says it, 10 for a node itself; 0 if unknown. */
int tw_node_latency(const tw_node_t *node, int numa_a, int numa_b);

/** Bandwidth of the NVLink connections between two GPUs, direct or through NVSwitches, or of XGMI
 * between AMD's, in MB/s per direction; 0 if there is none, or none is known. */
int64_t tw_node_nvlink(const tw_node_t *node, int gpu_a, int gpu_b);

/** The hardware threads this process is bound to, as a list such as "0-3,8": "" where it may use
 * the whole machine or the node is from a file.
 * @return TW_OK, TW_ERR_INVALID_ARG, TW_ERR_RANGE (it does not fit). */
tw_status_t tw_node_binding(const tw_node_t *node, char *pus, size_t size);

#define TW_PUS_TEXT 4096 /* bytes that are enough for tw_node_binding() */

enum { TW_SHARED_GPU = 1, TW_SHARED_CORES = 2 };

/** What one rank gets. */
typedef struct tw_place {
    int         gpu;        /* index of the GPU; -1: the machine has none that is visible        */
    int         device;     /* its number for cudaSetDevice() here; -1: there is none, or AMD's  */
    int         numa;       /* index of the NUMA node; -1: unknown                               */
    int         nic;        /* index of the network interface; -1: none                          */
    unsigned    shared;     /* TW_SHARED_GPU, TW_SHARED_CORES: with another rank                 */
    int         bound;      /* 1: the cores are those of a binding that was there before         */
    int         core_count; /* 1 or more                                                         */
    const int  *cores;      /* indices, ascending                                                */
    const char *pus;        /* their hardware threads by the system's numbers: "0-5,48-53"       */
} tw_place_t;

/** What is known of one rank before it is placed. */
typedef struct tw_rank {
    const char *binding; /* hardware threads it is bound to (tw_node_binding()); "" or NULL: none */
    const char *visible; /* its CUDA_VISIBLE_DEVICES; NULL: what the node was created with        */
    const char *devices; /* what CUDA counts in it, where that is known, which then decides: PCI bus
                            ids in CUDA's order, "0000:03:00.0,0000:04:00.0"; behind that of a part
                            of a GPU (MIG) a slash and its name. Names that differ are devices that
                            differ, also where the map has no such GPU. NULL: not known           */
} tw_rank_t;

/** Give each of the node's ranks its place. The same arguments give the same places.
 * @param [in]  node
 * @param [in]  ranks     local ranks, 1 to 4096.
 * @param [in]  facts     `ranks` of them, or NULL: nothing is known. A bound rank stays inside its
 *                        binding, and where several have the same one, they divide it.
 * @param [out] places_p  `ranks` places in one allocation; release it with free().
 * @return TW_OK, TW_ERR_INVALID_ARG, TW_ERR_RANGE (ranks), TW_ERR_FORMAT (a binding that is no
 *         list, or with nothing of this machine in it; logged), TW_ERR_NO_MEMORY.
 * More ranks than cores or GPUs share them in turn; a log line says so. */
tw_status_t tw_place(const tw_node_t *node, int ranks, const tw_rank_t *facts,
                     tw_place_t **places_p);

/** Bind this process, with all its threads, to the cores of a place, and let it prefer memory of
 * its NUMA node. The node is this machine, not a file.
 * @return TW_OK (memory that cannot be preferred is only logged), TW_ERR_INVALID_ARG,
 *         TW_ERR_UNSUPPORTED (a node from a file, or the system refuses; logged). */
tw_status_t tw_place_apply(const tw_node_t *node, const tw_place_t *place);

/** The network interface of a place, as UCX names it in UCX_NET_DEVICES: "mlx5_0:1". "" where there
 * is nothing to choose: the place has none, it is no OpenFabrics device, or the machine has no
 * other one that is up.
 * @return TW_OK, TW_ERR_INVALID_ARG, TW_ERR_RANGE (it does not fit). */
tw_status_t tw_place_network(const tw_node_t *node, const tw_place_t *place, char *text,
                             size_t size);

/** Groups of `group` ranks, the last one perhaps smaller, whose members are as near each other as
 * can be: by NVLink or XGMI, below one PCIe switch, one root, at one NUMA node, one package. Of s
 * ranks that stand so together, s / group groups have no members from elsewhere.
 * Source: S4 (Krizhevsky 2014), section 6: full rate inside a switch's group of four GPUs, half
 * across.
 * @param [in]  places  of `ranks` ranks, by tw_place().
 * @param [in]  group   1 to ranks.
 * @param [out] order   [ranks]: the ranks of the first group, of the second, ... Groups stand by
 *                      their lowest ranks, ranks of a group ascend.
 * @return TW_OK, TW_ERR_INVALID_ARG, TW_ERR_RANGE, TW_ERR_NO_MEMORY. */
tw_status_t tw_place_groups(const tw_node_t *node, const tw_place_t *places, int ranks, int group,
                            int *order);

/** Two GPUs that exchange with each other. */
typedef struct tw_pair {
    int a, b; /* indices of GPUs, a < b */
} tw_pair_t;

/** What happens at the same time. */
typedef struct tw_round {
    tw_distance_t    distance; /* of the farthest pair         */
    int              nvlink;   /* 1: all pairs by NVLink or XGMI */
    int              count;    /* pairs                        */
    const tw_pair_t *pairs;
} tw_round_t;

/** The order in which every GPU of a set exchanges with every other one.
 * Each pair stands in exactly one round, and a GPU in a round at most once. GPUs that NVLink joins,
 * each with each, need no PCIe and meet in the first rounds. Of the others, pairs below one PCIe
 * switch come first, those of all switches at the same time; after that, of the GPUs below a switch
 * only one talks across it in a round, because they share its link.
 * @param [in]  gpus      indices of GPUs, each once.
 * @param [in]  count     1 to 1024.
 * @param [out] rounds_p  in one allocation; release it with free().
 * @param [out] rounds_count_p
 * @return TW_OK, TW_ERR_INVALID_ARG (a GPU twice, or none of this node), TW_ERR_RANGE,
 *         TW_ERR_NO_MEMORY. */
tw_status_t tw_exchange_order(const tw_node_t *node, const int *gpus, int count,
                              tw_round_t **rounds_p, int *rounds_count_p);

TW_END_DECLS

#endif /* THINWIRE_TOPOLOGY_H */
