/* SPDX-License-Identifier: BSD-3-Clause
 * scheduler/statistics.h - the definition of tw_statistics_t.
 */
#ifndef TW_SCHEDULER_STATISTICS_H
#define TW_SCHEDULER_STATISTICS_H

#include <thinwire/statistics.h>

#include "runtime/scheduler/exchange.h"

typedef struct tw_statistics_layer {
    double *numbers; /* the caller's */
    size_t  channels;
} tw_statistics_layer_t;

struct tw_statistics {
    tw_comm_t             *world; /* the caller's                                                 */
    tw_comm_t             *own;   /* of the group; NULL if that is the world, or one rank        */
    tw_comm_t             *comm;  /* for moments and sums; NULL for a group of one rank          */
    int                    ranks; /* of the group                                                */
    tw_statistics_config_t config;
    tw_side_stream_t       side;   /* memory of the caller's numbers                             */
    tw_side_stream_t       inside; /* of own: memory of the host                                 */
    tw_flight_t flight;     /* behind the copies to mine; request NULL: no current exchange */
    void       *pinned;     /* holds this rank's part instead of these; NULL: host memory  */
    double     *mine, *all; /* numbers of this rank, of all ranks                      */
    float      *my_states, *states; /* the same for running statistics                 */
    tw_statistics_layer_t *layer; /* of the current exchange                                     */
    size_t                 layers, units, numbers;
    bool                   sums;
    /* Of the blocks to, and from, each rank: words of fp32, and for those from it the first. */
    size_t *words_out, *words_in, *first_in;
};

/* Numbers of a layer, and units of its channels in shares. */
static inline size_t tw_layer_numbers(const tw_statistics_t *s, size_t channels)
{
    return 2 * channels + !s->sums;
}
static inline size_t tw_layer_units(const tw_statistics_layer_t *layer)
{
    return layer->channels > 0 ? layer->channels : 1;
}

/* Merge, or add, a layer's numbers to those merged so far; the first become these. In the mode of
 * base/fpmode.h, as the next. */
void tw_statistics_add(const tw_statistics_t *s, double *into, const double *from, size_t channels,
                       bool first);

/* The same with all ranks' numbers of a layer, `stride` numbers from rank to rank: those of a node
 * in rank order, in place, and then the nodes in their order. */
void tw_statistics_merge(const tw_statistics_t *s, double *into, size_t channels, double *all,
                         size_t stride);

/* Have all ranks' results in `mine`, through owners of shares. Blocks. */
tw_status_t tw_shares_exchange(tw_statistics_t *s);

/* Numbers in `all` that these need, at most. */
size_t tw_shares_room(const tw_statistics_config_t *config, int ranks);

/* As tw_iallgather() in fp32, behind the flight's event. */
static inline tw_status_t tw_statistics_gather(const tw_statistics_t *s, tw_comm_t *comm,
                                               const void *mine, void *all, size_t words,
                                               tw_flight_t *flight)
{
    tw_collective_call_t call;

    tw_collective_begin(&call, comm, &tw_collective_allgather, "allgather", mine, all, NULL);
    call.in.each = words;
    return tw_flight_post(&s->side, &call, flight);
}

/* Most numbers of one exchange. */
static inline size_t tw_statistics_most(const tw_statistics_config_t *config)
{
    return config->layers + 2 * config->channels;
}

#endif /* TW_SCHEDULER_STATISTICS_H */
