/* SPDX-License-Identifier: BSD-3-Clause
 * thinwire/topology.h - the parts of a machine, and the GPU, cores, memory and network interface of
 * each of its ranks. Independent of MPI: the caller passes the number of ranks.
 *
 *     tw_node_t    one machine: a tree of parts, from hwloc or from an XML file of hwloc
 *     tw_place_t   the place of one rank
 *     tw_round_t   pairs of GPUs that may exchange at the same time
 *
 * docs/topology.md has the rules of placement.
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
    TW_PART_NUMA, /* a NUMA node */
    TW_PART_CORE,
    TW_PART_ROOT,   /* a PCIe root (host bridge) with GPUs or network interfaces below it */
    TW_PART_SWITCH, /* a PCIe switch: the parts below share its one uplink */
    TW_PART_GPU,    /* NVIDIA or AMD */
    TW_PART_NIC
} tw_part_kind_t;

#define TW_PART_KINDS 8

/** One part of a machine. Strings always fit their arrays; unknown strings are "". */
typedef struct tw_part {
    tw_part_kind_t kind;
    int            parent;   /* index of the enclosing part; -1 for the machine */
    int            index;    /* among its kind, from 0; GPUs by bus id, AMD's after NVIDIA's */
    int            os_index; /* NUMA node, package: number in the operating system; else -1 */
    int            cuda;     /* GPU: 1: NVIDIA. 0: AMD, which is found, drawn and assigned to ranks,
                                but thinwire cannot compute on it */
    int            device;   /* GPU: its number in CUDA; -1 if CUDA_VISIBLE_DEVICES hides it, or if
                                it is not a CUDA device */
    int            fabric;   /* network interface: 1 for an OpenFabrics (verbs) device */
    int            active;   /* network interface: 0 if all its ports are known to be down */
    int            port;     /* OpenFabrics device: first port that is up, 1 if unknown */
    uint64_t       bytes;    /* NUMA node: bytes of memory */
    char           bus[24];  /* GPU, network interface: PCI bus id, "0000:3b:00.0" */
    char subnet[24];         /* network interface: of an InfiniBand port, the first half of its GID,
                                "fe80:0000:0000:0000"; else "" */
    char name[64];           /* "GPU 0", "mlx5_0", "eth0", "NUMA node 1", "package 0" */
    char model[96];          /* of a GPU or processor; of a network interface its other names */
    char pus[256];           /* core: its hardware threads, in the system's numbers, "3,27" */
} tw_part_t;

/** Describe a machine. Takes milliseconds, on large machines hundreds of them. Makes no MPI and no
 * CUDA call.
 * @param [in]  ctx      for log lines.
 * @param [in]  xml      an XML file of hwloc (lstopo file.xml), format 2, which a child process
 *                       loads first as a test; NULL: this machine, without the parts that a cgroup
 *                       forbids to this process.
 * @param [in]  visible  text of CUDA_VISIBLE_DEVICES; NULL: all GPUs are visible. An entry that
 *                       names no GPU gives a warning, and hides itself and all later ones, as in
 *                       CUDA.
 * @param [out] node_p   set only on TW_OK; release it with tw_node_destroy().
 * @return TW_OK, TW_ERR_INVALID_ARG, TW_ERR_NO_MEMORY; and with one log line that names the file:
 *         TW_ERR_IO (cannot be read), TW_ERR_FORMAT (no topology, or a damaged one),
 *         TW_ERR_UNSUPPORTED (XML format 3). */
tw_status_t tw_node_create(tw_context_t *ctx, const char *xml, const char *visible,
                           tw_node_t **node_p);

/** Release a node; NULL is allowed. Places and rounds made from it stay valid. */
void tw_node_destroy(tw_node_t *node);

/** Number of parts. Part 0 is the machine, and each part follows its parent. */
int tw_node_parts(const tw_node_t *node);

/** Number of parts of one kind. */
int tw_node_count(const tw_node_t *node, tw_part_kind_t kind);

/** Part i of the tree, 0 <= i < tw_node_parts(); NULL for any other i. Lives with the node. */
const tw_part_t *tw_node_part(const tw_node_t *node, int i);

/** The i-th part of a kind; NULL if there is none. Lives with the node. */
const tw_part_t *tw_node_find(const tw_node_t *node, tw_part_kind_t kind, int i);

/** Distance of two GPUs, network interfaces or cores. */
typedef enum tw_distance {
    TW_NEAR_SWITCH,  /* below one PCIe switch */
    TW_NEAR_ROOT,    /* below one PCIe root */
    TW_NEAR_NUMA,    /* at one NUMA node */
    TW_NEAR_PACKAGE, /* at one package */
    TW_FAR           /* at different packages, or the location of one is unknown */
} tw_distance_t;

/** The distance of two parts returned by tw_node_part() or tw_node_find(). */
tw_distance_t tw_node_distance(const tw_node_t *node, const tw_part_t *a, const tw_part_t *b);

/** Latency between two NUMA nodes as the firmware reports it, 10 within a node; 0 if unknown. */
int tw_node_latency(const tw_node_t *node, int numa_a, int numa_b);

/** Bandwidth of NVLink between two GPUs, direct or through NVSwitches, or of XGMI between AMD GPUs,
 * in MB/s per direction; 0 if there is none, or if it is unknown. */
int64_t tw_node_nvlink(const tw_node_t *node, int gpu_a, int gpu_b);

/** The hardware threads this process is bound to, as a list such as "0-3,8"; "" if it may use the
 * whole machine, or if the node is from a file.
 * @param [in] size  bytes of pus; TW_PUS_TEXT always suffices.
 * @return TW_OK, TW_ERR_INVALID_ARG, TW_ERR_RANGE (the list does not fit). */
