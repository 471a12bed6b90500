/* SPDX-License-Identifier: BSD-3-Clause
 * interpose/mpi/verify.c - see verify.h.
 */
#include "config.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "interpose/mpi/form.h"
#include "interpose/next.h"
#include "interpose/state.h"
#include "interpose/mpi/rungs.h"
#include "interpose/mpi/verify.h"
#include "runtime/base/clock.h"

#define TW_VERIFY_EVERY 256 /* with a contract and no THINWIRE_VERIFY */

static uint64_t tw_verify_every(void)
{
    if (tw_state.config.verify > 0) {
        return (uint64_t)tw_state.config.verify;
    }
    return tw_state.config.max_error > 0.0 ? TW_VERIFY_EVERY : 0;
}

/* Count a call of a level; the first and then every n-th is verified. */
static bool tw_verify_count(tw_entry_level_t *level)
{
    const uint64_t every = tw_verify_every();

    return every > 0 && level->calls++ % every == 0;
}

/* The codec of the level, which begins with the one that was asked for. */
static const tw_choice_t *tw_verify_level_choice(const tw_entry_level_t *level,
                                                 const tw_choice_t      *choice)
{
    const tw_choice_t *now;

    if (tw_state.config.max_error <= 0.0 || strcmp(level->spec, choice->spec) == 0) {
        return choice;
    }
    if (level->spec[0] == '\0') {
        return NULL;
    }
    now = tw_choice_get(level->spec, choice->kind);
    return now->codec != NULL ? now : NULL;
}

void tw_verify_decide(tw_call_t *call)
{
    const bool contract = tw_state.config.max_error > 0.0;

    if (tw_verify_every() == 0 || call->choice->exact) {
        return;
    }
    if (call->nonblocking) { /* there is no point where ranks could reduce what they measured */
        if (contract) {
            call->choice = NULL;
            call->why    = TW_WHY_CONTRACT;
        }
        return;
    }
    if (contract &&
        call->op == TW_RULE_REDUCE) { /* only the root could measure, and none may wait */
        call->choice = NULL;
        call->why    = TW_WHY_CONTRACT;
        return;
    }
    call->level  = tw_comms_level(call->comm, call->op, tw_kind_dtype(call->type.kind),
                                  call->reduction, call->values, call->choice->spec);
    call->verify = tw_verify_count(call->level);
    if (contract && call->op == TW_RULE_BCAST) {
        return; /* the root says which codec it is */
    }
    call->choice = tw_verify_level_choice(call->level, call->choice);
    if (call->choice == NULL) {
        call->why    = TW_WHY_CONTRACT;
        call->verify = false;
    }
}

void tw_verify_pairs(tw_call_t *call)
{
    if (tw_verify_every() == 0 || call->nonblocking || !tw_call_may_encode(call)) {
        return;
    }
    call->level  = tw_comms_level(call->comm, call->op, TW_F32, TW_SUM, 0, "*");
    call->verify = tw_verify_count(call->level) && call->level->spec[0] != '\0';
}

const tw_choice_t *tw_verify_choice(tw_call_t *call, const tw_choice_t *choice)
{
    if (tw_state.config.max_error <= 0.0 || choice->exact) {
        return choice;
    }
    if (call->nonblocking || call->level == NULL) {
        tw_call_refuse(call, TW_WHY_CONTRACT);
        return NULL;
    }
    if (call->level->spec[0] == '*') { /* still what was asked for */
        return choice;
    }
    choice = tw_verify_level_choice(call->level, choice);
    if (choice == NULL) {
        tw_call_refuse(call, TW_WHY_CONTRACT);
    }
    return choice;
}

static void tw_error_add(tw_errors_t *errors, double got, double want)
{
    double error = fabs(got - want);

    if (!isfinite(want)) { /* no error can be told where the exact result is none */
        return;
    }
    if (!isfinite(error)) {
        error = HUGE_VAL;
    }
    errors->error2 += (long double)error * error;
    errors->exact2 += (long double)want * want;
    errors->worst = error > errors->worst ? error : errors->worst;
}

void tw_errors_add(tw_errors_t *errors, tw_dtype_t dtype, const void *result, const void *exact,
                   size_t n)
{
    enum { TILE = 256 };
    const tw_dtype_row_t *type = tw_dtype_row(dtype);
    double                got[TILE], want[TILE];

    for (size_t i = 0; i < n; i += TILE) {
        const size_t m = n - i < TILE ? n - i : TILE;

        type->to_f64((const char *)result + i * type->bytes, m, got);
        type->to_f64((const char *)exact + i * type->bytes, m, want);
        for (size_t j = 0; j < m; j++) {
            tw_error_add(errors, got[j], want[j]);
        }
    }
}

