/* SPDX-License-Identifier: BSD-3-Clause
 * policy/policy.c - the choice of an algorithm, and its settings.
 */
#include "config.h"

#include <stdbool.h>
#include <string.h>

#include "runtime/base/fpmode.h"
#include "runtime/policy/grid.h"
#include "runtime/policy/policy.h"

/* A step of an algorithm costs as much as so many messages: the latency of a network is a few times
 * what a message keeps a rank busy. */
#define TW_STEP_MESSAGES 8

static const char *const tw_policy_algorithms[] = {"auto",         "direct", "two_pass", "grid",
                                                   "hierarchical", "node",   NULL};

static const char *const tw_policy_exchanges[] = {"auto", "pairwise", "grid", "node", NULL};

static const tw_policy_algorithm_t tw_policy_named[] = {TW_POLICY_AUTO,         TW_POLICY_DIRECT,
                                                        TW_POLICY_TWO_PASS,     TW_POLICY_GRID,
                                                        TW_POLICY_HIERARCHICAL, TW_POLICY_NODE};

static const char *const tw_policy_bcasts[] = {"auto", "tree",         "chain",
                                               "node", "hierarchical", NULL};

static const tw_setting_field_t tw_policy_fields[] = {
    {"ALLREDUCE", "auto", "Algorithm of allreduce and reduce where the call names none.",
     offsetof(tw_policy_config_t, allreduce), TW_SETTING_CHOICE, 0, 0, tw_policy_algorithms},
    {"DIRECT_MAX", "8k",
     "With three ranks or more: largest encoded vector that is reduced by the direct algorithm.",
     offsetof(tw_policy_config_t, direct_max), TW_SETTING_MEMUNITS, 0, 0, NULL},
    {"BCAST", "auto", "Algorithm of bcast.", offsetof(tw_policy_config_t, bcast), TW_SETTING_CHOICE,
     0, 0, tw_policy_bcasts},
    {"CHAIN_MIN", "64k",
     "Least encoded bytes of a vector, for each link of the chain, that is broadcast along a "
     "chain.",
     offsetof(tw_policy_config_t, chain_min), TW_SETTING_MEMUNITS, 0, 0, NULL},
    {"ALLGATHER", "auto", "Algorithm of allgather and allgatherv.",
     offsetof(tw_policy_config_t, allgather), TW_SETTING_CHOICE, 0, 0, tw_policy_exchanges},
    {"ALLTOALL", "auto", "Algorithm of alltoall; alltoallv is always pairwise.",
     offsetof(tw_policy_config_t, alltoall), TW_SETTING_CHOICE, 0, 0, tw_policy_exchanges},
    {"MESSAGE_COST", "2k",
     "Bytes that a link carries in the time of one more message: what auto takes for it.",
     offsetof(tw_policy_config_t, message_cost), TW_SETTING_MEMUNITS, 0, 0, NULL},
};

const tw_setting_table_t tw_policy_settings = {
    "policy", tw_policy_fields, sizeof(tw_policy_fields) / sizeof(tw_policy_fields[0])};

/* What an algorithm costs, in bytes of a link. */
static double tw_policy_cost(const tw_policy_config_t *config, int steps, int messages,
                             double bytes)
{
    return ((double)steps * TW_STEP_MESSAGES + messages) * (double)config->message_cost + bytes;
}

/* Does the grid cost less than direct, and less than two_pass? */
TW_IN_FPMODE static bool tw_policy_grid_pays(const tw_policy_config_t *config, size_t encoded,
                                             int ranks)
{
    const tw_grid_t grid = tw_grid(ranks);
    const double    v = (double)encoded, p = ranks;
    const double    share = 3.0 - 1.0 / grid.columns - 1.0 / grid.rows - 1.0 / p;
    const double    cost  = tw_policy_cost(config, 4, 2 * tw_grid_messages(ranks), share * v);

    return cost < tw_policy_cost(config, 1, ranks - 1, (p - 1) * v) &&
           cost < tw_policy_cost(config, 2, 2 * (ranks - 1), 2 * (p - 1) / p * v);
}

int tw_policy_allreduce_setting(const char *name)
{
    for (int i = 0; tw_policy_algorithms[i] != NULL; i++) {
        if (strcmp(tw_policy_algorithms[i], name) == 0) {
            return i;
        }
    }
    return 0;
}

tw_policy_algorithm_t tw_policy_allreduce_wish(const tw_policy_config_t *config)
{
    return tw_policy_named[config->allreduce];
}

tw_policy_algorithm_t tw_policy_allreduce(const tw_policy_config_t *config, size_t encoded,
                                          int ranks)
{
    const tw_policy_algorithm_t wish = tw_policy_allreduce_wish(config);
    tw_fpmode_t                 mode;
    bool                        grid;

    if (wish == TW_POLICY_DIRECT || wish == TW_POLICY_TWO_PASS || wish == TW_POLICY_GRID) {
        return wish;
    }
    mode = tw_fpmode_enter();
    grid = tw_policy_grid_pays(config, encoded, ranks);
    tw_fpmode_leave(mode);
    if (grid) {
        return TW_POLICY_GRID;
    }
    return ranks <= 2 || encoded <= config->direct_max ? TW_POLICY_DIRECT : TW_POLICY_TWO_PASS;
}

tw_policy_bcast_t tw_policy_bcast(const tw_policy_config_t *config, size_t encoded, int ranks)
{
    if (config->bcast == TW_POLICY_TREE || config->bcast == TW_POLICY_CHAIN) {
        return (tw_policy_bcast_t)config->bcast;
    }
    return ranks > 1 && encoded / (size_t)(ranks - 1) >= config->chain_min ? TW_POLICY_CHAIN
                                                                           : TW_POLICY_TREE;
}

bool tw_policy_hierarchical(const tw_policy_config_t *config, size_t encoded, int nodes, int least)
{
    return nodes > 1 && least > 1 && encoded > config->direct_max;
}

/* Two steps of the grid, and so many times `bytes` more, against all messages in one step. */
TW_IN_FPMODE static bool tw_policy_bundles_pay(const tw_policy_config_t *config, int times,
                                               size_t bytes, int ranks)
{
    return tw_policy_cost(config, 2, tw_grid_messages(ranks), (double)times * (double)bytes) <
           tw_policy_cost(config, 1, ranks - 1, 0.0);
}

static tw_policy_exchange_t tw_policy_exchange(const tw_policy_config_t *config, int times,
                                               size_t bytes, int ranks)
{
    const tw_fpmode_t mode = tw_fpmode_enter();
    const bool        pays = tw_policy_bundles_pay(config, times, bytes, ranks);

    tw_fpmode_leave(mode);
    return pays ? TW_POLICY_BUNDLES : TW_POLICY_PAIRWISE;
}

tw_policy_exchange_t tw_policy_allgather(const tw_policy_config_t *config, int ranks)
{
    if (config->allgather == TW_POLICY_PAIRWISE || config->allgather == TW_POLICY_BUNDLES) {
        return (tw_policy_exchange_t)config->allgather;
    }
    return tw_policy_exchange(config, 0, 0, ranks);
}

tw_policy_exchange_t tw_policy_alltoall(const tw_policy_config_t *config, size_t encoded, int ranks)
{
    if (config->alltoall == TW_POLICY_PAIRWISE || config->alltoall == TW_POLICY_BUNDLES) {
        return (tw_policy_exchange_t)config->alltoall;
    }
    return tw_policy_exchange(config, ranks - 1 - tw_grid_messages(ranks), encoded, ranks);
}
