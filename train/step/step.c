/* SPDX-License-Identifier: BSD-3-Clause
 * train/step/step.c - see step.h.
 *
 * Each rank computes the trunk for its share of the global batch. Data parallel, it also computes
 * the dense layers for that share; split, the examples of all ranks pass every rank's units in the
 * passes of a tw_hybrid_t. The loss divides gradients by the size of the whole batch, so that sums
 * over ranks and passes are means: uneven and empty shares have the correct weight, and the update
 * is bitwise equal on all ranks.
 */
#include "config.h"

#include <math.h>
#include <stdlib.h>

#include "train/base/agree.h"
#include "train/step/fault.h"
#include "train/step/step_inside.h"

int tw_step_prepare(tw_training_t *t, size_t rows, tw_problem_t *problem)
{
    const size_t sums     = tw_feed_views(t->feed) > 1 ? t->batch * tw_head_outputs(t->head) : 0;
    const size_t features = tw_trunk_features(t->trunk);
    size_t       first, most;

    tw_share(t->batch, t->size, 0, &first, &most);
    t->own      = malloc(most * sizeof(*t->own));
    t->examples = malloc(rows * sizeof(*t->examples));
    t->labels   = malloc(rows * sizeof(*t->labels));
    if (t->own == NULL || t->examples == NULL || t->labels == NULL) {
        return tw_problem_set(problem, "out of memory");
    }
    return tw_backend_allocate(t->backend, most * features * sizeof(*t->gfeatures),
                               (void **)&t->gfeatures, problem) == 0
               ? tw_backend_allocate(t->backend, sums * sizeof(*t->outputs), (void **)&t->outputs,
                                     problem)
               : -1;
}

/* ---- a step on its way ---------------------------------------------------------------------- */

/* The trunk has failed: on this rank alone, unless it was an exchange; the others go on to wait for
 * this rank, so only the end of the job lets them go. */
static int trunk_failed(const tw_walk_t *walk)
{
    if (!walk->stopped) {
        walk->problem->fatal = walk->t->size > 1;
    }
    return -1;
}

/* Tests are not measured. */
static tw_device_marks_t *marks_of(const tw_walk_t *walk)
{
    return walk->training ? walk->t->marks : NULL;
}

/* The split layers learn from what has come together: gradients are by the whole batch. A device
 * that fails here does so on this rank alone. */
static int update_split(tw_walk_t *walk)
{
    int status = 0;

    if (walk->behind > 0 || walk->t->peers != NULL) {
        /* The examples of all groups together are the batch. */
        const double gscale = walk->t->peers != NULL ? 1.0 : (double)walk->n / (double)walk->behind;

        status = tw_step_update_split(walk->t, gscale, walk->problem);
        tw_step_record(walk->t, TW_RECORDED_SPLIT, 0);
    }
    walk->behind = walk->passes = 0;
    return status == 0 ? 0 : trunk_failed(walk);
}

int tw_step_counts_errors(const tw_training_t *t)
{
    return !t->split || t->network.loss == TW_LOSS_SOFTMAX || tw_normalisation_observes(&t->norm);
}

/* ---- the dense layers ---------------------------------------------------------------------- */

/* Dropout asks for the number of an image in the data, so masks belong to images, and do not depend
 * on who has them. */
static void name_row(tw_walk_t *walk, size_t row, size_t place)
{
    tw_feed_t     *feed  = walk->t->feed;
    const uint32_t image = tw_feed_image(feed, walk->batch, place);

    walk->t->examples[row] = image;
    walk->t->labels[row] =
        tw_feed_label(feed, walk->batch.testing ? TW_SUBSET_TEST : TW_SUBSET_TRAIN, image);
}

/* The share of the dropout rates that their schedule has taken off. */
static float dropout_less(const tw_training_t *t)
{
    return (float)(1.0 - tw_schedule_rate(&t->rates.dropout, 1.0,
                                          (double)t->step / (double)t->steps,
                                          (double)t->epochs_wanted));
}

/* Forward and backward through this rank's units, or with one owner through all. */
static int run_head(tw_walk_t *walk, const float *x, float *gx, size_t rows)
{
    tw_training_t   *t    = walk->t;
    tw_head_pass_t   pass = {.n          = rows,
                             .x          = x,
                             .gx         = gx,
                             .examples   = t->examples,
                             .labels     = t->labels,
                             .training   = walk->training,
                             .seed       = t->options->seed,
                             .step       = t->step,
                             .less       = dropout_less(t),
                             .scale      = 1.0f / (float)walk->n,
                             .accumulate = walk->passes > 0,
                             .count      = !walk->training || tw_step_counts_errors(t),
                             .five       = !walk->training,
                             .view       = walk->batch.view,
                             .views      = tw_feed_views(t->feed)};
    tw_profile_row_t was;
    int              status;

    if (!walk->training && pass.views > 1) {
        pass.outputs = t->outputs + walk->tested * tw_head_outputs(t->head);
        walk->tested += rows;
    }
    walk->rows = rows;
    was        = tw_profile_enter(t->profile, TW_PROFILE_DENSE);
    tw_marks_begin(marks_of(walk), TW_MARKED_DENSE, t->step);
    status = tw_head_run(t->head, &pass, walk->problem);
    tw_marks_end(marks_of(walk));
    tw_profile_enter(t->profile, was);
    return status == 0 || !walk->problem->machine ? status : trunk_failed(walk);
}

