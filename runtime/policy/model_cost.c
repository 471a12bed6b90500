/* SPDX-License-Identifier: BSD-3-Clause
 * policy/model_cost.c - what each algorithm costs: one function and one row each.
 *
 * m values of V encoded bytes on P ranks, R of them on a node; enc, dec, add: seconds per value of the
 * codec. Flat algorithms exchange with all ranks alike: of v bytes for every pair, a node sends and
 * receives R (P - R) v, and a rank (R - 1) v inside its node. docs/architecture.md has the formulas.
 */
#include "config.h"

#include <string.h>

#include "runtime/policy/model.h"

static double tw_ranks(const tw_model_query_t *q) { return (double)q->facts->ranks; }

static double tw_encoded(const tw_model_query_t *q) { return q->count * q->codec->bytes; }

double tw_model_exchange(const tw_facts_t *facts, double bytes)
{
    const double ranks = facts->ranks, local = facts->local_ranks;
    const double inside =
        local > 1.0 && facts->inside.shared > 0.0 ? (local - 1.0) * bytes / facts->inside.shared : 0.0;
    const double between = facts->nodes > 1 && facts->between.shared > 0.0
                               ? local * (ranks - local) * bytes / facts->between.shared
                               : 0.0;

    return inside > between ? inside : between;
}

const tw_link_facts_t *tw_model_link(const tw_facts_t *facts)
{
    return facts->nodes > 1 ? &facts->between : &facts->inside;
}

/* Everyone encodes the vector for everyone, and adds P vectors. */
static void tw_cost_direct(const tw_model_query_t *q, tw_model_cost_t *cost)
{
    const double ranks = tw_ranks(q);

    cost->longest   = q->count;
    cost->latencies = 1.0;
    cost->messages  = ranks - 2.0;
    cost->calls     = 1.0 + ranks;
    cost->transfer  = tw_model_exchange(q->facts, tw_encoded(q));
    cost->codec     = q->count * (q->codec->encode + q->codec->decode + (ranks - 1.0) * q->codec->decode_add);
}

/* A share for everyone, P shares to add; then the sum to everyone. */
static void tw_cost_two_pass(const tw_model_query_t *q, tw_model_cost_t *cost)
{
    const double ranks = tw_ranks(q), share = 1.0 / ranks;

    cost->longest   = q->count * share;
    cost->latencies = 2.0;
    cost->messages  = 2.0 * (ranks - 2.0);
    cost->calls     = 3.0 * ranks + 1.0;
    cost->transfer  = 2.0 * tw_model_exchange(q->facts, tw_encoded(q) * share);
    cost->codec     = q->count * ((1.0 + share) * (q->codec->encode + q->codec->decode) +
                              (ranks - 1.0) * share * q->codec->decode_add);
}

/* The first pass alone. */
static void tw_cost_one_pass(const tw_model_query_t *q, tw_model_cost_t *cost)
{
    const double ranks = tw_ranks(q), share = 1.0 / ranks;

    cost->longest   = q->count * share;
    cost->latencies = 1.0;
    cost->messages  = ranks - 2.0;
    cost->calls     = 2.0 * ranks;
    cost->transfer  = tw_model_exchange(q->facts, tw_encoded(q) * share);
    cost->codec     = q->count * (q->codec->encode + share * q->codec->decode +
                              (ranks - 1.0) * share * q->codec->decode_add);
}

/* Bytes that one rank takes in, or gives out, while the others stand by. */
static double tw_one_link(const tw_facts_t *facts, double bytes)
{
    const tw_link_facts_t *link = tw_model_link(facts);
    const double           rate = link->bandwidth > 0.0 ? link->bandwidth : link->shared;

    return facts->ranks > 1 && rate > 0.0 ? bytes / rate : 0.0;
}

/* All vectors into the root, which adds them. */
static void tw_cost_reduce_direct(const tw_model_query_t *q, tw_model_cost_t *cost)
{
    tw_cost_direct(q, cost);
    cost->transfer = tw_one_link(q->facts, (tw_ranks(q) - 1.0) * tw_encoded(q));
}

