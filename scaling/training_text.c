/* SPDX-License-Identifier: BSD-3-Clause
 * scaling/training_text.c - the layers of a training, as a job file has them.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <thinwire/weights.h>

#include "scaling/parser.h"
#include "scaling/training.h"

#define VALUES_MOST 1e12

/* A number that may be missing. */
static int read_number(parser_t *p, const config_setting_t *group, const char *key, double most,
                       double *value)
{
    const config_setting_t *at = config_setting_get_member(group, key);

    return at == NULL ? 0 : job_number(p, at, 0.0, most, value);
}

static int read_whole(parser_t *p, const config_setting_t *group, const char *key, double *value)
{
    if (read_number(p, group, key, VALUES_MOST, value) != 0) {
        return -1;
    }
    return *value == floor(*value) ? 0
                                   : job_wrong(p, config_setting_get_member(group, key),
                                               "%s: accepted is a whole number", key);
}

static int read_layer(parser_t *p, const config_setting_t *group, training_layer_t *layer)
{
    const config_setting_t *name, *copy, *split;
    char                    by[WORKLOAD_NAME] = "output";

    *layer = (training_layer_t){.weights = 0.0};
    if (!config_setting_is_group(group)) {
        return job_wrong(p, group, "a layer is a group: { key = value; ... }");
    }
    name  = config_setting_get_member(group, "name");
    copy  = config_setting_get_member(group, "copy");
    split = config_setting_get_member(group, "split");
    if (job_only(p, group,
                 "name, weights, biases, units, groups, split, channels, copy, forward, "
                 "backward") != 0) {
        return -1;
    }
    if (name == NULL) {
        return job_wrong(p, group, "a layer needs a name");
    }
    if (job_word(p, name, layer->name) != 0 ||
        read_whole(p, group, "weights", &layer->weights) != 0 ||
        read_whole(p, group, "biases", &layer->biases) != 0 ||
        read_whole(p, group, "units", &layer->units) != 0 ||
        read_whole(p, group, "groups", &layer->groups) != 0 ||
        read_whole(p, group, "channels", &layer->channels) != 0 ||
        (copy != NULL && job_word(p, copy, layer->copy) != 0) ||
        (split != NULL && job_word(p, split, by) != 0) ||
        read_number(p, group, "forward", SECONDS_MOST, &layer->forward) != 0 ||
        read_number(p, group, "backward", SECONDS_MOST, &layer->backward) != 0) {
        return -1;
    }
    if (copy != NULL && (p->work->training.owners == 0 || layer->weights == 0.0)) {
        return job_wrong(p, copy, "copy: accepted for weights that have owners");
    }
    layer->by_input = strcmp(by, "input") == 0;
    if (split != NULL && ((!layer->by_input && strcmp(by, "output") != 0) || layer->units == 0.0 ||
                          (layer->by_input && layer->groups > 1.0))) {
        return job_wrong(p, split,
                         "split: accepted for a dense layer are output and, without "
                         "groups, input");
    }
    if (layer->units > 0.0 && layer->weights < layer->units) {
        return job_wrong(p, group, "'%s': a dense layer has at least as many weights as units",
                         layer->name);
    }
    return layer->groups == 0.0 || (layer->units > 0.0 && fmod(layer->units, layer->groups) == 0.0)
               ? 0
               : job_wrong(p, config_setting_get_member(group, "groups"),
                           "groups: accepted is a divisor of a dense layer's units");
}

static int read_layers(parser_t *p, const config_setting_t *list)
{
    training_t  *t = &p->work->training;
    const size_t n = config_setting_is_list(list) ? (size_t)config_setting_length(list) : 0;

    if (n < 1 || n > TRAINING_LAYERS) {
        return job_wrong(p, list, "layers: accepted is a list of 1 to %d: ( { ... }, { ... } )",
                         TRAINING_LAYERS);
    }
    t->layer = calloc(n, sizeof(*t->layer));
    if (t->layer == NULL) {
        return job_wrong(p, list, "out of memory");
    }
    t->layers = n;
    for (size_t l = 0; l < n; l++) {
        if (read_layer(p, config_setting_get_elem(list, (unsigned)l), &t->layer[l]) != 0) {
            return -1;
        }
    }
    for (t->dense = n; t->dense > 0 && t->layer[t->dense - 1].units > 0.0;) {
        t->dense--;
    }
    return t->dense == n || !t->layer[t->dense].by_input
               ? 0
               : job_wrong(p, list,
                           "'%s', split: accepted for the first dense layer is output, as all "
                           "ranks have its inputs",
                           t->layer[t->dense].name);
}

static int read_loss(parser_t *p, const config_setting_t *at, int *softmax)
{
    const char *value = config_setting_get_string(at);

    *softmax = value != NULL && strcmp(value, "softmax") == 0;
    return *softmax || (value != NULL && strcmp(value, "logistic") == 0)
               ? 0
               : job_wrong(p, at, "loss: accepted are softmax and logistic");
}

