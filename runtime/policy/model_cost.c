/* SPDX-License-Identifier: BSD-3-Clause
 * policy/model_cost.c - what each algorithm costs: one function and one row each.
 *
 * m values of V encoded bytes on P ranks, R of them on a node; enc, dec, add: seconds per value of
 * the codec. Flat algorithms exchange with all ranks alike: of v bytes for every pair, a node sends
 * and receives R (P - R) v, and a rank (R - 1) v inside its node. docs/architecture/algorithms.md
 * has the formulas.
 */
#include "config.h"

#include <math.h>
#include <string.h>

#include "runtime/base/dtype.h"
#include "runtime/policy/algorithms.h"
#include "runtime/policy/grid.h"
#include "runtime/policy/model.h"
#include "runtime/policy/policy.h"

static double tw_ranks(const tw_model_query_t *q)
{
    return (double)q->facts->ranks;
}

static double tw_encoded(const tw_model_query_t *q)
{
    return q->count * q->codec->bytes;
}

/* Codes of a sum of some ranks, in those of its elements: 16-bit ones as they are would round it,
 * so it is sent in the type of sums. */
static double tw_partial(const tw_model_query_t *q)
{
    const tw_dtype_row_t *row  = tw_dtype_row(q->codec->dtype);
    const double          wide = (double)tw_dtype_size(row->sum) / (double)row->bytes;

    return q->codec->max_error == 0.0 ? wide : 1.0;
}

static double tw_seconds(double bytes, double rate)
{
    return rate > 0.0 ? bytes / rate : 0.0;
}

/* `copies` of all values as they are, through the memory of a node. */
static double tw_memory(const tw_model_query_t *q, double copies)
{
    const double values = q->count * (double)tw_dtype_size(q->codec->dtype);

    return tw_seconds(copies * values, q->facts->inside.shared);
}

double tw_model_exchange(const tw_facts_t *facts, double bytes)
{
    const double ranks = facts->ranks, local = facts->local_ranks;
    const double inside = tw_seconds((local - 1.0) * bytes, facts->inside.shared);
    const double between =
        facts->nodes > 1 ? tw_seconds(local * (ranks - local) * bytes, facts->between.shared) : 0.0;

    return inside > between ? inside : between;
}

const tw_link_facts_t *tw_model_link(const tw_facts_t *facts)
{
    return facts->nodes > 1 ? &facts->between : &facts->inside;
}

/* The vector in so many shares of whole units, as equal as these allow; the first are longer. */
typedef struct tw_cut {
    double count, unit, each, longer; /* values, values, units of a share, shares with one more */
} tw_cut_t;

static tw_cut_t tw_cut(double count, double unit, double shares)
{
    const double units = ceil(count / unit), each = floor(units / shares);

    return (tw_cut_t){count, unit, each, units - each * shares};
}

/* Values of so many of the shares, up to `longer` of them longer ones. */
static double tw_cut_values(const tw_cut_t *cut, double shares, double longer)
{
    const double more   = longer < cut->longer ? longer : cut->longer;
    const double values = (shares * cut->each + more) * cut->unit;

    return values < cut->count ? values : cut->count;
}

/* How many of `most` shares have values. */
static double tw_cut_owners(const tw_cut_t *cut, double most)
{
    return cut->each > 0.0 || cut->longer > most ? most : cut->longer;
}

/* As parts of the vector, what the first node owns, and the second: of so many shares of each,
 * `first` of the longer ones are in the first node, and `both` in one of them. */
static void tw_cut_nodes(const tw_cut_t *cut, double shares, double first, double both,
                         double own[2])
{
    const double values = tw_cut_values(cut, shares, first);

    own[0] = cut->count > 0.0 ? values / cut->count : 0.0;
    own[1] =
        cut->count > 0.0 ? (tw_cut_values(cut, 2.0 * shares, both) - values) / cut->count : 0.0;
}

/* In vectors. */
static double tw_part(const tw_model_query_t *q, double values)
{
    return q->count > 0.0 ? values / q->count : 0.0;
}

/* Of encoding and decoding, where different ranks do both at once. */
static double tw_slower(const tw_codec_facts_t *codec)
{
    return codec->encode > codec->decode ? codec->encode : codec->decode;
}

/* Where all exchange with all alike, what leaves a node, by what a rank sends. */
static double tw_leaving(const tw_facts_t *facts)
{
    const double ranks = facts->ranks, local = facts->local_ranks;

    return ranks > 1.0 ? local * (ranks - local) / (ranks - 1.0) : 0.0;
}

