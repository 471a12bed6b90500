/* SPDX-License-Identifier: BSD-3-Clause
 * train/step/split.c - see split.h.
 */
#include "config.h"

#include <stdlib.h>

#include "train/base/agree.h"
#include "train/step/split.h"

/* Of a node, if all nodes have as many; else 0. */
static int ranks_of_a_node(tw_comm_t *wire)
{
    const int ranks = tw_comm_size(wire);
    int       nodes = 0, local = 0;

    for (int r = 0; r < ranks; r++) {
        nodes = tw_comm_node(wire, r) >= nodes ? tw_comm_node(wire, r) + 1 : nodes;
    }
    for (int n = 0; n < nodes; n++) {
        int here = 0;

        for (int r = 0; r < ranks; r++) {
            here += tw_comm_node(wire, r) == n;
        }
        if (n > 0 && here != local) {
            return 0;
        }
        local = here;
    }
    return local;
}

/* All ranks, several groups node after node: groups are equal parts of this list. */
static void list_members(tw_split_t *split, tw_comm_t *wire)
{
    const int ranks = tw_comm_size(wire);
    int       n     = 0;

    for (int node = 0; n < ranks; node++) {
        for (int r = 0; r < ranks; r++) {
            if (split->groups == 1 ? node == 0 : tw_comm_node(wire, r) == node) {
                split->member[n++] = r;
            }
        }
    }
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
    int       at = 0;

    *split = (tw_split_t){.ranks  = scheme_ranks(scheme, size, ranks_of_a_node(wire), problem),
                          .inside = comm,
                          .peers  = MPI_COMM_NULL,
                          .wire   = wire};
    if (split->ranks == 0) {
        return -1;
    }
    split->member = malloc((size_t)size * sizeof(*split->member));
    if (split->member == NULL) {
        problem->fatal = 1; /* the others go on to split the communicator */
        return tw_problem_set(problem, "out of memory");
    }
    split->groups = size / split->ranks;
    list_members(split, wire);
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

int tw_split_rank(const tw_split_t *split, int rank)
{
    int at = 0;

    while (split->member[at] != rank) {
        at++;
    }
    return at % split->ranks;
}

const int *tw_split_members(const tw_split_t *split)
{
    return split->member + split->group * split->ranks;
}
