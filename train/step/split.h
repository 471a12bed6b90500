/* SPDX-License-Identifier: BSD-3-Clause
 * train/step/split.h - the ranks that share the dense layers: all of them, or groups of as many
 * ranks, each of which holds these layers whole. Groups are of consecutive ranks, node after node.
 * The same part of the layers is held by one rank of each group: its peers, whose gradients are
 * summed (as in Megatron-LM: tensor parallel inside a group, data parallel between groups).
 */
#ifndef TW_TRAIN_SPLIT_H
#define TW_TRAIN_SPLIT_H

#include <mpi.h>

#include <thinwire/thinwire.h>

#include "command/problem.h"
#include "scaling/scheme.h"

typedef struct tw_split {
    int        ranks, groups; /* of a group, and groups                                     */
    int        rank, group;   /* of the caller: its number in its group, its group          */
    int       *member;        /* [groups * ranks] of each group its ranks in the parent     */
    MPI_Comm   inside, peers; /* the group; the ranks of this number in it. One group: the parent,
                                 and MPI_COMM_NULL                                          */
    tw_comm_t *wire, *peer_wire; /* for them; one group: the parent's, and NULL             */
} tw_split_t;

/** Collective over the parent, `comm` by MPI and `wire` by thinwire, which must outlive the split.
 * @param scheme  not of SCHEME_DATA.
 * @return 0, or -1 with the problem set, maybe not on every rank; destroy it in both cases. */
int tw_split_create(tw_split_t *split, tw_context_t *ctx, MPI_Comm comm, tw_comm_t *wire,
                    const scheme_t *scheme, tw_problem_t *problem);

/** Collective. A zeroed one is allowed. */
void tw_split_destroy(tw_split_t *split);

/** The ranks of the parent in the caller's group, in its order: [ranks]. */
const int *tw_split_members(const tw_split_t *split);

#endif /* TW_TRAIN_SPLIT_H */
