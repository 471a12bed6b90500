/* SPDX-License-Identifier: BSD-3-Clause
 * tools/plan.c - thinwire plan: how a network would best be divided over the ranks of a machine
 * that is known by its speeds, by the arithmetic of S4 (section 4, footnote 4) and S1, and the
 * predictions of scaling/.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include <thinwire/thinwire.h>

#include "command/file.h"
#include "runtime/base/beside.h"
#include "scaling/training.h"
#include "tools/commands.h"
#include "tools/plan_advice.h"
#include "tools/plan_root.h"
#include "tools/scale/codecs.h"
#include "tools/table.h"
#include "tools/topology.h"
#include "train/model/job.h"

#define CODECS           "fp32,bitpack:2,tree8,onebit"
#define SCHEMES          "data,a,b,c"
#define SCHEMES_OF_NODES SCHEMES ",c:split=node" /* several nodes of several ranks each */

enum { BATCH_MOST = 1000000 }; /* as for thinwire-train --batch */

typedef struct plan_arguments {
    const char *model, *machine, *codec, *scheme, *update, *weights, *topology, *record, *json;
    int         ranks, batch, per_node;
} plan_arguments_t;

/* ---- dense layers -------------------------------------------------------------------------- */

static const table_column_t layer_columns[] = {
    {"dense layer", -12}, {"inputs", 7},     {"units", 7},  {"computing", 10},
    {"sending", 10},      {"data par.", 10}, {"split", 10}, {"less is sent", -13}};

enum { LAYER_COLUMNS = sizeof(layer_columns) / sizeof(layer_columns[0]) };

/* Bytes per second that a rank gets. */
static double link_rate(const plan_t *plan)
{
    return plan->machine.network.rate * 1e9 / 8.0 * plan->machine.network.usable;
}

/* Of a step, those bytes that a node sends of a sum or of examples for all, which cross the network
 * once for every node; on one node a rank. */
static double sent_share(const plan_t *plan)
{
    const double units = plan_nodes(plan) > 1 ? plan_nodes(plan) : plan->ranks;

    return (units - 1.0) / units;
}

/* Footnote 4 of S4: what a rank computes of an example by its units, and the time of the example's
 * inputs on a link. And of a step: the gradients of an all-reduce in two passes, against the inputs
 * of all examples and their gradients. Of a layer that is split by input its outputs travel. */
static void layer_row(const plan_t *plan, const training_layer_t *layer, report_t *report)
{
    const double inputs = training_inputs(layer), ranks = plan->ranks;
    const double moved   = layer->by_input ? layer->units : inputs;
    const double compute = 2.0 * layer->weights / ranks / plan->machine.flops;
    const double send    = sizeof(float) * moved / link_rate(plan);
    const double both    = 2.0 * sent_share(plan) * sizeof(float);
    const double data = both * (layer->weights + layer->biases), split = both * moved * plan->batch;
    char         cells[LAYER_COLUMNS][TABLE_CELL];

    table_text(cells[0], layer->name);
    snprintf(cells[1], TABLE_CELL, "%.0f", inputs);
    snprintf(cells[2], TABLE_CELL, "%.0f", layer->units);
    snprintf(cells[3], TABLE_CELL, "%.3f us", 1e6 * compute);
    snprintf(cells[4], TABLE_CELL, "%.3f us", 1e6 * send);
    snprintf(cells[5], TABLE_CELL, "%.2f MB", 1e-6 * data);
    snprintf(cells[6], TABLE_CELL, "%.2f MB", 1e-6 * split);
    table_text(cells[7], ranks < 2.0 ? "" : split < data ? "split" : "data parallel");
    table_row(layer_columns, LAYER_COLUMNS, cells);
    json_array_append_new(json_object_get(report->root, "layers"),
                          json_pack("{s:s, s:f, s:f, s:f, s:f, s:f, s:f, s:b}", "name", layer->name,
                                    "inputs", inputs, "units", layer->units, "compute_seconds",
                                    compute, "send_seconds", send, "gradient_bytes", data,
                                    "split_bytes", split, "split", split < data));
}

/* All parameters once over a link, and to or from all ranks in turn. */
static void print_transfer(const plan_t *plan, report_t *report)
{
    const double parameters = (double)tw_network_parameters(&plan->network);
    const double bytes      = sizeof(float) * parameters;
    const double seconds    = bytes / link_rate(plan);
    char         once[TABLE_CELL], all[TABLE_CELL];

    table_time(once, seconds);
    table_time(all, plan->ranks * seconds);
    printf(
        "All %.4g million parameters in fp32 are %.3f GiB: %s over one link, %s for %d rank%s in "
        "turn.\n\n",
        1e-6 * parameters, bytes / 1073741824.0, once, all, plan->ranks,
        plan->ranks == 1 ? "" : "s");
    json_object_set_new(report->root, "transfer",
                        json_pack("{s:f, s:f, s:f, s:f}", "parameters", parameters, "bytes", bytes,
                                  "seconds", seconds, "all_ranks_seconds", plan->ranks * seconds));
}

