/* SPDX-License-Identifier: BSD-3-Clause
 * tools/plan_advice.c - see plan_advice.h.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <thinwire/weights.h>

#include "runtime/base/dtype.h"
#include "scaling/training.h"
#include "tools/plan_advice.h"
#include "tools/table.h"
#include "train/model/job.h"

/* One rank is better where so many are not faster by this. */
#define WORTH 1.05

/* ---- the choice ---------------------------------------------------------------------------- */

static const char *spec_of(const plan_t *plan, size_t codec)
{
    return codec < plan->study.specs.count ? plan->study.specs.text[codec] : "fp32";
}

static int needs_feedback(const plan_t *plan, size_t codec)
{
    return codec < plan->study.specs.count && plan->study.specs.traits[codec].feedback;
}

static int splits_layers(const plan_t *plan, size_t scheme)
{
    return plan->study.variant[scheme].scheme.kind != SCHEME_DATA && plan->ranks > 1;
}

static int has_owners(const plan_t *plan)
{
    return plan->study.work.training.owners != 0 && plan->ranks > 1;
}

static int memory_fits(const plan_t *plan, double memory)
{
    return plan->machine.memory <= 0.0 || memory <= plan->machine.memory;
}

/* Ranks that share the dense layers. */
static int parts_of(const plan_t *plan, size_t scheme)
{
    const int    local   = scheme_local(plan->ranks, plan->per_node);
    tw_problem_t problem = {.set = 0}; /* what cannot be has no step either */

    return splits_layers(plan, scheme)
               ? scheme_ranks(&plan->study.variant[scheme].scheme, plan->ranks, local, &problem)
               : 1;
}

/* Of weights with owners, what an owner has; 0: they have none. */
static double owned_part(const plan_t *plan)
{
    return !has_owners(plan)                                        ? 0.0
           : plan->study.work.training.owners == TW_WEIGHTS_SHARDED ? 1.0 / plan->ranks
                                                                    : 1.0;
}

/* Of the rank that has the most examples, and of owners that have most. */
static double memory_of(const plan_t *plan, const plan_choice_t *way)
{
    const int                 all   = plan->study.variant[way->scheme].scheme.kind == SCHEME_A;
    const double              rows  = ceil(plan->batch / plan->ranks);
    const double              parts = fmax(1.0, parts_of(plan, way->scheme));
    const tw_network_memory_t how   = {.ranks = (int)parts,
                                       .rows  = rows,
                                       .pass  = all ? fmin(plan->batch, parts * rows) : rows,
                                       .residuals =
                                           plan->ranks > 1 && needs_feedback(plan, way->grad),
                                       .owned = owned_part(plan)};

    return tw_network_memory(&plan->network, &how);
}

static double memory_alone(const plan_t *plan)
{
    const tw_network_memory_t how = {.ranks = 1, .rows = plan->batch, .pass = plan->batch};

    return tw_network_memory(&plan->network, &how);
}

static int compute_way(plan_t *plan, size_t scheme, size_t grad, size_t act, plan_choice_t *way,
                       tw_problem_t *problem)
{
    study_t *study = &plan->study;

    *way        = (plan_choice_t){.scheme = scheme, .grad = grad, .act = act};
    way->memory = memory_of(plan, way);
    study->act  = act < study->specs.count ? tw_codec_spec(study->specs.codec[act]) : "fp32";
    return study_step(study, &study->network[0], study->ranks[0], scheme, grad, &way->time,
                      problem);
}

/* Not fp32 once more; and activations are not sent, or by a codec without error feedback. */
static int is_sensible(const plan_t *plan, size_t scheme, size_t grad, size_t act)
{
    const size_t none = plan->study.specs.count;

    return (grad == none || !tw_dtype_is_lossless(TW_F32, spec_of(plan, grad))) &&
           (act == none || (!tw_dtype_is_lossless(TW_F32, spec_of(plan, act)) &&
                            splits_layers(plan, scheme) && !needs_feedback(plan, act)));
}

static void keep_shorter(plan_choice_t *best, const plan_choice_t *way)
{
    if (!(best->time.seconds <= way->time.seconds)) {
        *best = *way;
    }
}

