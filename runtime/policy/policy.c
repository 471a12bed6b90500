/* SPDX-License-Identifier: BSD-3-Clause
 * policy/policy.c - the choice of an algorithm, and its settings.
 */
#include "config.h"

#include <stdbool.h>
#include <string.h>

#include "runtime/base/fpmode.h"
#include "runtime/policy/algorithms.h"
#include "runtime/policy/grid.h"
#include "runtime/policy/model.h"
#include "runtime/policy/policy.h"

/* A step of an algorithm costs as much as so many messages: the latency of a network is a few times
 * what a message keeps a rank busy. */
#define TW_STEP_MESSAGES 8

/* Bytes of codes of a carrier's share, at least. */
#define TW_SHARE_LEAST ((size_t)4 << 10)

/* What a setting accepts, by operation. */
#define TW_NAME(x, name, considered) #name,
#define TW_NAMES(list, x, prefix)                                                                  \
    static const char *const tw_##prefix##_names[] = {"auto", list(TW_NAME, x) NULL};
#define TW_NAMES_OF(list, x, prefix) [TW_OPERATION_##x] = tw_##prefix##_names,

TW_OPERATION_ALGORITHMS(TW_NAMES)

static const char *const *const tw_policy_names[TW_OPERATIONS] = {
    TW_OPERATION_ALGORITHMS(TW_NAMES_OF)};

