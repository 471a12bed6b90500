/* SPDX-License-Identifier: BSD-3-Clause
 * train/report/report_weights.c - report of weights with owners, and of T of AWP.
 */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>

#include "train/report/report.h"

void tw_report_changes(tw_training_t *t)
{
    tw_masters_facts_t facts;

    if (t->rank != 0) {
        return;
    }
    tw_masters_facts(t->masters, &facts);
    for (; t->changes_told < facts.changes; t->changes_told++) {
        const tw_masters_change_t *c = &facts.change[t->changes_told];
        const char                *spec;
        size_t                     elements;
        int                        bits;

        printf("weights of %s travel with %d bits from step %" PRIu64 " on\n",
               tw_masters_group(t->masters, c->group, &elements, &spec, &bits), c->bits,
               c->step + 1);
    }
}

static json_t *group_object(const tw_training_t *t, size_t g)
{
    const char *name, *spec;
    size_t      elements;
    int         bits;

    name = tw_masters_group(t->masters, g, &elements, &spec, &bits);
    return json_pack("{s:s, s:I, s:s, s:o}", "name", name, "elements", (json_int_t)elements,
                     "codec", spec, "bits", bits > 0 ? json_integer(bits) : json_null());
}

static json_t *change_object(const tw_training_t *t, const tw_masters_change_t *c)
{
    const char *spec;
    size_t      elements;
    int         bits;

    return json_pack("{s:I, s:s, s:i}", "step", (json_int_t)c->step, "group",
                     tw_masters_group(t->masters, c->group, &elements, &spec, &bits), "bits",
                     c->bits);
}

json_t *tw_report_weights(const tw_training_t *t)
{
    json_t            *groups, *changes;
    tw_masters_facts_t facts;

    tw_masters_facts(t->masters, &facts);
    if (facts.groups == 0) {
        return json_null();
    }
    groups  = json_array();
    changes = json_array();
    for (size_t g = 0; g < facts.groups; g++) {
        json_array_append_new(groups, group_object(t, g));
    }
    for (size_t c = 0; c < facts.changes; c++) {
        json_array_append_new(changes, change_object(t, &facts.change[c]));
    }
    return json_pack("{s:I, s:I, s:I, s:o, s:o}", "elements", (json_int_t)facts.elements,
                     "elements_owned", (json_int_t)facts.own, "bytes_of_a_copy",
                     (json_int_t)facts.bytes, "groups", groups, "changes", changes);
}

uint64_t tw_report_state_bytes(const tw_training_t *t)
{
    tw_masters_facts_t facts;

    tw_masters_facts(t->masters, &facts);
    return (facts.own + t->params.moments) * sizeof(float);
}

/* NULL: no drop, or no rate until then. */
static const tw_evaluation_t *calibrated(const tw_training_t *t, tw_calibration_facts_t *facts)
{
    if (t->calibration == NULL) {
        return NULL;
    }
    tw_calibration_facts(t->calibration, facts);
    return facts->rates > 0 ? tw_calibration_drop(&t->evaluations) : NULL;
}

void tw_report_calibration(const tw_training_t *t)
{
    tw_calibration_facts_t facts = {.groups = 0};
    const tw_evaluation_t *drop  = calibrated(t, &facts);

    if (drop != NULL) {
        printf("AWP: test error dropped to %.2f %% at step %" PRIu64
               "; mean change rate of %zu layers over %" PRIu64
               " steps: --codec weight=awp:T=%.9g\n",
               100.0 * drop->test_error, drop->step, facts.groups, facts.steps, facts.threshold);
    } else if (t->calibration != NULL && tw_calibration_drop(&t->evaluations) != NULL) {
        printf(
            "AWP: no T: the test error dropped before there was a change rate; more steps between "
            "tests (--eval-every) give some\n");
    } else if (t->calibration != NULL) {
        printf("AWP: no T: no test had fewer errors than the one before it in %" PRIu64
               " steps, %zu tests\n",
               tw_training_done(t), t->evaluations.count);
    }
}

json_t *tw_report_calibration_json(const tw_training_t *t)
{
    tw_calibration_facts_t facts = {.groups = 0};

    if (calibrated(t, &facts) == NULL) {
        return json_null();
    }
    return json_pack("{s:f, s:I, s:I}", "threshold", facts.threshold, "steps",
                     (json_int_t)facts.steps, "groups", (json_int_t)facts.groups);
}
