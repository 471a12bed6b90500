/* SPDX-License-Identifier: BSD-3-Clause
 * tests/tools/scale_inputs.c - what thinwire scale reads, with mistakes: job files, networks,
 * calibrations; and the predictions of thinwire/facts.h.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/policy/model.h"
#include "scaling/network.h"
#include "tests/tools/scale_rig.h"

/* ---- job files ------------------------------------------------------------------------------- */

#define STEP(items)  "name = \"x\"; ranks = 2;\nstep = (" items ");"
#define NEST(inner)  "{ repeat = 2; step = (" inner "); }"
#define NEST4(inner) NEST(NEST(NEST(NEST(inner))))
#define N64          "0123456789012345678901234567890123456789012345678901234567890123"

static const struct {
    const char *text, *why; /* what stands behind the path */
} bad_jobs[] = {
    {"", ":1: it needs name, ranks and step"},
    {"name = ;", ":1: syntax error"},
    {"name = \"x\";\nranks = = 1; step = ();", ":2: syntax error"},
    {"name = \"x\"; ranks = 1; step = (); steps = 1;",
     ":1: 'steps' is no key here; accepted are name"},
    {"name = \"\"; ranks = 1; step = ();", ":1: name: accepted is a text of 1 to 63 characters"},
    {"name = \"" N64 "\"; ranks = 1; step = ();", ":1: name: accepted"},
    {"name = 5; ranks = 1; step = ();", ":1: name: accepted"},
    {"name = \"x\"; ranks = 0; step = ();", ":1: ranks: accepted is a number from 1 to 65536"},
    {"name = \"x\"; ranks = 65537; step = ();", ":1: ranks: accepted"},
    {"name = \"x\"; ranks = 1.5; step = ();", ":1: ranks: accepted is a whole number"},
    {"name = \"x\"; ranks = 1; fixed_ranks = 1; step = ();",
     ":1: fixed_ranks: accepted is true or"},
    {STEP(""), ":2: step: it is empty"},
    {"name = \"x\"; ranks = 1; step = 5;", ":1: step: accepted is a list"},
    {STEP("5"), ":2: an item is a group"},
    {STEP("{ name = \"a\"; }"), ":2: an item has one of compute, start, wait, call and repeat"},
    {STEP("{ compute = -1.0; }"), ":2: compute: accepted is a number from 0 to 1e+06"},
    {STEP("{ compute = 1e999; }"), ":2: compute: accepted"},
    {STEP("{ compute = \"1\"; }"), ":2: compute: accepted"},
    {STEP("{ compute = nan; }"), ":2: syntax error"},
    {STEP("{ compute = 1; wait = \"a\"; }"), ":2: 'wait' is no key here"},
    {STEP("{ compute = 1; fixed = 1; }"), ":2: fixed: accepted is true or false"},
    {STEP("{ compute = 1; idle = 1; }"), ":2: idle: accepted is true or false"},
    {"name = \"x\"; ranks = 1; step = ({ call = \"messages\"; count = 1; });",
     ":1: to: accepted are 1 to 64 offsets of ranks, such as [1, -1]"},
    {"name = \"x\"; ranks = 1; step = ({ call = \"messages\"; count = 1; to = [1, 0]; });",
     ":1: to: 0 is no offset of another rank"},
    {"name = \"x\"; ranks = 1; step = ({ call = \"messages\"; count = 1; to = [1, 2]; part = "
     "[1.0]; });",
     ":1: part: accepted are as many numbers as to has"},
    {"name = \"x\"; ranks = 1; step = ({ call = \"messages\"; to = [1]; });",
     ":1: messages: they need a count"},
    {"name = \"x\"; ranks = 1; step = ({ start = \"messages\"; count = 1; to = [1]; });",
     ":1: start: it needs a name, which a wait tells"},
    {"name = \"x\"; ranks = 1; threshold = -1; step = ({ compute = 1; });",
     ":1: threshold: accepted is a number from 0 to 1e+15"},
    {"name = \"x\"; ranks = 1;\nthreshold = 1;\ntraining = { batch = 1; layers = ({ name = \"a\"; "
     "}); };",
     ":2: threshold: accepted is it beside step"},
    {STEP("{ call = \"allreduce\"; }"), ":2: call: it needs a count"},
    {STEP("{ start = \"allreduce\"; count = 1; }"), ":2: start: it needs a count and a name"},
    {STEP("{ call = \"sum\"; count = 1; }"), ":2: call: accepted are allreduce, reduce"},
    {STEP("{ call = \"bcast\"; count = -1; }"), ":2: count: accepted is a number from 0 to 1e+15"},
    {STEP("{ call = \"bcast\"; count = 1e16; }"), ":2: count: accepted"},
    {STEP("{ call = \"bcast\"; count = 99999999999999999999; }"),
     ":2: a whole number is above 92233"},
    {STEP("{ call = \"bcast\"; count = 1; type = \"int\"; }"),
     ":2: type: accepted are float, double, float16, bfloat16 and other"},
    {STEP("{ call = \"bcast\"; count = 1; class = \"\"; }"), ":2: class: accepted is a text"},
    {STEP("{ call = \"bcast\"; count = 1; scales = 1; }"), ":2: scales: accepted is true or false"},
    {STEP("{ call = \"bcast\"; count = 1; fixed = true; }"), ":2: 'fixed' is no key here"},
    {STEP("{ call = \"bcast\"; count = 1; name = \"a\"; },\n"
          "{ call = \"bcast\"; count = 2; name = \"a\"; }"),
     ":3: 'a' was something else before"},
    {STEP("{ compute = 1; },\n{ wait = \"a\"; }"), ":3: wait: nothing called 'a' is started"},
    {STEP("{ wait = \"b\"; },{ start = \"bcast\"; count = 1; name = \"a\"; }"),
     ":2: wait: nothing"},
    {STEP("{ repeat = 0; step = ({ compute = 1; }); }"), ":2: repeat: accepted is a number from 1"},
    {STEP("{ repeat = 1.5; step = ({ compute = 1; }); }"),
     ":2: repeat: accepted is a whole number"},
    {STEP("{ call = \"bcast\"; count = 5000000000; }"),
     ":2: a whole number above 2147483647 needs an L"},
    {STEP("{ call = \"bcast\"; count = 0x80000000; }"),
     ":2: a whole number above 2147483647 needs"},
    {STEP("{ repeat = 2000000000000000L; step = (); }"), ":2: repeat: accepted"},
    {STEP("{ repeat = 2; }"), ":2: repeat: it needs a step"},
    {STEP("{ repeat = 2; times = 3; step = (); }"), ":2: 'times' is no key here"},
    {STEP(NEST4(NEST4(NEST("{ compute = 1; }")))), ":2: repeat: nested more than 8 deep"},
    {"@include \"/etc/passwd\"\n", ":1: @include is not accepted"},
    {"# @include\n/* \n */ @include \"x\"", ":3: @include is not accepted"},
    {STEP("{ compute = 1; }") "\n\n/* open", ":4: the comment that begins here has no end"},
};

