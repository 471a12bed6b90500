/* SPDX-License-Identifier: BSD-3-Clause
 * train/step/step_update.c - the end of a step: the update of parameters, on every rank, or on
 * their owners, which then send them.
 */
#include "config.h"

#include "train/step/step_inside.h"

/* What the rates are in this step. */
typedef struct tw_pace {
    const tw_training_t *t;
    double               rate, decay, gscale;
    tw_problem_t        *problem;
} tw_pace_t;

static tw_pace_t pace_of(const tw_training_t *t, int split, double gscale, tw_problem_t *problem)
{
    const tw_rates_t *rates = &t->rates;
    const double      epoch = (double)t->step / (double)t->steps;

    return (tw_pace_t){.t       = t,
                       .rate    = tw_schedule_rate(&rates->schedule,
                                                split ? rates->split_base : rates->base, epoch,
                                                   (double)t->epochs_wanted),
                       .decay   = split ? rates->split_decay : rates->decay,
                       .gscale  = gscale,
                       .problem = problem};
}

/* Elements of a tensor, with their state and gradient; `units` are whole rows of it. */
static int update_elements(const tw_pace_t *pace, const tw_param_t *p, float *w, float *v,
                           const float *g, size_t n, size_t units)
{
    const tw_training_t *t     = pace->t;
    const tw_rates_t    *rates = &t->rates;
    const float          rate  = (float)(pace->rate * (double)p->rate);
    const float          decay = (float)(pace->decay * (double)p->decay);
    int                  status;

    if (rates->rmsprop) {
        const tw_rms_rule_t rule = {.rate      = rate,
                                    .rms_decay = (float)rates->rms_decay,
                                    .epsilon   = 1e-8f,
                                    .decay     = decay,
                                    .scale     = (float)pace->gscale};

        status = tw_backend_rmsprop(t->backend, w, v, g, n, &rule, pace->problem);
    } else {
        const tw_sgd_rule_t rule = {.rate     = rate,
                                    .momentum = (float)rates->momentum,
                                    .decay    = decay,
                                    .scale    = (float)pace->gscale};

        status = tw_backend_sgd(t->backend, w, v, g, n, &rule, pace->problem);
    }
    if (status == 0 && rates->max_norm > 0.0 && p->role == TW_WEIGHT &&
        p->layer >= t->network.first_dense) {
        status = tw_backend_max_norm(t->backend, w, units, p->per_unit, (float)rates->max_norm,
                                     pace->problem);
    }
    return status;
}

/* Tensors of one kind, all ranks' or split ones, but for those that have owners; gradients are
 * times gscale first. */
static int update(tw_training_t *t, int split, double gscale, tw_problem_t *problem)
{
    const tw_pace_t pace   = pace_of(t, split, gscale, problem);
    int             status = 0;

    for (size_t i = 0; i < t->params.count && status == 0; i++) {
        const tw_param_t *p = &t->params.param[i];

        if (p->split == split && p->count > 0 && !tw_training_owned(t, p)) {
            status =
                update_elements(&pace, p, t->params.value + p->first, t->params.momentum + p->state,
                                t->params.gradient + p->first, p->count, p->units);
        }
    }
    return status;
}

static int update_piece(void *user, const tw_master_piece_t *piece)
{
    return update_elements(user, piece->param, piece->value, piece->state, piece->gradient,
                           piece->n, piece->n / piece->param->per_unit);
}

static int send_whole(tw_training_t *t, tw_problem_t *problem)
{
    int status;

    tw_step_communication_begins(t, TW_PROFILE_NORM);
    status = tw_masters_adapt(t->masters, tw_training_done(t) + 1, problem);
    tw_step_communication_ends(t);
    if (status != 0) {
        return -1;
    }
    tw_step_communication_begins(t, TW_PROFILE_WEIGHTS);
    status = tw_masters_send(t->masters, problem);
    if (status == 0 && t->options->no_overlap) {
        status = tw_masters_arrive(t->masters, problem);
    }
    tw_step_communication_ends(t);
    return status;
}

int tw_step_update_whole(tw_training_t *t, tw_problem_t *problem)
{
    tw_pace_t pace = pace_of(t, 0, 1.0, problem);

    tw_profile_enter(t->profile, TW_PROFILE_UPDATE);
    tw_marks_begin(t->marks, TW_MARKED_UPDATE, t->step);
    if (update(t, 0, 1.0, problem) != 0 || tw_masters_each(t->masters, update_piece, &pace) != 0) {
        problem->fatal = t->size > 1; /* a device has failed: the others go on */
        return -1;
    }
    tw_marks_end(t->marks);
    if (t->calibration != NULL) {
        tw_profile_enter(t->profile, TW_PROFILE_NORM);
        if (tw_calibration_observe(t->calibration, problem) != 0) {
            return -1;
        }
    }
    return tw_training_has_owners(t) ? send_whole(t, problem) : 0;
}

int tw_step_update_split(tw_training_t *t, double gscale, tw_problem_t *problem)
{
    const tw_profile_row_t was    = tw_profile_enter(t->profile, TW_PROFILE_UPDATE);
    const int              status = update(t, 1, gscale, problem);

    tw_profile_enter(t->profile, was);
    return status;
}
