/* SPDX-License-Identifier: BSD-3-Clause
 * scheduler/statistics_shares.c - batch statistics of many ranks: each rank owns an equal share of
 * the channels. It receives all ranks' numbers of its share (one alltoallv), merges them in rank
 * order, and sends the result to all (one allgatherv). So a rank sends each number about twice,
 * however many ranks there are, and the bits are those of merging everything everywhere.
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

/* This rank's share of all ranks, merged. */
static void tw_share_merge(const tw_statistics_t *s, double *into, const double *all, size_t stride)
{
    const tw_fpmode_t mode = tw_fpmode_enter();
    tw_share_walk_t   walk = tw_share_begin(s, tw_comm_rank(s->comm));

    while (tw_share_next(s, &walk)) {
        tw_statistics_merge(s, into, walk.channels, all, stride);
        into += tw_layer_numbers(s, walk.channels);
        all += tw_layer_numbers(s, walk.channels);
    }
    tw_fpmode_leave(mode);
}

size_t tw_shares_room(const tw_statistics_config_t *config, int ranks)
{
    return 7 * config->channels + 5 * config->layers + 6 * (size_t)ranks;
}

/* Buffers, in tw_statistics_t.all: the blocks for all owners, and later their results; the blocks
 * that arrive; what is merged of them. */
static double *tw_shares_fill(tw_statistics_t *s)
{
    size_t *own   = s->share_words + s->ranks;
    double *block = s->all;

    for (int r = 0; r < s->ranks; r++) {
        const size_t numbers = tw_share_copy(s, r, block, false);

        s->share_words[r] = TW_WORDS * numbers;
        block += numbers;
    }
    for (int r = 0; r < s->ranks; r++) {
        own[r] = s->share_words[tw_comm_rank(s->comm)];
    }
    return block;
}

/* Bytes of a message: a share's, the same in all exchanges of the object, so that the buffers of
 * the alltoallv, whose counts are of any size, are no larger. */
static size_t tw_shares_fragment(const tw_statistics_t *s)
{
    const size_t each = tw_statistics_most(&s->config) / (size_t)s->ranks * sizeof(double);

    return each < 1024 ? 1024 : each;
}

tw_status_t tw_shares_exchange(tw_statistics_t *s)
{
    tw_flight_t          copied = {.event = s->flight.event};
    tw_collective_call_t call;
    double              *arrived, *merged, *block = s->all;
    size_t               own;
    tw_status_t          status = TW_OK;

    if (s->flight.event != NULL) { /* nothing is sent: the copies to `mine` are done after it */
        status = tw_statistics_gather(s, s->comm, s->mine, s->all, 0, &copied);
        status = status == TW_OK ? tw_wait(&copied.request) : status;
    }
    if (status != TW_OK) {
        return status;
    }
    arrived = tw_shares_fill(s);
    tw_collective_begin(&call, s->comm, &tw_collective_alltoallv, "alltoallv", s->all, arrived,
                        NULL);
    call.out.counts = s->share_words;
    call.in.counts  = s->share_words + s->ranks;
    call.fragment   = tw_shares_fragment(s);
    status          = tw_flight_once(&s->side, &call, NULL);
    if (status != TW_OK) {
        return status;
    }
    own    = s->share_words[tw_comm_rank(s->comm)] / TW_WORDS;
    merged = arrived + own * (size_t)s->ranks;
    tw_share_merge(s, merged, arrived, own);
    tw_collective_begin(&call, s->comm, &tw_collective_allgather, "allgatherv", merged, s->all,
                        NULL);
    call.in.counts = s->share_words;
    status         = tw_flight_once(&s->side, &call, NULL);
    for (int r = 0; r < s->ranks && status == TW_OK; r++) {
        block += tw_share_copy(s, r, block, true);
    }
    return status;
}