START_TEST(bad_jobs_are_refused)
{
    workload_t   work;
    tw_problem_t problem = {.set = 0};

    ck_assert_msg(read_text(&work, bad_jobs[_i].text, &problem) != 0, "%s", bad_jobs[_i].text);
    ck_assert_msg(strstr(problem.text, bad_jobs[_i].why) != NULL &&
                      strncmp(problem.text, "/tmp/", 5) == 0,
                  "'%s' instead of '%s'", problem.text, bad_jobs[_i].why);
    ck_assert(strchr(problem.text, '\n') == NULL && work.item == NULL && work.exchange == NULL);
}
END_TEST

static const char *refusal(const char *path)
{
    static tw_problem_t problem;
    workload_t          work;

    problem.set = 0;
    ck_assert(workload_read(&work, path, &problem) != 0);
    return problem.text;
}

START_TEST(files_that_are_no_jobs)
{
    static const char nul[] = "name = \"x\"; ranks = 1;\0 step = ();";
    char              path[64];

    ck_assert_str_eq(refusal("/tmp"), "cannot read '/tmp': Is a directory");
    ck_assert_str_eq(refusal("/tmp/thinwire-missing"),
                     "cannot read '/tmp/thinwire-missing': No such file or directory");
    put_file(path, nul, sizeof(nul));
    ck_assert_ptr_nonnull(strstr(refusal(path), "it is no text"));
    unlink(path);
    ck_assert_str_eq(refusal("/dev/zero"), "cannot read '/dev/zero': File too large");
}
END_TEST

