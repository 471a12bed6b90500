/* SPDX-License-Identifier: BSD-3-Clause
 * bench/choices.c - what a call by no name takes (policy.c) beside what the model would, with a
 * network's facts in place of measured ones, for 2 to 1024 ranks and 64 bytes to 64 MiB of codes.
 *
 * usage: choices [BANDWIDTH LATENCY MESSAGE [RANKS_PER_NODE]]: bytes a second of a link, seconds of a
 * short message, seconds of each further one (1.25e9 13e-6 1.6e-6 1). A line for each difference: both
 * times as the model predicts them, and their ratio; then a line for each operation.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "runtime/policy/model.h"
#include "runtime/policy/policy.h"

static const tw_operation_t operations[] = {TW_OPERATION_ALLREDUCE, TW_OPERATION_BCAST,
                                            TW_OPERATION_ALLGATHER, TW_OPERATION_ALLTOALL};
static const int            ranks[]      = {2, 3, 4, 7, 8, 16, 32, 64, 128, 256, 1024};

#define LARGEST ((size_t)64 << 20) /* of an allgather and an alltoall, all blocks together 4 GB */

static const char *by_policy(tw_operation_t operation, const tw_facts_t *facts, size_t encoded)
{
    const tw_policy_config_t config = {
        .direct_max = 8192, .chain_min = 65536, .message_cost = 2048};
    const int p = facts->ranks;

    switch (operation) {
    case TW_OPERATION_ALLREDUCE:
        return tw_policy_hierarchical(&config, encoded, facts->nodes, facts->local_ranks)
                   ? "hierarchical"
               : tw_policy_grid(&config, encoded, p)     ? "grid"
               : tw_policy_two_pass(&config, encoded, p) ? "two_pass"
                                                         : "direct";
    case TW_OPERATION_BCAST:
        return tw_policy_hierarchical(&config, encoded, facts->nodes, facts->local_ranks)
                   ? "hierarchical"
               : tw_policy_chain(&config, encoded, p) ? "chain"
                                                      : "tree";
    case TW_OPERATION_ALLGATHER:
        return tw_policy_allgather_grid(&config, p) ? "grid" : "pairwise";
    default:
        return tw_policy_alltoall_grid(&config, encoded, p) ? "grid" : "pairwise";
    }
}

/* Predicted time of one choice by that of the other, 1 where they are the same. */
static double compare(tw_operation_t operation, const tw_facts_t *facts, size_t encoded)
{
    const char          *policy = by_policy(operation, facts, encoded);
    tw_model_wish_t      wish   = {.operation = operation,
                                   .count     = (double)encoded,
                                   .max_error = 1.0,
                                   .chunk     = (size_t)1 << 20};
    tw_model_candidate_t best   = tw_model_decide(facts, &wish, NULL, NULL), other;

    if (tw_model_find(operation, policy) == best.algorithm) {
        return 1.0;
    }
    wish.algorithm = policy;
    other          = tw_model_decide(facts, &wish, NULL, NULL);
    printf("%-9s %4d ranks %8zu bytes: %-12s %9.1f us, model %-12s %9.1f us, %.2f\n",
           tw_model_operations[operation], facts->ranks, encoded, policy, 1e6 * other.seconds,
           tw_model_algorithm(best.algorithm)->name, 1e6 * best.seconds,
           other.seconds / best.seconds);
    return other.seconds / best.seconds;
}

int main(int argc, char **argv)
{
    const double     bandwidth = argc > 1 ? atof(argv[1]) : 1.25e9;
    const double     latency   = argc > 2 ? atof(argv[2]) : 13e-6;
    const double     message   = argc > 3 ? atof(argv[3]) : 1.6e-6;
    const int        local     = argc > 4 ? atoi(argv[4]) : 1;
    const tw_facts_t network   = {.local_ranks = local,
                                  .long_form   = 1,
                                  .engine      = 1e-6,
                                  .between     = {latency, bandwidth, bandwidth, message},
                                  .inside      = {1e-6, 8e9, 8e9, 0.3e-6},
                                  .codecs      = 1,
                                  .codec       = {{.spec       = "8 bits",
                                                   .bytes      = 1.0,
                                                   .block      = 512,
                                                   .encode     = 0.3e-9,
                                                   .decode     = 0.3e-9,
                                                   .decode_add = 0.3e-9,
                                                   .call       = 0.2e-6}}};

    if (!(bandwidth > 0.0 && latency > 0.0 && message >= 0.0 && local >= 1)) {
        fprintf(stderr, "choices: accepted: bandwidth, latency > 0, message >= 0, ranks >= 1\n");
        return EXIT_FAILURE;
    }
    for (size_t o = 0; o < sizeof(operations) / sizeof(operations[0]); o++) {
        const bool blocks =
            operations[o] == TW_OPERATION_ALLGATHER || operations[o] == TW_OPERATION_ALLTOALL;
        double worst = 1.0, sum = 0.0;
        int    all = 0, same = 0;

        for (size_t i = 0; i < sizeof(ranks) / sizeof(ranks[0]); i++) {
            tw_facts_t facts = network;

            facts.ranks = ranks[i];
            facts.nodes = ranks[i] / local;
            for (size_t bytes = 64; ranks[i] % local == 0 && facts.nodes > 1 && bytes <= LARGEST &&
                                    (!blocks || (double)bytes * ranks[i] <= 4e9);
                 bytes *= 4) {
                const double ratio = compare(operations[o], &facts, bytes);

                worst = ratio > worst ? ratio : worst;
                sum += log(ratio);
                same += ratio == 1.0;
                all++;
            }
        }
        printf("== %s: the same in %d of %d, worst ratio %.2f, mean %.3f\n",
               tw_model_operations[operations[o]], same, all, worst, exp(sum / all));
    }
    return EXIT_SUCCESS;
}
