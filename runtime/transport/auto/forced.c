/* SPDX-License-Identifier: BSD-3-Clause
 * transport/auto/forced.c - algorithms that calls or settings name, beside the codec `auto`.
 */
#include "config.h"

#include <string.h>

#include "runtime/transport/auto/auto.h"

/* Algorithms by name, and what names them in calls or settings. */
typedef enum tw_named_by { TW_BY_REDUCTIONS, TW_BY_BCAST, TW_BY_EXCHANGES } tw_named_by_t;

static const struct {
    const char   *name;
    tw_named_by_t by;
    int           number;
} tw_numbers[] = {{"direct", TW_BY_REDUCTIONS, TW_ALGORITHM_DIRECT},
                  {"two_pass", TW_BY_REDUCTIONS, TW_ALGORITHM_TWO_PASS},
                  {"grid", TW_BY_REDUCTIONS, TW_ALGORITHM_GRID},
                  {"hierarchical", TW_BY_REDUCTIONS, TW_ALGORITHM_HIERARCHICAL},
                  {"node", TW_BY_REDUCTIONS, TW_ALGORITHM_NODE},
                  {"tree", TW_BY_BCAST, TW_POLICY_TREE},
                  {"chain", TW_BY_BCAST, TW_POLICY_CHAIN},
                  {"node", TW_BY_BCAST, TW_POLICY_BCAST_NODE},
                  {"hierarchical", TW_BY_BCAST, TW_POLICY_BCAST_HIERARCHICAL},
                  {"pairwise", TW_BY_EXCHANGES, TW_POLICY_PAIRWISE},
                  {"grid", TW_BY_EXCHANGES, TW_POLICY_BUNDLES},
                  {"node", TW_BY_EXCHANGES, TW_POLICY_EXCHANGE_NODE}};

static tw_named_by_t tw_named_by(tw_operation_t operation)
{
    return operation == TW_OPERATION_BCAST ? TW_BY_BCAST
           : operation == TW_OPERATION_ALLGATHER || operation == TW_OPERATION_ALLTOALL
               ? TW_BY_EXCHANGES
               : TW_BY_REDUCTIONS;
}

const char *tw_auto_forced_name(tw_operation_t operation, int forced)
{
    for (size_t i = 0; i < sizeof(tw_numbers) / sizeof(tw_numbers[0]); i++) {
        if (tw_numbers[i].number == forced && tw_numbers[i].by == tw_named_by(operation)) {
            return tw_numbers[i].name;
        }
    }
    return NULL;
}

int tw_auto_named(tw_operation_t operation, const tw_how_t *how)
{
    switch (operation) {
    case TW_OPERATION_ALLREDUCE:
    case TW_OPERATION_REDUCE:
        return (int)how->algorithm;
    case TW_OPERATION_BCAST:
        return how->algorithm == TW_ALGORITHM_NODE           ? TW_POLICY_BCAST_NODE
               : how->algorithm == TW_ALGORITHM_HIERARCHICAL ? TW_POLICY_BCAST_HIERARCHICAL
                                                             : 0;
    default:
        return 0;
    }
}

int tw_auto_forced(const tw_comm_t *comm, tw_operation_t operation, const tw_how_t *how)
{
    const int named = tw_auto_named(operation, how);

    if (named != 0) {
        return named;
    }
    switch (operation) {
    case TW_OPERATION_ALLREDUCE:
    case TW_OPERATION_REDUCE:
        return (int)tw_policy_allreduce_wish(&comm->policy);
    case TW_OPERATION_BCAST:
        return comm->policy.bcast;
    case TW_OPERATION_ALLGATHER:
        return comm->policy.allgather;
    case TW_OPERATION_ALLTOALL:
        return comm->policy.alltoall;
    default:
        return 0;
    }
}

tw_policy_config_t tw_auto_force(tw_comm_t *comm, tw_operation_t operation, const char *algorithm)
{
    const tw_policy_config_t before = comm->policy;
    int                      number = 0;

    for (size_t i = 0; algorithm != NULL && i < sizeof(tw_numbers) / sizeof(tw_numbers[0]); i++) {
        if (tw_numbers[i].by == tw_named_by(operation) &&
            strcmp(tw_numbers[i].name, algorithm) == 0) {
            number = tw_numbers[i].number;
        }
    }
    if (number == 0) {
        return before;
    }
    switch (operation) {
    case TW_OPERATION_ALLREDUCE:
    case TW_OPERATION_REDUCE:
        comm->policy.allreduce = tw_policy_allreduce_setting(algorithm);
        break;
    case TW_OPERATION_BCAST:
        comm->policy.bcast = number;
        break;
    case TW_OPERATION_ALLGATHER:
        comm->policy.allgather = number;
        break;
    case TW_OPERATION_ALLTOALL:
        comm->policy.alltoall = number;
        break;
    default:
        break;
    }
    return before;
}

void tw_auto_cannot(const tw_comm_t *comm, const tw_question_t *question)
{
    static const char *const settings[] = {[TW_OPERATION_ALLREDUCE] = "THINWIRE_ALLREDUCE",
                                           [TW_OPERATION_REDUCE]    = "THINWIRE_ALLREDUCE",
                                           [TW_OPERATION_BCAST]     = "THINWIRE_BCAST",
                                           [TW_OPERATION_ALLGATHER] = "THINWIRE_ALLGATHER",
                                           [TW_OPERATION_ALLTOALL]  = "THINWIRE_ALLTOALL"};

    const tw_how_t nothing = {.algorithm = TW_ALGORITHM_AUTO};

    if (comm->rank == 0 && /* what a call names is refused where it cannot be followed */
        question->forced == tw_auto_forced(comm, question->operation, &nothing)) {
        TW_INFO(&comm->log,
                "%s=%s cannot be followed by %s on %d ranks, on %d nodes of at most %d: decided as "
                "if it named none",
                settings[question->operation],
                tw_auto_forced_name(question->operation, question->forced),
                tw_model_operations[question->operation], comm->size, comm->nodes.count,
                comm->nodes.most);
    }
}
