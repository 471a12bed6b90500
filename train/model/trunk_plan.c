/* SPDX-License-Identifier: BSD-3-Clause
 * model/trunk_plan.c - see trunk_plan.h.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "train/model/trunk_plan.h"

/* Readers of each layer that are not placed yet; the output has one more, the head. */
static void count_readers(const tw_trunk_plan_t *plan, const tw_network_t *net, size_t *readers)
{
    for (size_t l = 0; l < plan->layers; l++) {
        for (size_t i = 0; i < TW_LAYER_INPUTS; i++) {
            if (net->layer[l].input[i] >= 0) {
                readers[net->layer[l].input[i]]++;
            }
        }
    }
}

/* Place layer l as the next one backward. `placed` marks it. */
static void place(tw_trunk_plan_t *plan, const tw_network_t *net, size_t l, size_t *readers,
                  size_t *placed_p, unsigned char *placed)
{
    plan->order[(*placed_p)++] = l;
    placed[l]                  = 1;
    for (size_t i = 0; i < TW_LAYER_INPUTS; i++) {
        if (net->layer[l].input[i] >= 0) {
            readers[net->layer[l].input[i]]--;
        }
    }
}

/* The free layer of the highest index that is (norm) or is not a normalisation; -1: none. */
static int free_layer(const tw_trunk_plan_t *plan, const tw_network_t *net, const size_t *readers,
                      const unsigned char *placed, int norm)
{
    for (size_t l = plan->layers; l-- > 0;) {
        if (!placed[l] && readers[l] == 0 && (net->layer[l].kind == TW_NORM) == norm) {
            return (int)l;
        }
    }
    return -1;
}

/* All free normalisations as one step. They are marked first: one may free the next. */
static void place_norms(tw_trunk_plan_t *plan, const tw_network_t *net, size_t *readers,
                        size_t *done_p, unsigned char *placed)
{
    tw_trunk_step_t *step = &plan->step[plan->steps];
    unsigned char    together[TW_NETWORK_LAYERS_MAX];

    for (size_t l = 0; l < plan->layers; l++) {
        together[l] = !placed[l] && readers[l] == 0;
    }
    for (size_t l = plan->layers; l-- > 0;) {
        if (together[l]) {
            place(plan, net, l, readers, done_p, placed);
            step->count++;
        }
    }
    step->norms = 1;
    plan->exchanges++;
    plan->norms_most = step->count > plan->norms_most ? step->count : plan->norms_most;
}

/* What was placed from the end, turned to the forward order. */
static void turn(tw_trunk_plan_t *plan)
{
    size_t first = 0;

    for (size_t i = 0; i < plan->layers / 2; i++) {
        const size_t l = plan->order[i];

        plan->order[i]                    = plan->order[plan->layers - 1 - i];
        plan->order[plan->layers - 1 - i] = l;
    }
    for (size_t i = 0; i < plan->steps / 2; i++) {
        const tw_trunk_step_t step = plan->step[i];

        plan->step[i]                   = plan->step[plan->steps - 1 - i];
        plan->step[plan->steps - 1 - i] = step;
    }
    for (size_t i = 0; i < plan->steps; i++) {
        plan->step[i].first = first;
        first += plan->step[i].count;
    }
}

static void find_backward(tw_trunk_plan_t *plan, const tw_network_t *net)
{
    for (size_t l = 0; l < plan->layers; l++) {
        plan->backward[l] = tw_trunk_has_params(net, l) != 0;
        for (size_t i = 0; i < TW_LAYER_INPUTS; i++) {
            const int from = net->layer[l].input[i];

            plan->backward[l] |= from >= 0 && plan->backward[from];
        }
    }
}

/* readers and placed: [layers] of zeros. */
static int order_layers(tw_trunk_plan_t *plan, const tw_network_t *net, size_t *readers,
                        unsigned char *placed, tw_problem_t *problem)
{
    size_t done = 0;

    count_readers(plan, net, readers);
    for (size_t l = 0; l < plan->layers; l++) {
        if (readers[l] == 0 && (int)l != plan->output) {
            return tw_problem_set(problem, "%s: no layer reads the output of layer '%s'", net->name,
                                  net->layer[l].name);
        }
    }
    while (done < plan->layers) {
        int l = free_layer(plan, net, readers, placed, 0);

        if (l >= 0) {
            place(plan, net, (size_t)l, readers, &done, placed);
            plan->step[plan->steps].count = 1;
        } else {
            place_norms(plan, net, readers, &done, placed);
        }
        plan->steps++;
    }
    turn(plan);
    return 0;
}

