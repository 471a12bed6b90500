/* SPDX-License-Identifier: BSD-3-Clause
 * scheduler/hybrid_run.c - the passes: the exchange of the next one, the computation, and the
 * gradients of the previous one overlap.
 *
 * A pass with examples of only one rank uses a bcast and a reduce to that rank; any other an
 * allgather and a reduce-scatter. The choice depends on counts that are equal on all ranks.
 */
#include "config.h"

#include "runtime/scheduler/hybrid.h"

/* ---- messages ------------------------------------------------------------------------------ */

static const size_t *tw_hybrid_elements(const tw_hybrid_t *h, const tw_hybrid_pass_t *pass)
{
    const int size = tw_comm_size(h->comm);

    for (int r = 0; r < size; r++) {
        h->elements[r] = pass->count[r] * h->features;
    }
    return h->elements;
}

/* Where this rank's part in a pass lies among all its own examples, or their gradients; NULL: it
 * has none. */
static float *tw_hybrid_part(const tw_hybrid_t *h, const tw_hybrid_pass_t *pass, const float *own)
{
    const int rank = tw_comm_rank(h->comm);

    return pass->count[rank] > 0 ? (float *)(uintptr_t)own + pass->first[rank] * h->features : NULL;
}

static tw_status_t tw_hybrid_call(const tw_hybrid_t *h, tw_collective_call_t *call, bool plan,
                                  tw_flight_t *flight)
{
    return plan ? tw_flight_plan(call, flight) : tw_flight_post(&h->side, call, flight);
}

tw_status_t tw_hybrid_exchange(tw_hybrid_t *h, const tw_hybrid_pass_t *pass, const float *mine,
                               float *to, bool plan, tw_flight_t *flight)
{
    const int            rank   = tw_comm_rank(h->comm);
    const int            owner  = tw_hybrid_owner(pass, tw_comm_size(h->comm));
    const size_t         n      = pass->examples * h->features;
    tw_status_t          status = TW_OK;
    tw_collective_call_t call;

    if (owner < 0) {
        tw_collective_begin(&call, h->comm, &tw_collective_allgather, "allgatherv", mine, to,
                            &h->act);
        call.in = (tw_blocks_t){.counts = tw_hybrid_elements(h, pass)};
        return tw_hybrid_call(h, &call, plan, flight);
    }
    if (owner == rank && h->exact) {
        to = (float *)(uintptr_t)mine; /* only read */
    } else if (owner == rank && !plan) {
        status = tw_side_copy(&h->side, to, mine, n * sizeof(float));
    }
    tw_collective_begin(&call, h->comm, &tw_collective_bcast, "bcast", to, to, &h->act);
    call.count = n;
    call.root  = owner;
    return status == TW_OK ? tw_hybrid_call(h, &call, plan, flight) : status;
}

tw_status_t tw_hybrid_return(tw_hybrid_t *h, const tw_hybrid_pass_t *pass, const float *from,
                             float *mine, bool plan, tw_flight_t *flight)
{
    const int            owner = tw_hybrid_owner(pass, tw_comm_size(h->comm));
    tw_collective_call_t call;

    if (owner >= 0) {
        tw_collective_begin(&call, h->comm, &tw_collective_reduce, "reduce", from, mine, &h->back);
        call.count = pass->examples * h->features;
        call.root  = owner;
    } else {
        tw_collective_begin(&call, h->comm, &tw_collective_reduce_scatter, "reduce_scatter", from,
                            mine, &h->back);
        call.in = (tw_blocks_t){.counts = tw_hybrid_elements(h, pass)};
    }
    return tw_hybrid_call(h, &call, plan, flight);
}

/* ---- what is under way --------------------------------------------------------------------- */

static void tw_hybrid_begin_flight(tw_hybrid_t *h, tw_hybrid_flight_t *f, size_t pass)
{
    f->pass        = pass;
    f->status      = TW_OK;
    f->flight.span = tw_trace_begin(h->trace, TW_TRACE_NETWORK, f->name, (int64_t)pass);
}

/* Is it complete by now? Does not advance anything. */
static void tw_hybrid_look(tw_hybrid_t *h, tw_hybrid_flight_t *f)
{
    int done;

    if (tw_flight_ended(&f->flight, h->trace) && f->flight.request != NULL) {
        f->status = tw_test(&f->flight.request, &done);
    }
}

/* Wait for it. A second wait finds nothing and says TW_OK. */
static tw_status_t tw_hybrid_wait(tw_hybrid_t *h, tw_hybrid_flight_t *f)
{
    const tw_status_t seen = f->status;
    tw_status_t       status;

    if (f->flight.request == NULL && f->pass == SIZE_MAX) {
        return TW_OK;
    }
    status    = tw_flight_wait(&f->flight, h->trace, f->wait, f->pass, -1, NULL);
    f->pass   = SIZE_MAX;
    f->status = TW_OK;
    return status == TW_OK ? seen : status;
}

void tw_hybrid_advance(tw_hybrid_t *h)
{
    if (h == NULL || tw_comm_advance(h->comm) != TW_OK) {
        return; /* the next wait says why */
    }
    tw_hybrid_look(h, &h->exchange);
    for (int i = 0; i < 2; i++) {
        tw_hybrid_look(h, &h->gradient[i]);
    }
}

