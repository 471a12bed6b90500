/* SPDX-License-Identifier: BSD-3-Clause
 * policy/algorithms.h - the algorithms of every operation, a line each. Settings and decisions name
 * them, the model knows their costs (tw_cost_<operation>_<name>, model_cost.c), and the collectives
 * their rows (transport/coll/collective.h).
 *
 * ROW(x, name, considered): NULL, or a predicate of model_cost.c on the facts: does the codec
 * `auto` consider it on such ranks, where nothing names it? NULL: on all. Others ignore it.
 *
 * The first of an operation can always serve; of several that serve and are usual for a call
 * (transport/coll/collective.h), one by no name takes the last. `node` comes after all that serve
 * where it does: short blocking calls by no name go through the node's memory without asking the
 * list, and requests of other ranks must take `node` as well. Reduction rows serve reduce too
 * (op->root); those of allgather serve allgatherv; alltoallv has `pairwise` and
 * `hierarchical`.
 */
#ifndef TW_POLICY_ALGORITHMS_H
#define TW_POLICY_ALGORITHMS_H

#define TW_REDUCTION_ALGORITHMS(ROW, x)                                                            \
    ROW(x, direct, NULL)                                                                           \
    ROW(x, two_pass, NULL)                                                                         \
    ROW(x, grid, tw_many_ranks)                                                                    \
    ROW(x, hierarchical, tw_has_hierarchy)                                                         \
    ROW(x, node, NULL)

#define TW_SCATTER_ALGORITHMS(ROW, x)                                                              \
    ROW(x, one_pass, NULL)                                                                         \
    ROW(x, hierarchical, tw_has_hierarchy)                                                         \
    ROW(x, node, NULL)

#define TW_BCAST_ALGORITHMS(ROW, x)                                                                \
    ROW(x, tree, NULL)                                                                             \
    ROW(x, chain, NULL)                                                                            \
    ROW(x, node, NULL)                                                                             \
    ROW(x, hierarchical, tw_has_hierarchy)

#define TW_ALLGATHER_ALGORITHMS(ROW, x)                                                            \
    ROW(x, pairwise, NULL)                                                                         \
    ROW(x, grid, tw_many_ranks)                                                                    \
    ROW(x, hierarchical, tw_has_hierarchy)                                                         \
    ROW(x, node, NULL)

#define TW_ALLTOALL_ALGORITHMS(ROW, x)                                                             \
    ROW(x, pairwise, NULL)                                                                         \
    ROW(x, grid, tw_many_ranks)                                                                    \
    ROW(x, hierarchical, tw_has_hierarchy)                                                         \
    ROW(x, node, NULL)

/* OPERATION(LIST, x): x is the end of tw_operation_t's name and the start of its costs' names. */
#define TW_OPERATION_ALGORITHMS(OPERATION)                                                         \
    OPERATION(TW_REDUCTION_ALGORITHMS, ALLREDUCE, allreduce)                                       \
    OPERATION(TW_REDUCTION_ALGORITHMS, REDUCE, reduce)                                             \
    OPERATION(TW_SCATTER_ALGORITHMS, REDUCE_SCATTER, scatter)                                      \
    OPERATION(TW_BCAST_ALGORITHMS, BCAST, bcast)                                                   \
    OPERATION(TW_ALLGATHER_ALGORITHMS, ALLGATHER, allgather)                                       \
    OPERATION(TW_ALLTOALL_ALGORITHMS, ALLTOALL, alltoall)

#endif /* TW_POLICY_ALGORITHMS_H */
