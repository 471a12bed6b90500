/* SPDX-License-Identifier: BSD-3-Clause
 * tests/fuzz/job.c - job files of thinwire scale: items and loops, layers of a training, and the
 * time of a step by each scheme.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "scaling/step.h"
#include "scaling/training.h"
#include "tests/fuzz/target.h"

enum { WHY = 600 };

static void check_refusal(const char *why)
{
    fuzz_check(why[0] != '\0' && strchr(why, '\n') == NULL, "a refusal says why, in one line");
}

static void check_items(const workload_t *work)
{
    int depth = 0;

    fuzz_check(work->items > 0 && work->items <= WORKLOAD_ITEMS, "a step has items");
    for (size_t i = 0; i < work->items; i++) {
        const item_t *item = &work->item[i];

        depth += (item->kind == ITEM_REPEAT) - (item->kind == ITEM_END);
        fuzz_check(depth >= 0 && depth <= WORKLOAD_NESTED, "loops are nested");
        fuzz_check(isfinite(item->seconds) && item->seconds >= 0.0, "an item takes its time");
        fuzz_check((item->kind != ITEM_START && item->kind != ITEM_WAIT) ||
                       item->exchange < work->exchanges,
                   "an item is of an exchange");
        fuzz_check(item->kind != ITEM_REPEAT ||
                       (item->times > 0 && item->end > i && item->end < work->items &&
                        work->item[item->end].kind == ITEM_END),
                   "a loop ends");
    }
    fuzz_check(depth == 0, "all loops end");
}

/* ranks: 1 is without links. */
static void take_time(const workload_t *work, int ranks, const char *spec)
{
    tw_facts_t facts = {
        .ranks       = ranks,
        .nodes       = ranks,
        .local_ranks = 1,
        .engine      = 1e-6,
        .between     = {20e-6, 1e8, 1e8, 2e-6},
        .codecs      = 3,
        .codec       = {{.spec = "fp32", .bytes = 4.0, .block = 1},
                        {.spec = "tree8", .bytes = 1.0, .block = 4096, .max_error = 0.01},
                        {.spec = "bitpack:8", .dtype = TW_F64, .bytes = 8.0, .block = 1}}};
    step_case_t  how     = {.facts = &facts, .spec = spec, .share = (double)work->ranks / ranks};
    step_time_t  time    = {.seconds = -1.0};
    tw_problem_t problem = {.set = 0};

    if (step_time(work, &how, &time, &problem) == 0) {
        fuzz_check(isfinite(time.seconds) && time.seconds >= 0.0 && isfinite(time.bytes) &&
                       time.bytes >= 0.0 && time.exposed >= 0.0,
                   "a step takes a time");
    } else {
        fuzz_check(time.seconds == -1.0, "no time where there is none");
        check_refusal(problem.text);
    }
}

static void divide(const workload_t *work)
{
    static const char *const texts[] = {"data", "a", "b", "c", "group=3", "c:split=4"};

    for (int s = 0; s < 6; s++) {
        for (int ranks = 1; ranks <= 4096; ranks *= 16) {
            scheme_t     scheme;
            workload_t   step;
            tw_problem_t problem = {.set = 0};

            fuzz_check(scheme_parse(&scheme, texts[s], strlen(texts[s]), &problem) == 0,
                       "there is the scheme");
            if (training_step(work, &scheme, ranks, 1 + s % 4, work->training.batch, s % 2, &step,
                              &problem) != 0) {
                fuzz_check(step.item == NULL && step.exchange == NULL, "nothing is left");
                check_refusal(problem.text);
                continue;
            }
            check_items(&step);
            take_time(&step, ranks, s % 2 ? "tree8" : "fp32");
            workload_free(&step);
        }
    }
}