static const tw_setting_field_t tw_policy_fields[] = {
    {"ALLREDUCE", "auto", "Algorithm of allreduce and reduce where the call names none.",
     offsetof(tw_policy_config_t, named[TW_OPERATION_ALLREDUCE]), TW_SETTING_CHOICE, 0, 0,
     tw_allreduce_names, false},
    {"DIRECT_MAX", "8k",
     "With three ranks or more: largest encoded vector that is reduced by the direct algorithm.",
     offsetof(tw_policy_config_t, direct_max), TW_SETTING_MEMUNITS, 0, 0, NULL, true},
    {"BCAST", "auto", "Algorithm of bcast.",
     offsetof(tw_policy_config_t, named[TW_OPERATION_BCAST]), TW_SETTING_CHOICE, 0, 0,
     tw_bcast_names, false},
    {"REDUCE_SCATTER", "auto", "Algorithm of reduce-scatters where the call names none.",
     offsetof(tw_policy_config_t, named[TW_OPERATION_REDUCE_SCATTER]), TW_SETTING_CHOICE, 0, 0,
     tw_scatter_names, false},
    {"ALLGATHER", "auto", "Algorithm of allgather and allgatherv.",
     offsetof(tw_policy_config_t, named[TW_OPERATION_ALLGATHER]), TW_SETTING_CHOICE, 0, 0,
     tw_allgather_names, false},
    {"ALLTOALL", "auto", "Algorithm of alltoall and alltoallv.",
     offsetof(tw_policy_config_t, named[TW_OPERATION_ALLTOALL]), TW_SETTING_CHOICE, 0, 0,
     tw_alltoall_names, false},
    {"MESSAGE_COST", "2k",
     "Bytes that a link carries in the time of one more message: what auto takes for it.",
     offsetof(tw_policy_config_t, message_cost), TW_SETTING_MEMUNITS, 0, 0, NULL, true},
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

const char *tw_policy_name(tw_operation_t operation, int number)
{
    const char *const *names = tw_policy_names[operation];

    for (int i = 1; number > 0 && names[i] != NULL; i++) {
        if (i == number) {
            return names[i];
        }
    }
    return NULL;
}

int tw_policy_number(tw_operation_t operation, const char *name)
{
    const char *const *names = tw_policy_names[operation];

    for (int i = 1; names[i] != NULL; i++) {
        if (strcmp(names[i], name) == 0) {
            return i;
        }
    }
    return 0;
}

bool tw_policy_two_pass(const tw_policy_config_t *config, size_t encoded, int ranks)
{
    return ranks > 2 && encoded > config->direct_max;
}

bool tw_policy_grid(const tw_policy_config_t *config, size_t encoded, int ranks)
{
    const tw_fpmode_t mode = tw_fpmode_enter();
    const bool        pays = tw_policy_grid_pays(config, encoded, ranks);

    tw_fpmode_leave(mode);
    return pays;
}

/* Between two ranks both are the same, but for the length of fragments. */
bool tw_policy_chain(const tw_policy_config_t *config, size_t encoded, int ranks)
{
    const size_t p     = (size_t)ranks;
    size_t       depth = 1, fragment;

    if (ranks < 3) {
        return ranks == 2 && encoded > TW_FRAGMENT;
    }
    while ((size_t)1 << depth < p) {
        depth++;
    }
    fragment = tw_policy_chain_fragment(config->message_cost, encoded, ranks);
    fragment = fragment < encoded ? fragment : encoded;
    return encoded >
           ((p - 1 - depth) * TW_STEP_MESSAGES * config->message_cost + (p - 2) * fragment) /
               (depth - 1);
}

/* Do sums inside nodes of `ranks` ranks, and then between nodes, cost less than direct? The link of
 * a node carries the messages of all its ranks. */
TW_IN_FPMODE static bool tw_policy_node_sums_pay(const tw_policy_config_t *config, size_t encoded,
                                                 int nodes, int ranks)
{
    const double v = (double)encoded, n = nodes, k = ranks;

    return tw_policy_cost(config, 2, 2 * (nodes - 1), 2 * (n - 1) / n * v) <
           tw_policy_cost(config, 1, nodes * ranks - 1, k * (n - 1) * k * v);
}

size_t tw_policy_chain_fragment(size_t message, size_t encoded, int ranks)
{
    const size_t links    = ranks > 2 ? (size_t)ranks - 2 : 1;
    size_t       fragment = TW_FRAGMENT;

    message = message > 0 ? message : 1;
    while (fragment > TW_CHAIN_LEAST && encoded / fragment < links * (fragment / message) / 2) {
        fragment /= 2;
    }
    return fragment;
}

bool tw_policy_hierarchical(const tw_policy_config_t *config, size_t encoded, int nodes, int least)
{
    const tw_fpmode_t mode = tw_fpmode_enter();
    const bool        pays =
        nodes > 1 && least > 1 &&
        (encoded > config->direct_max || tw_policy_node_sums_pay(config, encoded, nodes, least));

    tw_fpmode_leave(mode);
    return pays;
}

int tw_policy_carriers(size_t encoded, int nodes, int least)
{
    const size_t pays = encoded / ((size_t)nodes * TW_SHARE_LEAST);

    return pays < 1 ? 1 : pays < (size_t)least ? (int)pays : least;
}

/* Two steps of the grid, and so many times `bytes` more, against all messages in one step. */
TW_IN_FPMODE static bool tw_policy_bundles_pay(const tw_policy_config_t *config, int times,
                                               size_t bytes, int ranks)
{
    return tw_policy_cost(config, 2, tw_grid_messages(ranks), (double)times * (double)bytes) <
           tw_policy_cost(config, 1, ranks - 1, 0.0);
}

static bool tw_policy_bundles(const tw_policy_config_t *config, int times, size_t bytes, int ranks)
{
    const tw_fpmode_t mode = tw_fpmode_enter();
    const bool        pays = tw_policy_bundles_pay(config, times, bytes, ranks);

    tw_fpmode_leave(mode);
    return pays;
}

bool tw_policy_allgather_grid(const tw_policy_config_t *config, int ranks)
{
    return tw_policy_bundles(config, 0, 0, ranks);
}

bool tw_policy_alltoall_grid(const tw_policy_config_t *config, size_t encoded, int ranks)
{
    return tw_policy_bundles(config, ranks - 1 - tw_grid_messages(ranks), encoded, ranks);
}

/* ---- a call that names nothing --------------------------------------------------------------- */

const tw_policy_config_t tw_policy_defaults = {.direct_max   = (size_t)8 << 10,
                                               .message_cost = TW_MESSAGE_COST};

static const char *tw_usual_reduction(size_t encoded, int ranks)
{
    return tw_policy_grid(&tw_policy_defaults, encoded, ranks)       ? "grid"
           : tw_policy_two_pass(&tw_policy_defaults, encoded, ranks) ? "two_pass"
                                                                     : "direct";
}

const char *tw_policy_usual(tw_operation_t operation, size_t encoded, bool as_they_are,
                            const tw_facts_t *facts)
{
    const tw_policy_config_t *config = &tw_policy_defaults;
    const int                 ranks = facts->ranks, nodes = facts->nodes;
    const int  least   = ranks - (nodes - 1) * facts->local_ranks; /* on the last node */
    const bool reduces = operation == TW_OPERATION_ALLREDUCE || operation == TW_OPERATION_REDUCE;
    const bool of_nodes =
        reduces ? tw_policy_hierarchical(config, encoded, nodes, least) : nodes > 1 && least > 1;

    if (nodes == 1 && ranks > 1 && as_they_are) {
        return "node";
    }
    if (of_nodes && (operation != TW_OPERATION_ALLTOALL || encoded <= TW_PAIR_MOST)) {
        return "hierarchical";
    }
    switch (operation) {
    case TW_OPERATION_REDUCE_SCATTER:
        return "one_pass";
    case TW_OPERATION_BCAST:
        return tw_policy_chain(config, encoded, ranks) ? "chain" : "tree";
    case TW_OPERATION_ALLGATHER:
        return tw_policy_allgather_grid(config, ranks) ? "grid" : "pairwise";
    case TW_OPERATION_ALLTOALL:
        return tw_policy_alltoall_grid(config, encoded, ranks) ? "grid" : "pairwise";
    default:
        return tw_usual_reduction(encoded, ranks);
    }
}
