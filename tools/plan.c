/* SPDX-License-Identifier: BSD-3-Clause
 * tools/plan.c - thinwire plan: how a network would best be divided over the ranks of a machine that is
 * known by its speeds, by the arithmetic of S4 (section 4, footnote 4) and S1, and the predictions of
 * scaling/.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include <thinwire/thinwire.h>

#include "scaling/machine.h"
#include "tools/commands.h"
#include "tools/scale/codecs.h"
#include "tools/scale/study.h"
#include "tools/table.h"
#include "tools/topology.h"
#include "train/file.h"
#include "train/model/job.h"

#define CODECS  "fp32,bitpack:2,tree8,onebit"
#define SCHEMES "data,a,b,c"

/* One rank is better where so many are not faster by this. */
#define WORTH 1.05

typedef struct plan_arguments {
    const char *model, *machine, *codec, *scheme, *topology, *record, *json;
    int         ranks, batch, per_node;
} plan_arguments_t;

typedef struct plan {
    const job_t *job;
    tw_network_t network;
    speeds_t     machine;
    double       batch; /* examples of a step, of all ranks */
    int          ranks;
    study_t      study;
    size_t       scheme, codec;     /* the best; codec: study.specs.count is fp32 */
    char         act[SPECS_LENGTH]; /* codec of activations                       */
    step_time_t  best;
} plan_t;

/* ---- dense layers -------------------------------------------------------------------------- */

static const table_column_t layer_columns[] = {
    {"dense layer", -12}, {"inputs", 7},     {"units", 7},  {"computing", 10},
    {"sending", 10},      {"gradients", 10}, {"split", 10}, {"less is sent by", -16}};

enum { LAYER_COLUMNS = sizeof(layer_columns) / sizeof(layer_columns[0]) };

/* Footnote 4 of S4: what a rank computes of an example by its units, and the time of the example's
 * inputs on a link. And of a step: the gradients of an all-reduce in two passes, against the inputs of
 * all examples and their gradients. */
static void layer_row(const plan_t *plan, const training_layer_t *layer, report_t *report)
{
    const double inputs = layer->weights / layer->units, ranks = plan->ranks;
    const double rate    = plan->machine.network.rate * 1e9 / 8.0 * plan->machine.network.usable;
    const double compute = 2.0 * layer->weights / ranks / plan->machine.flops;
    const double send    = sizeof(float) * inputs / rate;
    const double data =
                     2.0 * (ranks - 1.0) / ranks * sizeof(float) * (layer->weights + layer->biases),
                 split = 2.0 * (ranks - 1.0) / ranks * sizeof(float) * inputs * plan->batch;
    char cells[LAYER_COLUMNS][TABLE_CELL];

    table_text(cells[0], layer->name);
    snprintf(cells[1], TABLE_CELL, "%.0f", inputs);
    snprintf(cells[2], TABLE_CELL, "%.0f", layer->units);
    snprintf(cells[3], TABLE_CELL, "%.3f us", 1e6 * compute);
    snprintf(cells[4], TABLE_CELL, "%.3f us", 1e6 * send);
    snprintf(cells[5], TABLE_CELL, "%.2f MB", 1e-6 * data);
    snprintf(cells[6], TABLE_CELL, "%.2f MB", 1e-6 * split);
    table_text(cells[7], ranks < 2.0 ? "" : split < data ? "splitting it" : "data parallel");
    table_row(layer_columns, LAYER_COLUMNS, cells);
    if (report->root != NULL) {
        json_array_append_new(
            json_object_get(report->root, "layers"),
            json_pack("{s:s, s:f, s:f, s:f, s:f, s:f, s:f, s:b}", "name", layer->name, "inputs",
                      inputs, "units", layer->units, "compute_seconds", compute, "send_seconds",
                      send, "gradient_bytes", data, "split_bytes", split, "split", split < data));
    }
}