const char *training_owners(int owners)
{
    static const char *const names[] = {
        "replicated", [TW_WEIGHTS_ROOT] = "root", [TW_WEIGHTS_SHARDED] = "sharded"};

    return owners <= TW_WEIGHTS_SHARDED ? names[owners] : NULL;
}

static int read_owners(parser_t *p, const config_setting_t *at, int *owners)
{
    const char *value = config_setting_get_string(at);

    for (int k = 0; value != NULL && training_owners(k) != NULL; k++) {
        if (strcmp(value, training_owners(k)) == 0) {
            *owners = k;
            return 0;
        }
    }
    return job_wrong(p, at, "owners: accepted are replicated, root and sharded");
}

/* A flag that only weights with owners can have. */
static int read_of_owners(parser_t *p, const config_setting_t *group, const char *key, int *flag)
{
    const config_setting_t *at = config_setting_get_member(group, key);

    if (at != NULL && job_flag(p, at, flag) != 0) {
        return -1;
    }
    return at == NULL || !*flag || p->work->training.owners != 0
               ? 0
               : job_wrong(p, at, "%s: accepted for weights that have owners", key);
}

int training_read(parser_t *p, const config_setting_t *group)
{
    training_t             *t      = &p->work->training;
    const config_setting_t *batch  = config_setting_get_member(group, "batch"),
                           *bucket = config_setting_get_member(group, "bucket"),
                           *owners = config_setting_get_member(group, "owners"),
                           *loss   = config_setting_get_member(group, "loss"),
                           *layers = config_setting_get_member(group, "layers");

    t->bucket  = 4194304.0;
    t->softmax = 1;
    if (!config_setting_is_group(group)) {
        return job_wrong(p, group, "training: accepted is a group: { key = value; ... }");
    }
    if (job_only(p, group, "batch, bucket, update, period, owners, norms, blocks, loss, layers") !=
        0) {
        return -1;
    }
    if (batch == NULL || layers == NULL) {
        return job_wrong(p, group, "training: it needs batch and layers");
    }
    return job_whole(p, batch, VALUES_MOST, &t->batch) != 0 ||
                   (bucket != NULL && job_whole(p, bucket, VALUES_MOST, &t->bucket) != 0) ||
                   read_number(p, group, "update", SECONDS_MOST, &t->update) != 0 ||
                   read_whole(p, group, "period", &t->period) != 0 ||
                   (owners != NULL && read_owners(p, owners, &t->owners) != 0) ||
                   read_of_owners(p, group, "norms", &t->norms) != 0 ||
                   read_of_owners(p, group, "blocks", &t->blocks) != 0 ||
                   (loss != NULL && read_loss(p, loss, &t->softmax) != 0)
               ? -1
               : read_layers(p, layers);
}

/* As libconfig reads it back. */
static void put_text(FILE *to, const char *text)
{
    fputc('"', to);
    for (; *text != '\0'; text++) {
        if (*text == '"' || *text == '\\') {
            fputc('\\', to);
        }
        fputc(*text, to);
    }
    fputc('"', to);
}

void training_write(FILE *to, const workload_t *work)
{
    const training_t *t = &work->training;

    fputs("name = ", to);
    put_text(to, work->name);
    fprintf(to, ";\nranks = %d;\n", work->ranks);
    if (work->codec_rate > 0.0) {
        fprintf(to, "codec_rate = %.9e;\n", work->codec_rate);
    }
    fprintf(to, "training = {\n  batch = %.0fL;\n  bucket = %.0fL;\n  update = %.9g;\n", t->batch,
            t->bucket, t->update);
    if (t->period > 0.0) {
        fprintf(to, "  period = %.0fL;\n", t->period);
    }
    if (t->owners != 0) {
        fprintf(to, "  owners = \"%s\";\n%s%s", training_owners(t->owners),
                t->norms ? "  norms = true;\n" : "", t->blocks ? "  blocks = true;\n" : "");
    }
    fprintf(to, "  loss = \"%s\";\n  layers = (\n", t->softmax ? "softmax" : "logistic");
    for (size_t l = 0; l < t->layers; l++) {
        const training_layer_t *layer = &t->layer[l];

        fputs("    { name = ", to);
        put_text(to, layer->name);
        fputs("; ", to);
        if (layer->weights + layer->biases > 0.0) {
            fprintf(to, "weights = %.0fL; biases = %.0fL; ", layer->weights, layer->biases);
        }
        if (layer->units > 0.0) {
            fprintf(to, "units = %.0fL; ", layer->units);
        }
        if (layer->groups > 0.0) {
            fprintf(to, "groups = %.0fL; ", layer->groups);
        }
        if (layer->by_input) {
            fputs("split = \"input\"; ", to);
        }
        if (layer->channels > 0.0) {
            fprintf(to, "channels = %.0fL; ", layer->channels);
        }
        if (layer->copy[0] != '\0') {
            fputs("copy = ", to);
            put_text(to, layer->copy);
            fputs("; ", to);
        }
        fprintf(to, "forward = %.9g; backward = %.9g; }%s\n", layer->forward, layer->backward,
                l + 1 < t->layers ? "," : "");
    }
    fprintf(to, "  );\n};\n");
}