/* Bytes that were changed: refused or accepted, in one line and without harm. */
START_TEST(damaged_jobs)
{
    static const char job[] =
        STEP(NEST("{ start = \"allreduce\"; name = \"a\"; count = 100; class = "
                  "\"grad\"; }, { compute = 1e-3; }, { wait = \"a\"; }"));
    test_random_t random = {test_seed()};
    char          text[sizeof(job)];

    for (int run = 0; run < RUNS; run++) {
        tw_problem_t problem = {.set = 0};
        workload_t   work;

        memcpy(text, job, sizeof(job));
        for (int k = test_below(&random, 4); k >= 0; k--) {
            text[test_below(&random, sizeof(job) - 1)] = (char)(1 + test_below(&random, 255));
        }
        text[test_below(&random, 4) == 0 ? (size_t)test_below(&random, sizeof(job))
                                         : sizeof(job) - 1] = '\0';
        if (read_text(&work, text, &problem) == 0) {
            ck_assert_uint_gt(work.items, 0);
            workload_free(&work);
        }
    }
}
END_TEST

START_TEST(what_a_job_says)
{
    tw_problem_t problem = {.set = 0};
    workload_t   work;

    ck_assert_msg(
        read_text(
            &work,
            "name = \"job\"; ranks = 8; fixed_ranks = true;\n"
            "step = ({ compute = 2; name = \"forward\"; }, { compute = 0.5; fixed = true; },\n"
            " { start = \"reduce_scatter\"; name = \"s\"; count = 5000000000L; type = "
            "\"double\"; class = \"grad\"; scales = true; },\n"
            " { repeat = 3; step = ({ wait = \"s\"; }); },\n"
            " { call = \"alltoall\"; count = 1; type = \"other\"; },"
            " { call = \"alltoall\"; count = 1; type = \"other\"; },"
            " { call = \"alltoall\"; count = 2; });",
            &problem) == 0,
        "%s", problem.text);
    ck_assert_str_eq(work.name, "job");
    ck_assert(work.ranks == 8 && work.fixed && work.items == 12 && work.exchanges == 3);
    ck_assert(work.item[0].kind == ITEM_COMPUTE && work.item[0].seconds == 2.0);
    ck_assert(work.item[1].kind == ITEM_FIXED && work.item[1].seconds == 0.5);
    ck_assert(work.item[3].kind == ITEM_REPEAT && work.item[3].times == 3 && work.item[3].end == 5);
    ck_assert(work.exchange[0].operation == TW_OPERATION_REDUCE_SCATTER &&
              work.exchange[0].dtype == TW_F64 && work.exchange[0].scales &&
              work.exchange[0].count == 5e9);
    ck_assert_str_eq(work.exchange[0].class, "grad");
    ck_assert(work.exchange[1].plain && work.exchange[1].count == 1.0);
    ck_assert(work.exchange[2].count == 2.0 && !work.exchange[2].plain);
    ck_assert(work.item[6].exchange == 1 && work.item[8].exchange == 1);
    workload_free(&work);
}
END_TEST

/* Distinct ones, named and not, all in one line. */
START_TEST(many_exchanges)
{
    enum { MANY = 40000, ROOM = 80 * MANY };

    char        *text    = malloc(ROOM);
    tw_problem_t problem = {.set = 0};
    size_t       used;
    workload_t   work;

    ck_assert_ptr_nonnull(text);
    used = (size_t)snprintf(text, ROOM, "name = \"x\"; ranks = 1; step = (");
    for (int i = 0; i < MANY; i++) {
        char name[40] = "";

        if (i % 2 != 0) {
            snprintf(name, sizeof(name), " name = \"x%d\";", i);
        }
        used += (size_t)snprintf(text + used, ROOM - used, "%s{ call = \"bcast\"; count = %d;%s }",
                                 i > 0 ? "," : "", i, name);
    }
    snprintf(text + used, ROOM - used, ");");
    ck_assert_msg(read_text(&work, text, &problem) == 0, "%s", problem.text);
    ck_assert_uint_eq(work.exchanges, MANY);
    workload_free(&work);
    free(text);
}
END_TEST