static void tw_leave(tw_model_cost_t *cost, double vectors)
{
    cost->network[0] = cost->network[1] = vectors;
}

/* Every block leaves its node so often. Shares of owners are not equal. */
static void tw_blocks_leave(const tw_model_query_t *q, double times, tw_model_cost_t *cost)
{
    const double   local = q->facts->local_ranks;
    const tw_cut_t cut   = tw_cut(q->whole, q->unit > 1.0 ? q->unit : 1.0, tw_ranks(q));
    double         own[2];

    tw_leave(cost, times * local);
    if (q->whole > 0.0 && q->count > 0.0) {
        tw_cut_nodes(&cut, local, local, 2.0 * local, own);
        cost->network[0] = times * own[0] * q->whole / q->count;
        cost->network[1] = times * own[1] * q->whole / q->count;
    }
}

/* Everyone's block, encoded once, to everyone. */
static void tw_cost_allgather_pairwise(const tw_model_query_t *q, tw_model_cost_t *cost)
{
    const double ranks = tw_ranks(q);

    cost->longest   = q->count;
    cost->latencies = 1.0;
    cost->messages  = ranks - 2.0;
    cost->sent      = ranks - 1.0;
    tw_blocks_leave(q, ranks - q->facts->local_ranks, cost);
    cost->slots    = ranks;
    cost->calls    = 1.0 + ranks;
    cost->transfer = tw_model_exchange(q->facts, tw_encoded(q));
    cost->codec    = q->count * (q->codec->encode + ranks * q->codec->decode);
}

/* Another block for everyone. */
static void tw_cost_alltoall_pairwise(const tw_model_query_t *q, tw_model_cost_t *cost)
{
    const double ranks = tw_ranks(q);

    tw_cost_allgather_pairwise(q, cost);
    cost->slots = 2.0 * ranks;
    cost->calls = 2.0 * ranks;
    cost->early = q->count * (ranks - 1.0) * q->codec->encode;
    cost->codec = q->count * ranks * (q->codec->encode + q->codec->decode);
}

/* Everyone encodes the vector for everyone, and adds P vectors. */
static void tw_cost_allreduce_direct(const tw_model_query_t *q, tw_model_cost_t *cost)
{
    tw_cost_allgather_pairwise(q, cost);
    cost->codec = q->count * (q->codec->encode + q->codec->decode +
                              (tw_ranks(q) - 1.0) * q->codec->decode_add);
}

/* But for the transfer: among `members`, each of them `local` ranks with a part of the vector each,
 * a share for everyone, as many shares to add; in two passes then the sum to everyone. `part`:
 * values of the first rank's part, whose share is the longest. */
static void tw_shares(const tw_model_query_t *q, double passes, double members, double part,
                      double longest, tw_model_cost_t *cost)
{
    const double encode = q->codec->encode, decode = q->codec->decode, again = passes - 1.0;

    cost->longest   = longest;
    cost->latencies = passes;
    cost->messages  = passes * (members - 2.0);
    cost->sent      = tw_part(q, part - longest + again * (members - 1.0) * longest);
    cost->calls     = passes > 1.0 ? 3.0 * members + 1.0 : 2.0 * members;
    cost->codec     = part * (encode + again * decode) + longest * (decode + again * encode) +
                  (members - 1.0) * longest * q->codec->decode_add;
    cost->early = (part - longest) * encode;
}

/* The cost of a row: that of a function, by how many passes or copies. */
#define TW_COST(row, function, times)                                                              \
    static void tw_cost_##row(const tw_model_query_t *q, tw_model_cost_t *cost)                    \
    {                                                                                              \
        function(q, times, cost);                                                                  \
    }

/* Values that stay in one share: blocks of the codec, or what the caller of a reduce-scatter cuts
 * by. */
static double tw_unit(const tw_model_query_t *q, double passes)
{
    return passes > 1.0 ? (double)q->codec->block : q->unit > 1.0 ? q->unit : 1.0;
}

