/* SPDX-License-Identifier: BSD-3-Clause
 * tools/scale/main.c - thinwire scale: what a step of a program would take on other ranks, networks
 * and codecs.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <thinwire/thinwire.h>

#include "tools/commands.h"
#include "tools/gnuplot.h"
#include "tools/scale/codecs.h"
#include "tools/scale/platform.h"
#include "tools/scale/study.h"

#define CODECS "fp32,bitpack:2,tree8,onebit"

typedef struct scale_arguments {
    const char *ranks, *network, *codec, *act, *weights, *scheme, *algorithm, *per_node, *facts,
        *json, *plot;
    char act_codec[TW_FACTS_SPEC], weights_codec[TW_FACTS_SPEC]; /* in full */
} scale_arguments_t;

/* ---- arguments ----------------------------------------------------------------------------- */

/* Powers of two, or as the list says. */
static int read_ranks(study_t *study, const char *list, tw_problem_t *problem)
{
    if (list == NULL && study->work.fixed) {
        study->ranks[study->sizes++] = study->work.ranks;
    } else if (list == NULL) {
        for (int n = 2; n <= (study->simulate ? 64 : 1024); n *= 2) {
            study->ranks[study->sizes++] = n;
        }
    }
    for (const char *at = list; at != NULL;) {
        char      *end;
        const long n = strtol(at, &end, 10);

        if (*at < '0' || *at > '9' || n < 1 || n > WORKLOAD_RANKS ||
            (*end != ',' && *end != '\0') || study->sizes == STUDY_RANKS ||
            (study->sizes > 0 && n <= study->ranks[study->sizes - 1])) {
            return tw_problem_set(
                problem,
                "--ranks '%.80s': accepted are up to %d rising numbers from 1 to %d, such as "
                "2,16,128",
                list, STUDY_RANKS, WORKLOAD_RANKS);
        }
        study->ranks[study->sizes++] = (int)n;
        at                           = *end == ',' ? end + 1 : NULL;
    }
    if (study->work.fixed && (study->sizes != 1 || study->ranks[0] != study->work.ranks)) {
        return tw_problem_set(problem, "--ranks: this job runs on its %d ranks only",
                              study->work.ranks);
    }
    return 0;
}

static int read_networks(study_t *study, const char *list, tw_problem_t *problem)
{
    for (const char *at = list; at != NULL;) {
        const size_t length = strcspn(at, ",");

        if (study->networks == STUDY_NETWORKS) {
            return tw_problem_set(problem, "--network: more than %d", STUDY_NETWORKS);
        }
        if (platform_named(at, length) && !study->simulate) {
            return tw_problem_set(problem,
                                  "--network '%.*s': a platform of SimGrid needs --simulate",
                                  (int)(length < 80 ? length : 80), at);
        }
        if ((platform_named(at, length) ? platform_open : network_parse)(
                &study->network[study->networks++], at, length, problem) != 0) {
            return -1;
        }
        at = at[length] == ',' ? at + length + 1 : NULL;
    }
    return 0;
}

/* Links and codecs of a calibration. */
static int read_facts(study_t *study, const scale_arguments_t *a, tw_problem_t *problem)
{
    network_t *network = &study->network[0];
    char       what[200];

    if (a->network != NULL) {
        return tw_problem_set(problem, "--facts has the links: not with --network");
    }
    if (tw_facts_load(a->facts, &study->facts, what, sizeof(what)) != TW_OK) {
        return tw_problem_set(problem, "--facts %.200s: %s", a->facts, what);
    }
    if (study->facts.ranks < 2) {
        return tw_problem_set(problem, "--facts %.200s: it is of one rank", a->facts);
    }
    *network        = (network_t){.measured = 1};
    study->networks = 1;
    study_per_node(study, study->facts.local_ranks);
    snprintf(network->name, sizeof(network->name), "measured");
    for (size_t k = 0; k < study->variants * study->sizes; k++) {
        const int ranks    = study->ranks[k % study->sizes];
        const int per_node = study->variant[k / study->sizes].per_node, many = ranks > per_node;

        if ((many && study->facts.between.shared <= 0.0) ||
            (per_node > 1 && ranks > 1 && study->facts.inside.shared <= 0.0)) {
            return tw_problem_set(
                problem,
                "--facts %.200s: it knows no links %s, which %d ranks with %d on a node have",
                a->facts,
                many && study->facts.between.shared <= 0.0 ? "between nodes" : "inside a node",
                ranks, per_node);
        }
    }
    return 0;
}

/* The codec of activations: one, which needs no error feedback. */
static int read_act(study_t *study, scale_arguments_t *a, tw_context_t *ctx, tw_problem_t *problem)
{
    tw_codec_traits_t traits;

    if (a->act == NULL) {
        return 0;
    }
    if (study->work.training.layers == 0) {
        return tw_problem_set(problem, "--act: this job has no layers; its file says what is sent");
    }
    if (codecs_read(ctx, "--act", a->act, a->act_codec, &traits, problem) != 0) {
        return -1;
    }
    if (traits.feedback) {
        return tw_problem_set(
            problem,
            "--act '%.80s': it needs error feedback, which activations have not; accepted are "
            "codecs such as tree8",
            a->act);
    }
    study->act = a->act_codec;
    for (size_t v = 0; v < study->variants; v++) {
        if (study->variant[v].scheme.kind != SCHEME_DATA) {
            return 0;
        }
    }
    return tw_problem_set(problem, "--act: data parallel, no activations are sent; see --scheme");
}

