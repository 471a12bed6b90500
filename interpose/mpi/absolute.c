/* SPDX-License-Identifier: BSD-3-Clause
 * interpose/mpi/absolute.c - see absolute.h.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>

#include "interpose/mpi/absolute.h"
#include "runtime/base/clock.h"
#include "runtime/codec/abs.h"

tw_why_t tw_absolute_refusal(const tw_call_t *call, const tw_choice_t *choice)
{
    const bool seen = call->op == TW_RULE_BCAST || call->op == TW_RULE_ALLGATHER ||
                      call->op == TW_RULE_ALLGATHERV;

    if (!call->nonblocking && (call->op == TW_RULE_ALLREDUCE || (choice->absolute > 0 && seen))) {
        return TW_WHY_NOT;
    }
    return choice->absolute > 0 ? TW_WHY_CONTRACT : TW_WHY_AUTO_BLOCKING;
}

/* Once. */
static void tw_absolute_tell(const tw_call_t *call)
{
    static int told;

    if (!__atomic_exchange_n(&told, 1, __ATOMIC_RELAXED)) {
        tw_say("%s: values beyond the bits of a grid that keeps %s: sent as they are (said once)",
               tw_rule_op_names[call->op], call->choice->spec);
    }
}

void tw_absolute_decide(tw_call_t *call)
{
    const int limit = tw_abs_limit(tw_dtype_row(call->choice->dtype)->bytes, 1);
    char      spec[TW_RULE_SPEC_MAX];

    call->level   = tw_comms_level(call->comm, call->op, call->choice->dtype, TW_SUM, call->values,
                                   call->choice->spec);
    call->bounded = true;
    call->bits    = tw_abs_bits(&call->level->absolute, limit);
    snprintf(spec, sizeof(spec), "int:%d,step=2^%d", call->bits,
             tw_abs_step(call->choice->absolute, 1));
    if (call->bits == 0 && call->level->absolute.calls > 0) {
        tw_absolute_tell(call);
    }
    call->coded = call->bits > 0 ? tw_choice_get(spec, call->type.kind) : NULL;
}

/* Of codes, a tile at a time; what did not fit has become NaN. */
static double tw_absolute_largest(const tw_call_t *call, const tw_side_t *side,
                                  const tw_block_t *block)
{
    enum { TILE = 1024 }; /* whole bytes of codes */
    const tw_codec_t *abs     = call->choice->codec;
    const size_t      n       = block->items * side->type.values;
    const char       *codes   = side->codes + block->at;
    double            largest = 0.0, tile[TILE];

    if (block->choice == NULL) {
        return tw_codec_largest(abs, codes, n);
    }
    for (size_t i = 0; i < n; i += TILE) {
        const size_t m  = n - i < TILE ? n - i : TILE;
        size_t       at = 0;

        tw_codec_size(block->choice->codec, i, &at);
        tw_codec_decode(block->choice->codec, &tw_state.exec, codes + at, m, tile);
        largest = fmax(largest, tw_codec_largest(abs, tile, m));
    }
    return largest;
}

bool tw_absolute_fits(tw_call_t *call, const tw_side_t *side)
{
    const uint64_t start   = tw_clock_ns();
    double         largest = 0.0;
    int            need;

    for (int i = 0; i < side->count; i++) {
        largest = fmax(largest, tw_absolute_largest(call, side, &side->block[i]));
    }
    need = tw_abs_need(largest, tw_abs_step(call->choice->absolute, 1));
    call->decode_ns += tw_clock_ns() - start;
    if (need == TW_ABS_NEVER && call->coded != NULL) {
        call->repeated = true;
        call->coded    = NULL;
        return false;
    }
    tw_abs_saw(&call->level->absolute, need);
    return true;
}
