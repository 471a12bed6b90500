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

#include "runtime/scheduler/statistics.h"

/* First unit of a share; that of the rank behind the last: the end. */
static size_t tw_share_first(const tw_statistics_t *s, int owner)
{
    const size_t ranks = (size_t)s->ranks, r = (size_t)owner;
    const size_t each = s->units / ranks, more = s->units % ranks;

    return each * r + (r < more ? r : more);
}

typedef struct tw_share_part {
    size_t layer, first, channels;
} tw_share_part_t;

/* The part of a share that begins at its unit `at`, in the layer whose units begin at *base_p: that
 * of the part before, or 0 with part->layer 0. False: the share ends there. */
static bool tw_share_next(const tw_statistics_t *s, int owner, size_t *at_p, size_t *base_p,
                          tw_share_part_t *part)
{
    const size_t end = tw_share_first(s, owner + 1);
    size_t       units, first, left;

    if (*at_p >= end) {
        return false;
    }
    for (; units = tw_layer_units(&s->layer[part->layer]), *base_p + units <= *at_p;
         part->layer++) {
        *base_p += units;
    }
    first          = *at_p - *base_p;
    left           = units - first < end - *at_p ? units - first : end - *at_p;
    part->first    = first;
    part->channels = s->layer[part->layer].channels > 0 ? left : 0;
    *at_p += left;
    return true;
}

static size_t tw_share_move(double *block, double *flat, size_t n, bool back)
{
    memcpy(back ? flat : block, back ? block : flat, n * sizeof(*block));
    return n;
}

/* Copy a share from this rank's numbers to a block, or back; NULL: only count. @return numbers. */
static size_t tw_share_copy(const tw_statistics_t *s, int owner, double *block, bool back)
{
    size_t          at = tw_share_first(s, owner), base = 0, numbers = 0, done = 0;
    tw_share_part_t part = {0, 0, 0};

    for (size_t layer = 0; tw_share_next(s, owner, &at, &base, &part);) {
        const size_t heads = s->sums ? 0 : 1;

        for (; layer < part.layer; layer++) {
            done += tw_layer_numbers(s, s->layer[layer].channels);
        }
        if (block != NULL) {
            double      *from = s->mine + done, *to = block + numbers;
            const size_t all = s->layer[layer].channels;

            to += tw_share_move(to, from, heads, back);
            from += heads + part.first;
            to += tw_share_move(to, from, part.channels, back);
            tw_share_move(to, from + all, part.channels, back);
        }
        numbers += tw_layer_numbers(s, part.channels);
    }
    return numbers;
}

/* This rank's share of all ranks, merged. */
static void tw_share_merge(const tw_statistics_t *s, double *into, const double *all, size_t stride)
{
    const tw_fpmode_t mode = tw_fpmode_enter();
    const int         rank = tw_comm_rank(s->comm);
    size_t            at = tw_share_first(s, rank), base = 0;
    tw_share_part_t   part = {0, 0, 0};

    while (tw_share_next(s, rank, &at, &base, &part)) {
        tw_statistics_merge(s, into, part.channels, all, stride);
        into += tw_layer_numbers(s, part.channels);
        all += tw_layer_numbers(s, part.channels);
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

/* Of a share, at most; a plan's buffer for longer ones would not be used. */
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