static void print_layers(const plan_t *plan, report_t *report)
{
    const training_t *t = &plan->study.work.training;

    if (report->root != NULL) {
        json_object_set_new(report->root, "layers", json_array());
    }
    if (t->dense == t->layers) {
        printf("No dense layers at the end: nothing can be split.\n\n");
        return;
    }
    printf(
        "Computing and sending are of one example on one of %d ranks; bytes are of a step of %.0f "
        "examples, in fp32.\n",
        plan->ranks, plan->batch);
    table_header(layer_columns, LAYER_COLUMNS);
    for (size_t l = t->dense; l < t->layers; l++) {
        layer_row(plan, &t->layer[l], report);
    }
    printf("\n");
}

/* ---- the advice ---------------------------------------------------------------------------- */

static const char *spec_of(const plan_t *plan)
{
    return plan->codec < plan->study.specs.count ? plan->study.specs.text[plan->codec] : "fp32";
}

static int splits(const plan_t *plan)
{
    return plan->study.scheme[plan->scheme].kind != SCHEME_DATA;
}

/* The best codec of activations beside the best of gradients: one that needs no error feedback. */
static int choose_activations(plan_t *plan, char *why, size_t why_size)
{
    study_t *study = &plan->study;

    snprintf(plan->act, sizeof(plan->act), "fp32");
    for (size_t s = 0; s <= study->specs.count && splits(plan); s++) {
        const char  *spec = s < study->specs.count ? study->specs.text[s] : "fp32";
        step_time_t  time;
        const double least = s == study->specs.count ? 1.0 : STUDY_PAYS;

        if (s < study->specs.count && study->specs.traits[s].feedback) {
            continue;
        }
        study->act = s < study->specs.count ? tw_codec_spec(study->specs.codec[s]) : "fp32";
        if (!study_one(study, 0, 0, plan->scheme, plan->codec, &time, why, why_size)) {
            return 0;
        }
        if (s == 0 || time.seconds < least * plan->best.seconds) {
            plan->best = time;
            snprintf(plan->act, sizeof(plan->act), "%s", spec);
        }
    }
    return 1;
}

/* Bytes on the rank that has the most; passes hold as many rows as a rank has examples. */
static double memory_of(const plan_t *plan)
{
    const scheme_t *scheme = &plan->study.scheme[plan->scheme];
    const double    rows   = ceil(plan->batch / plan->ranks);

    return tw_network_memory(&plan->network, splits(plan), plan->ranks,
                             scheme->kind == SCHEME_A ? plan->batch : rows);
}

static void command_of(const plan_t *plan, char *text, size_t size)
{
    const char *grad = spec_of(plan);

    snprintf(text, size, "mpirun -n %d thinwire-train --model %s --batch %.0f --scheme %s --codec ",
             plan->ranks, plan->network.name, plan->batch, plan->study.scheme[plan->scheme].text);
    if (splits(plan) && strcmp(grad, plan->act) != 0) {
        snprintf(text + strlen(text), size - strlen(text), "grad=%s,act=%s", grad, plan->act);
    } else {
        snprintf(text + strlen(text), size - strlen(text), "%s", grad);
    }
}

static void advise(const plan_t *plan, report_t *report)
{
    const double alone = plan->study.alone, seconds = plan->best.seconds;
    const double memory = memory_of(plan);
    const int    lonely = plan->ranks > 1 && alone < WORTH * seconds;
    char         command[400];

    command_of(plan, command, sizeof(command));
    printf("\nBest on %d rank%s: scheme %s, gradients by %s%s%s: a step of %.3g ms (%.3g ms of it "
           "exposed), "
           "%.2f times as fast as one rank; %.3g MB sent and %.3g GB kept by a rank.\n",
           plan->ranks, plan->ranks == 1 ? "" : "s", plan->study.scheme[plan->scheme].text,
           spec_of(plan), splits(plan) ? ", activations by " : "", splits(plan) ? plan->act : "",
           1e3 * seconds, 1e3 * plan->best.exposed, seconds > 0.0 ? alone / seconds : 0.0,
           1e-6 * plan->best.bytes, 1e-9 * memory);
    if (plan->machine.memory > 0.0 && memory > plan->machine.memory) {
        printf("A rank has %.3g GB: too little.\n", 1e-9 * plan->machine.memory);
    }
    if (lonely) {
        printf("One rank is best: %.3g ms.\n", 1e3 * alone);
    } else if (plan->codec == plan->study.specs.count && strcmp(plan->act, "fp32") == 0) {
        printf("No codec makes a step 5 %% shorter: do not compress.\n");
    }
    printf("\n  %s\n", command);
    if (report->root != NULL) {
        json_object_set_new(
            report->root, "advice",
            json_pack("{s:s, s:i, s:f, s:s, s:s, s:s, s:f, s:f, s:f, s:f, s:b, s:s}", "model",
                      plan->network.name, "ranks", plan->ranks, "batch", plan->batch, "scheme",
                      plan->study.scheme[plan->scheme].text, "grad", spec_of(plan), "act",
                      splits(plan) ? plan->act : "fp32", "seconds", seconds, "alone_seconds", alone,
                      "bytes", plan->best.bytes, "memory_bytes", memory, "one_rank", lonely,
                      "command", command));
    }
}

