/* SPDX-License-Identifier: BSD-3-Clause
 * tools/scale/study.c - see study.h.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <thinwire/thinwire.h>

#include "runtime/base/dtype.h"
#include "scaling/errors.h"
#include "tools/scale/platform.h"
#include "tools/scale/simulation.h"
#include "tools/scale/study.h"
#include "tools/table.h"

/* ---- one step ------------------------------------------------------------------------------ */

/* The step of a job on so many ranks, in *made if it is of layers; NULL: the problem set. */
static const workload_t *step_of(const study_t *study, const scheme_t *scheme,
                                 const tw_facts_t *facts, int lossy, workload_t *made,
                                 tw_problem_t *problem)
{
    const workload_t *work  = &study->work;
    const double      batch = work->training.batch;

    if (work->training.layers == 0) {
        return work;
    }
    return training_step(work, scheme, facts->ranks, facts->local_ranks,
                         study->weak ? ceil(batch / work->ranks) * facts->ranks : batch, lossy,
                         made, problem) == 0
               ? made
               : NULL;
}

/* On a network that is NULL for one rank. */
static int time_of(const study_t *study, const network_t *network, const tw_facts_t *facts,
                   const char *spec, const variant_t *variant, step_time_t *time,
                   tw_problem_t *problem)
{
    const tw_codec_facts_t *codec    = tw_facts_codec(facts, spec, TW_F32);
    const step_case_t       how      = {.facts          = facts,
                                        .spec           = spec,
                                        .algorithm      = variant->algorithm,
                                        .act            = study->act,
                                        .weights        = study->weights,
                                        .narrow         = study->narrow,
                                        .only_gradients = codec != NULL && codec->feedback,
                                        .share = study->weak ? 1.0 : (double)study->work.ranks / facts->ranks};
    workload_t              made     = {.ranks = 0};
    const workload_t       *step     = step_of(study, &variant->scheme, facts,
                                               codec != NULL && codec->max_error > 0.0, &made, problem);
    const int               simulate = study->simulate && network != NULL && facts->ranks > 1;
    const int               status   = step == NULL ? -1
                                       : simulate ? simulation_step(step, &how, network, time, problem)
                                                  : step_time(step, &how, time, problem);

    workload_free(&made);
    return status;
}

int study_step(const study_t *study, const network_t *network, int ranks, size_t v, size_t s,
               step_time_t *time, tw_problem_t *problem)
{
    tw_facts_t  facts = study->facts;
    const char *spec  = s == study->specs.count ? "fp32" : tw_codec_spec(study->specs.codec[s]);

    network_facts(network, ranks, study->variant[v].per_node, &facts);
    if (study->simulate) { /* what is played is the library */
        memset(facts.native, 0, sizeof(facts.native));
    }
    return time_of(study, network, &facts, spec, &study->variant[v], time, problem);
}

static int compute_alone(study_t *study, tw_problem_t *problem)
{
    tw_facts_t  facts = study->facts;
    step_time_t time;

    facts.ranks = facts.nodes = facts.local_ranks = 1;
    if (time_of(study, NULL, &facts, "fp32", &study->variant[0], &time, problem) != 0) {
        return -1;
    }
    study->alone = time.seconds;
    return 0;
}

size_t study_ways(const study_t *study)
{
    return study->variants * (study->specs.count + 1);
}

static size_t row_index(const study_t *study, size_t n, size_t r, size_t v, size_t s)
{
    return (n * study->sizes + r) * study_ways(study) + v * (study->specs.count + 1) + s;
}

/* fp32 beside the codecs may be one of them. */
static int compute_row(study_t *study, size_t n, size_t r, size_t v, size_t s,
                       tw_problem_t *problem)
{
    step_time_t *time = &study->time[row_index(study, n, r, v, s)];

    for (size_t k = 0; s == study->specs.count && k < s; k++) {
        if (tw_dtype_is_lossless(TW_F32, tw_codec_spec(study->specs.codec[k]))) {
            *time = *study_time(study, n, r, v, k);
            return 0;
        }
    }
    return study_step(study, &study->network[n], study->ranks[r], v, s, time, problem);
}

int study_compute(study_t *study, tw_problem_t *problem)
{
    study->time = calloc(study->networks * study->sizes * study_ways(study), sizeof(*study->time));
    if (study->time == NULL) {
        return tw_problem_set(problem, "out of memory");
    }
    for (size_t k = 0; k < study->networks * study->sizes * study_ways(study); k++) {
        const size_t way = k % study_ways(study), row = k / study_ways(study);

        if (compute_row(study, row / study->sizes, row % study->sizes,
                        way / (study->specs.count + 1), way % (study->specs.count + 1),
                        problem) != 0) {
            return -1;
        }
    }
    return compute_alone(study, problem);
}

void study_free(study_t *study)
{
    for (size_t n = 0; n < study->networks; n++) {
        platform_free(&study->network[n]);
    }
    workload_free(&study->work);
    free(study->time);
    study->time = NULL;
}

const step_time_t *study_time(const study_t *study, size_t n, size_t r, size_t v, size_t s)
{
    return &study->time[row_index(study, n, r, v, s)];
}