static int add_travel(study_t *study, const char *spec, tw_problem_t *problem)
{
    size_t n = 0;

    while (study->travel[n] != NULL && strcmp(study->travel[n], spec) != 0) {
        n++;
    }
    if (n == TW_FACTS_CODECS) {
        return tw_problem_set(problem, "layers have more than %d codecs of weights",
                              TW_FACTS_CODECS);
    }
    study->travel[n] = spec;
    return 0;
}

/* The codecs of weights that the job names, in full. */
static int read_copies(study_t *study, tw_context_t *ctx, tw_problem_t *problem)
{
    training_t *t = &study->work.training;

    for (size_t l = 0; l < t->layers && t->owners != 0; l++) {
        training_layer_t *layer = &t->layer[l];
        tw_codec_traits_t traits;
        char              what[WORKLOAD_NAME + 20], spec[TW_FACTS_SPEC];

        snprintf(what, sizeof(what), "layer '%s': copy", layer->name);
        if (layer->weights == 0.0) {
            continue;
        }
        if (codecs_read(ctx, what, layer->copy[0] != '\0' ? layer->copy : "fp32", spec, &traits,
                        problem) != 0) {
            return -1;
        }
        strcpy(layer->copy, spec);
        if (add_travel(study, layer->copy, problem) != 0) {
            return -1;
        }
    }
    return 0;
}

/* One codec of weights for all layers. */
static int read_weights(study_t *study, scale_arguments_t *a, tw_context_t *ctx,
                        tw_problem_t *problem)
{
    tw_codec_traits_t traits;

    if (a->weights == NULL) {
        return 0;
    }
    if (study->work.training.owners == 0) {
        return tw_problem_set(problem,
                              "--weights: this job's weights have no owners, and do not travel");
    }
    if (codecs_read(ctx, "--weights", a->weights, a->weights_codec, &traits, problem) != 0) {
        return -1;
    }
    study->weights             = a->weights_codec;
    study->travel[0]           = a->weights_codec;
    study->travel[1]           = NULL;
    study->work.training.norms = 0; /* nothing adapts */
    return 0;
}

/* ---- the command --------------------------------------------------------------------------- */

static int run_study(study_t *study, const scale_arguments_t *a)
{
    const size_t layers = study->work.training.layers;
    const size_t parts  = layers > 0 ? layers : study->work.exchanges;
    const int    owners = study->work.training.owners;
    char         travel[STUDY_TRAVEL];
    report_t     report;
    int          well;

    study_travel(study, travel);
    if (gnuplot_begin(study->job, a->plot) != 0 ||
        report_begin(&report, study->job, a->json) != 0) {
        return EXIT_FAILED;
    }
    printf("%s: measured on %d rank%s, %zu %s%s; %s scaling%s%s%s%s%s%s%s%s\n\n", study->work.name,
           study->work.ranks, study->work.ranks == 1 ? "" : "s", parts,
           layers > 0 ? "layer" : "different exchange", parts == 1 ? "" : "s",
           study->weak ? "weak" : "strong", a->act != NULL ? "; activations by " : "",
           a->act != NULL ? a->act : "", owners != 0 ? "; weights " : "",
           owners != 0 ? training_owners(owners) : "", travel[0] != '\0' ? ", by " : "", travel,
           a->algorithm != NULL && study->algorithms == 1 ? "; allreduces by " : "",
           a->algorithm != NULL && study->algorithms == 1 ? a->algorithm : "");
    study_rows(study, &report);
    study_unmodelled(study);
    if (study->taken[0] != '\0') {
        printf("\nNot in --facts, so taken to be as fast as another one: %s\n", study->taken);
    }
    study_verdict(study, &report);
    well = a->plot == NULL || study_plot(study, a->plot) == 0;
    return report_end(&report, study->job, well) == EXIT_OK && well ? EXIT_OK : EXIT_FAILED;
}

/* What --facts does not say: codecs by this machine. */
static int complete_facts(study_t *study, const scale_arguments_t *a, tw_context_t *ctx,
                          tw_problem_t *problem)
{
    const char *more[TW_FACTS_CODECS + 2] = {NULL};
    size_t      n;

    memcpy(more, study->travel, sizeof(study->travel));
    for (n = 0; more[n] != NULL;) {
        n++;
    }
    more[n] = study->act;
    if (a->facts != NULL) {
        return read_facts(study, a, problem) != 0
                   ? -1
                   : codecs_complete(more, ctx, &study->facts, study->taken, sizeof(study->taken),
                                     problem);
    }
    study->facts.engine = 2e-6;
    study_per_node(study, 1);
    if (read_networks(study, a->network != NULL ? a->network : "ethernet-10g", problem) != 0 ||
        codecs_measure(&study->specs, more, ctx, &study->facts, problem) != 0) {
        return -1;
    }
    codecs_set_rate(&study->facts, study->work.codec_rate);
    return 0;
}