/* ---- the command --------------------------------------------------------------------------- */

static int read_machine(plan_t *plan, const plan_arguments_t *a, char *why, size_t why_size)
{
    if (!machine_read(&plan->machine, a->machine, why, why_size)) {
        return 0;
    }
    plan->ranks            = a->ranks > 0 ? a->ranks : plan->machine.ranks;
    plan->study.per_node   = a->per_node > 0 ? a->per_node : plan->machine.ranks_per_node;
    plan->study.network[0] = plan->machine.network;
    plan->study.networks   = 1;
    plan->study.ranks[0]   = plan->ranks;
    plan->study.sizes      = 1;
    return 1;
}

static int read_model(plan_t *plan, const plan_arguments_t *a, char *why, size_t why_size)
{
    tw_problem_t problem = {.set = 0};

    if (tw_network_load(&plan->network, a->model, &problem) != 0) {
        snprintf(why, why_size, "%s", problem.text);
        return 0;
    }
    plan->batch = a->batch > 0 ? a->batch : (double)plan->network.batch;
    if (tw_network_job(&plan->network, &plan->machine, plan->batch, &plan->study.work, &problem) !=
        0) {
        snprintf(why, why_size, "%s", problem.text);
        return 0;
    }
    return 1;
}

/* Codecs as fast as the machine file says; else as this machine is. */
static void set_codecs(plan_t *plan)
{
    tw_facts_t *facts = &plan->study.facts;

    for (int k = 0; k < facts->codecs && plan->machine.codec_rate > 0.0; k++) {
        tw_codec_facts_t *codec = &facts->codec[k];
        const double      each  = (codec->wide ? 8.0 : 4.0) / plan->machine.codec_rate;

        codec->encode     = codec->encode > 0.0 ? each : 0.0; /* fp32 is not encoded */
        codec->decode     = codec->decode > 0.0 ? each : 0.0;
        codec->decode_add = each;
    }
}

static int write_job(const plan_t *plan, const char *path)
{
    tw_problem_t problem = {.set = 0};
    tw_file_t    file;
    int          status = tw_file_begin(&file, "--record", path, &problem);

    if (status == 0) {
        fprintf(file.stream, "# %s, as fast as %s.\n", plan->network.name, plan->machine.name);
        training_write(file.stream, &plan->study.work);
        status = tw_file_end(&file, "--record", &problem);
    }
    if (status != 0) {
        job_complain(plan->job, "%s", problem.text);
    }
    return status == 0;
}

static int run(plan_t *plan, const plan_arguments_t *a, tw_context_t *ctx)
{
    const topology_options_t topology = {.wanted = 1, .xml = a->topology, .ranks = plan->ranks};
    report_t                 report;
    int                      well = 1;

    if (!report_try(plan->job, "--record", a->record) ||
        !report_begin(&report, plan->job, a->json)) {
        return EXIT_FAILED;
    }
    printf("%s on %s: %d ranks, flops=%g, convolution_flops=%g, memory_rate=%g, codec_rate=%g (0: "
           "%s)\n\n",
           plan->network.name, plan->machine.name, plan->ranks, plan->machine.flops,
           plan->machine.convolution_flops, plan->machine.memory_rate, plan->machine.codec_rate,
           "not counted; codecs as fast as here");
    print_layers(plan, &report);
    study_rows(&plan->study, &report);
    advise(plan, &report);
    if (a->topology != NULL) {
        printf("\n");
        well = topology_show(plan->job, ctx, &topology, &report);
    }
    well = (a->record == NULL || write_job(plan, a->record)) && well;
    return report_end(&report, plan->job, well) == EXIT_OK && well ? EXIT_OK : EXIT_FAILED;
}