double study_speedup(const study_t *study, int ranks, const step_time_t *time)
{
    return time->seconds > 0.0 ? (study->weak ? ranks : 1.0) * study->alone / time->seconds : 0.0;
}

void study_travel(const study_t *study, char text[STUDY_TRAVEL])
{
    size_t used = 0;

    text[0] = '\0';
    for (size_t k = 0; study->travel[k] != NULL; k++) {
        used += (size_t)snprintf(text + used, STUDY_TRAVEL - used, "%s%s", k > 0 ? " " : "",
                                 study->travel[k]);
    }
}

/* ---- rows ---------------------------------------------------------------------------------- */

/* The first three where a study has them. */
static const table_column_t columns[] = {
    {"scheme", -12}, {"algorithm", -12}, {"per node", 8}, {"ranks", 5}, {"codec", -16},
    {"step", 9},     {"computing", 9},   {"exposed", 9},  {"share", 6}, {"codec time", 10},
    {"speed-up", 8}, {"efficiency", 10}, {"MB sent", 9}};

enum { FEW = 3, COLUMNS = sizeof(columns) / sizeof(columns[0]) };

/* A row, or, where cells is NULL, the heads of the columns. */
static void print_cells(const study_t *study, char (*cells)[TABLE_CELL])
{
    const int has[FEW] = {study->work.training.layers > 0, study->algorithms > 1, study->nodes > 1};
    table_column_t column[COLUMNS];
    char           cell[COLUMNS][TABLE_CELL];
    int            n = 0;

    for (int k = 0; k < COLUMNS; k++) {
        if (k >= FEW || has[k]) {
            column[n] = columns[k];
            if (cells != NULL) {
                memcpy(cell[n], cells[k], TABLE_CELL);
            }
            n++;
        }
    }
    if (cells == NULL) {
        table_header(column, n);
    } else {
        table_row(column, n, cell);
    }
}

static void print_row(const study_t *study, int ranks, const variant_t *variant, const char *spec,
                      const step_time_t *time, double speedup)
{
    char cells[COLUMNS][TABLE_CELL];

    table_text(cells[0], variant->scheme.text);
    table_text(cells[1], variant->algorithm != NULL ? variant->algorithm : "");
    snprintf(cells[2], TABLE_CELL, "%d", variant->per_node);
    snprintf(cells[3], TABLE_CELL, "%d", ranks);
    table_text(cells[4], spec);
    table_time(cells[5], time->seconds);
    table_time(cells[6], time->compute);
    table_time(cells[7], time->exposed);
    snprintf(cells[8], TABLE_CELL, "%.0f %%",
             time->seconds > 0.0 ? 100.0 * time->exposed / time->seconds : 0.0);
    table_time(cells[9], time->codec);
    snprintf(cells[10], TABLE_CELL, "%.2f", speedup);
    snprintf(cells[11], TABLE_CELL, "%.1f %%", 100.0 * speedup / ranks);
    table_number(cells[12], 1e-6 * time->bytes);
    print_cells(study, cells);
}

static void add_row(const study_t *study, size_t n, size_t r, size_t v, size_t s, report_t *report)
{
    const char        *spec     = study->specs.text[s];
    const training_t  *training = &study->work.training;
    const variant_t   *variant  = &study->variant[v];
    char               weights[STUDY_TRAVEL];
    const char        *scheme  = training->layers > 0 ? variant->scheme.text : NULL;
    const char        *owners  = training->owners != 0 ? training_owners(training->owners) : NULL;
    const step_time_t *time    = study_time(study, n, r, v, s);
    const int          ranks   = study->ranks[r];
    const double       speedup = study_speedup(study, ranks, time);

    study_travel(study, weights);
    print_row(study, ranks, variant, spec, time, speedup);
    report_row(
        report,
        json_pack(
            "{s:s, s:s, s:i, s:i, s:s*, s:s*, s:s, s:s*, s:s*, s:s*, s:f, s:[f, f], s:f, "
            "s:f, s:f, s:f, s:f}",
            "network", study->network[n].name, "engine", study->simulate ? "simulation" : "model",
            "ranks", ranks, "ranks_per_node", variant->per_node < ranks ? variant->per_node : ranks,
            "scheme", scheme, "algorithm", variant->algorithm, "codec", spec, "act", study->act,
            "owners", owners, "weights", owners != NULL ? weights : NULL, "seconds", time->seconds,
            "interval", time->seconds / (1.0 + STEP_ERROR_NINE),
            time->seconds / (1.0 - STEP_ERROR_NINE), "compute_seconds", time->compute, "exposed",
            time->exposed, "codec_seconds", time->codec, "speedup", speedup, "bytes", time->bytes));
}

void study_rows(const study_t *study, report_t *report)
{
    char text[400];

    for (size_t n = 0; n < study->networks; n++) {
        network_describe(&study->network[n], text, sizeof(text));
        printf("%s%s\n", n > 0 ? "\n" : "", text);
        print_cells(study, NULL);
        for (size_t r = 0; r < study->sizes; r++) {
            for (size_t w = 0; w < study->variants * study->specs.count; w++) {
                add_row(study, n, r, w / study->specs.count, w % study->specs.count, report);
            }
        }
    }
}
