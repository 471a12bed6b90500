/* SPDX-License-Identifier: BSD-3-Clause
 * policy/policy.h - pure functions that choose how a collective is carried out, from facts that all
 * ranks know to be equal. No MPI, no state.
 */
#ifndef TW_POLICY_POLICY_H
#define TW_POLICY_POLICY_H

#include <stdbool.h>
#include <stddef.h>

#include "runtime/base/settings.h"

typedef struct tw_policy_config {
    int    allreduce;           /* 0 auto, else the number of a name: tw_policy_allreduce_wish() */
    size_t direct_max;          /* auto: largest encoded vector that goes direct, in bytes    */
    int    bcast;               /* 0 auto, else tw_policy_bcast_t                             */
    size_t chain_min;           /* auto: least encoded bytes per link of a chain              */
    int    allgather, alltoall; /* 0 auto, else tw_policy_exchange_t                 */
    size_t message_cost;        /* auto: bytes that a link carries in the time of a message */
} tw_policy_config_t;

extern const tw_setting_table_t tw_policy_settings;

/* As tw_algorithm_t. */
typedef enum tw_policy_algorithm {
    TW_POLICY_AUTO         = 0,
    TW_POLICY_DIRECT       = 1,
    TW_POLICY_TWO_PASS     = 2,
    TW_POLICY_GRID         = 3,
    TW_POLICY_HIERARCHICAL = 4,
    TW_POLICY_NODE         = 6
} tw_policy_algorithm_t;

/* The value of tw_policy_config_t.allreduce that names an algorithm; 0 for a name that it does not
 * have. */
int tw_policy_allreduce_setting(const char *name);

/* What THINWIRE_ALLREDUCE names; TW_POLICY_AUTO if nothing. */
tw_policy_algorithm_t tw_policy_allreduce_wish(const tw_policy_config_t *config);

/* Allreduce (or reduce) of a vector that takes `encoded` bytes, over `ranks` ranks.
 * direct moves (P-1) x encoded per rank in one step, two_pass 2 (P-1)/P x encoded in two: with two
 * ranks direct never moves more, with more ranks it pays while latency, not bandwidth, rules.
 * Of direct and two_pass the setting DIRECT_MAX decides; grid is taken where it costs less than
 * both, counted in bytes of the link, m = message_cost for each message and 8 m for each step, with
 * R rows and C columns:
 *     direct    (1 x 8 + P-1)       m + (P-1)                       encoded
 *     two_pass  (2 x 8 + 2 (P-1))   m + 2 (P-1)/P                   encoded
 *     grid      (4 x 8 + 2 (R+C-2)) m + (3 - 1/C - 1/R - 1/P)       encoded
 * so below 16 ranks never, from then on the longer the vector may be the more ranks there are. */
tw_policy_algorithm_t tw_policy_allreduce(const tw_policy_config_t *config, size_t encoded,
                                          int ranks);

typedef enum tw_policy_bcast {
    TW_POLICY_BCAST_AUTO         = 0,
    TW_POLICY_TREE               = 1,
    TW_POLICY_CHAIN              = 2,
    TW_POLICY_BCAST_NODE         = 3,
    TW_POLICY_BCAST_HIERARCHICAL = 4
} tw_policy_bcast_t;

/* Broadcast of a vector that takes `encoded` bytes. A tree of P ranks takes the time of
 * ceil(log2 P) vectors, a chain that of one vector, P - 2 pieces and P - 1 latencies. */
tw_policy_bcast_t tw_policy_bcast(const tw_policy_config_t *config, size_t encoded, int ranks);

/* Does auto take hierarchical for a vector of `encoded` bytes? Several nodes, each of several
 * ranks, of which the smallest has `least`; and a vector for which bandwidth, not latency, rules.
 */
bool tw_policy_hierarchical(const tw_policy_config_t *config, size_t encoded, int nodes, int least);

typedef enum tw_policy_exchange {
    TW_POLICY_EXCHANGE_AUTO = 0,
    TW_POLICY_PAIRWISE      = 1,
    TW_POLICY_BUNDLES       = 2,
    TW_POLICY_EXCHANGE_NODE = 3
} tw_policy_exchange_t;

/* May an allgather or alltoall with this setting go through the memory of one node? */
static inline bool tw_policy_may_node(int exchange)
{
    return exchange == TW_POLICY_EXCHANGE_AUTO || exchange == TW_POLICY_EXCHANGE_NODE;
}

/* Allgather(v): the grid sends the same bytes in one more step and R+C-2 instead of P-1 messages.
 */
tw_policy_exchange_t tw_policy_allgather(const tw_policy_config_t *config, int ranks);

/* Alltoall of `encoded` bytes for each pair: the grid saves P+1-R-C messages at the price of a step
 * and of as many times `encoded`. Blocks of message_cost or more go pairwise. */
tw_policy_exchange_t tw_policy_alltoall(const tw_policy_config_t *config, size_t encoded,
                                        int ranks);

#endif /* TW_POLICY_POLICY_H */
