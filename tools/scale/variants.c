/* SPDX-License-Identifier: BSD-3-Clause
 * tools/scale/variants.c - the variants of a study: each of its schemes, by each of its algorithms,
 * on each of its numbers of ranks per node.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <thinwire/model.h>

#include "tools/scale/study.h"

/* The index-th algorithm of allreduces; NULL after the last. */
static const char *algorithm_at(size_t index)
{
    tw_operation_t operation;
    const char    *name;

    for (size_t i = 0; tw_model_describe(i, &operation, &name) == TW_OK; i++) {
        if (operation == TW_OPERATION_ALLREDUCE && index-- == 0) {
            return name;
        }
    }
    return NULL;
}

/* What one item of a list sets in a variant. @return 0, or -1 with the problem set. */
typedef int read_item_t(variant_t *variant, const char *text, size_t length, tw_problem_t *problem);

static int read_scheme(variant_t *variant, const char *text, size_t length, tw_problem_t *problem)
{
    return scheme_parse(&variant->scheme, text, length, problem);
}

static int read_algorithm(variant_t *variant, const char *text, size_t length,
                          tw_problem_t *problem)
{
    const char *name;
    char        names[200];
    size_t      used = 0;

    for (size_t k = 0; (name = algorithm_at(k)) != NULL; k++) {
        if (strlen(name) == length && strncmp(text, name, length) == 0) {
            variant->algorithm = name;
            return 0;
        }
    }
    for (size_t k = 0; (name = algorithm_at(k)) != NULL && used < sizeof(names); k++) {
        used +=
            (size_t)snprintf(names + used, sizeof(names) - used, "%s%s", k > 0 ? ", " : "", name);
    }
    return tw_problem_set(problem, "--algorithm '%.*s': accepted are %s",
                          (int)(length < 40 ? length : 40), text, names);
}

static int read_per_node(variant_t *variant, const char *text, size_t length, tw_problem_t *problem)
{
    char      *end;
    const long n = strtol(text, &end, 10);

    if (*text < '0' || *text > '9' || end != text + length || n < 1 || n > WORKLOAD_RANKS) {
        return tw_problem_set(problem, "--ranks-per-node '%.*s': accepted are numbers from 1 to %d",
                              (int)(length < 40 ? length : 40), text, WORKLOAD_RANKS);
    }
    variant->per_node = (int)n;
    return 0;
}

/* Every variant that there is, with every item of a list in turn; how many items go to *items. */
static int multiply_variants(study_t *study, const char *list, read_item_t *read, size_t *items,
                             tw_problem_t *problem)
{
    const size_t had = study->variants;
    variant_t    of[STUDY_VARIANTS];

    *items = 1;
    if (list == NULL) {
        return 0;
    }
    memcpy(of, study->variant, sizeof(of));
    study->variants = 0;
    for (const char *at = list;; at++, ++*items) {
        const size_t length = strcspn(at, ",");

        for (size_t v = 0; v < had; v++) {
            variant_t *one = &study->variant[study->variants];

            if (study->variants == STUDY_VARIANTS) {
                return tw_problem_set(
                    problem,
                    "more than %d combinations of --scheme, --algorithm and --ranks-per-node",
                    STUDY_VARIANTS);
            }
            *one = of[v];
            if (read(one, at, length, problem) != 0) {
                return -1;
            }
            study->variants++;
        }
        at += length;
        if (*at == '\0') {
            return 0;
        }
    }
}

int study_variants(study_t *study, const char *schemes, const char *algorithms,
                   const char *per_node, tw_problem_t *problem)
{
    if (schemes != NULL && study->work.training.layers == 0) {
        return tw_problem_set(problem, "--scheme: this job has no layers; it is as its file says");
    }
    study->variant[0] = (variant_t){.per_node = 0};
    study->variants   = 1;
    return multiply_variants(study, schemes != NULL ? schemes : "data", read_scheme,
                             &study->schemes, problem) != 0 ||
                   multiply_variants(study, algorithms, read_algorithm, &study->algorithms,
                                     problem) != 0
               ? -1
               : multiply_variants(study, per_node, read_per_node, &study->nodes, problem);
}

void study_per_node(study_t *study, int ranks)
{
    for (size_t v = 0; v < study->variants; v++) {
        if (study->variant[v].per_node == 0) {
            study->variant[v].per_node = ranks;
        }
    }
}

void study_way(const study_t *study, size_t v, size_t s, char *text, size_t size)
{
    const variant_t *variant    = &study->variant[v];
    const char      *spec       = s < study->specs.count ? study->specs.text[s] : "fp32";
    char             scheme[80] = "", algorithm[40] = "", nodes[40] = "";

    if (study->schemes > 1) {
        snprintf(scheme, sizeof(scheme), " with scheme %s", variant->scheme.text);
    }
    if (study->algorithms > 1) {
        snprintf(algorithm, sizeof(algorithm), " by %s", variant->algorithm);
    }
    if (study->nodes > 1) {
        snprintf(nodes, sizeof(nodes), ", %d per node", variant->per_node);
    }
    snprintf(text, size, "%s%s%s%s", spec, scheme, algorithm, nodes);
}