/* A pass of the scheduler: rows come from all ranks of the group, in their order. */
static int on_pass(void *user, const tw_hybrid_pass_t *pass)
{
    tw_walk_t     *walk   = user;
    tw_training_t *t      = walk->t;
    const int     *member = tw_split_members(&t->parts);
    size_t         row    = 0;
    int            status;

    tw_step_communication_ends(t);
    for (int r = 0; r < t->parts.ranks; r++) {
        size_t first, count;

        tw_share(walk->n, t->size, member[r], &first, &count);
        for (size_t i = 0; i < pass->count[r]; i++) {
            name_row(walk, row++, first + pass->first[r] + i);
        }
    }
    status = run_head(walk, pass->x, pass->gx, row);
    if (walk->training) {
        walk->behind += row;
        walk->passes++;
        if (status == 0 && walk->passes == t->options->update_period) {
            status = update_split(walk);
        }
    }
    tw_step_communication_begins(t, TW_PROFILE_REST);
    return status;
}

/* Groups that hold the same part sum their gradients while the trunk computes its own. */
static int send_parts(tw_walk_t *walk)
{
    int status;

    tw_step_communication_begins(walk->t, TW_PROFILE_GRADIENTS);
    status = tw_exchange_ready(walk->t->peers, walk->t->network.first_dense, walk->problem);
    tw_step_communication_ends(walk->t);
    return status;
}

static int run_passes(tw_walk_t *walk, const float *features)
{
    tw_training_t *t = walk->t;
    tw_status_t    status;

    t->running = tw_division_of(&t->division, walk->n, walk->problem);
    if (t->running == NULL) {
        return -1;
    }
    tw_step_communication_begins(t, TW_PROFILE_REST);
    status = tw_hybrid_run(t->running, features,
                           walk->training && t->network.first_dense > 0 ? t->gfeatures : NULL,
                           on_pass, walk);
    tw_step_communication_ends(t);
    t->running = NULL;
    if (walk->problem->set) {
        return -1;
    }
    if (status != TW_OK) {
        return tw_problem_status(t->parts.wire, "the exchange of activations", status,
                                 walk->problem);
    }
    if (walk->training && t->peers != NULL && walk->passes == 0 &&
        run_head(walk, NULL, NULL, 0) != 0) { /* a group without examples: gradients of zeros */
        return -1;
    }
    return !walk->training ? 0 : t->peers != NULL ? send_parts(walk) : update_split(walk);
}

/* What one group alone has met makes the others wait for it. */
static int run_split(tw_walk_t *walk, const float *features)
{
    const int status = run_passes(walk, features);

    if (status != 0 && walk->t->parts.groups > 1) {
        walk->problem->fatal = 1;
    }
    return status;
}

static int run_whole(tw_walk_t *walk, const float *features, size_t first, size_t rows)
{
    tw_training_t *t = walk->t;

    for (size_t row = 0; row < rows; row++) {
        name_row(walk, row, first + row);
    }
    return run_head(walk, features,
                    walk->training && t->network.first_dense > 0 ? t->gfeatures : NULL, rows);
}

/* ---- steps --------------------------------------------------------------------------------- */

static int load_rows(tw_walk_t *walk, size_t first, size_t rows)
{
    tw_training_t   *t     = walk->t;
    float           *input = tw_trunk_input(t->trunk, rows, walk->problem);
    tw_profile_row_t was;
    int              status;

    if (input == NULL) {
        return trunk_failed(walk);
    }
    for (size_t row = 0; row < rows; row++) {
        t->own[row] = tw_feed_image(t->feed, walk->batch, first + row);
    }
    was = tw_profile_enter(t->profile, TW_PROFILE_INPUT);
    tw_marks_begin(marks_of(walk), TW_MARKED_IMAGES, t->step);
    status = tw_feed_take(t->feed, walk->batch, input, walk->problem);
    tw_marks_end(marks_of(walk));
    tw_step_record(t, TW_RECORDED_INPUT, 0);
    tw_profile_enter(t->profile, was);
    return status == 0 ? 0 : trunk_failed(walk);
}

