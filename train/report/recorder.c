/* SPDX-License-Identifier: BSD-3-Clause
 * train/report/recorder.c - see recorder.h.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command/file.h"
#include "scaling/training.h"
#include "train/model/job.h"
#include "train/report/recorder.h"

enum { SKIPPED = 2, STEPS = 16 };

struct tw_recorder {
    unsigned begun; /* steps */
    unsigned kept;
    unsigned updates, most; /* of split layers: in the step at hand, in one of those kept */
    size_t   layers;
    double   last;    /* seconds of the step at hand until the last call */
    double  *seconds; /* [STEPS][places(): input, update, split, each layer forward and backward] */
    char (*copy)[TW_WEIGHT_SPEC]; /* [layers] the codec of weights with owners; "": of others */
    int norms;                    /* are exchanged in each step                              */
};

static size_t places(const tw_recorder_t *r)
{
    return 3 + 2 * r->layers;
}

static size_t place_of(tw_recorded_t what, size_t layer)
{
    switch (what) {
    case TW_RECORDED_INPUT:
        return 0;
    case TW_RECORDED_UPDATE:
        return 1;
    case TW_RECORDED_SPLIT:
        return 2;
    case TW_RECORDED_FORWARD:
    case TW_RECORDED_BACKWARD:
        break;
    }
    return 3 + 2 * layer + (what == TW_RECORDED_BACKWARD);
}

tw_recorder_t *tw_recorder_create(size_t layers)
{
    tw_recorder_t *r = calloc(1, sizeof(*r));

    if (r != NULL) {
        r->layers  = layers;
        r->seconds = calloc(STEPS * places(r), sizeof(*r->seconds));
        r->copy    = calloc(layers + 1, sizeof(*r->copy));
    }
    if (r != NULL && (r->seconds == NULL || r->copy == NULL)) {
        tw_recorder_destroy(r);
        r = NULL;
    }
    return r;
}

void tw_recorder_destroy(tw_recorder_t *r)
{
    if (r != NULL) {
        free(r->seconds);
        free(r->copy);
        free(r);
    }
}

static int keeps(const tw_recorder_t *r)
{
    return r != NULL && r->begun > SKIPPED && r->kept < STEPS;
}

void tw_recorder_step(tw_recorder_t *r)
{
    if (r != NULL && r->begun <= SKIPPED) {
        r->begun++;
    }
    if (keeps(r)) { /* tests in between have left something */
        memset(r->seconds + r->kept * places(r), 0, places(r) * sizeof(*r->seconds));
        r->last    = 0.0;
        r->updates = 0;
    }
}

void tw_recorder_was(tw_recorder_t *r, tw_recorded_t what, size_t layer, double computed)
{
    if (keeps(r)) {
        r->seconds[r->kept * places(r) + place_of(what, layer)] +=
            computed > r->last ? computed - r->last : 0.0;
        r->last = computed;
        r->updates += what == TW_RECORDED_SPLIT;
    }
}

static void take_codecs(tw_recorder_t *r, const tw_masters_t *masters)
{
    for (size_t l = 0; l < r->layers; l++) {
        const char *codec = tw_masters_codec(masters, l);

        snprintf(r->copy[l], sizeof(r->copy[l]), "%s", codec != NULL ? codec : "");
    }
    r->norms = tw_masters_observes(masters);
}

void tw_recorder_end(tw_recorder_t *r, const tw_masters_t *masters, double computed)
{
    if (!keeps(r)) {
        return;
    }
    tw_recorder_was(r, TW_RECORDED_UPDATE, 0, computed);
    r->kept++;
    r->most = r->updates > r->most ? r->updates : r->most;
    take_codecs(r, masters);
}

/* ---- the file ------------------------------------------------------------------------------ */

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* The median of the steps. */
static double taken(const tw_recorder_t *r, tw_recorded_t what, size_t layer)
{
    double all[STEPS];

    for (unsigned k = 0; k < r->kept; k++) {
        all[k] = r->seconds[k * places(r) + place_of(what, layer)];
    }
    qsort(all, r->kept, sizeof(*all), by_size);
    return r->kept % 2 ? all[r->kept / 2] : 0.5 * (all[r->kept / 2 - 1] + all[r->kept / 2]);
}

/* By what a layer's weights travel; those of split layers would do so by what AWP begins with. */
static int fill_codec(const tw_recorder_t *r, const tw_recorder_about_t *about,
                      training_layer_t *layer, tw_problem_t *problem)
{
    char spec[TW_WEIGHT_SPEC];

    memcpy(spec, r->copy[layer->network], sizeof(spec));
    if (spec[0] == '\0') {
        tw_weight_codec_spec(about->weight, about->weight->rule.first, spec);
    }
    if (about->weight->chooses) { /* nothing has been chosen */
        strcpy(spec, "fp32");
    }
    if (strlen(spec) >= TW_FACTS_SPEC) {
        return tw_problem_set(
            problem, "--record: codec '%s' has more characters than thinwire scale takes", spec);
    }
    strcpy(layer->copy, spec);
    return 0;
}

/* The layers with what was measured. */
static int fill(const tw_recorder_t *r, const tw_recorder_about_t *about, workload_t *work,
                tw_problem_t *problem)
{
    training_t *t = &work->training;

    if (tw_network_layers(about->network, work, problem) != 0) {
        return -1;
    }
    work->ranks = about->ranks;
    t->batch    = (double)about->batch;
    t->bucket   = (double)about->bucket;
    t->update   = taken(r, TW_RECORDED_UPDATE, 0) / about->own +
                about->parts * taken(r, TW_RECORDED_SPLIT, 0) / (r->most > 0 ? r->most : 1);
    t->period           = (double)about->period;
    t->owners           = about->owners;
    t->norms            = r->norms;
    t->blocks           = about->owners != 0 && about->weight->by_block;
    t->layer[0].forward = taken(r, TW_RECORDED_INPUT, 0);
    for (size_t l = 1; l < t->layers; l++) {
        training_layer_t         *layer = &t->layer[l];
        const tw_network_layer_t *of    = &about->network->layer[layer->network];

        layer->forward  = taken(r, TW_RECORDED_FORWARD, layer->network);
        layer->backward = taken(r, TW_RECORDED_BACKWARD, layer->network);
        if (about->owners != 0 && layer->weights > 0.0 &&
            fill_codec(r, about, layer, problem) != 0) {
            workload_free(work);
            return -1;
        }
        layer->channels = about->statistics && of->kind == TW_NORM ? (double)of->out.c : 0.0;
    }
    return 0;
}

int tw_recorder_write(const tw_recorder_t *r, const char *path, const tw_recorder_about_t *about,
                      tw_problem_t *problem)
{
    tw_file_t  file;
    workload_t work;
    int        status;

    if (r->kept == 0) {
        return tw_problem_set(problem, "--record %s: the run has fewer than 3 steps", path);
    }
    if (fill(r, about, &work, problem) != 0) {
        return -1;
    }
    status = tw_file_begin(&file, "--record", path, problem);
    if (status == 0) {
        fprintf(file.stream, "# Seconds are medians of %u steps, by rank 0.\n", r->kept);
        training_write(file.stream, &work);
        status = tw_file_end(&file, "--record", problem);
    }
    workload_free(&work);
    return status;
}
