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

/* Of a network of any rate: from 1 Mbit/s, so many steps of a tenth of a power of ten. */
enum { RATES = 61, PER_DECADE = 10 };

/* ---- one step ------------------------------------------------------------------------------ */

/* The step of a job on so many ranks, in *made if it is of layers; NULL: the problem set. */
static const workload_t *step_of(const study_t *study, const scheme_t *scheme, int ranks, int lossy,
                                 workload_t *made, tw_problem_t *problem)
{
    const workload_t *work  = &study->work;
    const double      batch = work->training.batch;

    if (work->training.layers == 0) {
        return work;
    }
    return training_step(work, scheme, ranks,
                         study->weak ? ceil(batch / work->ranks) * ranks : batch, lossy, made,
                         problem) == 0
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
    const workload_t       *step     = step_of(study, &variant->scheme, facts->ranks,
                                               codec != NULL && codec->max_error > 0.0, &made, problem);
    const int               simulate = study->simulate && network != NULL && facts->ranks > 1;
    const int               status   = step == NULL ? -1
                                       : simulate ? simulation_step(step, &how, network, time, problem)
                                                  : step_time(step, &how, time, problem);

    workload_free(&made);
    return status;
}

/* With a codec by its place; specs.count: fp32. */
static int step_with(const study_t *study, const network_t *network, int ranks, size_t v, size_t s,
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

int study_one(const study_t *study, size_t n, size_t r, size_t v, size_t s, step_time_t *time,
              tw_problem_t *problem)
{
    return step_with(study, &study->network[n], study->ranks[r], v, s, time, problem);
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

/* Ways of a step: variants, and for each the codecs and fp32. */
static size_t ways(const study_t *study)
{
    return study->variants * (study->specs.count + 1);
}

static size_t row_index(const study_t *study, size_t n, size_t r, size_t v, size_t s)
{
    return (n * study->sizes + r) * ways(study) + v * (study->specs.count + 1) + s;
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
    return step_with(study, &study->network[n], study->ranks[r], v, s, time, problem);
}

int study_compute(study_t *study, tw_problem_t *problem)
{
    study->time = calloc(study->networks * study->sizes * ways(study), sizeof(*study->time));
    if (study->time == NULL) {
        return tw_problem_set(problem, "out of memory");
    }
    for (size_t k = 0; k < study->networks * study->sizes * ways(study); k++) {
        const size_t way = k % ways(study), row = k / ways(study);

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
    {"scheme", -9},  {"algorithm", -12}, {"per node", 8}, {"ranks", 5}, {"codec", -16},
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

/* ---- the verdict --------------------------------------------------------------------------- */

/* The way with the shortest step, if its codec pays; else the best of those with fp32. time: of all
 * ways of study_time(). */
static size_t best(const study_t *study, const step_time_t *time)
{
    const size_t each  = study->specs.count + 1;
    size_t       least = 0, plain = each - 1;

    for (size_t w = 0; w < ways(study); w++) {
        least = time[w].seconds < time[least].seconds ? w : least;
        plain = w % each == each - 1 && time[w].seconds < time[plain].seconds ? w : plain;
    }
    return time[least].seconds < STUDY_PAYS * time[plain].seconds ? least : plain;
}

/* "tree8 on 2 to 16, fp32 on 32" */
static void say_best(const study_t *study, size_t n, char *text, size_t size)
{
    const size_t each = study->specs.count + 1;
    size_t       used = 0;

    text[0] = '\0';
    for (size_t r = 0, end; r < study->sizes && used < size; r = end) {
        const size_t w = best(study, study_time(study, n, r, 0, 0));
        char         way[2 * TABLE_CELL];

        end = r + 1;
        while (end < study->sizes && best(study, study_time(study, n, end, 0, 0)) == w) {
            end++;
        }
        study_way(study, w / each, w % each, way, sizeof(way));
        used += (size_t)snprintf(text + used, size - used, "%s%s on %d", used > 0 ? ", " : "", way,
                                 study->ranks[r]);
        if (end > r + 1 && used < size) {
            used += (size_t)snprintf(text + used, size - used, " to %d", study->ranks[end - 1]);
        }
    }
}

/* The highest rate, in Gbit/s, at which a codec pays on so many ranks; 0: at none; below it, it
 * pays everywhere down to the lowest that was tried. */
static double pays_up_to(const study_t *study, const network_t *network, int ranks)
{
    static const double tenth[PER_DECADE] = {1.0,   1.259, 1.585, 1.995, 2.512,
                                             3.162, 3.981, 5.012, 6.310, 7.943};
    const size_t        each              = study->specs.count + 1;
    network_t           one               = *network;
    double              most = 0.0, decade = 1e-3;

    for (int k = 0; k < RATES; k++) {
        step_time_t  time[STUDY_VARIANTS * (SPECS_MAX + 1)];
        tw_problem_t problem = {.set = 0};
        size_t       w       = 0;

        one.rate = decade * tenth[k % PER_DECADE];
        while (w < ways(study) &&
               step_with(study, &one, ranks, w / each, w % each, &time[w], &problem) == 0) {
            w++;
        }
        if (w == ways(study) && best(study, time) % each < each - 1) {
            most = one.rate;
        }
        decade *= k % PER_DECADE == PER_DECADE - 1 ? 10.0 : 1.0;
    }
    return most;
}

/* How sure that is. */
static void say_errors(const study_t *study)
{
    printf("A codec pays where a step becomes 5 %% shorter. These are %s, of assumed or measured "
           "links and of codecs on one core. Predicted steps of trainings were within %.0f %% of "
           "measured ones in half of the cases, within %.0f %% in nine of ten",
           study->simulate ? "simulations" : "predictions", 100.0 * STEP_ERROR_HALF,
           100.0 * STEP_ERROR_NINE);
    if (study->work.training.layers == 0) {
        printf("; a recorded program's within %.0f %% in half of them", 100.0 * PROGRAM_ERROR_HALF);
    }
    printf(" (docs/performance.md).\n");
}

/* Seconds of a step that were recorded and stay as they are. */
static double recorded(const workload_t *work, size_t from, size_t end)
{
    double sum = 0.0;

    for (size_t i = from; i < end; i++) {
        const item_t *item = &work->item[i];

        if (item->kind == ITEM_IDLE) {
            sum += item->seconds;
        } else if (item->kind == ITEM_REPEAT) {
            sum += (double)item->times * recorded(work, i + 1, item->end);
            i = item->end;
        }
    }
    return sum;
}

void study_unmodelled(const study_t *study)
{
    const workload_t *work  = &study->work;
    const double      idle  = recorded(work, 0, work->items);
    int               sends = 0;

    for (size_t i = 0; i < work->exchanges; i++) {
        sends = sends || work->exchange[i].messages > 0;
    }
    if (idle > 0.0) {
        printf(
            "\nNot modelled: %.3g s of a step are as they were recorded, on any network: receives "
            "without sends, and collectives that no job has.\n",
            idle);
    }
    if (sends) {
        printf("%sMessages take what their bytes, neighbours and number do, and are not "
               "compressed. Not "
               "modelled: ranks that wait for each other one after the other.\n",
               idle > 0.0 ? "" : "\n");
    }
}

void study_verdict(const study_t *study, report_t *report)
{
    const int most     = study->ranks[study->sizes - 1];
    json_t   *verdicts = json_array();

    printf("\n");
    for (size_t n = 0; n < study->networks; n++) {
        const network_t *network = &study->network[n];
        char             text[600], line[900];
        double           rate = 0.0;

        say_best(study, n, text, sizeof(text));
        snprintf(line, sizeof(line), "%s: best by %s", network->name, text);
        if (!network->measured && !study->simulate && most > 1) {
            const size_t used = strlen(line);

            rate = pays_up_to(study, network, most);
            if (rate >= 0.99e3) {
                snprintf(line + used, sizeof(line) - used,
                         "; on %d ranks compression pays at any rate up to 1000 Gbit/s", most);
            } else if (rate > 0.0) {
                snprintf(line + used, sizeof(line) - used,
                         "; on %d ranks compression pays up to links of %.3g Gbit/s", most, rate);
            } else {
                snprintf(line + used, sizeof(line) - used,
                         "; on %d ranks compression pays at no rate", most);
            }
        }
        printf("%s.\n", line);
        json_array_append_new(verdicts, json_pack("{s:s, s:s, s:f}", "network", network->name,
                                                  "text", line, "pays_up_to_gbit", rate));
    }
    say_errors(study);
    if (report->root != NULL) {
        json_object_set_new(report->root, "verdict", verdicts);
    } else {
        json_decref(verdicts);
    }
}
