/* SPDX-License-Identifier: BSD-3-Clause
 * tests/interpose/draw.c - a collective call drawn at random.
 */
#include "config.h"

#include "tests/interpose/job.h"

/* Layouts of floats that differ from rank to rank, or one type for all. */
static void draw_layouts(t_call_t *call, const t_place_t *place, uint64_t *random)
{
    const uint64_t one   = t_random(random);
    const uint64_t mine  = call->op == T_ALLGATHERV ? one : t_mix(one + (uint64_t)place->rank);
    const bool     mixed = t_below(random, 3) == 0 && call->op < T_ALLREDUCE;

    if (mixed) {
        call->send = &t_layouts[mine % T_FLOAT_LAYOUTS];
        call->recv = &t_layouts[mine / 8 % T_FLOAT_LAYOUTS];
        call->unit = T_FLOAT_UNIT;
    } else { /* floats are every other type */
        call->recv = &t_layouts[one % 2 == 0 ? T_L_FLOAT : one / 2 % T_LAYOUTS];
        call->send = call->recv;
        call->unit = call->recv->basics;
    }
}

void t_call_draw(t_call_t *call, const t_place_t *place, uint64_t seed, size_t most, bool blocking)
{
    uint64_t state = seed, *const random = &state;
    const int roots =
        place->remote < place->size ? place->remote : place->size; /* in either group */

    do {
        call->op        = (t_op_t)t_below(random, T_OPS);
        call->in_place  = t_below(random, 3) == 0;
        call->strange   = t_below(random, 2) == 0;
        call->root      = (int)t_below(random, (size_t)roots);
        call->reduction = call->op < T_ALLREDUCE || t_below(random, 2) == 0
                              ? T_SUM
                              : (t_reduction_t)t_below(random, T_USER_LEFT + 1);
        call->seed      = t_random(random);
        call->form      = blocking ? T_BLOCKING : T_NONBLOCKING;
        if (T_FORMS > 2 && t_below(random, 4) == 0) {
            call->form = blocking ? T_LARGE : T_LARGE_NONBLOCKING;
            call->form = !blocking && call->seed % 2 == 0 ? T_PERSISTENT : call->form;
        }
        draw_layouts(call, place, random);
        call->units =
            t_below(random, 6) == 0 ? 0 : (int)t_below(random, most / (size_t)call->unit + 2);
    } while (!t_allowed(call, place));
}