static int prepare(plan_t *plan, const plan_arguments_t *a, tw_context_t *ctx, char *why,
                   size_t why_size)
{
    study_t *study = &plan->study;

    study->facts.engine = 2e-6;
    if (!read_machine(plan, a, why, why_size) || !read_model(plan, a, why, why_size) ||
        !study_schemes(study, a->scheme, why, why_size) ||
        !codecs_measure(&study->specs, NULL, ctx, &study->facts, why, why_size)) {
        return 0;
    }
    set_codecs(plan);
    if (!study_compute(study, why, why_size)) {
        return 0;
    }
    study_best(study, 0, 0, &plan->scheme, &plan->codec);
    plan->best = *study_time(study, 0, 0, plan->scheme, plan->codec);
    return choose_activations(plan, why, why_size);
}

int plan_main(job_t *job, int argc, char **argv)
{
    plan_arguments_t a    = {.codec = CODECS, .scheme = SCHEMES};
    plan_t           plan = {.job = job, .study = {.job = job}};
    char             why[600];
    tw_context_t    *ctx;
    int              code;
    const option_t   options[] = {
          {"--machine", "FILE", "Speeds of the machine, thinwire-machine(5). Required.", OPTION_TEXT,
           &a.machine, 0, 0},
          {"--ranks", "N", "Ranks (default: those of the machine).", OPTION_COUNT, &a.ranks, 1,
           WORKLOAD_RANKS},
          {"--ranks-per-node", "N", "Ranks on a node (default: as the machine says).", OPTION_COUNT,
           &a.per_node, 1, WORKLOAD_RANKS},
          {"--batch", "N", "Examples in a step, of all ranks (default: the model's).", OPTION_COUNT,
           &a.batch, 1, 1 << 30},
          {"--codec", "LIST", "Codecs (default " CODECS ").", OPTION_TEXT, &a.codec, 0, 0},
          {"--scheme", "LIST", "Ways of dividing the work (default " SCHEMES ").", OPTION_TEXT,
           &a.scheme, 0, 0},
          {"--topology", "FILE",
           "Also the ranks' places and exchange order on the machine of an hwloc\n"
             "XML file.",
           OPTION_TEXT, &a.topology, 0, 0},
          {"--record", "FILE", "Also write the layers as a job for thinwire scale.", OPTION_TEXT,
           &a.record, 0, 0},
          {"--json", "FILE", "Also write it as JSON, which thinwire-train --plan takes.", OPTION_TEXT,
           &a.json, 0, 0},
          {NULL, NULL, NULL, OPTION_FLAG, NULL, 0, 0}};
    const command_t command = {
        .usage = "thinwire plan MODEL --machine FILE [OPTION...]",
        .about = "Says how a MODEL of thinwire-train is best divided over the ranks of a machine: "
                 "scheme and codecs.",
        .epilogue =
            "Example:\n  thinwire plan alexnet-s4 --machine s4.cfg --batch 1024 --json plan.json\n",
        .options  = options,
        .operand  = &a.model,
        .operands = 1};

    code = job_options(job, &command, "plan", argc, argv);
    if (code != JOB_GO_ON) {
        return code;
    }
    if (a.model == NULL || a.machine == NULL) {
        job_complain(job, "plan: which %s? thinwire plan MODEL --machine FILE [OPTION...]",
                     a.model == NULL ? "MODEL" : "--machine FILE");
        return EXIT_USAGE;
    }
    ctx = job_context(job);
    if (ctx == NULL) {
        return EXIT_FAILED;
    }
    code = EXIT_FAILED;
    if (specs_create(&plan.study.specs, job, ctx, a.codec)) {
        if (prepare(&plan, &a, ctx, why, sizeof(why))) {
            code = run(&plan, &a, ctx);
        } else {
            job_complain(job, "plan: %s", why);
        }
        study_free(&plan.study);
        tw_network_destroy(&plan.network);
        specs_destroy(&plan.study.specs);
    }
    tw_context_destroy(ctx);
    return code;
}
