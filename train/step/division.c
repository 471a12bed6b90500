/* SPDX-License-Identifier: BSD-3-Clause
 * train/step/division.c - see division.h.
 */
#include "config.h"

#include <stdlib.h>

#include "train/base/agree.h"
#include "train/step/division.h"
#include "train/step/step.h"

static tw_scheme_t scheme_of(scheme_kind_t kind)
{
    return kind == SCHEME_A   ? TW_SCHEME_A
           : kind == SCHEME_B ? TW_SCHEME_B
           : kind == SCHEME_C ? TW_SCHEME_C
                              : TW_SCHEME_GROUP;
}

static tw_hybrid_t *division_make(tw_division_set_t *set, size_t n, tw_problem_t *problem)
{
    const int          ranks    = set->parts->ranks;
    const int         *member   = tw_split_members(set->parts);
    size_t            *examples = malloc((size_t)ranks * sizeof(*examples)), first;
    tw_hybrid_t       *hybrid   = NULL;
    tw_hybrid_config_t config   = {.scheme = scheme_of(set->scheme->kind),
                                   .group  = set->scheme->group < ranks ? set->scheme->group : ranks,
                                   .features = set->features,
                                   .examples = examples,
                                   .act      = set->codecs->codec[TW_CLASS_ACT],
                                   .back     = set->codecs->codec[TW_CLASS_BACK],
                                   .exec     = &set->exec,
                                   .trace    = set->trace};
    tw_status_t        status;

    if (examples == NULL) {
        problem->fatal = 1;
        tw_problem_set(problem, "out of memory");
        return NULL;
    }
    for (int r = 0; r < ranks; r++) {
        tw_share(n, ranks * set->parts->groups, member[r], &first, &examples[r]);
    }
    status = tw_hybrid_create(set->parts->wire, &config, &hybrid);
    free(examples);
    if (status != TW_OK) {
        tw_problem_status(set->parts->wire, "preparing the passes of the dense layers", status,
                          problem);
    }
    return hybrid;
}

tw_hybrid_t *tw_division_of(tw_division_set_t *set, size_t n, tw_problem_t *problem)
{
    int oldest = 0;

    set->clock++;
    for (int i = 0; i < TW_DIVISIONS; i++) {
        if (set->at[i].hybrid != NULL && set->at[i].n == n) {
            set->at[i].used = set->clock;
            return set->at[i].hybrid;
        }
        if (set->at[i].used < set->at[oldest].used) {
            oldest = i;
        }
    }
    tw_hybrid_destroy(set->at[oldest].hybrid);
    set->at[oldest].hybrid = division_make(set, n, problem);
    set->at[oldest].n      = n;
    set->at[oldest].used   = set->clock;
    return set->at[oldest].hybrid;
}

size_t tw_division_memory(const tw_division_set_t *set)
{
    size_t most = 0;

    for (int i = 0; i < TW_DIVISIONS; i++) {
        const size_t bytes = tw_hybrid_memory(set->at[i].hybrid);

        most = bytes > most ? bytes : most;
    }
    return most;
}

void tw_division_destroy(tw_division_set_t *set)
{
    for (int i = 0; i < TW_DIVISIONS; i++) {
        tw_hybrid_destroy(set->at[i].hybrid);
        set->at[i].hybrid = NULL;
    }
}
