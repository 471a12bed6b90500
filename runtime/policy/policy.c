/* SPDX-License-Identifier: BSD-3-Clause
 * policy/policy.c - the choice of an algorithm, and its settings.
 */
#include "config.h"

#include "runtime/policy/policy.h"

static const char *const tw_policy_algorithms[] = {"auto", "direct", "two_pass", NULL};

static const char *const tw_policy_bcasts[]     = {"auto", "tree", "chain", NULL};

static const tw_setting_field_t tw_policy_fields[] = {
    {"ALLREDUCE", "auto", "Algorithm of allreduce and reduce where the call names none.",
     offsetof(tw_policy_config_t, allreduce), TW_SETTING_CHOICE, 0, 0, tw_policy_algorithms},
    {"DIRECT_MAX", "8k",
     "With three ranks or more: largest encoded vector that is reduced by the direct algorithm.",
     offsetof(tw_policy_config_t, direct_max), TW_SETTING_MEMUNITS, 0, 0, NULL},
    {"BCAST", "auto", "Algorithm of bcast.", offsetof(tw_policy_config_t, bcast), TW_SETTING_CHOICE, 0,
     0, tw_policy_bcasts},
    {"CHAIN_MIN", "64k",
     "Least encoded bytes of a vector, for each link of the chain, that is broadcast along a chain.",
     offsetof(tw_policy_config_t, chain_min), TW_SETTING_MEMUNITS, 0, 0, NULL},
};

const tw_setting_table_t tw_policy_settings = {
    "policy", tw_policy_fields, sizeof(tw_policy_fields) / sizeof(tw_policy_fields[0])};

tw_policy_algorithm_t tw_policy_allreduce(const tw_policy_config_t *config, size_t encoded,
                                          int ranks)
{
    if (config->allreduce != 0) {
        return (tw_policy_algorithm_t)config->allreduce;
    }
    return ranks <= 2 || encoded <= config->direct_max ? TW_POLICY_DIRECT : TW_POLICY_TWO_PASS;
}

tw_policy_bcast_t tw_policy_bcast(const tw_policy_config_t *config, size_t encoded, int ranks)
{
    if (config->bcast != 0) {
        return (tw_policy_bcast_t)config->bcast;
    }
    return ranks > 1 && encoded / (size_t)(ranks - 1) >= config->chain_min ? TW_POLICY_CHAIN
                                                                           : TW_POLICY_TREE;
}
