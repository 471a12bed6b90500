/* SPDX-License-Identifier: BSD-3-Clause
 * model/model.c - the list of models.
 * Source of mlp: S1 (Dettmers, "8-bit approximations for parallelism in deep learning", 2015),
 * section 4; learning rate and max-norm of 15 as in its published code.
 */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "train/model/model.h"

static const tw_model_t tw_models[] = {
    {.name          = "mlp",
     .help          = "784x1024x1024x10, logistic units, dropout 0.2/0.5/0.5",
     .inputs        = 784,
     .input_dropout = 0.2f,
     .init          = 1.0f,
     .max_norm      = 15.0f,
     .layers        = 3,
     .layer         = {{1024, 0.5f}, {1024, 0.5f}, {10, 0.0f}}},
    {.name     = "linear",
     .help     = "784x10, softmax regression, for comparison",
     .inputs   = 784,
     .max_norm = 0.0f,
     .layers   = 1,
     .layer    = {{10, 0.0f}}},
};

const tw_model_t *tw_model_at(size_t index)
{
    return index < sizeof(tw_models) / sizeof(tw_models[0]) ? &tw_models[index] : NULL;
}

const tw_model_t *tw_model_find(const char *name)
{
    const tw_model_t *model;

    for (size_t i = 0; (model = tw_model_at(i)) != NULL; i++) {
        if (strcmp(model->name, name) == 0) {
            return model;
        }
    }
    return NULL;
}

size_t tw_model_inputs(const tw_model_t *model, size_t l)
{
    return l == 0 ? model->inputs : model->layer[l - 1].units;
}

size_t tw_model_parameters(const tw_model_t *model)
{
    size_t sum = 0;

    for (size_t l = 0; l < model->layers; l++) {
        sum += (tw_model_inputs(model, l) + 1) * model->layer[l].units;
    }
    return sum;
}

void tw_model_shape(const tw_model_t *model, char *text, size_t size)
{
    int length = snprintf(text, size, "%zu", model->inputs);

    for (size_t l = 0; l < model->layers && length >= 0 && (size_t)length < size; l++) {
        length += snprintf(text + length, size - (size_t)length, "x%zu", model->layer[l].units);
    }
}