/* Among all ranks. */
static void tw_flat_shares(const tw_model_query_t *q, double passes, tw_model_cost_t *cost)
{
    const double   ranks = tw_ranks(q), local = q->facts->local_ranks;
    const tw_cut_t cut     = tw_cut(q->count, tw_unit(q, passes), ranks);
    const double   longest = tw_cut_values(&cut, 1.0, 1.0);
    double         own[2];

    tw_shares(q, passes, ranks, q->count, longest, cost);
    tw_cut_nodes(&cut, local, local, 2.0 * local, own);
    cost->slots = 3.0 * ranks;
    for (int i = 0; i < 2; i++) {
        cost->network[i]       = local * (1.0 - own[i]) + (passes - 1.0) * (ranks - local) * own[i];
        cost->network_turns[i] = local * (1.0 - own[i]) + own[i] * (1.0 - local / ranks);
    }
    cost->transfer = passes * tw_model_exchange(q->facts, longest * q->codec->bytes) *
                     tw_cut_owners(&cut, local) / local;
}

TW_COST(allreduce_two_pass, tw_flat_shares, 2.0)
TW_COST(scatter_one_pass, tw_flat_shares, 1.0)

/* Bytes that one rank takes in, or gives out, while the others stand by. */
static double tw_one_link(const tw_facts_t *facts, double bytes)
{
    const tw_link_facts_t *link = tw_model_link(facts);
    const double           rate = link->bandwidth > 0.0 ? link->bandwidth : link->shared;

    return facts->ranks > 1 ? tw_seconds(bytes, rate) : 0.0;
}

/* How many encoded vectors the root sends, and the busiest of the others; turns: a rank on average,
 * if every rank is the root once. `units`: ranks, or nodes, among which vectors
 * travel; `times`, where some travel in a second pass. */
static void tw_rooted(const tw_model_query_t *q, tw_model_cost_t *cost, int units, double times,
                      double root, double others)
{
    cost->root   = root;
    cost->others = others;
    cost->turns  = cost->sent > 0.0 ? times * (units - 1.0) / tw_ranks(q) : 0.0;
}

/* Where a vector crosses the network once for each node but the root's. */
static void tw_root_leaves(const tw_model_query_t *q, tw_model_cost_t *cost)
{
    cost->network_turns[0] = cost->network_turns[1] = (q->facts->nodes - 1.0) / q->facts->nodes;
}

/* A reduction by all ranks alike: each but those of the root's node sends to it. */
static void tw_rooted_flat(const tw_model_query_t *q, tw_model_cost_t *cost, double times,
                           double root)
{
    cost->sent = tw_ranks(q) > 1.0 ? 1.0 : 0.0;
    tw_leave(cost, tw_leaving(q->facts));
    tw_rooted(q, cost, q->facts->ranks, times, root, cost->sent);
}

/* All vectors into the root, which adds them. */
static void tw_cost_reduce_direct(const tw_model_query_t *q, tw_model_cost_t *cost)
{
    tw_cost_allreduce_direct(q, cost);
    cost->transfer = tw_one_link(q->facts, (tw_ranks(q) - 1.0) * tw_encoded(q));
    tw_rooted_flat(q, cost, 1.0, 0.0);
    cost->network_turns[0] = cost->network_turns[1] =
        tw_ranks(q) * (1.0 - q->facts->local_ranks / tw_ranks(q)) / q->facts->nodes;
}

/* Shares, then all sums into the root. */
static void tw_cost_reduce_two_pass(const tw_model_query_t *q, tw_model_cost_t *cost)
{
    const double ranks = tw_ranks(q), share = 1.0 / ranks;

    tw_cost_allreduce_two_pass(q, cost);
    cost->transfer = tw_model_exchange(q->facts, tw_encoded(q) * share) +
                     tw_one_link(q->facts, (ranks - 1.0) * share * tw_encoded(q));
    tw_rooted_flat(q, cost, 1.0 + share, 1.0 - share);
}

/* ceil(log2 P) */
static double tw_tree_depth(int ranks)
{
    double depth = 0.0;

    for (int reached = 1; reached < ranks; reached *= 2) {
        depth += 1.0;
    }
    return depth;
}

/* How often the busiest rank of a tree but its root hands on; rank 2^k does so to as many 2^k + 2^j
 * as there are, j below k. */
static double tw_handed_on(int ranks)
{
    int most = 0;

    for (int rank = 1; rank < ranks; rank *= 2) {
        int times = 0;

        for (int bit = 1; bit < rank && rank + bit < ranks; bit *= 2) {
            times++;
        }
        most = times > most ? times : most;
    }
    return most;
}

/* From one to the next of `units`, fragment by fragment, or through a tree of them, by `local`
 * ranks of each, with a part of the vector each. But for the transfer; cost->sent is known. */