/* ---- networks -------------------------------------------------------------------------------- */

static network_t network_of(const char *text)
{
    network_t    network;
    tw_problem_t problem = {.set = 0};

    ck_assert_msg(network_parse(&network, text, strlen(text), &problem) == 0, "%s", problem.text);
    return network;
}

START_TEST(presets_and_keys)
{
    static const char *const names[] = {"ethernet-1g",   "ethernet-10g",    "ethernet-25g",
                                        "ethernet-100g", "infiniband-100g", "infiniband-200g"};
    static const double      rates[] = {1, 10, 25, 100, 100, 200};
    char                     text[400];
    tw_problem_t             problem = {.set = 0};
    network_t                network;

    for (size_t i = 0; i < 6; i++) {
        ck_assert_str_eq(network_preset(i)->name, names[i]);
        network = network_of(names[i]);
        ck_assert(network.rate == rates[i] && network.latency > 0.0 && network.usable <= 1.0);
        ck_assert(network.group == 0.0 && network.taper == 1.0 && !network.measured);
        network_describe(&network, text, sizeof(text));
        ck_assert_msg(strncmp(text, names[i], strlen(names[i])) == 0, "%s", text);
        ck_assert_msg(strstr(text, "one switch") != NULL, "%s", text);
    }
    ck_assert_ptr_null(network_preset(8));
    network = network_of("ethernet-10g:rate=40:usable=0.5:latency=30:message=3:group=16:taper=2.5:"
                         "inside_rate=90:inside_latency=0.25");
    ck_assert(network.rate == 40.0 && network.usable == 0.5 && network.latency == 30.0 &&
              network.message == 3.0 && network.group == 16.0 && network.taper == 2.5 &&
              network.inside_rate == 90.0 && network.inside_latency == 0.25);
    network_describe(&network, text, sizeof(text));
    ck_assert_ptr_nonnull(strstr(text, "rate=40 Gbit/s, usable=0.5, latency=30 us, message=3 us, "
                                       "group=16 nodes, taper=2.5, inside a node inside_rate=90"));
    ck_assert(network_parse(&network, "ethernet-1g:rate=2,rest", 18, &problem) == 0);
    ck_assert_str_eq(network.name, "ethernet-1g:rate=2");
}
END_TEST

START_TEST(facts_of_a_network)
{
    network_t  network = network_of("ethernet-10g:latency=30:group=16:taper=4");
    tw_facts_t facts   = made_up(2, 1);

    network_facts(&network, 64, 4, &facts); /* 16 nodes: one group */
    ck_assert(facts.ranks == 64 && facts.nodes == 16 && facts.local_ranks == 4);
    NEAR(facts.between.bandwidth, 1.25e9 * 0.94);
    NEAR(facts.between.shared, 1.25e9 * 0.94);
    NEAR(facts.between.latency, 30e-6);
    NEAR(facts.inside.bandwidth, 1e10);
    ck_assert(facts.codecs == 4 && facts.engine == 1e-6);
    network_facts(&network, 128, 4, &facts); /* 32 nodes: 16 of the 31 others through the taper */
    NEAR(facts.between.bandwidth, 1.25e9 * 0.94);
    NEAR(facts.between.shared, 1.25e9 * 0.94 / (16.0 / 31.0 * 4.0));
    network.taper = 1.5; /* the node's own link stays the narrower */
    network_facts(&network, 128, 4, &facts);
    NEAR(facts.between.shared, 1.25e9 * 0.94);
    network_facts(&network, 3, 8, &facts);
    ck_assert(facts.nodes == 1 && facts.local_ranks == 3 && facts.between.shared == 0.0);
    network_facts(&network, 9, 4, &facts); /* a node that is not full */
    ck_assert(facts.nodes == 3 && facts.local_ranks == 4);
    network_facts(&network, 5, 1, &facts);
    ck_assert(facts.nodes == 5 && facts.local_ranks == 1 && facts.inside.shared == 0.0);
    network = (network_t){.measured = 1, .name = "measured"};
    facts   = made_up(2, 1);
    network_facts(&network, 8, 2, &facts);
    ck_assert(facts.ranks == 8 && facts.nodes == 4 && facts.between.shared == LINK);
}
END_TEST

