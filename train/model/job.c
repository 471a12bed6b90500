/* SPDX-License-Identifier: BSD-3-Clause
 * model/job.c - see job.h.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "train/model/job.h"

/* Parameters, gradients and optimizer state: what an update reads and writes of each value; what is
 * kept of it, and of weights that another rank updates: a copy and a gradient. */
enum { UPDATE_FLOATS = 5, KEPT_FLOATS = 3, COPY_FLOATS = 2 };

/* Values that a layer reads and writes, forward, for one example. */
static double values_of(const tw_network_t *net, size_t l)
{
    const tw_network_layer_t *layer  = &net->layer[l];
    double                    values = (double)tw_shape_size(layer->out);

    for (size_t i = 0; i < tw_layer_inputs(layer); i++) {
        values += (double)tw_shape_size(tw_network_shape(net, layer->input[i]));
    }
    return values;
}

static double forward_of(const tw_network_t *net, size_t l, const speeds_t *machine, double batch)
{
    const tw_network_layer_t *layer = &net->layer[l];
    const double rate    = layer->kind == TW_DENSE ? machine->flops : machine->convolution_flops;
    const double compute = 2.0 * (double)tw_network_operations(net, l) * batch / rate;
    const double bytes =
        sizeof(float) * (values_of(net, l) * batch + (double)tw_network_weights(net, l));

    return machine->memory_rate > 0.0 ? fmax(compute, bytes / machine->memory_rate) : compute;
}

int tw_network_layers(const tw_network_t *net, workload_t *work, tw_problem_t *problem)
{
    training_t *t = &work->training;

    *work    = (workload_t){.ranks = 1};
    t->layer = calloc(net->layers + 1, sizeof(*t->layer));
    if (t->layer == NULL) {
        return tw_problem_set(problem, "out of memory");
    }
    snprintf(work->name, sizeof(work->name), "%s", net->name);
    t->bucket  = 4194304.0;
    t->softmax = net->loss == TW_LOSS_SOFTMAX;
    strcpy(t->layer[t->layers++].name, "input");
    for (size_t l = 0; l < net->layers; l++) {
        const tw_network_layer_t *layer = &net->layer[l];
        training_layer_t         *to    = &t->layer[t->layers];

        if (l >= net->first_dense && layer->kind != TW_DENSE) {
            continue; /* a dropout of the head */
        }
        memcpy(to->name, layer->name, sizeof(layer->name));
        to->weights = (double)tw_network_weights(net, l);
        to->biases  = (double)tw_network_biases(net, l);
        to->network = l;
        if (layer->kind == TW_DENSE) {
            to->units    = (double)layer->out.c;
            to->groups   = layer->groups > 1 ? (double)layer->groups : 0.0;
            to->by_input = layer->by_input;
        } else if (layer->kind == TW_NORM) { /* both travel like biases */
            to->biases += to->weights;
            to->weights = 0.0;
        }
        t->layers++;
    }
    t->dense = net->first_dense + 1;
    return 0;
}

int tw_network_job(const tw_network_t *net, const speeds_t *machine, double batch, workload_t *work,
                   tw_problem_t *problem)
{
    training_t  *t     = &work->training;
    const double bytes = UPDATE_FLOATS * sizeof(float) * (double)tw_network_parameters(net);

    if (tw_network_layers(net, work, problem) != 0) {
        return -1;
    }
    t->batch = batch;
    for (size_t l = 1; l < t->layers; l++) {
        t->layer[l].forward  = forward_of(net, t->layer[l].network, machine, batch);
        t->layer[l].backward = 2.0 * t->layer[l].forward;
        if (t->layer[l].backward > SECONDS_MOST) {
            tw_problem_set(problem,
                           "layer %s would take %.3g s for %.0f examples; accepted are up to %g s",
                           t->layer[l].name, t->layer[l].backward, batch, SECONDS_MOST);
            workload_free(work);
            return -1;
        }
    }
    t->update = machine->memory_rate > 0.0 ? bytes / machine->memory_rate : 0.0;
    if (t->update > SECONDS_MOST) {
        tw_problem_set(problem,
                       "the update of all parameters would take %.3g s; accepted are up to %g s",
                       t->update, SECONDS_MOST);
        workload_free(work);
        return -1;
    }
    work->codec_rate = machine->codec_rate;
    return 0;
}

/* Values that dense layers hold for a pass. Where they are divided, the next pass arrives and the
 * gradients of the one before leave meanwhile. */
static double pass_values(const tw_network_t *net, const tw_network_memory_t *how)
{
    const double inputs = (double)tw_shape_size(net->layer[net->first_dense].in);
    double       values = how->ranks > 1 ? 4.0 * inputs : 0.0;

    for (size_t l = net->first_dense; l < net->layers; l++) {
        values += 2.0 * (double)tw_shape_size(net->layer[l].out);
    }
    return values;
}

double tw_network_memory(const tw_network_t *net, const tw_network_memory_t *how)
{
    const double more   = how->residuals ? 1.0 : 0.0;
    double       values = how->rows * (double)tw_shape_size(net->input);

    for (size_t l = 0; l < net->layers; l++) {
        const int    split = l >= net->first_dense && how->ranks > 1;
        const double part  = split ? 1.0 / how->ranks : 1.0;
        const double kept =
            how->owned > 0.0 && !split ? COPY_FLOATS + 2.0 * how->owned : KEPT_FLOATS;

        values += part * (kept + more) *
                  ((double)tw_network_weights(net, l) + (double)tw_network_biases(net, l));
        if (l < net->first_dense) {
            values += 2.0 * how->rows * (double)tw_shape_size(net->layer[l].out);
        }
    }
    return sizeof(float) * (values + how->pass * pass_values(net, how));
}
