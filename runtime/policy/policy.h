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
} tw_policy_config_t;

extern const tw_setting_table_t tw_policy_settings;

typedef enum tw_policy_algorithm { TW_POLICY_DIRECT = 1, TW_POLICY_TWO_PASS = 2 } tw_policy_algorithm_t;

/* Allreduce (or reduce) of a vector that takes `encoded` bytes, over `ranks` ranks.
 * direct moves (P-1) x encoded per rank in one step, two_pass 2 (P-1)/P x encoded in two: with two
 * ranks direct never moves more, with more ranks it pays while latency, not bandwidth, rules. */
tw_policy_algorithm_t tw_policy_allreduce(const tw_policy_config_t *config, size_t encoded,
                                          int ranks);

#endif /* TW_POLICY_POLICY_H */
