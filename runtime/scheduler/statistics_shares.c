/* SPDX-License-Identifier: BSD-3-Clause
 * scheduler/statistics_shares.c - batch statistics of many ranks: each rank owns an equal share of
 * the channels.
 *
 *     alltoallv     each share to the rank of the own node that carries it, in the node's memory;
 *                   carriers merge in rank order (not where every node is one rank)
 *     alltoallv     the node's share to its owner, who merges in the order of nodes
 *     allgatherv    the result to all
 *
 * So a node sends each number about twice, however many nodes there are, and ranks on them, and the
 * bits are those of merging everything everywhere (tw_statistics_merge()).
 *
 * A unit is a channel, or a layer without channels, which has a count only. The part of a layer in
 * a share has the form of a layer: count, means, M2s (moments), or two sums of each channel.
 */
#include "config.h"

#include <string.h>

#include <thinwire/weights.h>

#include "runtime/base/fpmode.h"
#include "runtime/scheduler/statistics.h"

typedef struct tw_share_walk {
    size_t at, end;              /* units of the share that are left                    */
    size_t layer, base, numbers; /* a layer, its first unit, and its first number       */
    size_t first, channels;      /* the part of it in the share: its first unit in there */
} tw_share_walk_t;

static tw_share_walk_t tw_share_begin(const tw_statistics_t *s, int owner)
{
    tw_share_walk_t walk = {0};
    const size_t    units =
        tw_weights_owned(TW_WEIGHTS_SHARDED, s->units, 1, owner, s->ranks, &walk.at);

    walk.end = walk.at + units;
    return walk;
}

/* The next part; false: the share ends. */
static bool tw_share_next(const tw_statistics_t *s, tw_share_walk_t *walk)
{
    const tw_statistics_layer_t *layer = &s->layer[walk->layer];
    size_t                       left, room;

    if (walk->at >= walk->end) {
        return false;
    }
    while (walk->base + tw_layer_units(layer) <= walk->at) {
        walk->base += tw_layer_units(layer);
        walk->numbers += tw_layer_numbers(s, layer->channels);
        layer = &s->layer[++walk->layer];
    }
    walk->first    = walk->at - walk->base;
    room           = tw_layer_units(layer) - walk->first;
    left           = walk->end - walk->at;
    left           = left < room ? left : room;
    walk->channels = layer->channels > 0 ? left : 0;
    walk->at += left;
    return true;
}

static size_t tw_share_move(double *block, double *flat, size_t n, bool back)
{
    memcpy(back ? flat : block, back ? block : flat, n * sizeof(*block));
    return n;
}

/* How many numbers are in a share. */
static size_t tw_share_numbers(const tw_statistics_t *s, int owner)
{
    size_t          numbers = 0;
    tw_share_walk_t walk    = tw_share_begin(s, owner);

    while (tw_share_next(s, &walk)) {
        numbers += tw_layer_numbers(s, walk.channels);
    }
    return numbers;
}

/* Copy a share from this rank's numbers to a block, or back. @return numbers. */
static size_t tw_share_copy(const tw_statistics_t *s, int owner, double *block, bool back)
{
    const size_t    heads = s->sums ? 0 : 1;
    double         *to    = block;
    tw_share_walk_t walk  = tw_share_begin(s, owner);

    while (tw_share_next(s, &walk)) {
        double *head = s->mine + walk.numbers, *from = head + heads + walk.first;

        to += tw_share_move(to, head, heads, back);
        to += tw_share_move(to, from, walk.channels, back);
        to += tw_share_move(to, from + s->layer[walk.layer].channels, walk.channels, back);
    }
    return (size_t)(to - block);
}

/* Merge a share. @return its numbers. */
static size_t tw_share_add(const tw_statistics_t *s, int owner, double *into, const double *from,
                           bool first)
{
    size_t          at   = 0;
    tw_share_walk_t walk = tw_share_begin(s, owner);

    while (tw_share_next(s, &walk)) {
        tw_statistics_add(s, into + at, from + at, walk.channels, first);
        at += tw_layer_numbers(s, walk.channels);
    }
    return at;
}

