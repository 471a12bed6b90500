/* SPDX-License-Identifier: BSD-3-Clause
 * train/report/evaluations.c - see evaluations.h.
 */
#include "config.h"

#include <math.h>
#include <stdlib.h>

#include "train/report/evaluations.h"

int tw_evaluations_reserve(tw_evaluations_t *e, size_t count, tw_problem_t *problem)
{
    tw_evaluation_t *list;
    size_t           bytes;

    if (count <= e->room) {
        return 0;
    }
    list = __builtin_mul_overflow(count, sizeof(*list), &bytes) ? NULL : realloc(e->list, bytes);
    if (list == NULL) {
        return tw_problem_set(problem, "out of memory");
    }
    e->list = list;
    e->room = count;
    return 0;
}

int tw_evaluations_add(tw_evaluations_t *e, const tw_evaluation_t *one, tw_problem_t *problem)
{
    if (e->count == e->room && tw_evaluations_reserve(e, 2 * e->room + 16, problem) != 0) {
        return -1;
    }
    e->list[e->count++] = *one;
    return 0;
}

const tw_evaluation_t *tw_evaluations_at(const tw_evaluations_t *e, uint64_t step)
{
    return e->count > 0 && e->list[e->count - 1].step == step ? &e->list[e->count - 1] : NULL;
}

const tw_evaluation_t *tw_evaluations_first(const tw_evaluations_t *e, double error, int five)
{
    for (size_t i = 0; i < e->count; i++) {
        if ((five ? e->list[i].test_error_top5 : e->list[i].test_error) <= error) {
            return &e->list[i];
        }
    }
    return NULL;
}

static int share(double x)
{
    return x >= 0.0 && x <= 1.0;
}

int tw_evaluations_possible(const tw_evaluations_t *e, uint64_t step, double seconds)
{
    uint64_t last  = 0;
    double   until = 0.0;

    for (size_t i = 0; i < e->count; i++) {
        const tw_evaluation_t *one = &e->list[i];

        if (one->step <= last || one->step > step || !(one->seconds >= until) ||
            !(one->seconds <= seconds) || !share(one->test_error) || !share(one->test_error_top5) ||
            !isfinite(one->train_loss) || one->epoch == 0) {
            return 0;
        }
        last  = one->step;
        until = one->seconds;
    }
    return isfinite(seconds) && seconds >= 0.0;
}

void tw_evaluations_destroy(tw_evaluations_t *e)
{
    free(e->list);
}
