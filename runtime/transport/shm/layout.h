/* SPDX-License-Identifier: BSD-3-Clause
 * transport/shm/layout.h - which ranks of a communicator share a node.
 *
 * Nodes are numbered by their lowest rank; the ranks of a node are numbered in rank order. The
 * layout is equal on all ranks, so algorithms may depend on it.
 */
#ifndef TW_TRANSPORT_SHM_LAYOUT_H
#define TW_TRANSPORT_SHM_LAYOUT_H

#include <thinwire/status.h>

typedef struct tw_nodes {
    int  count;       /* nodes                                             */
    int  least, most; /* ranks of the smallest and of the largest node     */
    int  mine;        /* node of the caller                                */
    int  local;       /* number of the caller among the ranks of its node  */
    int *node_of;     /* [ranks]     node of each rank                     */
    int *member;      /* [ranks]     the ranks, node by node               */
    int *first;       /* [nodes + 1] index in member of a node's ranks     */
} tw_nodes_t;

/* Lay out `ranks` ranks, of which the caller is `rank`. leader[r] is the lowest rank on the machine
 * of rank r. Where node_ranks > 0, each node_ranks consecutive ranks of a machine count as a node.
 * TW_OK or TW_ERR_NO_MEMORY; release with tw_nodes_free(). Local. */
tw_status_t tw_nodes_make(const int *leader, int ranks, int rank, int node_ranks,
                          tw_nodes_t *nodes);
void        tw_nodes_free(tw_nodes_t *nodes);

/* Ranks of a node. */
static inline int tw_nodes_ranks(const tw_nodes_t *nodes, int node)
{
    return nodes->first[node + 1] - nodes->first[node];
}

/* The rank with number `local` on a node. */
static inline int tw_nodes_rank(const tw_nodes_t *nodes, int node, int local)
{
    return nodes->member[nodes->first[node] + local];
}

/* The number of a rank on its node. */
int tw_nodes_local(const tw_nodes_t *nodes, int rank);

#endif /* TW_TRANSPORT_SHM_LAYOUT_H */
