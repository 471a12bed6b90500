/* SPDX-License-Identifier: BSD-3-Clause
 * transport/auto/calibrate_collectives.c - time of MPI's own collectives at a ladder of sizes, and
 * of the library's algorithms with fp32 at a short and a long size, as correction factors of the
 * model.
 */
#include "config.h"

#include <math.h>

#include "runtime/transport/auto/auto.h"
#include "runtime/transport/auto/calibrate.h"
#include "runtime/transport/coll/native/native.h"
#include "runtime/transport/comm/sync.h"

/* So many bytes are measured however long that takes: without them nothing can be said of longer
 * ones. */
#define TW_LADDER_LEAST ((size_t)16 << 10)

/* Vectors of every rank that the longer buffer holds. */
static size_t tw_blocks(const tw_facts_t *facts, tw_operation_t operation)
{
    return operation == TW_OPERATION_ALLGATHER || operation == TW_OPERATION_ALLTOALL
               ? (size_t)facts->ranks
               : 1;
}

static bool tw_rooted(tw_operation_t operation)
{
    return operation == TW_OPERATION_REDUCE || operation == TW_OPERATION_BCAST;
}

/* A call of fp32 on the buffers that are measured with; count as tw_operation_t has it. */
static tw_collective_call_t tw_gauge_call(const tw_gauge_t *g, tw_operation_t operation,
                                          size_t count)
{
    static const tw_collective_t *const collectives[TW_OPERATIONS] = {
        [TW_OPERATION_ALLREDUCE]      = &tw_collective_allreduce,
        [TW_OPERATION_REDUCE]         = &tw_collective_reduce,
        [TW_OPERATION_REDUCE_SCATTER] = &tw_collective_reduce_scatter,
        [TW_OPERATION_BCAST]          = &tw_collective_bcast,
        [TW_OPERATION_ALLGATHER]      = &tw_collective_allgather,
        [TW_OPERATION_ALLTOALL]       = &tw_collective_alltoall};
    tw_collective_call_t call;

    tw_collective_begin(&call, g->comm, collectives[operation], tw_model_operations[operation],
                        g->send, g->recv, NULL);
    call.count   = count;
    call.in.each = operation == TW_OPERATION_REDUCE_SCATTER ? count / (size_t)g->comm->size : count;
    call.out.each  = call.in.each;
    call.root      = tw_rooted(operation) ? 0 : -1;
    call.values[0] = call.values[1] = NULL;
    call.codec                      = g->comm->fp32;
    return call;
}

/* ---- MPI's own ------------------------------------------------------------------------------- */

static tw_status_t tw_run_native(tw_gauge_t *g, const void *what)
{
    const tw_collective_call_t *call = what;
    MPI_Request                 request;
    tw_status_t                 status;

    if (tw_native_blocks(g->comm)) {
        return tw_native_run(call);
    }
    status = tw_native_start(call, NULL, &request);
    return status == TW_OK ? tw_sync_wait(g->comm, 1, &request, "measuring a collective") : status;
}

static tw_status_t tw_gauge_ladder(tw_gauge_t *g, tw_facts_t *facts, tw_operation_t operation,
                                   double budget)
{
    const double start  = g->elapsed;
    double       before = 0.0, growth;
    const size_t factor = g->long_form ? 4 : 16, ranks = (size_t)facts->ranks;
    const size_t most   = g->room / tw_blocks(facts, operation);
    tw_ladder_t *ladder = &facts->native[operation];
    tw_status_t  status = TW_OK;

    for (size_t bytes = sizeof(float);
         status == TW_OK && bytes <= most && ladder->steps < TW_LADDER_STEPS; bytes *= factor) {
        tw_collective_call_t call    = tw_gauge_call(g, operation, bytes / sizeof(float));
        double               seconds = 0.0;

        if (operation == TW_OPERATION_REDUCE_SCATTER) { /* equal blocks */
            call.count = call.in.each * ranks;
            if (call.count == 0) {
                continue;
            }
        }
        status = tw_gauge_time(g, budget / 12.0, tw_run_native, &call, &seconds);
        if (status == TW_OK) {
            ladder->bytes[ladder->steps]     = (double)(call.count * sizeof(float));
            ladder->seconds[ladder->steps++] = seconds;
        }
        growth = before > 0.0 ? 1.5 * seconds / before : 2.0;
        growth = growth < 1.5 ? 1.5 : growth > (double)factor ? (double)factor : growth;
        before = seconds;
        if (bytes >= TW_LADDER_LEAST && g->elapsed - start + 2.5 * growth * seconds > budget) {
            break;
        }
    }
    return status;
}

