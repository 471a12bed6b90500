/* SPDX-License-Identifier: BSD-3-Clause
 * transport/auto/calibrate_collectives.c - MPI's own collectives at a ladder of sizes, and the library's
 * algorithms with fp32 at a short and at a long one: what the model's formula misses of each.
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

/* The factor with which the model says what was measured. */
static double tw_solve_factor(tw_facts_t *facts, const tw_own_t *own, const tw_model_query_t *query,
                              double seconds)
{
    double low = 0.1, high = 50.0;

    for (int i = 0; i < 60; i++) {
        const double middle = sqrt(low * high);

        facts->factor[own->algorithm][0] = facts->factor[own->algorithm][1] = middle;
        if (tw_model_predict(own->algorithm, query) < seconds) {
            low = middle;
        } else {
            high = middle;
        }
    }
    facts->factor[own->algorithm][0] = facts->factor[own->algorithm][1] = 1.0;
    return sqrt(low * high);
}

static tw_status_t tw_gauge_factor(tw_gauge_t *g, tw_facts_t *facts, int algorithm, double budget)
{
    const tw_operation_t   operation  = tw_model_algorithm(algorithm)->operation;
    const size_t           most       = g->room / tw_blocks(facts, operation) / sizeof(float);
    tw_own_t               own        = {algorithm, 256};
    const tw_model_query_t usual      = {.facts    = facts,
                                         .codec    = &facts->codec[0],
                                         .chunk    = g->comm->config.chunk,
                                         .fragment = TW_FRAGMENT};
    tw_model_query_t       query      = usual;
    double                 seconds[2] = {0.0, 0.0}, factor[2] = {1.0, 1.0}, bytes[2] = {0.0, 0.0};
    double                 rate;
    tw_status_t            status;

    query.count = 256.0;
    if (!tw_model_considered(algorithm, facts) || !isfinite(tw_model_predict(algorithm, &query))) {
        return TW_OK; /* not for these ranks */
    }
    status = tw_gauge_time(g, budget / 4.0, tw_run_own, &own, &seconds[0]);
    if (status != TW_OK) {
        return status;
    }
    factor[0] = tw_solve_factor(facts, &own, &query, seconds[0]);
    bytes[0]  = query.count * query.codec->bytes;
    /* Of a short vector it says what steps and messages cost, not bytes: what it would be of a long
     * one. */
    factor[1] = factor[0] < 1.0                 ? 1.0
                : factor[0] > TW_FACTOR_UNKNOWN ? TW_FACTOR_UNKNOWN
                                                : factor[0];
    bytes[1]  = TW_FACTOR_LONG;
    /* As long a vector as is through, said the model, in a third of the time that is left. */
    for (query.count = 4096.0;
         4.0 * query.count <= (double)most && query.count < (double)(4 << 20);) {
        query.count *= 4.0;
        rate = tw_model_predict(algorithm, &query);
        if (rate > budget / 6.0) {
            query.count /= 4.0;
            break;
        }
    }
    own.count = (size_t)query.count;
    if (own.count <= most && tw_gauge_fits(g, tw_model_predict(algorithm, &query))) {
        status = tw_gauge_time(g, budget / 2.0, tw_run_own, &own, &seconds[1]);
        if (status != TW_OK) {
            return status;
        }
        factor[1] = tw_solve_factor(facts, &own, &query, seconds[1]);
        bytes[1]  = query.count * query.codec->bytes;
    }
    for (int i = 0; i < 2; i++) {
        facts->factor[algorithm][i]       = factor[i];
        facts->factor_bytes[algorithm][i] = bytes[i];
    }
    return TW_OK;
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
        status = tw_gauge_factor(g, facts, a, g->budget / count);
    }
    return status;
}