static void tw_handing(const tw_model_query_t *q, int units, double local, bool chain,
                       tw_model_cost_t *cost)
{
    cost->longest   = q->count / local;
    cost->latencies = chain ? units - 1.0 : tw_tree_depth(units);
    cost->calls     = 1.0;
    cost->codec     = q->count / local * tw_slower(q->codec);
    cost->drain     = chain && units > 2 ? units - 2.0 : 0.0;
    if (chain) { /* as the collective chooses it with the default of THINWIRE_MESSAGE_COST */
        cost->fragment = tw_policy_chain_fragment(TW_MESSAGE_COST, (size_t)tw_encoded(q), units);
    }
    tw_root_leaves(q, cost);
    tw_rooted(q, cost, units, 1.0, cost->sent, (chain ? units > 2 : tw_handed_on(units)) / local);
}

static void tw_cost_bcast_tree(const tw_model_query_t *q, tw_model_cost_t *cost)
{
    cost->sent = tw_tree_depth(q->facts->ranks);
    tw_leave(cost, tw_tree_depth(q->facts->nodes));
    cost->transfer = cost->sent * tw_one_link(q->facts, tw_encoded(q));
    tw_handing(q, q->facts->ranks, 1.0, false, cost);
}

static void tw_cost_bcast_chain(const tw_model_query_t *q, tw_model_cost_t *cost)
{
    cost->sent = tw_ranks(q) > 1.0 ? 1.0 : 0.0;
    tw_leave(cost, q->facts->nodes > 1 ? 1.0 : 0.0);
    cost->transfer = tw_one_link(q->facts, tw_encoded(q));
    tw_handing(q, q->facts->ranks, 1.0, true, cost);
}

/* Through the memory of one node, values as they are: every byte is written once and read where it
 * is wanted, by cores that all do the same. `copies`: of the vector, by each rank. */
static void tw_cost_node(const tw_model_query_t *q, double copies, tw_model_cost_t *cost)
{
    const bool may = q->facts->nodes == 1 && q->facts->ranks > 1 && q->codec->max_error == 0.0 &&
                     q->codec->block == 1 &&
                     q->codec->bytes == (double)tw_dtype_size(q->codec->dtype);

    cost->longest   = q->count;
    cost->latencies = may ? 1.0 : INFINITY;
    cost->transfer  = tw_seconds(copies * tw_encoded(q), q->facts->inside.shared);
}

TW_COST(allreduce_node, tw_cost_node, 3.0)
TW_COST(scatter_node, tw_cost_node, 2.0)
TW_COST(node_blocks, tw_cost_node, 1.0 + tw_ranks(q))

/* Do so many values of each rank of a node travel in one message? */
static bool tw_bundles(const tw_model_query_t *q, double values)
{
    return values * q->codec->bytes <= (double)TW_BUNDLE_MOST / q->facts->local_ranks;
}

/* Sums as they are inside each node, in its memory; codes between nodes, of which some ranks of a
 * node carry a share. Nodes own fragments in turn. */
static void tw_node_shares(const tw_model_query_t *q, double passes, tw_model_cost_t *cost)
{
    const double nodes = q->facts->nodes, local = q->facts->local_ranks;
    const bool   again = passes > 1.0;
    const double carriers =
        again ? tw_policy_carriers((size_t)tw_encoded(q), q->facts->nodes, q->facts->local_ranks)
              : local;
    const tw_cut_t cut     = tw_cut(q->count, tw_unit(q, passes), carriers * nodes);
    const double   longest = tw_cut_values(&cut, 1.0, 1.0);
    /* An allreduce's shares go round the nodes, those of a reduce-scatter are in the order of
     * ranks: longer ones of a carrier, and of the first node. */
    const double part_longer = again ? nodes : ceil(cut.longer / local);
    const double own_longer  = again ? ceil(cut.longer / nodes) : local;
    const double both        = again ? own_longer + ceil((cut.longer - 1.0) / nodes) : 2.0 * local;
    const double owners      = tw_cut_owners(&cut, again ? carriers * nodes : local);
    const double at_once     = again ? ceil(owners / nodes) : owners; /* of a node */
    double       own[2];

    tw_shares(q, passes, nodes, tw_cut_values(&cut, nodes, part_longer), longest, cost);
    cost->slots = nodes + 1.0;
    cost->cycle = again && owners < nodes ? owners : nodes;
    tw_cut_nodes(&cut, carriers, own_longer, both, own);
    for (int i = 0; i < 2; i++) {
        cost->network[i] = tw_partial(q) * (1.0 - own[i]) + (passes - 1.0) * (nodes - 1.0) * own[i];
        cost->network_turns[i] = 1.0 - own[i] / nodes;
    }
    cost->transfer = tw_seconds((tw_partial(q) + passes - 1.0) * (nodes - 1.0) * at_once * longest *
                                    q->codec->bytes,
                                q->facts->between.shared);
    cost->waits    = true;
    cost->replies  = again;
    cost->turn     = longest * (passes * (q->codec->encode + q->codec->decode) +
                            (nodes - 1.0) * q->codec->decode_add) +
                 tw_memory(q, passes + 1.0) / nodes;
    if (!again && tw_bundles(q, longest)) {
        cost->messages = ceil((nodes - 1.0) / local) - 1.0;
    }
    cost->codec += tw_memory(q, passes + 1.0);
}