tw_status_t tw_node_binding(const tw_node_t *node, char *pus, size_t size);

#define TW_PUS_TEXT 4096 /* size of pus that always suffices, in bytes */

enum { TW_SHARED_GPU = 1, TW_SHARED_CORES = 2 };

/** The place of one rank. Indices are those of tw_node_find(). */
typedef struct tw_place {
    int         gpu;        /* index of the GPU; -1: no GPU is visible */
    int         device;     /* its number for cudaSetDevice() here; -1: none, or an AMD GPU */
    int         numa;       /* index of the NUMA node; -1: unknown */
    int         nic;        /* index of the network interface; -1: none */
    unsigned    shared;     /* TW_SHARED_GPU, TW_SHARED_CORES: shared with another rank */
    int         bound;      /* 1: the cores are those of an existing binding */
    int         core_count; /* 1 or more */
    const int  *cores;      /* indices, ascending */
    const char *pus;        /* their hardware threads, in the system's numbers: "0-5,48-53" */
} tw_place_t;

/** Input of the placement: facts of one rank. */
typedef struct tw_rank {
    const char *binding; /* hardware threads it is bound to (tw_node_binding()); "" or NULL: none */
    const char *visible; /* its CUDA_VISIBLE_DEVICES; NULL: as in tw_node_create() */
    const char *devices; /* devices that CUDA reports to it; if given, they decide: PCI bus ids in
                            CUDA's order, "0000:03:00.0,0000:04:00.0"; for a part of a GPU (MIG)
                            followed by a slash and the name of the part. Different names are
                            different devices, even if the node has no such GPU. NULL: unknown */
} tw_rank_t;

/** Give each local rank its place. The same arguments give the same places. If there are more ranks
 * than cores or GPUs, ranks share them in turn, and a log line reports it.
 * @param [in]  node
 * @param [in]  ranks     number of local ranks, 1 to 4096.
 * @param [in]  facts     [ranks], or NULL: nothing is known. A bound rank stays inside its binding;
 *                        ranks with the same binding divide it.
 * @param [out] places_p  [ranks], in one allocation; release it with free().
 * @return TW_OK, TW_ERR_INVALID_ARG, TW_ERR_RANGE (ranks), TW_ERR_FORMAT (a binding that is not a
 *         list, or has no part of this machine; logged), TW_ERR_NO_MEMORY. */
tw_status_t tw_place(const tw_node_t *node, int ranks, const tw_rank_t *facts,
                     tw_place_t **places_p);

/** Bind this process, with all its threads, to the cores of a place, and prefer memory of its NUMA
 * node. The node must be this machine, not a file.
 * @return TW_OK (a failure to prefer memory is only logged), TW_ERR_INVALID_ARG,
 *         TW_ERR_UNSUPPORTED (a node from a file, or the system refuses; logged). */
tw_status_t tw_place_apply(const tw_node_t *node, const tw_place_t *place);

/** The network interface of a place, as UCX names it in UCX_NET_DEVICES: "mlx5_0:1". "" if there is
 * no choice: the place has none, it is not an OpenFabrics device that is up, or no other one is up.
 * @return TW_OK, TW_ERR_INVALID_ARG, TW_ERR_RANGE (the name does not fit). */
tw_status_t tw_place_network(const tw_node_t *node, const tw_place_t *place, char *text,
                             size_t size);

/** Groups of `group` ranks, the last one perhaps smaller, with members as near each other as
 * possible: by NVLink or XGMI, below one PCIe switch, one root, at one NUMA node, one package. Of s
 * ranks that are together in this sense, s / group groups have no other members.
 * Source: S4 (Krizhevsky 2014), section 6: full rate inside a switch's group of four GPUs, half
 * across.
 * @param [in]  places  [ranks], from tw_place().
 * @param [in]  group   1 to ranks.
 * @param [out] order   [ranks]: the ranks of the first group, of the second, ... Groups are sorted
 *                      by their lowest ranks, except a smaller one, which is last; ranks in a group
 *                      ascend.
 * @return TW_OK, TW_ERR_INVALID_ARG, TW_ERR_RANGE, TW_ERR_NO_MEMORY. */
tw_status_t tw_place_groups(const tw_node_t *node, const tw_place_t *places, int ranks, int group,
                            int *order);

/** Two GPUs that exchange with each other. */
typedef struct tw_pair {
    int a, b; /* indices of GPUs, a < b */
} tw_pair_t;

/** Exchanges that happen at the same time. */
typedef struct tw_round {
    tw_distance_t    distance; /* of the farthest pair */
    int              nvlink;   /* 1: all pairs have NVLink or XGMI */
    int              count;    /* number of pairs */
    const tw_pair_t *pairs;
} tw_round_t;

/** Schedule in which every GPU of a set exchanges with every other one.
 * Each pair is in exactly one round, and a GPU at most once in a round. Pairs with NVLink or XGMI
 * need no PCIe, and exchange in the first rounds. Of the others, pairs below one PCIe switch come
 * first, at all switches at the same time; after that, only one GPU below a switch exchanges across
 * it in a round, because its GPUs share the uplink.
 * @param [in]  gpus      indices of GPUs, each once.
 * @param [in]  count     1 to 1024.
 * @param [out] rounds_p  in one allocation; release it with free().
 * @param [out] rounds_count_p  number of rounds.
 * @return TW_OK, TW_ERR_INVALID_ARG (a repeated GPU, or not one of this node), TW_ERR_RANGE,
 *         TW_ERR_NO_MEMORY. */
tw_status_t tw_exchange_order(const tw_node_t *node, const int *gpus, int count,
                              tw_round_t **rounds_p, int *rounds_count_p);

TW_END_DECLS

#endif /* THINWIRE_TOPOLOGY_H */