/* Outputs of the steps up to i that later ones read. */
static size_t read_behind(const tw_trunk_plan_t *plan, const tw_network_t *net,
                          const size_t *step_of, size_t i)
{
    unsigned char read[TW_NETWORK_LAYERS_MAX] = {0};
    size_t        count                       = 0;

    for (size_t l = 0; l < plan->layers; l++) {
        for (size_t k = 0; k < TW_LAYER_INPUTS && step_of[l] > i; k++) {
            const int from = net->layer[l].input[k];

            if (from >= 0 && step_of[from] <= i && !read[from]) {
                read[from] = 1;
                count++;
            }
        }
    }
    return count;
}

/* Segments of steps; step_of: [layers] is written. */
static void cut_segments(tw_trunk_plan_t *plan, const tw_network_t *net, size_t *step_of)
{
    size_t all = 0, passed = 0, wanted = 1;

    for (size_t i = 0; i < plan->steps; i++) {
        for (size_t k = 0; k < plan->step[i].count; k++) {
            const size_t l = plan->order[plan->step[i].first + k];

            step_of[l] = i;
            all += tw_shape_size(net->layer[l].out);
        }
    }
    while (wanted * wanted < plan->steps) {
        wanted++;
    }
    for (size_t i = 0; i < plan->steps; i++) {
        for (size_t k = 0; k < plan->step[i].count; k++) {
            const size_t l = plan->order[plan->step[i].first + k];

            plan->segment[l] = plan->segments;
            passed += tw_shape_size(net->layer[l].out);
        }
        if (passed * wanted >= all && i + 1 < plan->steps &&
            read_behind(plan, net, step_of, i) == 1) {
            plan->segments++;
            passed = 0;
        }
    }
    plan->segments++;
}

static void find_kept(tw_trunk_plan_t *plan, const tw_network_t *net)
{
    for (size_t l = 0; l < plan->layers; l++) {
        for (size_t i = 0; i < TW_LAYER_INPUTS; i++) {
            const int from = net->layer[l].input[i];

            if (from >= 0 && plan->segment[from] != plan->segment[l]) {
                plan->kept[from] = 1;
            }
        }
        plan->kept[l] |= (int)l == plan->output;
    }
}

int tw_trunk_plan_create(tw_trunk_plan_t *plan, const tw_network_t *net, tw_problem_t *problem)
{
    const size_t   n       = net->first_dense;
    size_t        *readers = calloc(n + 1, sizeof(readers[0]));
    unsigned char *placed  = calloc(n + 1, 1);
    int            status  = -1;

    *plan          = (tw_trunk_plan_t){.layers = n, .output = net->layer[n].input[0]};
    plan->order    = calloc(n + 1, sizeof(plan->order[0]));
    plan->step     = calloc(n + 1, sizeof(plan->step[0]));
    plan->backward = calloc(n + 1, 1);
    plan->segment  = calloc(n + 1, sizeof(plan->segment[0]));
    plan->kept     = calloc(n + 1, 1);
    if (readers == NULL || placed == NULL || plan->order == NULL || plan->step == NULL ||
        plan->backward == NULL || plan->segment == NULL || plan->kept == NULL) {
        tw_problem_set(problem, "no memory for the plan of %zu layers", n);
    } else {
        status = order_layers(plan, net, readers, placed, problem);
        find_backward(plan, net);
        cut_segments(plan, net, readers);
        find_kept(plan, net);
    }
    free(readers);
    free(placed);
    if (status != 0) {
        tw_trunk_plan_destroy(plan);
    }
    return status;
}

void tw_trunk_plan_destroy(tw_trunk_plan_t *plan)
{
    free(plan->order);
    free(plan->step);
    free(plan->backward);
    free(plan->segment);
    free(plan->kept);
    memset(plan, 0, sizeof(*plan));
}
