/* SPDX-License-Identifier: BSD-3-Clause
 * train/step/split.c - see split.h.
 */
#include "config.h"

#include <stdlib.h>

#include "train/base/agree.h"
#include "train/step/split.h"

/* member[]: all ranks, node after node. first: zeros, [ranks + 1]. @return the ranks of a node, if
 * all nodes have as many; else 0. */
static int list_by_node(const tw_comm_t *wire, int *member, int *first)
{
    const int ranks = tw_comm_size(wire);
    int       local, nodes = 0;

    for (int r = 0; r < ranks; r++) {
        const int node = tw_comm_node(wire, r);

        first[node + 1]++;
        nodes = node >= nodes ? node + 1 : nodes;
    }
    local = first[1];
    for (int n = 0; n < nodes; n++) {
        local = first[n + 1] == local ? local : 0;
        first[n + 1] += first[n];
    }
    for (int r = 0; r < ranks; r++) {
        member[first[tw_comm_node(wire, r)]++] = r;
    }
    return local;
}

static int open_wire(tw_context_t *ctx, MPI_Comm comm, tw_comm_t **wire_p, tw_problem_t *problem)
{
    const tw_status_t status = tw_comm_create(ctx, comm, wire_p);

    /* Other groups may have no such problem, and go on. */
    if (status != TW_OK) {
        problem->fatal = 1;
        tw_problem_set(problem, "the communicators of the split layers: %s",
                       tw_status_text(status));
    }
    return problem->set ? -1 : 0;
}

int tw_split_create(tw_split_t *split, tw_context_t *ctx, MPI_Comm comm, tw_comm_t *wire,
                    const scheme_t *scheme, tw_problem_t *problem)
{
    const int size = tw_comm_size(wire), mine = tw_comm_rank(wire);
    int      *first = calloc((size_t)size + 1, sizeof(*first)), at = 0;

    *split = (tw_split_t){.member = malloc((size_t)size * sizeof(*split->member)),
                          .inside = comm,
                          .peers  = MPI_COMM_NULL,
                          .wire   = wire};
    if (first == NULL || split->member == NULL) {
        free(first);
        problem->fatal = 1; /* the others go on to split the communicator */
        return tw_problem_set(problem, "out of memory");
    }
    split->ranks = scheme_ranks(scheme, size, list_by_node(wire, split->member, first), problem);
    free(first);
    if (split->ranks == 0) {
        return -1;
    }
    split->groups = size / split->ranks;
    for (int r = 0; r < size && split->groups == 1; r++) {
        split->member[r] = r;
    }
    while (split->member[at] != mine) {
        at++;
    }
    split->group = at / split->ranks;
    split->rank  = at % split->ranks;
    if (split->groups == 1) {
        return 0;
    }
    split->wire = NULL;
    MPI_Comm_split(comm, split->group, split->rank, &split->inside);
    MPI_Comm_split(comm, split->rank, split->group, &split->peers);
    return open_wire(ctx, split->inside, &split->wire, problem) == 0
               ? open_wire(ctx, split->peers, &split->peer_wire, problem)
               : -1;
}

void tw_split_destroy(tw_split_t *split)
{
    if (split->groups > 1) {
        tw_comm_destroy(split->peer_wire);
        tw_comm_destroy(split->wire);
        MPI_Comm_free(&split->peers);
        MPI_Comm_free(&split->inside);
    }
    free(split->member);
    *split = (tw_split_t){.ranks = 0};
}

const int *tw_split_members(const tw_split_t *split)
{
    return split->member + split->group * split->ranks;
}