static void print_layers(const plan_t *plan, report_t *report)
{
    const training_t *t = &plan->study.work.training;

    json_object_set_new(report->root, "layers", json_array());
    printf("Of one example on one of %d rank%s: the time in which the rank computes its share of a "
           "layer's units, and that\nin which it receives the layer's inputs. Of a step of %.0f "
           "examples, in fp32: the bytes that a %s sends if the\nlayer is data parallel (its "
           "gradients) and if it is split (its inputs and their gradients).\n",
           plan->ranks, plan->ranks == 1 ? "" : "s", plan->batch,
           plan_nodes(plan) > 1 ? "node" : "rank");
    table_header(layer_columns, LAYER_COLUMNS);
    for (size_t l = t->dense; l < t->layers; l++) {
        layer_row(plan, &t->layer[l], report);
    }
    print_transfer(plan, report);
}

/* ---- the command --------------------------------------------------------------------------- */

static int read_machine(plan_t *plan, const plan_arguments_t *a, tw_problem_t *problem)
{
    if (machine_read(&plan->machine, a->machine, problem) != 0) {
        return -1;
    }
    plan->ranks            = a->ranks > 0 ? a->ranks : plan->machine.ranks;
    plan->per_node         = a->per_node > 0 ? a->per_node : plan->machine.ranks_per_node;
    plan->study.network[0] = plan->machine.network;
    plan->study.networks   = 1;
    plan->study.ranks[0]   = plan->ranks;
    plan->study.sizes      = 1;
    return 0;
}

static int read_model(plan_t *plan, const plan_arguments_t *a, tw_problem_t *problem)
{
    if (tw_network_load(&plan->network, a->model, problem) != 0) {
        return -1;
    }
    plan->batch = a->batch > 0 ? a->batch : (double)plan->network.batch;
    return tw_network_job(&plan->network, &plan->machine, plan->batch, &plan->study.work, problem);
}

/* Who updates weights, and by what they travel then. */
static int read_owners(plan_t *plan, const plan_arguments_t *a, tw_context_t *ctx,
                       tw_problem_t *problem)
{
    training_t       *t = &plan->study.work.training;
    tw_codec_traits_t traits;

    while (training_owners(t->owners) != NULL &&
           strcmp(training_owners(t->owners), a->update) != 0) {
        t->owners++;
    }
    if (training_owners(t->owners) == NULL) {
        return tw_problem_set(
            problem, "--update '%.40s': accepted are replicated, root and sharded", a->update);
    }
    if (t->owners == 0) {
        return a->weights == NULL
                   ? 0
                   : tw_problem_set(problem, "--weights: weights travel only with --update root or "
                                             "sharded");
    }
    if (codecs_read(ctx, "--weights", a->weights != NULL ? a->weights : "fp32", plan->weights,
                    &traits, problem) != 0) {
        return -1;
    }
    if (traits.feedback) {
        return tw_problem_set(problem,
                              "--weights '%.80s': it needs error feedback, which weights have not",
                              a->weights);
    }
    for (size_t l = 0; l < t->layers; l++) {
        if (t->layer[l].weights > 0.0) {
            memcpy(t->layer[l].copy, plan->weights, sizeof(plan->weights));
        }
    }
    plan->study.travel[0] = plan->weights;
    return 0;
}

static int write_job(const plan_t *plan, const char *path)
{
    tw_problem_t problem = {.set = 0};
    tw_file_t    file;
    int          status = tw_file_begin(&file, "--record", path, &problem);

    if (status == 0) {
        fprintf(file.stream, "# %s, as %s would compute it.\n", plan->network.name,
                plan->machine.name);
        training_write(file.stream, &plan->study.work);
        status = tw_file_end(&file, "--record", &problem);
    }
    if (status != 0) {
        job_complain(plan->job, "%s", problem.text);
    }
    return status;
}

/* "5e+10 bytes/s", or what it means that there is none. */
static void rate_text(double rate, const char *none, char text[TABLE_CELL])
{
    if (rate > 0.0) {
        snprintf(text, TABLE_CELL, "%g bytes/s", rate);
    } else {
        snprintf(text, TABLE_CELL, "%s", none);
    }
}

static void print_machine(const plan_t *plan)
{
    const speeds_t *m = &plan->machine;
    char            memory[TABLE_CELL], codecs[TABLE_CELL];

    rate_text(m->memory_rate, "not counted", memory);
    rate_text(m->codec_rate, "as fast as on a core here", codecs);
    printf(
        "%s, %.0f examples in a step, on %s: %d rank%s, %d on a node\n"
        "Each rank: %g operations/s in dense layers, %g in convolutions; memory %s; codecs %s\n\n",
        plan->network.name, plan->batch, m->name, plan->ranks, plan->ranks == 1 ? "" : "s",
        plan->per_node < plan->ranks ? plan->per_node : plan->ranks, m->flops, m->convolution_flops,
        memory, codecs);
}

