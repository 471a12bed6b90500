/* SPDX-License-Identifier: BSD-3-Clause
 * tools/plan_advice.h - which scheme and codecs thinwire plan advises: the shortest step that fits
 * into a rank's memory.
 */
#ifndef TOOLS_PLAN_ADVICE_H
#define TOOLS_PLAN_ADVICE_H

#include "scaling/machine.h"
#include "tools/scale/study.h"
#include "train/model/network.h"

/* A way of training. Codecs are places in study.specs; specs.count: fp32. */
typedef struct plan_choice {
    size_t      scheme, grad, act;
    step_time_t time;
    double      memory; /* bytes of a rank */
} plan_choice_t;

typedef struct plan {
    const job_t  *job;
    const char   *model; /* name or file, as the user gave it */
    tw_network_t  network;
    speeds_t      machine;
    double        batch; /* examples of a step, of all ranks */
    int           ranks, per_node;
    char          weights[TW_FACTS_SPEC]; /* with owners, by what they travel */
    study_t       study;                  /* one network, one number of ranks */
    plan_choice_t best;
} plan_t;

static inline int plan_nodes(const plan_t *plan)
{
    return (plan->ranks + plan->per_node - 1) / plan->per_node;
}

/** Find the best way. Needs all but best.
 * @return 0, or -1 with the problem set. */
int plan_choose(plan_t *plan, tw_problem_t *problem);

/** Print it, and add it to the report. @return 0, or -1 and rank 0 has said why. */
int plan_advise(const plan_t *plan, report_t *report);

#endif /* TOOLS_PLAN_ADVICE_H */
