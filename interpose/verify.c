/* SPDX-License-Identifier: BSD-3-Clause
 * interpose/verify.c - see verify.h.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "interpose/form.h"
#include "interpose/next.h"
#include "interpose/state.h"
#include "interpose/verify.h"

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
    if (call->nonblocking) { /* there is no point at which all ranks could reduce what they measured */
        if (contract) {
            call->choice = NULL;
            call->why    = TW_WHY_CONTRACT;
        }
        return;
    }
    if (contract && call->op == TW_RULE_REDUCE) { /* only the root could measure, and none may wait */
        call->choice = NULL;
        call->why    = TW_WHY_CONTRACT;
        return;
    }
    call->level  = tw_comms_level(call->comm, call->op, call->type.kind == TW_KIND_DOUBLE,
                                  call->values, call->choice->spec);
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
    if (tw_verify_every() == 0 || call->nonblocking) {
        return;
    }
    call->level  = tw_comms_level(call->comm, call->op, false, 0, "*");
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

void tw_errors_add(tw_errors_t *errors, bool wide, const void *result, const void *exact, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        double got, want, error;

        if (wide) {
            memcpy(&got, (const char *)result + i * sizeof(got), sizeof(got));
            memcpy(&want, (const char *)exact + i * sizeof(want), sizeof(want));
        } else {
            float f;

            memcpy(&f, (const char *)result + i * sizeof(f), sizeof(f));
            got = f;
            memcpy(&f, (const char *)exact + i * sizeof(f), sizeof(f));
            want = f;
        }
        if (!isfinite(want)) { /* no error can be told where the exact result is none */
            continue;
        }
        error = fabs(got - want);
        if (!isfinite(error)) {
            error = HUGE_VAL;
        }
        errors->error2 += error * error;
        errors->exact2 += want * want;
        errors->worst = error > errors->worst ? error : errors->worst;
    }
}

bool tw_errors_kept(const tw_errors_t *errors)
{
    const double limit = tw_state.config.max_error;

    return errors->error2 <= limit * limit * errors->exact2;
}

void tw_verify_note(tw_call_t *call, const tw_errors_t *errors)
{
    call->verified = true;
    call->worst    = errors->worst;
    call->worst_rms =
        errors->exact2 > 0.0 ? sqrt(errors->error2 / errors->exact2) : errors->error2 > 0.0 ? HUGE_VAL : 0.0;
}

static void tw_verify_step(tw_call_t *call)
{
    const bool  pairs  = call->op == TW_RULE_ALLTOALLV;
    const char *asked  = call->level->spec[0] == '*' ? tw_state.config.codec : call->level->spec;
    const bool  wide   = !pairs && call->type.kind == TW_KIND_DOUBLE; /* equal on all ranks */
    const bool  narrow = !pairs && call->choice != NULL && call->choice->narrow;
    const char *next   = tw_ladder_next(*asked == '\0' ? "tree8" : asked, wide, narrow);

    snprintf(call->level->spec, sizeof(call->level->spec), "%s", next);
    call->stepped = true;
}

void tw_verify_conclude(tw_call_t *call, const tw_errors_t *errors)
{
    double      sums[2] = {errors->error2, errors->exact2}, all[2] = {0.0, 0.0}, worst = 0.0;
    tw_errors_t together;

    if (tw_next.Allreduce(sums, all, 2, MPI_DOUBLE, MPI_SUM, call->comm->handle) != MPI_SUCCESS ||
        tw_next.Allreduce(&errors->worst, &worst, 1, MPI_DOUBLE, MPI_MAX, call->comm->handle) !=
            MPI_SUCCESS) {
        return;
    }
    together = (tw_errors_t){.error2 = all[0], .exact2 = all[1], .worst = worst};
    tw_verify_note(call, &together);
    if (tw_state.config.max_error > 0.0 && !tw_errors_kept(&together)) {
        tw_verify_step(call);
    }
}

void tw_verify_compare(tw_call_t *call, tw_errors_t *errors, const tw_type_t *type,
                       const void *buffer, size_t items, const void *exact)
{
    const size_t values = items * type->values;
    void        *packed = NULL;

    if (!type->dense) {
        packed = tw_form_get(call, items * type->size);
        tw_type_pack(type, buffer, items, packed);
        buffer = packed;
    }
    tw_errors_add(errors, type->kind == TW_KIND_DOUBLE, buffer, exact, values);
    tw_form_put(packed);
}