int scale_main(job_t *job, int argc, char **argv)
{
    scale_arguments_t a       = {.codec = CODECS};
    study_t           study   = {.job = job};
    const char       *path    = NULL;
    tw_problem_t      problem = {.set = 0};
    tw_context_t     *ctx;
    int               code;
    const option_t    options[] = {
           {"--ranks", "LIST", "Numbers of ranks, 1 to 65536 (default 2,4,8,...,1024).", OPTION_TEXT,
            &a.ranks, 0, 0},
           {"--network", "LIST",
            "Networks: ethernet-1g, -10g, -25g, -100g, infiniband-100g, -200g, pcie2, -3, with what "
               "they\n"
               "assume changed as in ethernet-10g:latency=30:group=16:taper=2 (default ethernet-10g).",
            OPTION_TEXT, &a.network, 0, 0},
           {"--facts", "FILE", "Links and codecs as thinwire calibrate measured them.", OPTION_TEXT,
            &a.facts, 0, 0},
           {"--codec", "LIST", "Codecs (default " CODECS ").", OPTION_TEXT, &a.codec, 0, 0},
           {"--act", "SPEC",
            "Codec of activations and their gradients, of a training (default: that of gradients, or\n"
               "fp32 where it needs error feedback).",
            OPTION_TEXT, &a.act, 0, 0},
           {"--weights", "SPEC",
            "Codec of weights, of a training whose weights have owners (default: as in the job).",
            OPTION_TEXT, &a.weights, 0, 0},
           {"--scheme", "LIST",
            "Who computes what, of a training: data, or dense layers split by a, b, c, group=G, also "
               ":split=N\n"
               "(default data).",
            OPTION_TEXT, &a.scheme, 0, 0},
           {"--algorithm", "LIST",
            "Algorithms of allreduces, as thinwire calibrate lists them (default: the fastest).",
            OPTION_TEXT, &a.algorithm, 0, 0},
           {"--ranks-per-node", "LIST", "Ranks on a node (default 1, or as in --facts).", OPTION_TEXT,
            &a.per_node, 0, 0},
           {"--double", NULL,
            "Doubles of a recorded program too, as thinwire run --double does (default: they stay as\n"
               "they are).",
            OPTION_FLAG, &study.narrow, 0, 0},
           {"--simulate", NULL, "Play the steps by the library's own code in simulated time.",
            OPTION_FLAG, &study.simulate, 0, 0},
           {"--weak", NULL, "Each rank keeps its examples (default: all ranks share them).",
            OPTION_FLAG, &study.weak, 0, 0},
           {"--json", "FILE", "Also write the rows as JSON.", OPTION_TEXT, &a.json, 0, 0},
           {"--plot", "FILE.svg", "Also draw them, by gnuplot.", OPTION_TEXT, &a.plot, 0, 0},
           {NULL, NULL, NULL, OPTION_FLAG, NULL, 0, 0}};
    const command_t command = {
        .usage = "thinwire scale JOB [OPTION...]",
        .about =
            "Predicts what a step of the program that JOB describes, thinwire-job(5), takes on "
            "other numbers of\nranks, networks and codecs.",
        .epilogue =
            "Examples:\n  thinwire scale job.cfg --ranks 2,16,128 --network "
            "ethernet-10g,ethernet-25g\n  thinwire scale job.cfg --ranks 8,64 --ranks-per-node 8 "
            "--codec fp32,tree8 --plot s.svg",
        .options  = options,
        .operand  = &path,
        .operands = 1};

    code = job_options(job, &command, "scale", argc, argv);
    if (code != JOB_GO_ON) {
        return code;
    }
    if (path == NULL) {
        job_complain(job, "scale: which JOB? thinwire scale JOB [OPTION...]");
        return EXIT_USAGE;
    }
    ctx = job_context(job);
    if (ctx == NULL) {
        return EXIT_FAILED;
    }
    code = EXIT_USAGE;
    if (specs_create(&study.specs, job, ctx, a.codec, TW_F32) == 0) {
        if (workload_read(&study.work, path, &problem) != 0) {
            job_complain(job, "scale: %s", problem.text);
            code = EXIT_FAILED;
        } else if (read_copies(&study, ctx, &problem) != 0) {
            job_complain(job, "scale: %s: %s", path, problem.text);
            code = EXIT_FAILED;
        } else if (read_ranks(&study, a.ranks, &problem) != 0 ||
                   study_variants(&study, a.scheme, a.algorithm, a.per_node, &problem) != 0 ||
                   read_act(&study, &a, ctx, &problem) != 0 ||
                   read_weights(&study, &a, ctx, &problem) != 0 ||
                   complete_facts(&study, &a, ctx, &problem) != 0 ||
                   study_compute(&study, &problem) != 0) {
            job_complain(job, "scale: %s", problem.text);
        } else {
            code = run_study(&study, &a);
        }
        study_free(&study);
        specs_destroy(&study.specs);
    }
    tw_context_destroy(ctx);
    return code;
}
