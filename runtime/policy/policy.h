/* SPDX-License-Identifier: BSD-3-Clause
 * policy/policy.h - pure functions that choose how a collective is carried out, from facts that all
 * ranks know to be equal. No MPI, no state.
 */
#ifndef TW_POLICY_POLICY_H
#define TW_POLICY_POLICY_H

#include <stdbool.h>
#include <stddef.h>

#include <thinwire/facts.h>

#include "runtime/base/settings.h"

typedef struct tw_policy_config {
    /* The number of the name in a setting: 0 auto, then as algorithms.h lists them. Reduce has that
     * of allreduce, and reduce-scatter none. */
    int    named[TW_OPERATIONS];
    size_t direct_max;   /* auto: largest encoded vector that goes direct, in bytes  */
    size_t message_cost; /* auto: bytes that a link carries in the time of a message */
} tw_policy_config_t;

extern const tw_setting_table_t tw_policy_settings;

/* The number that the settings give for an operation, 0 if none; the name of a number, NULL for 0;
 * and back, 0 for a name that the operation does not have. */
static inline int tw_policy_named(const tw_policy_config_t *config, tw_operation_t operation)
{
    return config->named[operation == TW_OPERATION_REDUCE ? TW_OPERATION_ALLREDUCE : operation];
}
const char *tw_policy_name(tw_operation_t operation, int number);
int         tw_policy_number(tw_operation_t operation, const char *name);

/* What a call takes that names nothing. Of an allreduce (or reduce) of a vector that takes
 * `encoded` bytes, over `ranks` ranks:
 *
 * direct moves (P-1) x encoded per rank in one step, two_pass 2 (P-1)/P x encoded in two: with two
 * ranks direct never moves more, with more ranks it pays while latency, not bandwidth, rules.
 * Of direct and two_pass the setting DIRECT_MAX decides; grid is taken where it costs less than
 * both, counted in bytes of the link, m = message_cost for each message and 8 m for each step, with
 * R rows and C columns:
 *     direct    (1 x 8 + P-1)       m + (P-1)                       encoded
 *     two_pass  (2 x 8 + 2 (P-1))   m + 2 (P-1)/P                   encoded
 *     grid      (4 x 8 + 2 (R+C-2)) m + (3 - 1/C - 1/R - 1/P)       encoded
 * so below 16 ranks never, from then on the longer the vector may be the more ranks there are. */
bool tw_policy_two_pass(const tw_policy_config_t *config, size_t encoded, int ranks);
bool tw_policy_grid(const tw_policy_config_t *config, size_t encoded, int ranks);

/* Of vectors of `bytes` from every rank to every rank, to be merged, on N nodes of up to K ranks:
 * do one vector per node, merged in its memory in the time of one more message if K > 1, and then
 * shares, merged by their owners, cost less than direct? Counted on a node's link as two_pass and
 * direct above:
 *     direct    (1 x 8 + N-1)           m + K (N-1)   bytes
 *     in shares (2 x 8 + 2 (N-1) + 1)   m + 2 (N-1)/N bytes
 * so from m (N + 8) N / ((N - 1) (K N - 2)) bytes on. */
static inline bool tw_policy_in_shares(size_t message_cost, size_t bytes, int nodes, int ranks)
{
    const size_t n = (size_t)nodes, k = (size_t)ranks, inside = ranks > 1 ? 1 : 0;

    return nodes > 1 && k * n > 2 &&
           bytes > message_cost * ((n + 7 + inside) * n) / ((n - 1) * (k * n - 2));
}

/* Of a broadcast: a tree of P ranks takes the time of ceil(log2 P) vectors and as many latencies, a
 * chain that of one vector, P - 2 fragments and P - 1 latencies. Is a chain quicker? */
bool tw_policy_chain(const tw_policy_config_t *config, size_t encoded, int ranks);

/* Bytes of codes in a fragment along a chain: TW_FRAGMENT, or a half of it again and again, about
 * where the P - 2 fragments that fill the chain take as long as `message` bytes for each fragment
 * of the vector. */
size_t tw_policy_chain_fragment(size_t message, size_t encoded, int ranks);

/* Of allreduce and reduce: hierarchical on several nodes, each of several ranks, of which the
 * smallest has `least`; for vectors beyond direct_max, and where it costs less than direct on the
 * nodes' links. */
bool tw_policy_hierarchical(const tw_policy_config_t *config, size_t encoded, int nodes, int least);

/* Of these, the ranks of each node that carry a share of the vector between nodes: all of the
 * smallest node, or fewer where shares would have less than 4 KiB of codes, of which messages cost
 * more than they carry. */
int tw_policy_carriers(size_t encoded, int nodes, int least);

/* Of allgather(v): the grid sends the same bytes in one more step and R+C-2 instead of P-1
 * messages. */
bool tw_policy_allgather_grid(const tw_policy_config_t *config, int ranks);

/* Of alltoall of `encoded` bytes for each pair: the grid saves P+1-R-C messages at the price of a
 * step and of as many times `encoded`. Blocks of message_cost or more go pairwise. */
bool tw_policy_alltoall_grid(const tw_policy_config_t *config, size_t encoded, int ranks);

/* The defaults of these settings. */
extern const tw_policy_config_t tw_policy_defaults;

/* The algorithm of a call that names none, with these, in host memory: `encoded` bytes of codes, by
 * a codec that sends values as they are or not, on ranks with these facts. Of an alltoall `encoded`
 * is of a pair; of an allgather it does not matter. */
const char *tw_policy_usual(tw_operation_t operation, size_t encoded, bool as_they_are,
                            const tw_facts_t *facts);

#endif /* TW_POLICY_POLICY_H */