/* ---- a run --------------------------------------------------------------------------------- */

/* What the caller gave to a run. */
typedef struct tw_hybrid_args {
    const float         *x;
    float               *gx;
    tw_hybrid_compute_fn compute;
    void                *user;
} tw_hybrid_args_t;

/* Nothing is posted beyond the last pass. */
static tw_status_t tw_hybrid_post(tw_hybrid_t *h, const tw_hybrid_args_t *args, size_t p)
{
    tw_status_t status;

    if (p >= h->passes || tw_comm_size(h->comm) == 1) {
        return TW_OK;
    }
    tw_hybrid_begin_flight(h, &h->exchange, p);
    status = tw_hybrid_exchange(h, &h->pass[p], tw_hybrid_part(h, &h->pass[p], args->x),
                                h->x[p % 2], false, &h->exchange.flight);
    if (status != TW_OK) {
        h->exchange.pass = SIZE_MAX;
    }
    return status;
}

static tw_status_t tw_hybrid_post_gradient(tw_hybrid_t *h, const tw_hybrid_args_t *args, size_t p)
{
    tw_hybrid_flight_t *f = &h->gradient[p % 2];
    tw_status_t         status;

    if (args->gx == NULL || tw_comm_size(h->comm) == 1) {
        return TW_OK;
    }
    tw_hybrid_begin_flight(h, f, p);
    status = tw_hybrid_return(h, &h->pass[p], h->gx[p % 2],
                              tw_hybrid_part(h, &h->pass[p], args->gx), false, &f->flight);
    if (status != TW_OK) {
        f->pass = SIZE_MAX;
    }
    return status;
}

static int tw_hybrid_compute(tw_hybrid_t *h, const tw_hybrid_args_t *args, size_t p)
{
    const int        rank = tw_comm_rank(h->comm);
    tw_hybrid_pass_t pass = h->pass[p];
    int64_t          span;
    int              result;

    pass.x  = h->x[p % 2];
    pass.gx = args->gx != NULL ? h->gx[p % 2] : NULL;
    if (tw_comm_size(h->comm) == 1) {
        pass.gx = args->gx;
    }
    if (tw_comm_size(h->comm) == 1 ||
        (h->exact && tw_hybrid_owner(&pass, tw_comm_size(h->comm)) == rank)) {
        pass.x = tw_hybrid_part(h, &pass, args->x);
    }
    span   = tw_trace_begin(h->trace, TW_TRACE_COMPUTE, "compute", (int64_t)p);
    result = args->compute(args->user, &pass);
    tw_trace_end(h->trace, span);
    return result;
}

static tw_status_t tw_hybrid_step(tw_hybrid_t *h, const tw_hybrid_args_t *args, size_t p)
{
    tw_status_t status = tw_hybrid_post(h, args, p + 1);
    int         result;

    if (status == TW_OK) {
        status = tw_hybrid_wait(h, &h->gradient[p % 2]); /* of pass p - 2 */
    }
    if (status != TW_OK) {
        return status;
    }
    result = tw_hybrid_compute(h, args, p);
    if (result != 0) {
        return (tw_status_t)result;
    }
    status = tw_hybrid_post_gradient(h, args, p);
    return status == TW_OK ? tw_hybrid_wait(h, &h->exchange) : status;
}

/* Whatever was posted, on all ranks alike, is completed, after a failure too: buffers are then
 * free. */
static tw_status_t tw_hybrid_drain(tw_hybrid_t *h, tw_status_t status)
{
    const int           older = h->gradient[0].pass < h->gradient[1].pass ? 0 : 1;
    tw_hybrid_flight_t *all[] = {&h->gradient[older], &h->gradient[1 - older], &h->exchange};

    for (int i = 0; i < 3; i++) {
        const tw_status_t s = tw_hybrid_wait(h, all[i]);

        status = status == TW_OK ? s : status;
    }
    return status;
}

tw_status_t tw_hybrid_run(tw_hybrid_t *h, const float *x, float *gx, tw_hybrid_compute_fn compute,
                          void *user)
{
    const tw_hybrid_args_t args = {x, gx, compute, user};
    tw_status_t            status;

    if (h == NULL || compute == NULL || (x == NULL && h->own > 0)) {
        return TW_ERR_INVALID_ARG;
    }
    if (h->running) {
        return TW_ERR_BUSY;
    }
    status = tw_comm_check(h->comm);
    if (status == TW_OK && h->own > 0) {
        status = tw_side_check(&h->side, x, "tw_hybrid_run", "buffer", "x");
    }
    if (status == TW_OK && h->own > 0) {
        status = tw_side_check(&h->side, gx, "tw_hybrid_run", "buffer", "gx");
    }
    if (status != TW_OK) {
        return status;
    }
    h->running       = true;
    h->exchange.pass = h->gradient[0].pass = h->gradient[1].pass = SIZE_MAX;
    status                                                       = tw_hybrid_post(h, &args, 0);
    if (status == TW_OK) {
        status = tw_hybrid_wait(h, &h->exchange);
    }
    for (size_t p = 0; p < h->passes && status == TW_OK; p++) {
        status = tw_hybrid_step(h, &args, p);
    }
    status     = tw_hybrid_drain(h, status);
    h->running = false;
    return status;
}