static const struct {
    const char *text, *why;
} bad_networks[] = {
    {"", "--network '': accepted are ethernet-1g, ethernet-10g"},
    {"ethernet", "--network 'ethernet': accepted are ethernet-1g"},
    {"ethernet-10gx", "infiniband-200g"},
    {"ethernet-10g:", "--network: '': accepted are rate=N, usable=N, latency=N"},
    {"ethernet-10g:speed=1", "'speed=1': accepted are rate=N"},
    {"ethernet-10g:rate", "'rate': accepted are rate=N"},
    {"ethernet-10g:rate=", "'rate=': accepted are numbers from 0.001 to 100000"},
    {"ethernet-10g:rate=x", "'rate=x': accepted are numbers"},
    {"ethernet-10g:rate=0", "'rate=0': accepted are numbers"},
    {"ethernet-10g:rate=-1", "'rate=-1': accepted are numbers"},
    {"ethernet-10g:rate=nan", "'rate=nan': accepted are numbers"},
    {"ethernet-10g:rate=inf", "'rate=inf': accepted are numbers"},
    {"ethernet-10g:rate=1 ", "'rate=1 ': accepted are numbers"},
    {"ethernet-10g:usable=1.1", "numbers from 0.01 to 1"},
    {"ethernet-10g:latency=0", "numbers from 0.001 to 1e+06"},
    {"ethernet-10g:message=-1", "numbers from 0 to 100000"},
    {"ethernet-10g:group=0.5", "numbers from 1 to 65536"},
    {"ethernet-10g:taper=0.5:group=2", "'taper=0.5': accepted are numbers from 1 to 1000"},
    {"ethernet-10g:group=16::taper=2", "'': accepted are rate=N"},
    {"ethernet-10g:inside_rate=0", "numbers from 0.1 to 100000"},
    {"ethernet-10g:latency=30:latency=30:latency=30:latency=30:latency=30:latency=30:latency=30:"
     "latency=30:latency=30:latency=30:latency=30:latency=30",
     "...': longer than 127 characters"},
};

START_TEST(bad_networks_are_refused)
{
    const char  *text = bad_networks[_i].text;
    network_t    network;
    tw_problem_t problem = {.set = 0};

    ck_assert(network_parse(&network, text, strlen(text), &problem) != 0);
    ck_assert_msg(strstr(problem.text, bad_networks[_i].why) != NULL, "'%s' instead of '%s'",
                  problem.text, bad_networks[_i].why);
    ck_assert(strchr(problem.text, '\n') == NULL);
}
END_TEST

/* ---- predictions ----------------------------------------------------------------------------- */

START_TEST(the_fastest_algorithm_is_predicted)
{
    test_random_t random = {test_seed()};

    for (int run = 0; run < RUNS; run++) {
        const tw_facts_t       facts = drawn_facts(&random, 0);
        const double           count = floor(drawn(&random, 1.0, 1e8));
        const tw_operation_t   o     = (tw_operation_t)test_below(&random, TW_OPERATIONS);
        const tw_codec_facts_t codec = facts.codec[test_below(&random, facts.codecs)];
        const tw_prediction_t  got   = predicted(&facts, o, count, codec.spec, codec.dtype);
        double                 least = INFINITY;

        for (int i = 0; tw_model_algorithm(i) != NULL; i++) {
            const tw_model_algorithm_t *row = tw_model_algorithm(i);
            tw_prediction_t             one;

            if (row->operation == o && tw_model_considered(i, &facts) &&
                tw_facts_predict(&facts, o, count, codec.spec, codec.dtype, row->name, &one) ==
                    TW_OK) {
                ck_assert_str_eq(one.algorithm, row->name);
                ck_assert(isfinite(one.seconds) && one.codec <= one.seconds &&
                          one.bytes_sent >= 0.0);
                least = one.seconds < least ? one.seconds : least;
            }
        }
        ck_assert(got.seconds == least);
    }
}
END_TEST