/* From the images to the loss, and in training to the gradients of split layers. */
static int step_forward(tw_walk_t *walk, const tw_trunk_pass_t *pass, size_t first)
{
    tw_training_t   *t = walk->t;
    const float     *features;
    int64_t          span;
    tw_profile_row_t was;

    if (load_rows(walk, first, pass->n) != 0) {
        return -1;
    }
    span = tw_trace_begin(t->trace, TW_TRACE_COMPUTE, "trunk forward", (int64_t)t->step);
    was  = tw_profile_enter(t->profile, TW_PROFILE_LAYERS);
    tw_marks_begin(marks_of(walk), TW_MARKED_FORWARD, t->step);
    features = tw_trunk_forward(t->trunk, pass, walk->problem);
    tw_marks_end(marks_of(walk));
    tw_profile_enter(t->profile, was);
    tw_trace_end(t->trace, span);
    if (features == NULL) {
        return trunk_failed(walk);
    }
    return t->split ? run_split(walk, features) : run_whole(walk, features, first, pass->n);
}

static int sum_gradients(tw_walk_t *walk, const tw_trunk_pass_t *pass)
{
    tw_training_t   *t = walk->t;
    int64_t          span;
    int              status;
    tw_profile_row_t was;

    tw_head_give(t->head, tw_exchange_extra(t->exchange));
    walk->backward = 1;
    if (t->network.first_dense > 0) {
        span = tw_trace_begin(t->trace, TW_TRACE_COMPUTE, "trunk backward", (int64_t)t->step);
        was  = tw_profile_enter(t->profile, TW_PROFILE_LAYERS);
        tw_marks_begin(t->marks, TW_MARKED_BACKWARD, t->step);
        status = tw_trunk_backward(t->trunk, pass, t->gfeatures, walk->problem);
        tw_marks_end(marks_of(walk));
        tw_profile_enter(t->profile, was);
        tw_trace_end(t->trace, span);
        if (status != 0) {
            return trunk_failed(walk);
        }
    }
    if (walk->problem->set) {
        return -1;
    }
    tw_step_communication_begins(t, TW_PROFILE_GRADIENTS);
    status = tw_exchange_finish(t->exchange, walk->problem);
    if (status == 0 && t->peers != NULL) {
        status = tw_exchange_finish(t->peers, walk->problem);
        walk->problem->fatal |= status != 0;
    }
    tw_step_communication_ends(t);
    return status;
}

int tw_step_train(tw_training_t *t, tw_training_record_t *record, tw_problem_t *problem)
{
    const tw_feed_batch_t batch = {.step = t->step};
    const size_t          n     = tw_feed_size(t->feed, batch);
    tw_walk_t       walk = {.t = t, .batch = batch, .n = n, .training = 1, .problem = problem};
    tw_trunk_pass_t pass = {.training = 1,
                            .seed     = t->options->seed,
                            .step     = t->step,
                            .less     = dropout_less(t),
                            .examples = t->own};
    float           extra[2]; /* loss and errors of all ranks */
    size_t          first;

    tw_share(n, t->size, t->rank, &first, &pass.n);
    tw_step_listen(&walk);
    tw_step_begin(t);
    if (step_forward(&walk, &pass, first) != 0 || sum_gradients(&walk, &pass) != 0) {
        return -1;
    }
    if (tw_params_get(&t->params, extra, tw_exchange_extra(t->exchange), 2, problem) != 0 ||
        tw_marks_collect(t->marks, problem) != 0) {
        return trunk_failed(&walk);
    }
    if (!isfinite(extra[0])) { /* on all ranks alike */
        return tw_fault_report(t, &pass, walk.rows, problem);
    }
    if ((t->peers != NULL && update_split(&walk) != 0) || tw_step_update_whole(t, problem) != 0) {
        return -1;
    }
    tw_recorder_end(t->recorder, t->masters, tw_step_computed(t));
    t->step++;
    t->loss = (double)extra[0] / (double)n;
    record->train_loss += (double)extra[0];
    record->train_error += (double)extra[1];
    record->images += (double)n;
    record->steps += 1.0;
    return 0;
}

/* One view of a batch of test images. */
static int test_view(tw_training_t *t, tw_feed_batch_t batch, tw_problem_t *problem)
{
    tw_walk_t walk = {
        .t = t, .batch = batch, .n = tw_feed_size(t->feed, batch), .problem = problem};
    tw_trunk_pass_t pass = {.examples = t->own};
    size_t          first;

    tw_share(walk.n, t->size, t->rank, &first, &pass.n);
    tw_step_listen(&walk);
    return step_forward(&walk, &pass, first);
}

int tw_step_test(tw_training_t *t, size_t begin, double *loss, tw_head_wrong_t *wrong,
                 tw_problem_t *problem)
{
    tw_feed_batch_t batch = {.step = t->step, .testing = 1, .begin = begin};
    tw_head_wrong_t more;
    double          one;

    for (; batch.view < tw_feed_views(t->feed); batch.view++) {
        if (test_view(t, batch, problem) != 0) {
            return -1;
        }
    }
    if (tw_head_take(t->head, &one, &more, problem) != 0) {
        return -1;
    }
    *loss += one;
    wrong->one += more.one;
    wrong->five += more.five;
    return 0;
}