/* What is longer takes no less time: a time above that of the next size is one that something came
 * between. */
static void tw_ladder_smooth(tw_ladder_t *ladder)
{
    for (int i = ladder->steps - 2; i >= 0; i--) {
        if (ladder->seconds[i] > ladder->seconds[i + 1]) {
            ladder->seconds[i] = ladder->seconds[i + 1];
        }
    }
}

tw_status_t tw_gauge_native(tw_gauge_t *g, tw_facts_t *facts)
{
    tw_status_t status = TW_OK;

    for (int o = 0; o < TW_OPERATIONS && status == TW_OK; o++) {
        status = tw_gauge_ladder(g, facts, (tw_operation_t)o, g->budget / TW_OPERATIONS);
        tw_ladder_smooth(&facts->native[o]);
    }
    return status;
}

/* ---- the library's own ----------------------------------------------------------------------- */

/* Where no long vector was measured: at so many bytes this factor, at most. */
#define TW_FACTOR_LONG    1e6
#define TW_FACTOR_UNKNOWN 2.0
/* Values that are long at least: what a shaper lets through at once is shorter, and a chain has
 * several fragments of it. */
#define TW_FACTOR_VALUES 131072.0
/* Of the time for all factors, what slow links may take; what is not measured then says nothing. */
#define TW_FACTOR_OVERTIME 3.0
/* A factor is not below or above. */
#define TW_FACTOR_LEAST 0.02
#define TW_FACTOR_MOST  50.0

typedef struct tw_own {
    int    algorithm; /* of the model's table */
    size_t count;
} tw_own_t;

/* By the row of that name, if it serves; NULL: as such a call would go. */
static tw_status_t tw_run_call(tw_gauge_t *g, tw_operation_t operation, size_t count,
                               const char *algorithm)
{
    tw_collective_call_t call = tw_gauge_call(g, operation, count);
    tw_status_t          status;

    call.algorithm = tw_collective_row(call.collective, algorithm);
    status         = call.collective->check(&call);
    return status == TW_OK ? tw_collective_run(&call, TW_BLOCKING, NULL) : status;
}

static tw_status_t tw_run_own(tw_gauge_t *g, const void *what)
{
    const tw_own_t             *own = what;
    const tw_model_algorithm_t *row = tw_model_algorithm(own->algorithm);

    return tw_run_call(g, row->operation, own->count, row->name);
}

/* The factor, of steps ([0]) or links ([1]), with which the model says what was measured; the other
 * as it stands. */
static double tw_solve_factor(tw_facts_t *facts, const tw_own_t *own, const tw_model_query_t *query,
                              int which, double seconds)
{
    double *factor = &facts->factor[own->algorithm][which];
    double  low = TW_FACTOR_LEAST, high = TW_FACTOR_MOST;

    for (int i = 0; i < 60; i++) {
        *factor = sqrt(low * high);
        if (tw_model_predict(own->algorithm, query) < seconds) {
            low = *factor;
        } else {
            high = *factor;
        }
    }
    return sqrt(low * high);
}

