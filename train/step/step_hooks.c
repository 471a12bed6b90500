/* SPDX-License-Identifier: BSD-3-Clause
 * train/step/step_hooks.c - callbacks of trunk, head and scheduler in a step: start and advance
 * exchanges between two layers, and separate the times of communication and computation.
 */
#include "config.h"

#include "train/step/step_inside.h"

/* ---- time ---------------------------------------------------------------------------------- */

void tw_step_communication_begins(tw_training_t *t, tw_profile_row_t row)
{
    t->meter.row   = tw_profile_enter(t->profile, row);
    t->meter.began = MPI_Wtime();
}

void tw_step_communication_ends(tw_training_t *t)
{
    t->meter.communication += MPI_Wtime() - t->meter.began;
    tw_profile_enter(t->profile, t->meter.row);
}

double tw_step_computed(const tw_training_t *t)
{
    return MPI_Wtime() - t->meter.step - (t->meter.communication - t->meter.before);
}

void tw_step_begin(tw_training_t *t)
{
    t->meter.step   = MPI_Wtime();
    t->meter.before = t->meter.communication;
    tw_recorder_step(t->recorder);
}

void tw_step_record(tw_training_t *t, tw_recorded_t what, size_t layer)
{
    if (t->recorder != NULL) {
        tw_recorder_was(t->recorder, what, layer, tw_step_computed(t));
    }
}

void tw_step_worked(void *user, size_t layer, int backward)
{
    tw_step_record(user, backward ? TW_RECORDED_BACKWARD : TW_RECORDED_FORWARD, layer);
}

void tw_step_exchange(void *user, int begins)
{
    if (begins) {
        tw_step_communication_begins(user, TW_PROFILE_REST);
    } else {
        tw_step_communication_ends(user);
    }
}

/* ---- what is called from inside ------------------------------------------------------------ */

/* What is on its way: first weights, then what split layers need, then gradients. */
static tw_profile_row_t travelling(const tw_training_t *t)
{
    if (!tw_masters_arrived(t->masters)) {
        return TW_PROFILE_WEIGHTS;
    }
    return t->running != NULL ? TW_PROFILE_REST : TW_PROFILE_GRADIENTS;
}

void tw_step_advance(void *user)
{
    tw_training_t *t = user;

    if (t->options->no_overlap) {
        return;
    }
    tw_step_communication_begins(t, travelling(t));
    tw_exchange_advance(t->exchange);
    if (t->peers != NULL) {
        tw_exchange_advance(t->peers);
    }
    tw_hybrid_advance(t->running);
    tw_step_communication_ends(t);
}

static tw_profile_row_t row_of(const tw_training_t *t, size_t layer)
{
    return t->network.layer[layer].kind == TW_CONV ? TW_PROFILE_CONVOLUTIONS : TW_PROFILE_LAYERS;
}

/* After the work on a layer of the trunk. */
static void on_between(void *user, size_t layer)
{
    tw_walk_t     *walk = user;
    tw_training_t *t    = walk->t;

    tw_profile_was(t->profile, row_of(t, layer));
    tw_trace_mark(t->trace, TW_TRACE_COMPUTE, t->network.layer[layer].name, (int64_t)t->step);
    tw_step_worked(t, layer, walk->backward);
    tw_step_advance(t);
}

int tw_step_before(void *user, size_t layer)
{
    tw_training_t *t = user;
    int            status;

    if (!tw_training_has_owners(t) || t->problem->set) {
        return t->problem->set ? -1 : 0;
    }
    tw_step_communication_begins(t, TW_PROFILE_WEIGHTS);
    status = tw_masters_need(t->masters, layer, t->problem);
    tw_step_communication_ends(t);
    return status;
}

static int on_before(void *user, size_t layer)
{
    tw_walk_t *walk = user;

    walk->stopped |= tw_step_before(walk->t, layer) != 0;
    return walk->stopped ? -1 : 0;
}

void tw_step_ready(void *user, size_t layer)
{
    tw_training_t *t = user;

    if (t->options->no_overlap) {
        return; /* tw_exchange_finish() does it all */
    }
    tw_step_communication_begins(t, TW_PROFILE_GRADIENTS);
    if (!t->problem->set) {
        tw_exchange_ready(t->exchange, layer, t->problem);
    }
    tw_step_communication_ends(t);
}

static void on_ready(void *user, size_t layer)
{
    tw_walk_t *walk = user;

    tw_profile_was(walk->t->profile, row_of(walk->t, layer));
    tw_step_ready(walk->t, layer);
}

static int on_moments(void *user, double *const *moments, const size_t *channels, size_t layers)
{
    tw_walk_t *walk = user;
    int        status;

    tw_step_communication_begins(walk->t, TW_PROFILE_REST);
    status = tw_normalisation_moments(&walk->t->norm, moments, channels, layers, walk->problem);
    tw_step_communication_ends(walk->t);
    walk->stopped = status != 0;
    return status;
}

static int on_sums(void *user, double *const *sums, const size_t *channels, size_t layers)
{
    tw_walk_t *walk = user;
    int        status;

    tw_step_communication_begins(walk->t, TW_PROFILE_REST);
    status = tw_normalisation_sums(&walk->t->norm, sums, channels, layers, walk->problem);
    tw_step_communication_ends(walk->t);
    walk->stopped |= status != 0;
    return status;
}

void tw_step_listen(tw_walk_t *walk)
{
    const tw_trunk_hooks_t hooks = {.user    = walk,
                                    .before  = on_before,
                                    .between = on_between,
                                    .ready   = on_ready,
                                    .moments = on_moments,
                                    .sums    = on_sums};

    tw_trunk_set_hooks(walk->t->trunk, &hooks);
    walk->t->problem = walk->problem;
}