static int run_plan(plan_t *plan, const plan_arguments_t *a, tw_context_t *ctx)
{
    const topology_options_t topology = {.wanted = 1, .xml = a->topology, .ranks = plan->ranks};
    tw_problem_t             problem  = {.set = 0};
    report_t                 report;
    int                      status;

    if (report_try(plan->job, "--record", a->record) != 0 ||
        report_begin(&report, plan->job, a->json) != 0) {
        return EXIT_FAILED;
    }
    print_machine(plan);
    print_layers(plan, &report);
    study_rows(&plan->study, &report);
    status = plan_root(plan, link_rate(plan), ctx, &report, &problem);
    if (status == 0) {
        status = plan_advise(plan, &report);
    } else {
        job_complain(plan->job, "plan: %s", problem.text);
    }
    if (status == 0 && a->topology != NULL) {
        printf("\n");
        status = topology_show(plan->job, ctx, &topology, NULL, &report);
    }
    if (status == 0 && a->record != NULL) {
        status = write_job(plan, a->record);
    }
    return report_end(&report, plan->job, status == 0);
}

static int check_plan(const plan_t *plan, const plan_arguments_t *a, tw_problem_t *problem)
{
    if (plan->batch < plan->ranks) {
        return tw_problem_set(
            problem,
            "a batch of %.0f is smaller than the %d ranks, each of which needs an example; "
            "change --batch or --ranks",
            plan->batch, plan->ranks);
    }
    if (a->json != NULL && a->record != NULL && tw_file_same(a->json, a->record)) {
        return tw_problem_set(problem, "--json and --record are the same file, %.300s", a->json);
    }
    return 0;
}

/* Layers split inside the nodes, where these have several ranks each. */
static const char *usual_schemes(const plan_t *plan)
{
    const int whole = plan->per_node > 1 && plan->ranks % plan->per_node == 0;

    return whole && plan_nodes(plan) > 1 ? SCHEMES_OF_NODES : SCHEMES;
}

static int prepare_study(plan_t *plan, const plan_arguments_t *a, tw_context_t *ctx,
                         tw_problem_t *problem)
{
    study_t *study = &plan->study;

    study->facts.engine = 2e-6;
    if (check_plan(plan, a, problem) != 0 ||
        study_variants(study, a->scheme != NULL ? a->scheme : usual_schemes(plan), NULL, NULL,
                       problem) != 0 ||
        read_owners(plan, a, ctx, problem) != 0 ||
        codecs_measure(&study->specs, study->travel, ctx, &study->facts, problem) != 0) {
        return -1;
    }
    codecs_set_rate(&study->facts, plan->machine.codec_rate);
    study_per_node(study, plan->per_node);
    return study_compute(study, problem) != 0 ? -1 : plan_choose(plan, problem);
}

/* Codecs are there. @return the exit status. */
static int plan_and_print(plan_t *plan, const plan_arguments_t *a, tw_context_t *ctx)
{
    tw_problem_t problem = {.set = 0};
    int          code    = EXIT_FAILED;

    if (read_machine(plan, a, &problem) != 0 || read_model(plan, a, &problem) != 0) {
        job_complain(plan->job, "plan: %s", problem.text);
    } else if (prepare_study(plan, a, ctx, &problem) != 0) {
        job_complain(plan->job, "plan: %s", problem.text);
        code = EXIT_USAGE;
    } else {
        code = run_plan(plan, a, ctx);
    }
    study_free(&plan->study);
    tw_network_destroy(&plan->network);
    return code;
}

int plan_main(job_t *job, int argc, char **argv)
{
    plan_arguments_t a    = {.codec = CODECS, .update = "replicated"};
    plan_t           plan = {.job = job, .study = {.job = job}};
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
           &a.batch, 1, BATCH_MOST},
          {"--codec", "LIST", "Codecs (default " CODECS ").", OPTION_TEXT, &a.codec, 0, 0},
          {"--scheme", "LIST",
           "Ways of dividing the work (default " SCHEMES_OF_NODES ",\n"
             "the last on several nodes of several ranks).",
           OPTION_TEXT, &a.scheme, 0, 0},
          {"--update", "X", "Who updates weights: replicated, root or sharded (default replicated).",
           OPTION_TEXT, &a.update, 0, 0},
          {"--weights", "SPEC", "With root and sharded: codec of weights (default fp32).",
           OPTION_TEXT, &a.weights, 0, 0},
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
    plan.model = a.model;
    code       = EXIT_USAGE;
    if (specs_create(&plan.study.specs, job, ctx, a.codec, TW_F32) == 0) {
        code = plan_and_print(&plan, &a, ctx);
        specs_destroy(&plan.study.specs);
    }
    tw_context_destroy(ctx);
    return code;
}
