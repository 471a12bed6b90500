/* SPDX-License-Identifier: BSD-3-Clause
 * transport/auto/abs.c - see abs.h.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "runtime/codec/abs.h"
#include "runtime/transport/auto/auto.h"
#include "runtime/transport/coll/alltoall/alltoall.h"
#include "runtime/transport/comm/sync.h"

/* A call under way. */
typedef struct tw_abs_call {
    const tw_collective_call_t *call;
    const tw_codec_t           *abs, *lossless;
    double                      error;
    bool                        reduces, seen; /* seen: by all ranks alike is the result */
    int                         terms;         /* of which a sum consists; 1: none is made */
    int                         divisor;       /* of the result */
    int                         step, limit;   /* see policy/abs.h */
} tw_abs_call_t;

bool tw_abs_asked(const tw_how_t *how)
{
    double error;

    return how != NULL && how->codec != NULL && tw_codec_abs(how->codec, &error);
}

/* ---- values ---------------------------------------------------------------------------------- */

static double tw_abs_largest(const tw_abs_call_t *x, const void *values, size_t first, size_t n)
{
    return tw_codec_largest(x->abs, (const uint8_t *)values + first * x->abs->element, n);
}

static double tw_abs_largest_block(const tw_abs_call_t *x, const tw_blocks_t *blocks,
                                   const void *values)
{
    const int ranks   = x->call->comm->size;
    double    largest = 0.0;
    size_t    next    = 0;

    for (int r = 0; r < ranks; r++) {
        const size_t n     = tw_blocks_count(blocks, r);
        const size_t first = blocks->displacements != NULL ? blocks->displacements[r] : next;

        largest = fmax(largest, tw_abs_largest(x, values, first, n));
        next += n;
    }
    return largest;
}

/* Of what this rank gives to the call. */
static double tw_abs_largest_in(const tw_abs_call_t *x)
{
    const tw_collective_call_t *call   = x->call;
    const void                 *values = call->send == TW_IN_PLACE ? call->recv : call->send;

    return x->reduces ? tw_abs_largest(x, values, 0, call->count)
                      : tw_abs_largest_block(x, tw_blocks_out(call), values);
}

/* Of a result that all ranks have. */
static double tw_abs_largest_out(const tw_abs_call_t *x)
{
    const tw_collective_call_t *call = x->call;

    return call->collective->operation == TW_OPERATION_ALLGATHER
               ? tw_abs_largest_block(x, &call->in, call->recv)
               : tw_abs_largest(x, call->recv, 0, call->count);
}

/* ---- calls ----------------------------------------------------------------------------------- */

/* A codec of the communicator, as all ranks have it. */
static tw_status_t tw_abs_codec(tw_comm_t *comm, const char *spec, tw_dtype_t dtype,
                                const tw_codec_t **codec_p)
{
    *codec_p = tw_auto_codec(comm, spec, dtype);
    if (*codec_p == NULL) {
        TW_ERROR(&comm->log, "no memory for codec %s; the communicator is dead", spec);
        comm->status = TW_ERR_NO_MEMORY;
    }
    return comm->status;
}

static tw_status_t tw_abs_execute(const tw_abs_call_t *x, const tw_codec_t *codec)
{
    tw_collective_call_t call = *x->call;
    tw_how_t             how  = *call.how;

    how.codec = codec;
    call.how  = &how;
    return tw_collective_run(&call, TW_BLOCKING, NULL);
}

/* Without loss, or by a grid of so many bits. */
static tw_status_t tw_abs_execute_bits(const tw_abs_call_t *x, int bits)
{
    tw_comm_t        *comm = x->call->comm;
    const tw_codec_t *grid = x->lossless;
    char              spec[TW_DECISION_SPEC];
    tw_status_t       status = TW_OK;

    comm->autos->abs.bits = bits;
    if (bits > 0) {
        snprintf(spec, sizeof(spec), "int:%d,step=2^%d", bits, x->step);
        status = tw_abs_codec(comm, spec, x->abs->dtype, &grid);
    }
    return status == TW_OK ? tw_abs_execute(x, grid) : status;
}

/* *largest_p becomes that of all ranks. */
static tw_status_t tw_abs_agree(tw_comm_t *comm, double *largest_p)
{
    const double mine = *largest_p;

    return tw_sync_allreduce(comm, &mine, largest_p, 1, sizeof(mine), MPI_DOUBLE, MPI_MAX,
                             "the largest value of an absolute error bound");
}