/* Shares, then all sums into the root. */
static void tw_cost_reduce_two_pass(const tw_model_query_t *q, tw_model_cost_t *cost)
{
    const double ranks = tw_ranks(q), share = 1.0 / ranks;

    tw_cost_two_pass(q, cost);
    cost->transfer = tw_model_exchange(q->facts, tw_encoded(q) * share) +
                     tw_one_link(q->facts, (ranks - 1.0) * share * tw_encoded(q));
}

/* The root sends the vector ceil(log2 P) times. */
static void tw_cost_tree(const tw_model_query_t *q, tw_model_cost_t *cost)
{
    double depth = 0.0;

    for (int reached = 1; reached < q->facts->ranks; reached *= 2) {
        depth += 1.0;
    }
    cost->longest   = q->count;
    cost->latencies = depth;
    cost->messages  = 0.0;
    cost->calls     = 1.0;
    cost->transfer  = depth * tw_one_link(q->facts, tw_encoded(q));
    cost->codec     = q->count * (q->codec->encode > q->codec->decode ? q->codec->encode : q->codec->decode);
}

/* Every rank hands the vector to the next, piece by piece. */
static void tw_cost_chain(const tw_model_query_t *q, tw_model_cost_t *cost)
{
    cost->longest   = q->count;
    cost->latencies = tw_ranks(q) - 1.0;
    cost->messages  = 0.0;
    cost->calls     = 1.0;
    cost->transfer  = tw_one_link(q->facts, tw_encoded(q));
    cost->codec     = q->count * (q->codec->encode > q->codec->decode ? q->codec->encode : q->codec->decode);
    cost->drain     = tw_ranks(q) > 2.0 ? tw_ranks(q) - 2.0 : 0.0;
}

/* Everyone's block, encoded once, to everyone. */
static void tw_cost_allgather(const tw_model_query_t *q, tw_model_cost_t *cost)
{
    const double ranks = tw_ranks(q);

    cost->longest   = q->count;
    cost->latencies = 1.0;
    cost->messages  = ranks - 2.0;
    cost->calls     = 1.0 + ranks;
    cost->transfer  = tw_model_exchange(q->facts, tw_encoded(q));
    cost->codec     = q->count * (q->codec->encode + ranks * q->codec->decode);
}

/* Another block for everyone. */
static void tw_cost_alltoall(const tw_model_query_t *q, tw_model_cost_t *cost)
{
    const double ranks = tw_ranks(q);

    tw_cost_allgather(q, cost);
    cost->calls = 2.0 * ranks;
    cost->codec = q->count * ranks * (q->codec->encode + q->codec->decode);
}

/* Rows are only ever added at the end of an operation's: their names stand in calibration files. */
static const tw_model_algorithm_t tw_model_algorithms[] = {
    {TW_OPERATION_ALLREDUCE, "direct", tw_cost_direct},
    {TW_OPERATION_ALLREDUCE, "two_pass", tw_cost_two_pass},
    {TW_OPERATION_REDUCE, "direct", tw_cost_reduce_direct},
    {TW_OPERATION_REDUCE, "two_pass", tw_cost_reduce_two_pass},
    {TW_OPERATION_REDUCE_SCATTER, "one_pass", tw_cost_one_pass},
    {TW_OPERATION_BCAST, "tree", tw_cost_tree},
    {TW_OPERATION_BCAST, "chain", tw_cost_chain},
    {TW_OPERATION_ALLGATHER, "pairwise", tw_cost_allgather},
    {TW_OPERATION_ALLTOALL, "pairwise", tw_cost_alltoall},
};

#define TW_ALGORITHMS ((int)(sizeof(tw_model_algorithms) / sizeof(tw_model_algorithms[0])))

_Static_assert(sizeof(tw_model_algorithms) / sizeof(tw_model_algorithms[0]) <= TW_FACTS_FACTORS,
               "every algorithm has a factor");

const tw_model_algorithm_t *tw_model_algorithm(int index)
{
    return index >= 0 && index < TW_ALGORITHMS ? &tw_model_algorithms[index] : NULL;
}

int tw_model_find(tw_operation_t operation, const char *name)
{
    for (int i = 0; i < TW_ALGORITHMS; i++) {
        if (tw_model_algorithms[i].operation == operation &&
            strcmp(tw_model_algorithms[i].name, name) == 0) {
            return i;
        }
    }
    return -1;
}