/* The shortest step of all ways, and of those without a codec; NAN seconds: there is none. */
static int search_ways(plan_t *plan, int fitting, plan_choice_t *least, plan_choice_t *plain,
                       tw_problem_t *problem)
{
    const size_t each = plan->study.specs.count + 1;

    least->time.seconds = plain->time.seconds = NAN;
    for (size_t k = 0; k < plan->study.schemes * each * each; k++) {
        const size_t  scheme = k / each / each, grad = k / each % each, act = k % each;
        plan_choice_t way;

        if (!is_sensible(plan, scheme, grad, act)) {
            continue;
        }
        if (compute_way(plan, scheme, grad, act, &way, problem) != 0) {
            return -1;
        }
        if (!fitting || memory_fits(plan, way.memory)) {
            keep_shorter(least, &way);
            if (grad == each - 1 && act == each - 1) {
                keep_shorter(plain, &way);
            }
        }
    }
    return 0;
}

/* Without a codec that hardly makes the step shorter. */
static int drop_codecs(plan_t *plan, plan_choice_t *way, tw_problem_t *problem)
{
    const size_t  none = plan->study.specs.count;
    plan_choice_t without;

    if (compute_way(plan, way->scheme, way->grad, none, &without, problem) != 0) {
        return -1;
    }
    if (way->time.seconds >= STUDY_PAYS * without.time.seconds) {
        *way = without;
    }
    if (compute_way(plan, way->scheme, none, way->act, &without, problem) != 0) {
        return -1;
    }
    if (way->time.seconds >= STUDY_PAYS * without.time.seconds) {
        *way = without;
    }
    return 0;
}

/* With study.act as the last look left it. */
static int choose_way(plan_t *plan, tw_problem_t *problem)
{
    plan_choice_t least, plain;

    if (search_ways(plan, 1, &least, &plain, problem) != 0 ||
        (isnan(plain.time.seconds) && search_ways(plan, 0, &least, &plain, problem) != 0) ||
        drop_codecs(plan, &least, problem) != 0) {
        return -1;
    }
    plan->best = least.time.seconds < STUDY_PAYS * plain.time.seconds ? least : plain;
    return 0;
}

int plan_choose(plan_t *plan, tw_problem_t *problem)
{
    const char *act    = plan->study.act;
    const int   status = choose_way(plan, problem);

    plan->study.act = act;
    return status;
}

/* ---- the command that trains so -------------------------------------------------------------- */

/* A word of a shell. */
static void put_word(FILE *to, const char *word)
{
    if (word[strspn(word, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                          "._-+/:=,@%")] == '\0') {
        fputs(word, to);
        return;
    }
    fputc('\'', to);
    for (; *word != '\0'; word++) {
        fputs(*word == '\'' ? "'\\''" : (char[]){*word, '\0'}, to);
    }
    fputc('\'', to);
}

static const char *update_of(const plan_t *plan)
{
    return training_owners(has_owners(plan) ? plan->study.work.training.owners : 0);
}

static void put_command(FILE *to, const plan_t *plan, int ranks)
{
    const plan_choice_t *best = &plan->best;
    const char          *grad = ranks > 1 ? spec_of(plan, best->grad) : "fp32",
               *act           = spec_of(plan, best->act);
    const int owners          = ranks > 1 && has_owners(plan);
    const int acts =
        ranks > 1 && splits_layers(plan, best->scheme) && (owners || strcmp(grad, act) != 0);

    fprintf(to, "mpirun -n %d thinwire-train --model ", ranks);
    put_word(to, plan->model);
    fprintf(to, " --batch %.0f --scheme %s", plan->batch,
            ranks > 1 ? plan->study.variant[best->scheme].scheme.text : "data");
    if (owners) {
        fprintf(to, " --update %s --codec weight=%s,grad=%s", update_of(plan), plan->weights, grad);
    } else {
        fprintf(to, " --codec %s%s", acts ? "grad=" : "", grad);
    }
    if (acts) {
        fprintf(to, ",act=%s", act);
    }
}

/* To be freed; NULL: no memory. */
static char *command_of(const plan_t *plan, int ranks)
{
    char  *text = NULL;
    size_t length;
    FILE  *to = open_memstream(&text, &length);

    if (to == NULL) {
        return NULL;
    }
    put_command(to, plan, ranks);
    if (fclose(to) != 0) {
        free(text);
        text = NULL;
    }
    return text;
}

/* ---- the text ------------------------------------------------------------------------------ */