static void tw_abs_tell(const tw_abs_call_t *x)
{
    tw_comm_t *comm = x->call->comm;

    if (comm->rank == 0 && !comm->autos->abs.told) {
        TW_WARN(&comm->log,
                "%s: values beyond %d bits in steps of 2^%d, by which %s is kept, or not finite: "
                "sent without loss (said once)",
                x->call->name, x->limit, x->step, tw_codec_spec(x->abs));
    }
    comm->autos->abs.told = true;
}

/* ---- what all ranks see ---------------------------------------------------------------------- */

/* What a call overwrites, of what it would need again. */
typedef struct tw_abs_saved {
    void  *copy;
    size_t first, count;
} tw_abs_saved_t;

static tw_status_t tw_abs_save(const tw_abs_call_t *x, tw_abs_saved_t *saved)
{
    const tw_collective_call_t *call    = x->call;
    const size_t                element = x->abs->element;
    tw_comm_t                  *comm    = call->comm;

    *saved = (tw_abs_saved_t){.count = call->count};
    if (call->collective->operation == TW_OPERATION_ALLGATHER) {
        saved->first = tw_blocks_first(&call->in, comm->rank);
        saved->count = tw_blocks_count(&call->in, comm->rank);
    }
    if (call->collective->operation == TW_OPERATION_BCAST
            ? call->root != comm->rank || (call->how->flags & TW_BCAST_SAME) == 0
            : call->send != TW_IN_PLACE) {
        return TW_OK;
    }
    return tw_comm_copy_in_place(comm, (const uint8_t *)call->recv + saved->first * element,
                                 saved->count * element, &saved->copy);
}

static void tw_abs_restore(const tw_abs_call_t *x, const tw_abs_saved_t *saved)
{
    const size_t element = x->abs->element;

    if (saved->copy != NULL) {
        x->call->comm->system->copy((uint8_t *)x->call->recv + saved->first * element, saved->copy,
                                    saved->count * element);
    }
}

/* By a grid. *need_p: bits of the result; TW_ABS_NEVER: something did not fit. A root that keeps
 * its own values has no code of them to look at. */
static tw_status_t tw_abs_try(const tw_abs_call_t *x, int bits, int *need_p)
{
    tw_abs_saved_t saved;
    tw_status_t    status = tw_abs_save(x, &saved);

    if (status == TW_OK) {
        status = tw_abs_execute_bits(x, bits);
    }
    if (status == TW_OK) {
        *need_p = tw_abs_need(tw_abs_largest_out(x) * x->divisor, x->step);
        if (*need_p > bits && !x->reduces) {
            *need_p = TW_ABS_NEVER;
        }
        if (*need_p == TW_ABS_NEVER) {
            tw_abs_restore(x, &saved);
        }
    }
    tw_pool_put(&x->call->comm->pool, saved.copy);
    return status;
}

/* Learn from a result, and from the terms of sums, of which this rank's largest is `before`. */
static tw_status_t tw_abs_learn_from(const tw_abs_call_t *x, tw_abs_level_t *level, int need,
                                     double before, int failed)
{
    const tw_status_t status = x->reduces ? tw_abs_agree(x->call->comm, &before) : TW_OK;

    if (status == TW_OK) {
        tw_abs_learn(level, need, tw_abs_need(before, x->step), failed);
    }
    return status;
}

/* Without loss; failed: bits that were tried. */
static tw_status_t tw_abs_exact(const tw_abs_call_t *x, tw_abs_level_t *level, int failed)
{
    const double before = x->reduces ? tw_abs_largest_in(x) : 0.0;
    tw_status_t  status = tw_abs_execute_bits(x, 0);

    if (status == TW_OK) {
        const int need = tw_abs_need(tw_abs_largest_out(x) * x->divisor, x->step);

        status = tw_abs_learn_from(x, level, need, before, failed);
    }
    if (status == TW_OK && tw_abs_bits(level, x->limit) == 0) {
        tw_abs_tell(x);
    }
    return status;
}

static tw_status_t tw_abs_late(const tw_abs_call_t *x, tw_abs_level_t *level)
{
    const int    bits   = tw_abs_bits(level, x->limit);
    const bool   stale  = x->reduces && tw_abs_stale(level);
    const double before = stale && bits > 0 ? tw_abs_largest_in(x) : 0.0;
    int          need   = TW_ABS_NEVER;
    tw_status_t  status;

    if (bits == 0) {
        return tw_abs_exact(x, level, 0);
    }
    status = tw_abs_try(x, bits, &need);
    if (status != TW_OK) {
        return status;
    }
    if (need == TW_ABS_NEVER) {
        x->call->comm->autos->abs.repeats++;
        return tw_abs_exact(x, level, bits);
    }
    if (stale) {
        return tw_abs_learn_from(x, level, need, before, 0);
    }
    tw_abs_saw(level, need);
    return TW_OK;
}

/* ---- the others ------------------------------------------------------------------------------ */