static const struct {
    int            ranks, local;
    tw_operation_t operation;
    const char    *algorithm;
    double         vectors; /* encoded ones that the busiest rank sends */
} sent[] = {
    {4, 1, TW_OPERATION_ALLREDUCE, "direct", 3.0},
    {4, 1, TW_OPERATION_ALLREDUCE, "two_pass", 1.5},
    {16, 1, TW_OPERATION_ALLREDUCE, "grid", 0.75 + 0.75 + 15.0 / 16.0},
    {8, 2, TW_OPERATION_ALLREDUCE, "hierarchical", 0.75},
    {4, 4, TW_OPERATION_ALLREDUCE, "node", 0.0},
    {4, 1, TW_OPERATION_REDUCE, "direct", 1.0},
    {4, 1, TW_OPERATION_REDUCE, "two_pass", 1.0},
    {4, 1, TW_OPERATION_REDUCE_SCATTER, "one_pass", 0.75},
    {4, 1, TW_OPERATION_BCAST, "tree", 2.0},
    {5, 1, TW_OPERATION_BCAST, "tree", 3.0},
    {4, 1, TW_OPERATION_BCAST, "chain", 1.0},
    {4, 1, TW_OPERATION_ALLGATHER, "pairwise", 3.0},
    {16, 1, TW_OPERATION_ALLGATHER, "grid", 15.0},
    {4, 1, TW_OPERATION_ALLTOALL, "pairwise", 3.0},
    {16, 1, TW_OPERATION_ALLTOALL, "grid", 24.0},
};

START_TEST(bytes_are_those_of_the_algorithm)
{
    const tw_facts_t facts = made_up(sent[_i].ranks, sent[_i].local);
    tw_prediction_t  one;

    for (int c = 0; c < 4; c++) {
        const tw_codec_facts_t *codec = &facts.codec[c];

        if (c > 0 && strcmp(sent[_i].algorithm, "node") == 0) {
            continue; /* values as they are */
        }
        ck_assert_int_eq(tw_facts_predict(&facts, sent[_i].operation, 1048576.0, codec->spec,
                                          codec->dtype, sent[_i].algorithm, &one),
                         TW_OK);
        NEAR(one.bytes_sent, sent[_i].vectors * 1048576.0 * codec->bytes);
    }
}
END_TEST

START_TEST(what_cannot_be_predicted)
{
    tw_facts_t      facts = made_up(4, 1);
    tw_prediction_t one   = {.seconds = -1.0};

#define PREDICT(count, spec, dtype, algorithm)                                                     \
    tw_facts_predict(&facts, TW_OPERATION_BCAST, count, spec, dtype, algorithm, &one)
    ck_assert_int_eq(PREDICT(1, "wash", 0, NULL), TW_ERR_UNSUPPORTED);
    ck_assert_int_eq(PREDICT(1, "tree8", 1, NULL), TW_ERR_UNSUPPORTED);
    ck_assert_int_eq(PREDICT(1, "bitpack:8", 0, NULL), TW_ERR_UNSUPPORTED);
    ck_assert_int_eq(PREDICT(1, "fp32", 0, "two_pass"), TW_ERR_UNSUPPORTED);
    ck_assert_int_eq(PREDICT(1, "fp32", 0, "node"), TW_ERR_UNSUPPORTED);
    ck_assert_int_eq(PREDICT(1, "fp32", 0, "mpi"), TW_ERR_UNSUPPORTED);
    ck_assert_int_eq(PREDICT(-1, "fp32", 0, NULL), TW_ERR_INVALID_ARG);
    ck_assert_int_eq(PREDICT(NAN, "fp32", 0, NULL), TW_ERR_INVALID_ARG);
    ck_assert_int_eq(PREDICT(INFINITY, "fp32", 0, NULL), TW_ERR_INVALID_ARG);
    ck_assert_int_eq(PREDICT(1, NULL, 0, NULL), TW_ERR_INVALID_ARG);
    ck_assert_int_eq(
        tw_facts_predict(&facts, (tw_operation_t)TW_OPERATIONS, 1, "fp32", 0, NULL, &one),
        TW_ERR_INVALID_ARG);
    ck_assert_int_eq(tw_facts_predict(NULL, TW_OPERATION_BCAST, 1, "fp32", 0, NULL, &one),
                     TW_ERR_INVALID_ARG);
    facts.between.shared = NAN;
    ck_assert_int_eq(PREDICT(1, "fp32", 0, NULL), TW_ERR_INVALID_ARG);
    ck_assert(one.seconds == -1.0);
    facts = made_up(1, 1);
    for (int o = 0; o < TW_OPERATIONS; o++) {
        one = predicted(&facts, (tw_operation_t)o, 1e6, "tree8", 0);
        ck_assert(one.bytes_sent == 0.0 && isfinite(one.seconds) && one.seconds >= facts.engine);
    }
    facts = made_up(4, 1);
    NEAR(predicted(&facts, TW_OPERATION_ALLREDUCE, 0.0, "fp32", 0).seconds, facts.engine);
#undef PREDICT
}
END_TEST