bool tw_errors_kept(const tw_errors_t *errors)
{
    const long double limit = tw_state.config.max_error;

    return errors->error2 <= limit * limit * errors->exact2;
}

void tw_verify_note(tw_call_t *call, const tw_errors_t *errors)
{
    call->verified = true;
    call->worst    = errors->worst;
    if (errors->exact2 > 0.0L) {
        call->worst_rms = (double)sqrtl(errors->error2 / errors->exact2);
    } else {
        call->worst_rms = errors->error2 > 0.0L ? HUGE_VAL : 0.0;
    }
}

void tw_verify_forget(tw_call_t *call)
{
    call->verified = false;
    call->worst = call->worst_rms = 0.0;
}

void tw_verify_spent(tw_call_t *call, uint64_t start, bool exact)
{
    const uint64_t ns = tw_clock_ns() - start;

    call->extra_ns += ns;
    call->exact_ns += exact ? ns : 0;
}

static void tw_verify_step(tw_call_t *call, int rung)
{
    const char *next;

    if (call->op == TW_RULE_ALLTOALLV) {
        if (rung == 0) { /* no rank has encoded anything */
            return;
        }
        next = tw_rung_spec(rung);
    } else {
        next = tw_choice_finer(tw_choice_get(call->level->spec, call->type.kind));
    }
    snprintf(call->level->spec, sizeof(call->level->spec), "%s", next);
    call->stepped = true;
}

/* The sum of a rank's squares as a fraction of 2^exponent, which all ranks use. */
static double tw_verify_scaled(long double square, int exponent)
{
    return (double)ldexpl(square, -exponent);
}

/* Is the contract broken? One rank says: sums need not be the same bits on all, nor do all round
 * alike. */
static bool tw_verify_broken(const tw_call_t *call, const tw_errors_t *together)
{
    int broken = !tw_errors_kept(together);

    return tw_next.Bcast(&broken, 1, MPI_INT, 0, call->comm->handle) == MPI_SUCCESS && broken != 0;
}

void tw_verify_conclude(tw_call_t *call, const tw_errors_t *errors)
{
    int         local[2] = {0, call->rung}, agreed[2] = {0, 0};
    int         error_exponent = INT_MIN / 2, exact_exponent = INT_MIN / 2;
    double      sums[2], all[2] = {0.0, 0.0}, worst = 0.0;
    tw_errors_t together;

    if (errors->error2 > 0.0L && isfinite(errors->error2)) {
        frexpl(errors->error2, &error_exponent);
    }
    if (errors->exact2 > 0.0L) {
        frexpl(errors->exact2, &exact_exponent);
    }
    local[0] = error_exponent > exact_exponent ? error_exponent : exact_exponent;
    if (tw_next.Allreduce(local, agreed, 2, MPI_INT, MPI_MAX, call->comm->handle) != MPI_SUCCESS) {
        return;
    }
    sums[0] = tw_verify_scaled(errors->error2, agreed[0]);
    sums[1] = tw_verify_scaled(errors->exact2, agreed[0]);
    if (tw_next.Allreduce(sums, all, 2, MPI_DOUBLE, MPI_SUM, call->comm->handle) != MPI_SUCCESS ||
        tw_next.Allreduce(&errors->worst, &worst, 1, MPI_DOUBLE, MPI_MAX, call->comm->handle) !=
            MPI_SUCCESS) {
        return;
    }
    together = (tw_errors_t){.error2 = all[0], .exact2 = all[1], .worst = worst};
    tw_verify_note(call, &together);
    if (tw_state.config.max_error > 0.0 && tw_verify_broken(call, &together)) {
        tw_verify_step(call, agreed[1]);
    }
}

void tw_verify_compare(tw_call_t *call, tw_errors_t *errors, const tw_type_t *type,
                       const void *buffer, size_t items, const void *exact)
{
    void *packed;

    buffer = tw_form_values(call, type, buffer, items, &packed);
    tw_errors_add(errors, tw_kind_dtype(type->kind), buffer, exact, items * type->values);
    tw_buffer_put(packed);
}
