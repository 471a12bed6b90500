/* SPDX-License-Identifier: BSD-3-Clause
 * model/trunk_pass.c - passes over the trunk: the plan's steps in order, forward and backward. A
 * rank without examples runs the same steps, with empty statistics.
 */
#include "config.h"

#include "train/model/trunk_inside.h"

static void between(const tw_trunk_t *t, size_t l)
{
    if (t->hooks.between != NULL) {
        t->hooks.between(t->hooks.user, l);
    }
}

static int before(const tw_trunk_t *t, size_t l)
{
    return t->hooks.before != NULL && tw_trunk_has_params(t->net, l)
               ? t->hooks.before(t->hooks.user, l)
               : 0;
}

/* Statistics of a step's normalisations, or backward the sums that their gradients need, merged
 * over the ranks; g is NULL on a rank without examples, which gives zeros. */
static int merge(tw_trunk_t *t, const tw_trunk_step_t *step, tw_trunk_graph_t *g, int backward,
                 tw_problem_t *problem)
{
    int (*const hook)(void *, double *const *, const size_t *, size_t) =
        backward ? t->hooks.sums : t->hooks.moments;

    for (size_t i = 0; i < step->count; i++) {
        const size_t l = t->plan.order[step->first + i], c = t->net->layer[l].out.c;
        double      *numbers = backward ? t->norm[l].sums : t->norm[l].moments;

        t->together[i] = numbers;
        t->channels[i] = c;
        if (g != NULL) {
            (backward ? tw_op_norm_sums : tw_op_norm_moments)(g->op[l], numbers);
        } else if (tw_backend_zero(t->backend, numbers,
                                   (backward ? 2 * c : 2 * c + 1) * sizeof(double), problem) != 0) {
            return -1;
        }
    }
    return hook == NULL || hook(t->hooks.user, t->together, t->channels, step->count) == 0 ? 0 : -1;
}

/* Running statistics of layer l from those of the merged batch. */
static int update_running(const tw_trunk_t *t, size_t l, tw_problem_t *problem)
{
    const size_t c    = t->net->layer[l].out.c;
    float       *mean = tw_params_state(t->params, l);

    return tw_backend_running(t->backend, mean, mean + c, t->norm[l].moments, c,
                              t->net->layer[l].momentum, problem);
}

/* Statistics of a step's normalisations, before they run; g is NULL without examples. */
static int merge_moments(tw_trunk_t *t, const tw_trunk_step_t *step, tw_trunk_graph_t *g,
                         tw_problem_t *problem)
{
    if (merge(t, step, g, 0, problem) != 0) {
        return -1;
    }
    for (size_t i = 0; i < step->count; i++) {
        const size_t l = t->plan.order[step->first + i];

        if (update_running(t, l, problem) != 0) {
            return -1;
        }
        if (g != NULL) {
            tw_op_norm_set(g->op[l], t->norm[l].moments);
        }
    }
    return 0;
}

static int forward_step(tw_trunk_t *t, const tw_trunk_step_t *step, const tw_op_pass_t *pass,
                        tw_trunk_graph_t *g, tw_problem_t *problem)
{
    for (size_t i = 0; i < step->count; i++) {
        if (before(t, t->plan.order[step->first + i]) != 0) {
            return -1;
        }
    }
    if (step->norms && pass->training && merge_moments(t, step, g, problem) != 0) {
        return -1;
    }
    for (size_t i = 0; i < step->count; i++) {
        const size_t l = t->plan.order[step->first + i];

        if (g != NULL && step->norms && !pass->training) {
            tw_trunk_use_running(t, g->op[l], l);
        }
        if (g != NULL) {
            tw_op_forward(g->op[l], pass);
        }
        between(t, l);
    }
    return 0;
}

static int segment_of(const tw_trunk_t *t, size_t step)
{
    return t->plan.segment[t->plan.order[t->plan.step[step].first]];
}

/* Before a step whose segment takes the memory of the one before, store what that has given. */
static int enter_forward(const tw_trunk_t *t, size_t step, const tw_op_pass_t *pass,
                         tw_trunk_graph_t *g, tw_problem_t *problem)
{
    const int before = step > 0 ? segment_of(t, step - 1) : 0;

    return t->storage != NULL && g != NULL && pass->training && segment_of(t, step) != before
               ? tw_graph_store(g->graph, before, t->storage, problem)
               : 0;
}

const float *tw_trunk_forward(tw_trunk_t *t, const tw_trunk_pass_t *pass, tw_problem_t *problem)
{
    const tw_op_pass_t how = tw_trunk_op_pass(pass);
    tw_trunk_graph_t  *g   = pass->n > 0 ? tw_trunk_find_graph(t, pass->n) : NULL;

    if (t->plan.layers == 0) {
        return pass->n > 0 ? t->plain : tw_trunk_nothing;
    }
    if (g == NULL && pass->n > 0) {
        tw_problem_set(problem, "no input was asked for %zu examples", pass->n);
        return NULL;
    }
    for (size_t i = 0; i < t->plan.steps; i++) {
        if (enter_forward(t, i, &how, g, problem) != 0 ||
            forward_step(t, &t->plan.step[i], &how, g, problem) != 0) {
            return NULL;
        }
    }
    if (g == NULL) {
        return tw_trunk_nothing;
    }
    tw_op_forward(g->out_op, &how);
    return tw_graph_check(g->graph, problem) == 0 ? g->features : NULL;
}

/* -------------------------------------------------------------------------- backward */