/* ---- files of calibrations ------------------------------------------------------------------- */

static tw_status_t load(const char *bytes, size_t length, tw_facts_t *facts, char *why)
{
    tw_status_t status;
    char        path[64];

    put_file(path, bytes, length);
    status = tw_facts_load(path, facts, why, WHY);
    unlink(path);
    return status;
}

START_TEST(calibrations_are_loaded)
{
    static char          text[TEXT];
    const tw_facts_key_t key    = {"0.1.0", "a*4", "MPI", "scalar"};
    const tw_facts_t     facts  = made_up(4, 2);
    test_random_t        random = {test_seed()};
    const size_t         n      = tw_facts_write(&facts, &key, text, sizeof(text));
    tw_facts_t           got, untouched;
    char                 why[WHY] = "";

    ck_assert_uint_gt(n, 0);
    ck_assert_int_eq(load(text, n, &got, why), TW_OK);
    ck_assert(got.ranks == 4 && got.nodes == 2 && got.codecs == 4);
    NEAR(got.between.shared, LINK);
    ck_assert_str_eq(got.codec[1].spec, "tree8");
    memset(&got, 0x5a, sizeof(got));
    untouched = got;
    for (int run = 0; run < RUNS; run++) {
        why[0] = '\0';
        ck_assert_int_eq(load(text, (size_t)test_below(&random, (int)n - 1), &got, why), TW_ERR_IO);
        ck_assert_mem_eq(&got, &untouched, sizeof(got));
        ck_assert(why[0] != '\0' && strchr(why, '\n') == NULL);
    }
    for (size_t i = 0; i < sizeof(text); i++) {
        text[i] = (char)test_next(&random);
    }
    ck_assert_int_eq(load(text, sizeof(text), &got, why), TW_ERR_IO);
    ck_assert_int_eq(tw_facts_load("/tmp/thinwire-missing", &got, why, WHY), TW_ERR_IO);
    ck_assert_str_eq(why, "No such file or directory");
    ck_assert_int_eq(tw_facts_load("/tmp", &got, why, WHY), TW_ERR_IO);
    ck_assert_int_eq(tw_facts_load(NULL, &got, why, WHY), TW_ERR_INVALID_ARG);
    ck_assert_mem_eq(&got, &untouched, sizeof(got));
}
END_TEST

void add_job_files(Suite *suite)
{
    TCase *tcase = test_case_within(suite, "job files", 60);

    TEST_EACH(tcase, bad_jobs_are_refused, bad_jobs);
    tcase_add_test(tcase, files_that_are_no_jobs);
    tcase_add_test(tcase, damaged_jobs);
    tcase_add_test(tcase, what_a_job_says);
    tcase_add_test(tcase, many_exchanges);
}

void add_networks(Suite *suite)
{
    TCase *tcase = test_case(suite, "networks");

    tcase_add_test(tcase, presets_and_keys);
    tcase_add_test(tcase, facts_of_a_network);
    TEST_EACH(tcase, bad_networks_are_refused, bad_networks);
}

void add_predictions(Suite *suite)
{
    TCase *tcase = test_case(suite, "predictions");

    tcase_add_test(tcase, the_fastest_algorithm_is_predicted);
    TEST_EACH(tcase, bytes_are_those_of_the_algorithm, sent);
    tcase_add_test(tcase, what_cannot_be_predicted);
    tcase_add_test(tcase, calibrations_are_loaded);
}