static int one_rank_is_best(const plan_t *plan)
{
    return plan->ranks > 1 && memory_fits(plan, memory_alone(plan)) &&
           plan->study.alone < WORTH * plan->best.time.seconds;
}

static void print_best(const plan_t *plan)
{
    const plan_choice_t *best  = &plan->best;
    const double         alone = plan->study.alone, seconds = best->time.seconds;
    const int            owned = has_owners(plan);
    char                 step[TABLE_CELL], exposed[TABLE_CELL];

    table_time(step, seconds);
    table_time(exposed, best->time.exposed);
    if (plan->ranks == 1) {
        printf("\nOn one rank a step takes %s.\n", step);
    } else {
        printf("\nBest on %d ranks: scheme %s, %s%s%s%s%sgradients by %s%s%s.\nA step takes %s, of "
               "which a "
               "rank waits %s for messages: %.3g times as fast as one rank. A %s sends %.3g "
               "MB.\n",
               plan->ranks, plan->study.variant[best->scheme].scheme.text, owned ? "weights " : "",
               owned ? update_of(plan) : "", owned ? ", by " : "", owned ? plan->weights : "",
               owned ? ", " : "", spec_of(plan, best->grad),
               splits_layers(plan, best->scheme) ? ", activations by " : "",
               splits_layers(plan, best->scheme) ? spec_of(plan, best->act) : "", step, exposed,
               seconds > 0.0 ? alone / seconds : 0.0, plan_nodes(plan) > 1 ? "node" : "rank",
               1e-6 * best->time.bytes);
    }
    printf("A rank keeps about %.3g GB.\n", 1e-9 * best->memory);
}

static void print_remarks(const plan_t *plan)
{
    const plan_choice_t *best = &plan->best;
    char                 step[TABLE_CELL];

    if (!memory_fits(plan, best->memory)) {
        printf(
            "Memory is short: a rank has %.3g GB, and no scheme fits into it. A smaller batch or "
            "more ranks may fit.\n",
            1e-9 * plan->machine.memory);
    }
    table_time(step, plan->study.alone);
    if (plan->ranks > 1 && !memory_fits(plan, memory_alone(plan))) {
        printf("One rank alone would need about %.3g GB and has %.3g GB.\n",
               1e-9 * memory_alone(plan), 1e-9 * plan->machine.memory);
    } else if (one_rank_is_best(plan)) {
        printf(
            "One rank is best: a step takes it %s, and %d ranks make it less than 5 %% faster.\n",
            step, plan->ranks);
    }
    if (plan->ranks > 1 && !one_rank_is_best(plan) && best->grad == plan->study.specs.count &&
        best->act == plan->study.specs.count) {
        printf("No codec makes a step 5 %% shorter: do not compress.\n");
    }
}

static json_t *advice_of(const plan_t *plan, const char *command)
{
    const plan_choice_t *best = &plan->best;

    return json_pack(
        "{s:s, s:s, s:s*, s:i, s:f, s:s, s:s, s:s, s:f, s:f, s:f, s:f, s:b, s:b, s:s}", "model",
        plan->model, "update", update_of(plan), "weight", has_owners(plan) ? plan->weights : NULL,
        "ranks", plan->ranks, "batch", plan->batch, "scheme",
        plan->study.variant[best->scheme].scheme.text, "grad", spec_of(plan, best->grad), "act",
        spec_of(plan, best->act), "seconds", best->time.seconds, "alone_seconds", plan->study.alone,
        "bytes", best->time.bytes, "memory_bytes", best->memory, "fits",
        memory_fits(plan, best->memory), "one_rank", one_rank_is_best(plan), "command", command);
}

int plan_advise(const plan_t *plan, report_t *report)
{
    char *command = command_of(plan, plan->ranks), *alone = command_of(plan, 1);
    int   good = command != NULL && alone != NULL &&
               json_object_set_new(report->root, "advice", advice_of(plan, command)) == 0;

    if (good) {
        print_best(plan);
        print_remarks(plan);
        if (one_rank_is_best(plan)) {
            printf("\n  %s\n\nor, on all ranks,\n", alone);
        }
        printf("\n  %s\n", command);
    } else {
        job_complain(plan->job, "plan: the name of the model is not UTF-8, or out of memory");
    }
    free(command);
    free(alone);
    return good ? 0 : -1;
}