/* No sum of `terms` values takes more than log2(terms) bits beyond the largest value's. */
static tw_status_t tw_abs_agreed(const tw_abs_call_t *x)
{
    double      largest = tw_abs_largest_in(x);
    tw_status_t status  = tw_abs_agree(x->call->comm, &largest);
    int         bits;

    if (status != TW_OK) {
        return status;
    }
    bits = tw_abs_round(tw_abs_need(largest * x->terms, x->step) + (x->terms > 1), x->limit);
    if (bits == 0) {
        tw_abs_tell(x);
    }
    return tw_abs_execute_bits(x, bits);
}

/* ---- the way of a call ----------------------------------------------------------------------- */

static tw_abs_kind_t *tw_abs_kind(const tw_abs_call_t *x)
{
    const tw_collective_call_t *call  = x->call;
    tw_abs_state_t             *state = &call->comm->autos->abs;
    tw_abs_kind_t  wanted = {x->error,      call->collective->operation, call->reduction,
                             x->abs->dtype, tw_model_class(call->count), {0},
                             state->kinds};
    tw_abs_kind_t *kind;

    for (kind = state->kinds; kind != NULL; kind = kind->next) {
        if (kind->error == wanted.error && kind->operation == wanted.operation &&
            kind->reduction == wanted.reduction && kind->dtype == wanted.dtype &&
            kind->class_index == wanted.class_index) {
            return kind;
        }
    }
    kind = malloc(sizeof(*kind));
    if (kind != NULL) {
        *kind        = wanted;
        state->kinds = kind;
    }
    return kind;
}

static tw_status_t tw_abs_check(const tw_collective_call_t *call)
{
    tw_comm_t *comm = call->comm;

    if (call->how->feedback != NULL) {
        TW_ERROR(&comm->log, "%s: codec %s keeps its bound without error feedback; accepted: none",
                 call->name, tw_codec_spec(call->how->codec));
        return TW_ERR_INVALID_ARG;
    }
    if (tw_how_on_device(call->how) || tw_comm_device_owns(comm, call->values)) {
        TW_ERROR(&comm->log, "%s: codec %s has no kernels for device memory", call->name,
                 tw_codec_spec(call->how->codec));
        return TW_ERR_UNSUPPORTED;
    }
    return TW_OK;
}

static tw_status_t tw_abs_run(tw_abs_call_t *x)
{
    const tw_collective_call_t *call      = x->call;
    const tw_operation_t        operation = call->collective->operation;
    const bool                  divides   = tw_reduction_row((int)call->reduction)->divides;
    tw_abs_kind_t              *kind;

    x->reduces = !call->collective->moves;
    x->seen    = operation == TW_OPERATION_ALLREDUCE || operation == TW_OPERATION_BCAST ||
              operation == TW_OPERATION_ALLGATHER;
    x->terms   = x->reduces ? call->comm->size : 1;
    x->divisor = x->reduces && divides ? x->terms : 1;
    x->step    = tw_abs_step(x->error, x->terms / x->divisor);
    x->limit   = tw_abs_limit(x->abs->element, x->terms);
    if (!x->seen) {
        return tw_abs_agreed(x);
    }
    kind = tw_abs_kind(x);
    if (kind == NULL) {
        TW_ERROR(&call->comm->log, "no memory for what abs remembers; the communicator is dead");
        call->comm->status = TW_ERR_NO_MEMORY;
        return TW_ERR_NO_MEMORY;
    }
    return tw_abs_late(x, &kind->level);
}

tw_status_t tw_abs_take(const tw_collective_call_t *call, tw_form_t form, tw_how_t *how_p,
                        bool *done_p)
{
    tw_abs_call_t x      = {.call = call, .abs = call->how->codec};
    tw_status_t   status = tw_abs_check(call);

    *done_p = false;
    if (status == TW_OK) {
        status = tw_abs_codec(call->comm, x.abs->type->lossless, x.abs->dtype, &x.lossless);
    }
    if (status != TW_OK) {
        return status;
    }
    *how_p       = *call->how;
    how_p->codec = x.lossless;
    if (form != TW_BLOCKING || how_p->algorithm == TW_ALGORITHM_MPI || call->comm->size == 1 ||
        !tw_reduction_row((int)call->reduction)->lossy) {
        call->comm->autos->abs.bits = 0;
        return TW_OK;
    }
    *done_p = true;
    tw_codec_abs(x.abs, &x.error);
    return tw_abs_run(&x);
}

void tw_abs_close(tw_abs_state_t *state)
{
    while (state->kinds != NULL) {
        tw_abs_kind_t *next = state->kinds->next;

        free(state->kinds);
        state->kinds = next;
    }
}
