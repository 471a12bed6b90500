/* SPDX-License-Identifier: BSD-3-Clause
 * policy/policy.h - pure functions that choose how a collective is carried out, from facts that all
 * ranks know to be equal. No MPI, no state.
 */
#ifndef TW_POLICY_POLICY_H
#define TW_POLICY_POLICY_H

#include <stddef.h>

#include "runtime/base/settings.h"

typedef struct tw_policy_config {
    int    allreduce;  /* 0 auto, 1 direct, 2 two_pass: as tw_algorithm_t            */
    size_t direct_max; /* auto: largest encoded vector that goes direct, in bytes    */
    int    bcast;      /* 0 auto, else tw_policy_bcast_t                             */
    size_t chain_min;  /* auto: least encoded bytes per link of a chain              */
} tw_policy_config_t;

extern const tw_setting_table_t tw_policy_settings;

typedef enum tw_policy_algorithm { TW_POLICY_DIRECT = 1, TW_POLICY_TWO_PASS = 2 } tw_policy_algorithm_t;

/* Allreduce (or reduce) of a vector that takes `encoded` bytes, over `ranks` ranks.
 * direct moves (P-1) x encoded per rank in one step, two_pass 2 (P-1)/P x encoded in two: with two
 * ranks direct never moves more, with more ranks it pays while latency, not bandwidth, rules. */
tw_policy_algorithm_t tw_policy_allreduce(const tw_policy_config_t *config, size_t encoded,
                                          int ranks);

typedef enum tw_policy_bcast { TW_POLICY_TREE = 1, TW_POLICY_CHAIN = 2 } tw_policy_bcast_t;

/* Broadcast of a vector that takes `encoded` bytes. A tree of P ranks takes the time of
 * ceil(log2 P) vectors, a chain that of one vector, P - 2 pieces and P - 1 latencies. */
tw_policy_bcast_t tw_policy_bcast(const tw_policy_config_t *config, size_t encoded, int ranks);

#endif /* TW_POLICY_POLICY_H */
