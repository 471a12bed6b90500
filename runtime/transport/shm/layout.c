/* SPDX-License-Identifier: BSD-3-Clause
 * transport/shm/layout.c - nodes from the lowest rank of each rank's machine.
 */
#include "config.h"

#include <stdlib.h>

#include "runtime/transport/shm/layout.h"

/* node_of[], in rank order: a node begins with the first rank of a machine, and after each
 * node_ranks more. seen[m], current[m]: ranks met so far, and node under way, of the machine whose
 * lowest rank is m. */
static void tw_nodes_number(const int *leader, int ranks, int node_ranks, int *seen, int *current,
                            tw_nodes_t *nodes)
{
    nodes->count = 0;
    for (int r = 0; r < ranks; r++) {
        const int m = leader[r];

        if (seen[m] == 0 || (node_ranks > 0 && seen[m] % node_ranks == 0)) {
            current[m] = nodes->count++;
        }
        seen[m]++;
        nodes->node_of[r] = current[m];
    }
}

/* first[] and member[] from node_of[]. at[] is room for one number per node. */
static void tw_nodes_gather(int ranks, int *at, tw_nodes_t *nodes)
{
    for (int n = 0; n <= nodes->count; n++) {
        nodes->first[n] = 0;
    }
    for (int r = 0; r < ranks; r++) {
        nodes->first[nodes->node_of[r] + 1]++;
    }
    for (int n = 0; n < nodes->count; n++) {
        nodes->first[n + 1] += nodes->first[n];
        at[n] = nodes->first[n];
    }
    for (int r = 0; r < ranks; r++) {
        nodes->member[at[nodes->node_of[r]]++] = r;
    }
}

tw_status_t tw_nodes_make(const int *leader, int ranks, int rank, int node_ranks, tw_nodes_t *nodes)
{
    const size_t n       = (size_t)ranks;
    int         *scratch = calloc(2 * n, sizeof(int));

    *nodes = (tw_nodes_t){.node_of = calloc(3 * n + 1, sizeof(int))};
    if (scratch == NULL || nodes->node_of == NULL) {
        free(scratch);
        tw_nodes_free(nodes);
        return TW_ERR_NO_MEMORY;
    }
    nodes->member = nodes->node_of + n;
    nodes->first  = nodes->member + n;
    tw_nodes_number(leader, ranks, node_ranks, scratch, scratch + n, nodes);
    tw_nodes_gather(ranks, scratch, nodes);
    free(scratch);
    nodes->mine  = nodes->node_of[rank];
    nodes->local = tw_nodes_local(nodes, rank);
    nodes->least = nodes->most = tw_nodes_ranks(nodes, 0);
    for (int i = 1; i < nodes->count; i++) {
        const int here = tw_nodes_ranks(nodes, i);

        nodes->least = here < nodes->least ? here : nodes->least;
        nodes->most  = here > nodes->most ? here : nodes->most;
    }
    return TW_OK;
}

void tw_nodes_free(tw_nodes_t *nodes)
{
    free(nodes->node_of);
    nodes->node_of = NULL;
}

int tw_nodes_local(const tw_nodes_t *nodes, int rank)
{
    int low = nodes->first[nodes->node_of[rank]], high = nodes->first[nodes->node_of[rank] + 1] - 1;

    while (low < high) { /* the ranks of a node ascend */
        const int middle = (low + high) / 2;

        if (nodes->member[middle] < rank) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low - nodes->first[nodes->node_of[rank]];
}