TW_COST(allreduce_hierarchical, tw_node_shares, 2.0)
TW_COST(scatter_hierarchical, tw_node_shares, 1.0)

/* Every block, encoded once, to one rank of every other node; codes pass through the memory of
 * each. */
static void tw_cost_allgather_hierarchical(const tw_model_query_t *q, tw_model_cost_t *cost)
{
    const double ranks = tw_ranks(q), nodes = q->facts->nodes, local = q->facts->local_ranks;

    tw_cost_allgather_pairwise(q, cost);
    cost->messages = (tw_bundles(q, q->count) ? ceil((nodes - 1.0) / local) : nodes - 1.0) - 1.0;
    cost->sent     = nodes - 1.0;
    cost->slots    = 0.0;
    cost->cycle    = nodes;
    tw_blocks_leave(q, nodes - 1.0, cost);
    cost->transfer = tw_seconds((ranks - local) * tw_encoded(q), q->facts->between.shared);
    cost->waits    = true;
    cost->replies  = true;
    cost->turn     = q->count * (q->codec->encode + local * q->codec->decode) +
                 tw_seconds(local * tw_encoded(q), q->facts->inside.shared);
    cost->codec += tw_seconds(ranks * tw_encoded(q), q->facts->inside.shared);
}

/* As pairwise, but with a message for each pair of nodes, of which the ranks of a node have equal
 * parts; codes pass through the memory of both. (Long blocks go pairwise.) */
static void tw_cost_alltoall_hierarchical(const tw_model_query_t *q, tw_model_cost_t *cost)
{
    const double messages = (q->facts->nodes - 1.0) / q->facts->local_ranks - 1.0;

    tw_cost_alltoall_pairwise(q, cost);
    if (tw_encoded(q) <= (double)TW_PAIR_MOST) {
        cost->messages = messages > 0.0 ? messages : 0.0;
        cost->codec += tw_seconds(4.0 * tw_ranks(q) * tw_encoded(q), q->facts->inside.shared);
    }
}

static void tw_cost_reduce_hierarchical(const tw_model_query_t *q, tw_model_cost_t *cost)
{
    const double nodes = q->facts->nodes;

    tw_cost_allreduce_hierarchical(q, cost);
    cost->sent *= nodes / (2.0 * (nodes - 1.0));
    tw_leave(cost, 1.0);
    tw_rooted(q, cost, q->facts->nodes, 1.0 + 1.0 / nodes, cost->sent * (1.0 - 1.0 / nodes),
              cost->sent);
}

/* Along the nodes, or through a tree of them where that is quicker, a share by each rank of a node,
 * and through the memory of each. (The algorithm changes over by MESSAGE_COST, which is about
 * there.) */
static void tw_cost_bcast_hierarchical(const tw_model_query_t *q, tw_model_cost_t *cost)
{
    const double local = q->facts->local_ranks, nodes = q->facts->nodes;
    const double fragment =
        (double)q->fragment < tw_encoded(q) ? (double)q->fragment : tw_encoded(q);
    const double depth = tw_tree_depth(q->facts->nodes);
    const double link  = tw_seconds(1.0, q->facts->between.shared);
    const double drain = nodes > 2.0 ? nodes - 2.0 : 0.0;
    const bool   chain = (depth - 1.0) * tw_encoded(q) * link >=
                       (nodes - 1.0 - depth) * q->facts->between.latency + drain * fragment * link;

    tw_leave(cost, chain ? 1.0 : depth);
    cost->sent     = (chain ? 1.0 : depth) / local;
    cost->transfer = (chain ? 1.0 : depth) * tw_encoded(q) * link;
    tw_handing(q, q->facts->nodes, local, chain, cost);
    cost->codec += tw_memory(q, 2.0);
}