/* The sums that the gradient of a step's normalisations needs. */
static int merge_sums(tw_trunk_t *t, const tw_trunk_step_t *step, tw_trunk_graph_t *g,
                      tw_problem_t *problem)
{
    if (merge(t, step, g, 1, problem) != 0) {
        return -1;
    }
    for (size_t i = 0; g != NULL && i < step->count; i++) {
        const size_t l = t->plan.order[step->first + i];

        tw_op_norm_set_sums(g->op[l], t->norm[l].sums, t->norm[l].moments);
    }
    return 0;
}

/* Whether the gradient by an input of layer l is wanted. */
static int input_backward(const tw_trunk_t *t, size_t l)
{
    for (size_t i = 0; i < TW_LAYER_INPUTS; i++) {
        const int from = t->net->layer[l].input[i];

        if (from >= 0 && t->plan.backward[from]) {
            return 1;
        }
    }
    return 0;
}

/* Report the layers whose gradients are final, in falling order: *left_p layers are not reported.
 * A layer waits for those behind it that come later in the plan. */
static int report_ready(tw_trunk_t *t, const unsigned char *final, size_t *left_p,
                        tw_trunk_graph_t *g, tw_problem_t *problem)
{
    for (; *left_p > 0; (*left_p)--) {
        const size_t l = *left_p - 1;

        if (tw_trunk_has_params(t->net, l)) {
            if (!final[l]) {
                break;
            }
            if (t->hooks.ready != NULL) {
                if (g != NULL && tw_graph_check(g->graph, problem) != 0) {
                    return -1;
                }
                t->hooks.ready(t->hooks.user, l);
            }
        }
    }
    return 0;
}

static int backward_layer(tw_trunk_t *t, size_t l, unsigned char *final, size_t *left_p,
                          tw_trunk_graph_t *g, tw_problem_t *problem)
{
    if (g != NULL && t->plan.backward[l]) {
        tw_op_backward_params(g->op[l]);
    }
    final[l] = 1;
    if (report_ready(t, final, left_p, g, problem) != 0) {
        return -1;
    }
    if (g != NULL && input_backward(t, l)) {
        tw_op_backward_data(g->op[l]);
    }
    between(t, l);
    return 0;
}

/* Hand the gradient by the features to the graph. */
static int begin_backward(tw_trunk_t *t, tw_trunk_graph_t *g, const float *gfeatures,
                          tw_problem_t *problem)
{
    if (tw_graph_backward_begin(g->graph, problem) != 0) {
        return -1;
    }
    if (tw_backend_copy(t->backend, g->gradient, gfeatures, g->n * t->features * sizeof(float),
                        problem) != 0) {
        return -1;
    }
    tw_op_backward_data(g->out_op);
    return 0;
}

static int clear_gradients(tw_trunk_t *t, tw_problem_t *problem)
{
    for (size_t i = 0; i < t->params->count; i++) {
        const tw_param_t *p = &t->params->param[i];

        if (p->layer < t->net->first_dense &&
            tw_backend_zero(t->backend, t->params->gradient + p->first, p->count * sizeof(float),
                            problem) != 0) {
            return -1;
        }
    }
    return 0;
}

/* Compute what a segment did not keep, from what was kept before it; batch statistics are those of
 * the forward pass. */
static void run_again(tw_trunk_t *t, int segment, const tw_op_pass_t *pass, tw_trunk_graph_t *g)
{
    for (size_t i = 0; i < t->plan.layers; i++) {
        const size_t l = t->plan.order[i];

        if (t->plan.segment[l] == segment && !t->plan.kept[l]) {
            tw_op_forward(g->op[l], pass);
            between(t, l);
        }
    }
}

/* Before a step of a segment whose values are not there any more. */
static int enter_backward(tw_trunk_t *t, int segment, const tw_op_pass_t *pass, tw_trunk_graph_t *g,
                          tw_problem_t *problem)
{
    if (g == NULL) {
        return 0;
    }
    if (t->storage != NULL) {
        return tw_graph_load(g->graph, segment, t->storage, problem);
    }
    if (t->recompute) {
        run_again(t, segment, pass, g);
    }
    return 0;
}

int tw_trunk_backward(tw_trunk_t *t, const tw_trunk_pass_t *pass, const float *gfeatures,
                      tw_problem_t *problem)
{
    tw_trunk_graph_t  *g       = pass->n > 0 ? tw_trunk_find_graph(t, pass->n) : NULL;
    const tw_op_pass_t how     = tw_trunk_op_pass(pass);
    int                segment = t->plan.segments - 1;
    unsigned char      final[TW_NETWORK_LAYERS_MAX] = {0};
    size_t             left                         = t->plan.layers;

    if (t->elements == 0) {
        return 0;
    }
    if ((g == NULL ? clear_gradients(t, problem) : begin_backward(t, g, gfeatures, problem)) != 0) {
        return -1;
    }
    for (size_t i = t->plan.steps; i-- > 0;) {
        const tw_trunk_step_t *step = &t->plan.step[i];

        if (segment_of(t, i) != segment) {
            segment = segment_of(t, i);
            if (enter_backward(t, segment, &how, g, problem) != 0) {
                return -1;
            }
        }
        if (step->norms && merge_sums(t, step, g, problem) != 0) {
            return -1;
        }
        for (size_t k = step->count; k-- > 0;) {
            if (backward_layer(t, t->plan.order[step->first + k], final, &left, g, problem) != 0) {
                return -1;
            }
        }
    }
    return g == NULL ? 0 : tw_graph_check(g->graph, problem);
}