/* As long a vector as is through, says the model, in a part of the time that is left. */
static double tw_long_count(const tw_gauge_t *g, const tw_model_query_t *usual, int algorithm,
                            double most, double seconds)
{
    const double     least = g->long_form ? TW_FACTOR_VALUES : 4096.0;
    tw_model_query_t query = *usual;

    for (query.count = least < most ? least : most;
         4.0 * query.count <= most && query.count < (double)(4 << 20);) {
        query.count *= 4.0;
        if (tw_model_predict(algorithm, &query) > seconds) {
            return query.count / 4.0;
        }
    }
    return query.count;
}

static tw_status_t tw_gauge_factor(tw_gauge_t *g, tw_facts_t *facts, int algorithm, double budget)
{
    const tw_operation_t operation  = tw_model_algorithm(algorithm)->operation;
    const size_t         most       = g->room / tw_blocks(facts, operation) / sizeof(float);
    double              *factor     = facts->factor[algorithm];
    tw_own_t             own        = {algorithm, 256};
    tw_model_query_t     query      = {.facts    = facts,
                                       .codec    = &facts->codec[0],
                                       .count    = 256.0,
                                       .chunk    = g->comm->config.chunk,
                                       .fragment = TW_FRAGMENT};
    double               seconds[2] = {0.0, 0.0}, bytes[2] = {0.0, 0.0};
    tw_status_t          status;

    factor[0] = factor[1] = 1.0;
    if (!tw_model_considered(algorithm, facts) || !isfinite(tw_model_predict(algorithm, &query))) {
        return TW_OK; /* not for these ranks */
    }
    status = tw_gauge_time(g, budget / 4.0, tw_run_own, &own, &seconds[0]);
    if (status != TW_OK) {
        return status;
    }
    factor[0]   = tw_solve_factor(facts, &own, &query, 0, seconds[0]);
    bytes[0]    = query.count * query.codec->bytes;
    factor[1]   = g->long_form ? 1.0 : TW_FACTOR_UNKNOWN;
    bytes[1]    = TW_FACTOR_LONG;
    query.count = tw_long_count(g, &query, algorithm, (double)most, budget / 6.0);
    own.count   = (size_t)query.count;
    if (tw_gauge_fits(g, tw_model_predict(algorithm, &query)) ||
        (g->long_form && g->elapsed < TW_FACTOR_OVERTIME * g->budget)) {
        status = tw_gauge_time(g, budget / 2.0, tw_run_own, &own, &seconds[1]);
        if (status != TW_OK) {
            return status;
        }
        factor[1]   = tw_solve_factor(facts, &own, &query, 1, seconds[1]);
        bytes[1]    = query.count * query.codec->bytes;
        query.count = 256.0; /* and what that leaves of the short one */
        factor[0]   = tw_solve_factor(facts, &own, &query, 0, seconds[0]);
    }
    for (int i = 0; i < 2; i++) {
        facts->factor_bytes[algorithm][i] = bytes[i];
    }
    return TW_OK;
}

/* Algorithms that are measured. */
static int tw_considered(const tw_facts_t *facts)
{
    int count = 0;

    for (int a = 0; tw_model_algorithm(a) != NULL; a++) {
        count += tw_model_considered(a, facts);
    }
    return count > 0 ? count : 1;
}

static tw_status_t tw_run_nothing(tw_gauge_t *g, const void *what)
{
    (void)what;
    return tw_run_call(g, TW_OPERATION_ALLREDUCE, 0, NULL);
}

tw_status_t tw_gauge_factors(tw_gauge_t *g, tw_facts_t *facts)
{
    tw_status_t status = tw_gauge_time(g, g->budget / 20.0, tw_run_nothing, NULL, &facts->engine);
    int         count  = 0;

    while (tw_model_algorithm(count) != NULL) {
        facts->factor[count][0] = facts->factor[count][1] = g->long_form ? 1.0 : TW_FACTOR_UNKNOWN;
        count++;
    }
    for (int a = 0; a < count && status == TW_OK && (g->long_form || tw_gauge_fits(g, 0.0)); a++) {
        status = tw_gauge_factor(g, facts, a, g->budget / tw_considered(facts));
    }
    return status;
}