static bool run(const uint8_t *data, size_t size)
{
    workload_t   work;
    tw_problem_t problem = {.set = 0};

    if (workload_read(&work, fuzz_file(data, size), &problem) != 0) {
        fuzz_check(work.item == NULL && work.exchange == NULL && work.training.layer == NULL,
                   "nothing is left");
        check_refusal(problem.text);
        return false;
    }
    fuzz_check(work.ranks >= 1 && work.ranks <= WORKLOAD_RANKS && work.name[0] != '\0',
               "a job has ranks and a name");
    if (work.training.layers > 0) {
        fuzz_check(work.training.layers <= TRAINING_LAYERS &&
                       work.training.dense <= work.training.layers && work.items == 0,
                   "a training has layers");
        divide(&work);
    } else {
        check_items(&work);
        take_time(&work, 1, "fp32");
        take_time(&work, 8, "tree8");
    }
    workload_free(&work);
    return true;
}

/* The examples of thinwire-job(5), and all other keys. */
static size_t seed(int index, uint8_t *data)
{
    static const char *const texts[] = {
        "name  = \"two layers\";\nranks = 1;\nstep  = (\n  { wait = \"weights\"; }, # before\n"
        "  { compute = 0.020; name = \"forward\"; },\n  { compute = 0.010; name = \"backward 2\"; "
        "},\n"
        "  { start = \"allreduce\"; name = \"layer 2\"; count = 1049600; class = \"grad\"; },\n"
        "  { compute = 0.020; name = \"backward 1\"; },\n"
        "  { start = \"reduce_scatter\"; name = \"layer 1\"; count = 803840; class = \"grad\"; },\n"
        "  { wait = \"layer 2\"; },\n  { wait = \"layer 1\"; },\n  { repeat = 50; step = (\n"
        "      { compute = 1e-4; },\n      { call = \"allgather\"; count = 4096; scales = true; "
        "},\n"
        "      { call = \"allreduce\"; count = 2; type = \"double\"; }\n  ); },\n"
        "  { compute = 0.002; fixed = true; name = \"update\"; },\n"
        "  { start = \"bcast\"; name = \"weights\"; count = 803840; class = \"weight\"; }\n);\n",
        "name     = \"two layers\";\nranks    = 1;\ntraining = {\n  batch  = 128;\n"
        "  update = 0.002;\n  layers = (\n"
        "    { name = \"fc1\"; weights = 802816; biases = 1024; units = 1024;\n"
        "      forward = 0.010; backward = 0.020; },\n"
        "    { name = \"fc2\"; weights = 1048576; biases = 1024; units = 1024;\n"
        "      forward = 0.010; backward = 0.020; }\n  );\n};\n",
        "name = \"t\"; ranks = 4; fixed_ranks = true; training = { batch = 5; bucket = 1000;\n"
        "loss = \"logistic\"; layers = ({ name = \"conv\"; weights = 900; forward = 1; },\n"
        "{ name = \"norm\"; biases = 32; channels = 16; }, { name = \"fc\"; weights = 90; units = "
        "9; }"
        "); };\n",
        "name = \"o\"; ranks = 2; training = { batch = 8; owners = \"sharded\"; norms = true;\n"
        "blocks = true; layers = ({ name = \"b.1\"; weights = 900; copy = \"tree8\"; },\n"
        "{ name = \"b.2\"; weights = 90; biases = 3; }, { name = \"fc\"; weights = 90; units = 9;\n"
        "copy = \"fp32\"; }); };\n",
        "name = \"n\"; ranks = 8; step = ({ repeat = 1000000000; step = ({ repeat = 3; step = (\n"
        "{ start = \"alltoall\"; name = \"a\"; count = 5000000000L; type = \"other\"; },\n"
        "{ compute = 1e-3; }); }, { wait = \"a\"; }); }, { call = \"reduce\"; count = 0x10; });\n",
        "/* deep */ name = \"d\"; ranks = 1; step = ({ repeat = 2; step = ({ repeat = 2; step = (\n"
        "{ repeat = 2; step = ({ repeat = 2; step = ({ repeat = 2; step = ({ repeat = 2; step = (\n"
        "{ repeat = 2; step = ({ repeat = 2; step = ({ compute = 1; }); }); }); }); }); }); }); "
        "}); "
        "});\n"};

    return index < (int)(sizeof(texts) / sizeof(texts[0])) ? fuzz_seed_text(data, texts[index]) : 0;
}

const fuzz_target_t fuzz_job = {"job", false, NULL, run, seed};