/* The number, on a node, of the rank that carries an owner's share of that node. */
static int tw_share_carrier(const tw_nodes_t *nodes, int node, int owner)
{
    return owner % tw_nodes_ranks(nodes, node);
}

size_t tw_shares_room(const tw_statistics_config_t *config, int ranks)
{
    return 10 * config->channels + 8 * config->layers + 8 * (size_t)ranks;
}

/* Bytes of a message: about a block's of 1 / parts of all numbers, the same in all exchanges of the
 * object, so that the buffers of the alltoallv, whose counts are of any size, are no larger. */
static size_t tw_shares_fragment(const tw_statistics_t *s, int parts)
{
    const size_t each = tw_statistics_most(&s->config) / (size_t)parts * sizeof(double);

    return each < 1024 ? 1024 : each;
}

/* From the blocks in `from` to `to`, where others arrive. */
static tw_status_t tw_shares_alltoall(tw_statistics_t *s, const double *from, double *to, int parts)
{
    tw_collective_call_t call;

    tw_collective_begin(&call, s->comm, &tw_collective_alltoallv, "alltoallv", from, to, NULL);
    call.out.counts       = s->words_out;
    call.in.counts        = s->words_in;
    call.in.displacements = s->first_in;
    call.fragment         = tw_shares_fragment(s, parts);
    tw_flight_by_nodes(&call);
    return tw_flight_once(&s->side, &call, NULL);
}

static void tw_shares_no_words(tw_statistics_t *s)
{
    memset(s->words_out, 0, 3 * (size_t)s->ranks * sizeof(*s->words_out));
}

/* Copy this rank's numbers to a block for each carrier on its node. @return numbers. */
static size_t tw_shares_fill(tw_statistics_t *s, const tw_nodes_t *nodes, double *block)
{
    const int     carriers = tw_nodes_ranks(nodes, nodes->mine);
    double *const start    = block;

    tw_shares_no_words(s);
    for (int c = 0; c < carriers; c++) {
        const double *const first = block;

        for (int owner = 0; owner < s->ranks; owner++) {
            if (tw_share_carrier(nodes, nodes->mine, owner) == c) {
                block += tw_share_copy(s, owner, block, false);
            }
        }
        s->words_out[tw_nodes_rank(nodes, nodes->mine, c)] = TW_WORDS * (size_t)(block - first);
    }
    return (size_t)(block - start);
}

/* What this rank carries, from the blocks of its node's ranks. */
static void tw_shares_merge_carried(const tw_statistics_t *s, const tw_nodes_t *nodes, double *into,
                                    const double *arrived)
{
    for (int i = 0; i < tw_nodes_ranks(nodes, nodes->mine); i++) {
        double *at = into;

        for (int owner = 0; owner < s->ranks; owner++) {
            if (tw_share_carrier(nodes, nodes->mine, owner) == nodes->local) {
                const size_t n = tw_share_add(s, owner, at, arrived, i == 0);

                at += n;
                arrived += n;
            }
        }
    }
}

/* In the node: from `blocks` to what this rank carries. */
static tw_status_t tw_shares_inside(tw_statistics_t *s, const tw_nodes_t *nodes,
                                    const double *blocks, double *arrived, double *carried)
{
    const size_t words = s->words_out[tw_comm_rank(s->comm)];
    tw_fpmode_t  mode;
    tw_status_t  status;

    for (int i = 0; i < tw_nodes_ranks(nodes, nodes->mine); i++) {
        const int rank = tw_nodes_rank(nodes, nodes->mine, i);

        s->words_in[rank] = words;
        s->first_in[rank] = (size_t)i * words;
    }
    status = tw_shares_alltoall(s, blocks, arrived, nodes->least);
    if (status == TW_OK) {
        mode = tw_fpmode_enter();
        tw_shares_merge_carried(s, nodes, carried, arrived);
        tw_fpmode_leave(mode);
    }
    return status;
}

