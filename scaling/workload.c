/* SPDX-License-Identifier: BSD-3-Clause
 * scaling/workload.c - see workload.h.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scaling/parser.h"

/* Of a processor: for 65536 ranks on one, and a little less. */
#define PROCESSOR_LEAST 1e-5

#define TIMES_MOST 1e15

/* ---- items --------------------------------------------------------------------------------- */

static int read_items(parser_t *p, const config_setting_t *list, int depth);

static int read_compute(parser_t *p, const config_setting_t *group, const config_setting_t *what)
{
    const config_setting_t *fixed = config_setting_get_member(group, "fixed"),
                           *idle  = config_setting_get_member(group, "idle");
    item_t item                   = {.kind = ITEM_COMPUTE};
    int    is = 0, rests = 0;

    if (job_only(p, group, "compute, fixed, idle, name") != 0 ||
        (idle != NULL && job_flag(p, idle, &rests) != 0) ||
        job_number(p, what, 0.0, SECONDS_MOST, &item.seconds) != 0 ||
        (fixed != NULL && job_flag(p, fixed, &is) != 0)) {
        return -1;
    }
    item.kind = rests ? ITEM_IDLE : is ? ITEM_FIXED : ITEM_COMPUTE;
    return job_add_item(p, group, item);
}

/* What is started behind it, as for the next step, is known at the end. */
static int read_wait(parser_t *p, const config_setting_t *group, const config_setting_t *what)
{
    exchange_t x = {.operation = (tw_operation_t)TW_OPERATIONS};
    size_t     index;

    if (job_only(p, group, "wait") != 0 || job_word(p, what, x.name) != 0) {
        return -1;
    }
    if (!job_has(p, x.name, &index)) {
        if (job_add_exchange(p, &x, &index) != 0 ||
            job_grow(p, LIST_EARLY, (void **)&p->early, p->earlies, sizeof(*p->early)) != 0) {
            return -1;
        }
        p->early[p->earlies++] = (early_wait_t){index, what};
    }
    return job_add_item(p, group, (item_t){.kind = ITEM_WAIT, .exchange = index});
}

static int read_repeat(parser_t *p, const config_setting_t *group, const config_setting_t *what,
                       int depth)
{
    const config_setting_t *step  = config_setting_get_member(group, "step");
    const size_t            begin = p->work->items;
    double                  times;

    if (job_only(p, group, "repeat, step") != 0 || job_whole(p, what, TIMES_MOST, &times) != 0) {
        return -1;
    }
    if (step == NULL) {
        return job_wrong(p, group, "repeat: it needs a step = ( ... )");
    }
    if (depth == WORKLOAD_NESTED) {
        return job_wrong(p, group, "repeat: nested more than %d deep", WORKLOAD_NESTED);
    }
    if (job_add_item(p, group, (item_t){.kind = ITEM_REPEAT, .times = (uint64_t)times}) != 0 ||
        read_items(p, step, depth + 1) != 0) {
        return -1;
    }
    p->work->item[begin].end = p->work->items;
    return job_add_item(p, group, (item_t){.kind = ITEM_END});
}

static int read_item(parser_t *p, const config_setting_t *group, int depth)
{
    const config_setting_t *what;

    if (!config_setting_is_group(group)) {
        return job_wrong(p, group, "an item is a group: { key = value; ... }");
    }
    if ((what = config_setting_get_member(group, "compute")) != NULL) {
        return read_compute(p, group, what);
    }
    if ((what = config_setting_get_member(group, "wait")) != NULL) {
        return read_wait(p, group, what);
    }
    if ((what = config_setting_get_member(group, "repeat")) != NULL) {
        return read_repeat(p, group, what, depth);
    }
    if ((what = config_setting_get_member(group, "start")) != NULL ||
        (what = config_setting_get_member(group, "call")) != NULL) {
        return job_exchange(p, group, what);
    }
    return job_wrong(p, group, "an item has one of compute, start, wait, call and repeat");
}

