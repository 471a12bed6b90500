/* SPDX-License-Identifier: BSD-3-Clause
 * train/step/masters_state.c - see masters.h: the state of the masters in a checkpoint.
 */
#include "config.h"

#include <math.h>
#include <stdlib.h>

#include "train/step/masters_inside.h"

/* What a checkpoint has of a group: its rule, and after how many steps its bits were raised, then
 * 0. */
#define TW_MASTER_NUMBERS (TW_PRECISION_NUMBERS + TW_RAISES)

int tw_masters_collect(tw_masters_t *m, const tw_param_t *param, int which, tw_problem_t *problem)
{
    const size_t             i     = tw_masters_is_first(param) ? 0 : m->group_of[param->layer];
    const tw_weights_share_t share = tw_masters_share(m, i);

    return tw_masters_outcome(m, "collecting weights",
                              tw_weights_collect(m->weights, i,
                                                 which == 0 ? share.master : m->state + share.at,
                                                 m->config.params->gradient + m->group[i].first),
                              problem);
}

int tw_masters_take_state(tw_masters_t *m, tw_problem_t *problem)
{
    for (size_t i = 0; m != NULL && i < m->groups; i++) {
        const tw_weights_share_t share = tw_masters_share(m, i);

        if (tw_backend_copy(m->config.params->backend, m->state + share.at,
                            m->config.params->gradient + m->group[i].first + share.first,
                            share.count * sizeof(float), problem) != 0) {
            return -1;
        }
    }
    return 0;
}

size_t tw_masters_numbers(const tw_masters_t *m)
{
    return m != NULL && tw_masters_weight_codec(m)->adaptive ? (m->groups - 1) * TW_MASTER_NUMBERS
                                                             : 0;
}

void tw_masters_write_rule(const tw_masters_t *m, FILE *stream)
{
    for (size_t g = 1; m != NULL && g < m->groups && tw_masters_weight_codec(m)->adaptive; g++) {
        double numbers[TW_MASTER_NUMBERS] = {0.0};
        size_t n                          = TW_PRECISION_NUMBERS;

        tw_precision_save(&m->group[g].precision, numbers);
        for (size_t c = 0; c < m->changes; c++) {
            if (m->change[c].group == g) {
                numbers[n++] = (double)m->change[c].step;
            }
        }
        fwrite(numbers, sizeof(numbers), 1, stream);
    }
}

/* A whole number of steps, later than the one before? */
static int is_step(double step, double before)
{
    return step > before && step < 9e15 && step == floor(step);
}

/* The raises of a group, which are not any but those that its rule makes. */
static int restore_changes(tw_masters_t *m, size_t g, const double *steps)
{
    const tw_precision_t *p    = &m->group[g].precision;
    int                   bits = p->first;

    for (size_t k = 0; k < TW_RAISES && steps[k] != 0.0; k++) {
        if (!is_step(steps[k], k > 0 ? steps[k - 1] : 0.0) || bits >= p->bits) {
            return -1;
        }
        bits                    = bits + p->step < p->last ? bits + p->step : p->last;
        m->change[m->changes++] = (tw_masters_change_t){(uint64_t)steps[k], g, bits};
    }
    return bits == p->bits ? 0 : -1;
}

static int earlier(const void *left, const void *right)
{
    const tw_masters_change_t *a = left, *b = right;

    return a->step != b->step ? (a->step > b->step) - (a->step < b->step)
                              : (a->group > b->group) - (a->group < b->group);
}

/* A group's rule, as it was saved, or with its bits only. */
static tw_status_t restore_precision(tw_precision_t *p, const double *saved, int counts)
{
    tw_precision_t was = *p;
    tw_status_t    status;

    was.interval = counts ? p->interval : UINT64_MAX; /* of the run that saved them: any */
    status       = tw_precision_restore(&was, saved);
    if (status == TW_OK && counts) {
        *p = was;
    } else if (status == TW_OK) {
        p->bits = was.bits;
    }
    return status;
}

int tw_masters_restore_rule(tw_masters_t *m, const double *numbers, int counts,
                            tw_problem_t *problem)
{
    tw_status_t status = TW_OK;

    m->changes = 0;
    for (size_t g = 1; g < m->groups && status == TW_OK; g++) {
        tw_master_group_t *group = &m->group[g];

        const double *own = numbers + (g - 1) * TW_MASTER_NUMBERS;

        if (restore_precision(&group->precision, own, counts) != TW_OK ||
            restore_changes(m, g, own + TW_PRECISION_NUMBERS) != 0) {
            return tw_problem_set(
                problem, "--checkpoint: holds a state of AWP that cannot be, of %s", group->name);
        }
        tw_weight_codec_spec(tw_masters_weight_codec(m), group->precision.bits, group->spec);
        status = tw_weights_set_codec(m->weights, g, group->spec);
    }
    qsort(m->change, m->changes, sizeof(*m->change), earlier);
    return tw_masters_outcome(m, "restoring the precision of weights", status, problem);
}

int tw_masters_save(tw_masters_t *m, FILE *stream, tw_problem_t *problem)
{
    return tw_masters_outcome(m, "saving residuals", tw_weights_save(m->weights, stream), problem);
}

int tw_masters_restore(tw_masters_t *m, FILE *stream, tw_problem_t *problem)
{
    return tw_masters_outcome(m, "restoring residuals",
                              tw_weights_restore(m->weights, stream, TW_FEEDBACK_SUM), problem);
}