/* Between nodes: from what this rank carries to its own share, in `merged`. */
static tw_status_t tw_shares_between(tw_statistics_t *s, const tw_nodes_t *nodes, size_t numbers,
                                     const double *carried, double *arrived, double *merged)
{
    const int   mine = tw_comm_rank(s->comm);
    tw_fpmode_t mode;
    tw_status_t status;

    tw_shares_no_words(s);
    for (int owner = 0; owner < s->ranks; owner++) {
        if (tw_share_carrier(nodes, nodes->mine, owner) == nodes->local) {
            s->words_out[owner] = TW_WORDS * tw_share_numbers(s, owner);
        }
    }
    for (int node = 0; node < nodes->count; node++) {
        const int rank = tw_nodes_rank(nodes, node, tw_share_carrier(nodes, node, mine));

        s->words_in[rank] = TW_WORDS * numbers;
        s->first_in[rank] = (size_t)node * TW_WORDS * numbers;
    }
    status = tw_shares_alltoall(s, carried, arrived, s->ranks);
    mode   = tw_fpmode_enter();
    for (int node = 0; node < nodes->count && status == TW_OK; node++) {
        arrived += tw_share_add(s, mine, merged, arrived, node == 0);
    }
    tw_fpmode_leave(mode);
    return status;
}

/* The owners' results to all, by way of `blocks`. */
static tw_status_t tw_shares_spread(tw_statistics_t *s, const double *merged, double *blocks)
{
    tw_collective_call_t call;
    tw_status_t          status;

    for (int r = 0; r < s->ranks; r++) {
        s->words_in[r] = TW_WORDS * tw_share_numbers(s, r);
    }
    tw_collective_begin(&call, s->comm, &tw_collective_allgather, "allgatherv", merged, blocks,
                        NULL);
    call.in.counts = s->words_in;
    tw_flight_by_nodes(&call);
    status = tw_flight_once(&s->side, &call, NULL);
    for (int r = 0; r < s->ranks && status == TW_OK; r++) {
        blocks += tw_share_copy(s, r, blocks, true);
    }
    return status;
}

/* Behind the copies of the caller's numbers from a device. */
static tw_status_t tw_shares_wait(tw_statistics_t *s)
{
    tw_flight_t copied = {.event = s->flight.event};
    tw_status_t status;

    if (s->flight.event == NULL) {
        return TW_OK;
    }
    status = tw_statistics_gather(s, s->comm, s->mine, s->all, 0, &copied); /* sends nothing */
    return status == TW_OK ? tw_wait(&copied.request) : status;
}

/* Buffers, in tw_statistics_t.all: blocks with all numbers, and later all results; the blocks that
 * arrive, in the node and then between nodes; what is merged of them. */
tw_status_t tw_shares_exchange(tw_statistics_t *s)
{
    const tw_nodes_t *nodes  = tw_comm_layout(s->comm);
    const size_t      own    = tw_share_numbers(s, tw_comm_rank(s->comm));
    double *const     blocks = s->all;
    double           *arrived, *merged;
    size_t            inside, between;
    tw_status_t       status = tw_shares_wait(s);

    if (status != TW_OK) {
        return status;
    }
    arrived = blocks + tw_shares_fill(s, nodes, blocks);
    inside =
        s->words_out[tw_comm_rank(s->comm)] / TW_WORDS * (size_t)tw_nodes_ranks(nodes, nodes->mine);
    between = own * (size_t)nodes->count;
    merged  = arrived + (inside > between ? inside : between);
    if (nodes->most > 1) {
        status = tw_shares_inside(s, nodes, blocks, arrived, merged);
    }
    if (status == TW_OK) {
        status =
            tw_shares_between(s, nodes, own, nodes->most > 1 ? merged : blocks, arrived, merged);
    }
    return status == TW_OK ? tw_shares_spread(s, merged, blocks) : status;
}