/* As many messages as a row and a column of the grid have ranks, twice; bundles travel two hops. */
static void tw_cost_grid(const tw_model_query_t *q, double steps, double passes, double volume,
                         tw_model_cost_t *cost)
{
    cost->latencies = steps;
    cost->sent      = q->facts->ranks > 1 ? volume : 0.0;
    tw_leave(cost, tw_leaving(q->facts) * volume);
    cost->messages = passes * ((double)tw_grid_messages(q->facts->ranks) - 1.0);
    cost->transfer = q->facts->ranks > 1
                         ? volume * tw_model_exchange(q->facts, tw_encoded(q)) / (tw_ranks(q) - 1.0)
                         : 0.0;
}

/* An owner has the codes of all ranks for its share, in two hops, and sends the sum in two. */
static void tw_cost_allreduce_grid(const tw_model_query_t *q, tw_model_cost_t *cost)
{
    const tw_grid_t grid  = tw_grid(q->facts->ranks);
    const double    ranks = tw_ranks(q), rows = grid.rows, columns = grid.columns;
    const tw_cut_t  cut    = tw_cut(q->count, (double)q->codec->block, ranks);
    const double    share  = tw_part(q, tw_cut_values(&cut, 1.0, 1.0));
    const double    column = share * ceil(tw_cut_owners(&cut, ranks) / columns);
    const double    volume = (1.0 - 1.0 / columns) + (1.0 - 1.0 / rows) * ranks * share +
                          (rows - 1.0) * share + (columns - 1.0) * column;

    tw_cost_allreduce_two_pass(q, cost);
    tw_cost_grid(q, 4.0, 2.0, volume, cost);
    cost->slots = 5.0 * ranks;
}

static void tw_cost_reduce_grid(const tw_model_query_t *q, tw_model_cost_t *cost)
{
    tw_cost_allreduce_grid(q, cost);
    tw_rooted(q, cost, q->facts->ranks, 1.0, cost->sent, cost->sent);
}

static void tw_cost_allgather_grid(const tw_model_query_t *q, tw_model_cost_t *cost)
{
    tw_cost_allgather_pairwise(q, cost);
    tw_cost_grid(q, 2.0, 1.0, tw_ranks(q) - 1.0, cost);
}

static void tw_cost_alltoall_grid(const tw_model_query_t *q, tw_model_cost_t *cost)
{
    const tw_grid_t grid = tw_grid(q->facts->ranks);

    tw_cost_alltoall_pairwise(q, cost);
    tw_cost_grid(q, 2.0, 1.0, 2.0 * tw_ranks(q) - grid.rows - grid.columns, cost);
    cost->slots = 4.0 * tw_ranks(q);
}

/* In a grid of three no message is saved. */
static bool tw_many_ranks(const tw_facts_t *facts)
{
    return facts->ranks > 3;
}

/* Several nodes, of which one at least has several ranks. */
static bool tw_has_hierarchy(const tw_facts_t *facts)
{
    return facts->nodes > 1 && facts->local_ranks > 1;
}

/* What costs the same. */
#define tw_cost_bcast_node     tw_cost_scatter_node
#define tw_cost_reduce_node    tw_cost_allreduce_node
#define tw_cost_allgather_node tw_cost_node_blocks
#define tw_cost_alltoall_node  tw_cost_node_blocks

/* Names of rows stand in calibration files. */
#define TW_IS(list, x, prefix) tw_is_##prefix = TW_OPERATION_##x,
#define TW_ROW(x, name, considered)                                                                \
    {(tw_operation_t)tw_is_##x, #name, tw_cost_##x##_##name, considered},
#define TW_ROWS(list, x, prefix) list(TW_ROW, prefix)

enum { TW_OPERATION_ALGORITHMS(TW_IS) };

static const tw_model_algorithm_t tw_model_algorithms[] = {TW_OPERATION_ALGORITHMS(TW_ROWS)};

#define TW_ALGORITHMS ((int)(sizeof(tw_model_algorithms) / sizeof(tw_model_algorithms[0])))

_Static_assert(sizeof(tw_model_algorithms) / sizeof(tw_model_algorithms[0]) <= TW_FACTS_FACTORS,
               "every algorithm has a factor");

const tw_model_algorithm_t *tw_model_algorithm(int index)
{
    return index >= 0 && index < TW_ALGORITHMS ? &tw_model_algorithms[index] : NULL;
}

bool tw_model_considered(int algorithm, const tw_facts_t *facts)
{
    const tw_model_algorithm_t *row = tw_model_algorithm(algorithm);

    return row->considered == NULL || row->considered(facts);
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