static int read_items(parser_t *p, const config_setting_t *list, int depth)
{
    if (!config_setting_is_list(list)) {
        return job_wrong(p, list, "step: accepted is a list: ( { ... }, { ... } )");
    }
    for (int i = 0; i < config_setting_length(list); i++) {
        if (read_item(p, config_setting_get_elem(list, (unsigned)i), depth) != 0) {
            return -1;
        }
    }
    return 0;
}

/* ---- the file ------------------------------------------------------------------------------ */

static int check_started(parser_t *p)
{
    for (size_t i = 0; i < p->earlies; i++) {
        const exchange_t *x = &p->work->exchange[p->early[i].exchange];

        if (job_is_early(x)) {
            return job_wrong(p, p->early[i].at, "wait: nothing called '%s' is started", x->name);
        }
    }
    return 0;
}

/* What all exchanges of a program under thinwire run have in common. */
static int read_threshold(parser_t *p, const config_setting_t *at)
{
    double threshold;

    if (p->work->training.layers > 0) {
        return job_wrong(p, at, "threshold: accepted is it beside step");
    }
    if (job_number(p, at, 0.0, COUNT_MOST, &threshold) != 0) {
        return -1;
    }
    for (size_t i = 0; i < p->work->exchanges; i++) {
        p->work->exchange[i].native    = 1;
        p->work->exchange[i].threshold = threshold;
    }
    return 0;
}

static int read_workload(parser_t *p, const config_setting_t *root, void *into)
{
    const config_setting_t *name     = config_setting_get_member(root, "name"),
                           *ranks    = config_setting_get_member(root, "ranks"),
                           *fixed    = config_setting_get_member(root, "fixed_ranks"),
                           *part     = config_setting_get_member(root, "processor"),
                           *rate     = config_setting_get_member(root, "codec_rate"),
                           *least    = config_setting_get_member(root, "threshold"),
                           *step     = config_setting_get_member(root, "step"),
                           *training = config_setting_get_member(root, "training");
    double number_of                 = 0.0;

    p->work = into;
    if (job_only(p, root,
                 "name, ranks, fixed_ranks, processor, codec_rate, threshold, step, training") !=
        0) {
        return -1;
    }
    if (step != NULL && training != NULL) {
        return job_wrong(p, training, "training: it has a step already; accepted is one of them");
    }
    if (name == NULL || ranks == NULL || (step == NULL && training == NULL)) {
        return job_wrong(p, NULL, "it needs name, ranks and step (or training)");
    }
    if (job_word(p, name, p->work->name) != 0 ||
        job_whole(p, ranks, WORKLOAD_RANKS, &number_of) != 0 ||
        (fixed != NULL && job_flag(p, fixed, &p->work->fixed) != 0) ||
        (part != NULL && job_number(p, part, PROCESSOR_LEAST, 1.0, &p->work->processor) != 0) ||
        (rate != NULL && job_number(p, rate, RATE_LEAST, RATE_MOST, &p->work->codec_rate) != 0)) {
        return -1;
    }
    p->work->ranks = (int)number_of;
    if (training != NULL) {
        return training_read(p, training) != 0 || (least != NULL && read_threshold(p, least) != 0)
                   ? -1
                   : 0;
    }
    if (read_items(p, step, 0) != 0 || check_started(p) != 0 ||
        (least != NULL && read_threshold(p, least) != 0)) {
        return -1;
    }
    return p->work->items > 0 ? 0 : job_wrong(p, step, "step: it is empty");
}

int workload_read(workload_t *work, const char *path, tw_problem_t *problem)
{
    *work = (workload_t){.ranks = 0};
    if (parse_file(path, read_workload, work, problem) != 0) {
        workload_free(work);
        return -1;
    }
    return 0;
}

void workload_free(workload_t *work)
{
    for (size_t i = 0; i < work->exchanges; i++) {
        free(work->exchange[i].to);
    }
    free(work->item);
    free(work->exchange);
    free(work->training.layer);
    *work = (workload_t){.ranks = 0};
}
