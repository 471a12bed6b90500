/* SPDX-License-Identifier: BSD-3-Clause
 * tests/tools/test_scale.c - thinwire scale without the command: the time of a step against
 * cases worked out by hand. Any job: scale_drawn.c; files, networks, predictions: scale_inputs.c.
 */
#include "config.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scaling/network.h"
#include "tests/tools/scale_rig.h"

/* A step of a job with these items. */
__attribute__((format(printf, 2, 3))) static step_time_t time_of(const step_case_t *how,
                                                                 const char        *format, ...)
{
    static const char head[] = "name = \"job\"; ranks = 1; step = (\n";
    char              text[4096];
    tw_problem_t      problem = {.set = 0};
    size_t            used    = sizeof(head) - 1;
    workload_t        work;
    step_time_t       time = {0};
    va_list           list;

    strcpy(text, head);
    va_start(list, format);
    used += (size_t)vsnprintf(text + used, sizeof(text) - used, format, list);
    va_end(list);
    ck_assert_uint_lt(used + 3, sizeof(text));
    strcpy(text + used, ");");
    ck_assert_msg(read_text(&work, text, &problem) == 0, "%s", problem.text);
    ck_assert_msg(step_time(&work, how, &time, &problem) == 0, "%s", problem.text);
    workload_free(&work);
    return time;
}

#define A1M "name = \"a\"; count = 1000000;"
#define B2M "name = \"b\"; count = 2000000;"

/* On four ranks, a million floats. */
typedef struct on_four {
    tw_facts_t      facts;
    step_case_t     how;
    tw_prediction_t a, b; /* allreduce of A1M, B2M */
} on_four_t;

static on_four_t *on_four(const char *spec)
{
    static on_four_t k;

    k.facts = made_up(4, 1);
    k.how   = (step_case_t){.facts = &k.facts, .spec = spec, .share = 1.0};
    k.a     = predicted(&k.facts, TW_OPERATION_ALLREDUCE, 1e6, spec, 0);
    k.b     = predicted(&k.facts, TW_OPERATION_ALLREDUCE, 2e6, spec, 0);
    return &k;
}

START_TEST(computing_alone)
{
    const on_four_t  *k    = on_four("tree8");
    const step_time_t time = time_of(&k->how, "{ compute = 0.5; }, { compute = 1; }");

    NEAR(time.seconds, 1.5);
    NEAR(time.compute, 1.5);
    ck_assert(time.exposed == 0.0 && time.codec == 0.0 && time.bytes == 0.0);
}
END_TEST

START_TEST(a_blocking_call_takes_what_is_predicted)
{
    const on_four_t  *k = on_four("tree8");
    const step_time_t time =
        time_of(&k->how, "{ compute = 0.5; }, { call = \"allreduce\"; count = 1000000; }");

    NEAR(time.seconds, 0.5 + k->a.seconds);
    NEAR(time.compute, 0.5);
    NEAR(time.exposed, k->a.seconds);
    NEAR(time.codec, k->a.codec);
    NEAR(time.bytes, k->a.bytes_sent);
    ck_assert_double_ge(k->a.seconds, 1.5e6 / LINK);
}
END_TEST

static step_time_t overlapped(const on_four_t *k, double seconds)
{
    return time_of(&k->how,
                   "{ start = \"allreduce\"; " A1M " }, { compute = %.17g; }, { wait = \"a\"; }",
                   seconds);
}

START_TEST(what_is_hidden_costs_its_codec_time)
{
    const on_four_t *k = on_four("tree8");
    step_time_t      time;

    ck_assert_double_gt(k->a.codec, 0.0);
    time = overlapped(k, 2.0 * k->a.seconds);
    NEAR(time.seconds, 2.0 * k->a.seconds + k->a.codec);
    NEAR(time.exposed, k->a.codec);
}
END_TEST

START_TEST(what_is_hidden_costs_its_bytes)
{
    on_four_t  *k = on_four("fp32");
    step_time_t time;

    k->facts.moving    = 1e-9; /* of as many in as out */
    k->facts.processor = 0.5;
    time               = overlapped(k, 2.0 * k->a.seconds);
    NEAR(time.compute, 4.0 * k->a.seconds);
    NEAR(time.exposed, k->a.codec + 4e-9 * k->a.bytes_sent);
    NEAR(time.codec, k->a.codec);
    NEAR(predicted(&k->facts, TW_OPERATION_ALLREDUCE, 1e6, "fp32", 0).moving,
         4e-9 * k->a.bytes_sent);
    time = time_of(&k->how, "{ call = \"allreduce\"; " A1M " }"); /* while it waits, nothing */
    NEAR(time.seconds, k->a.seconds);
}
END_TEST

START_TEST(what_is_partly_hidden_costs_the_rest)
{
    const on_four_t *k    = on_four("tree8");
    step_time_t      time = overlapped(k, 0.5 * k->a.seconds);

    NEAR(time.seconds, k->a.seconds);
    NEAR(time.exposed, 0.5 * k->a.seconds);
    time = overlapped(k, 0.999 * k->a.seconds); /* the codec's part of it is longer than the rest */
    ck_assert_double_gt(0.999 * k->a.codec, 0.001 * k->a.seconds);
    NEAR(time.seconds, 0.999 * k->a.seconds + k->a.codec);
}
END_TEST

START_TEST(exchanges_queue)
{
    const on_four_t *k = on_four("tree8");
    step_time_t      time;

    time = time_of(&k->how, "{ start = \"allreduce\"; " A1M " }, { start = \"allreduce\"; " B2M
                            " }, { wait = \"a\"; }, { wait = \"b\"; }");
    NEAR(time.seconds, k->a.seconds + k->b.seconds);
    time = time_of(&k->how,
                   "{ start = \"allreduce\"; " A1M " }, { start = \"allreduce\"; " B2M
                   " }, { compute = %.17g; }, { wait = \"b\"; }, { wait = \"a\"; }",
                   0.5 * k->a.seconds);
    NEAR(time.exposed, 0.5 * k->a.seconds + k->b.seconds);
}
END_TEST

/* A bcast of the next root begins when the links of a mean rank are free: on four ranks three send
 * once, of which a tree's root sends two. */
START_TEST(roots_that_take_turns_queue_by_their_mean)
{
    const on_four_t *k       = on_four("fp32");
    tw_problem_t     problem = {.set = 0};
    workload_t       work;
    step_time_t      time, fixed;
    const char      *text = "name = \"j\"; ranks = 1; step = ({ start = \"bcast\"; " A1M " },"
                            "{ start = \"bcast\"; " B2M " }, { wait = \"a\"; }, { wait = \"b\"; });";
    tw_prediction_t  a    = predicted(&k->facts, TW_OPERATION_BCAST, 1e6, "fp32", 0),
                    b     = predicted(&k->facts, TW_OPERATION_BCAST, 2e6, "fp32", 0);

    ck_assert_msg(read_text(&work, text, &problem) == 0, "%s", problem.text);
    ck_assert(step_time(&work, &k->how, &fixed, &problem) == 0);
    NEAR(fixed.seconds, a.seconds + b.seconds);
    work.exchange[0].turns = work.exchange[1].turns = 1;
    ck_assert(step_time(&work, &k->how, &time, &problem) == 0);
    NEAR(time.bytes, 0.75 * 4.0 * 3e6);
    NEAR(time.seconds, 0.75 * 4e6 / k->facts.between.shared + b.seconds);
    ck_assert(time.seconds < fixed.seconds);
    workload_free(&work);
}
END_TEST

/* What is blocked in one wait takes no core for another, in whatever order. */
START_TEST(waits_in_any_order)
{
    const on_four_t *k   = on_four("tree8");
    const double     sum = k->a.seconds + k->b.seconds;

    NEAR(time_of(&k->how, "{ start = \"allreduce\"; " A1M " }, { start = \"allreduce\"; " B2M
                          " }, { wait = \"b\"; }, { wait = \"a\"; }")
             .seconds,
         sum);
    NEAR(time_of(&k->how, "{ start = \"allreduce\"; " A1M " }, { call = \"allreduce\"; " B2M
                          " }, { wait = \"a\"; }")
             .seconds,
         sum);
}
END_TEST

/* Nothing waits for them, and the core is taken all the same. */
START_TEST(what_is_started_again_costs_its_codec)
{
    const on_four_t *k = on_four("tree8");

    NEAR(time_of(&k->how,
                 "{ repeat = 8; step = ({ start = \"allreduce\"; " A1M
                 " }, { compute = %.17g; }); }",
                 2.0 * k->a.seconds)
             .seconds,
         8.0 * (2.0 * k->a.seconds + k->a.codec));
}
END_TEST

START_TEST(a_wait_for_the_step_before)
{
    const on_four_t *k = on_four("tree8");
    step_time_t      time;

    time = time_of(&k->how,
                   "{ wait = \"a\"; }, { compute = 0.5; }, { start = \"allreduce\"; " A1M "}");
    NEAR(time.seconds, 0.5 + k->a.seconds);
    time = time_of(&k->how,
                   "{ compute = 0.5; }, { wait = \"a\"; }, { start = \"allreduce\"; " A1M "}");
    NEAR(time.seconds, 0.5 + k->a.codec);
    time = time_of(&k->how,
                   "{ compute = %.17g; }, { wait = \"a\"; }, { start = \"allreduce\"; " A1M "}",
                   0.25 * k->a.seconds);
    NEAR(time.seconds, k->a.seconds);
}
END_TEST

START_TEST(shares_and_what_is_fixed)
{
    static const char job[] = "{ compute = 0.5; }, { compute = 0.25; fixed = true; },"
                              "{ call = \"bcast\"; count = 800000; scales = true; },"
                              "{ call = \"bcast\"; count = 800000; scales = false; }";
    on_four_t        *k     = on_four("tree8");
    step_time_t       time;

    for (double share = 1.0; share > 0.1; share /= 2.0) {
        k->how.share = share;
        time         = time_of(&k->how, "%s", job);
        NEAR(time.compute, 0.5 * share + 0.25);
        NEAR(time.exposed,
             predicted(&k->facts, TW_OPERATION_BCAST, 8e5 * share, "tree8", 0).seconds +
                 predicted(&k->facts, TW_OPERATION_BCAST, 8e5, "tree8", 0).seconds);
    }
}
END_TEST

/* Sixteen ranks, four on a node. Four that follow each other are a node; every fourth is on a node
 * of its own, of whose links three others like it have their part. */
START_TEST(parts_of_the_ranks)
{
    static const struct {
        const char *keys;
        int         ranks, nodes, local;
        double      links;
    } parts[] = {
        {"", 16, 4, 4, 1.0},
        {"ranks = 16; stride = 1;", 16, 4, 4, 1.0},
        {"ranks = 99;", 16, 4, 4, 1.0},
        {"ranks = 4;", 4, 1, 4, 1.0},
        {"ranks = 8;", 8, 2, 4, 1.0},
        {"ranks = 8; stride = 2;", 8, 4, 2, 0.5},
        {"ranks = 4; stride = 4;", 4, 4, 1, 0.25},
        {"ranks = 2; stride = 65536;", 2, 2, 1, 0.25},
        {"ranks = 3; stride = 1;", 3, 1, 3, 1.0},
        {"ranks = 1;", 1, 1, 1, 1.0},
    };
    tw_facts_t        all = made_up(16, 4);
    const step_case_t how = {.facts = &all, .spec = "tree8", .share = 1.0};

    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        const step_time_t time =
            time_of(&how, "{ call = \"allreduce\"; count = 1000000; %s }", parts[i].keys);
        tw_facts_t      facts = all;
        tw_prediction_t want  = {.seconds = 0.0};

        facts.ranks             = parts[i].ranks;
        facts.nodes             = parts[i].nodes;
        facts.local_ranks       = parts[i].local;
        facts.between.shared    = LINK * parts[i].links;
        facts.between.bandwidth = LINK * parts[i].links;
        if (parts[i].ranks > 1) {
            want = predicted(&facts, TW_OPERATION_ALLREDUCE, 1e6, "tree8", 0);
        }
        NEAR(time.seconds, want.seconds);
        /* Of the busiest node, with what its other ranks send meanwhile; nothing leaves a node that
         * holds all who take part. */
        NEAR(time.bytes, parts[i].nodes > 1 ? fmax(want.bytes_network[0], want.bytes_network[1]) *
                                                  4 / parts[i].local
                                            : 0.0);
    }
}
END_TEST

/* A latency, the further messages, and their bytes over the links of the node; nothing on one
 * rank. */
START_TEST(messages_to_neighbours)
{
    static const char call[] =
        "{ call = \"messages\"; count = 1000000; messages = 3; to = [1, -2]; "
        "part = [0.75, 0.25]; }";
    on_four_t      *k    = on_four("tree8");
    tw_link_facts_t link = k->facts.between;
    step_time_t     time = time_of(&k->how, call);

    NEAR(time.seconds,
         link.latency + 2.0 * link.message + fmax(4e6 / link.bandwidth, 4e6 / link.shared));
    NEAR(time.exposed, time.seconds);
    NEAR(time.bytes, 4e6);
    k->facts =
        made_up(4, 2); /* of a node's ranks one sends its neighbour on, both the one behind */
    link = k->facts.between;
    time = time_of(&k->how, call);
    NEAR(time.seconds, link.latency + 2.0 * link.message +
                           fmax(fmax(4e6 / link.bandwidth, (3e6 + 2e6) / link.shared),
                                3e6 / fmin(k->facts.inside.bandwidth, k->facts.inside.shared)));
    k->facts = made_up(1, 1);
    NEAR(time_of(&k->how, call).seconds, 0.0);
    k->facts = made_up(4, 1); /* beside computing */
    time = time_of(&k->how, "{ start = \"messages\"; name = \"m\"; count = 1000000; to = [1]; }, "
                            "{ compute = 9; }, { wait = \"m\"; }");
    NEAR(time.seconds, 9.0);
}
END_TEST

/* As `thinwire run` decides: nothing below the threshold, and doubles where they are asked for. */
START_TEST(what_is_left_as_it_is)
{
    static const char head[] = "name = \"job\"; ranks = 1; threshold = 4000000; step = (";
    static const struct {
        const char *call;
        int         narrow;
        const char *codec; /* by which it travels; "": doubles as they are */
    } calls[] = {
        {"count = 1000000;", 0, "tree8"},
        {"count = 999999;", 0, "fp32"},
        {"count = 1000000; type = \"double\";", 0, ""},
        {"count = 1000000; type = \"double\";", 1, "tree8"},
        {"count = 499999; type = \"double\";", 1, ""},
    };
    on_four_t   *k = on_four("tree8");
    char         text[TEXT];
    tw_problem_t problem = {.set = 0};
    workload_t   work;

    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        step_exchange_t found;

        snprintf(text, sizeof(text), "%s{ call = \"allreduce\"; %s });", head, calls[i].call);
        ck_assert_msg(read_text(&work, text, &problem) == 0, "%s", problem.text);
        k->how.narrow = calls[i].narrow;
        ck_assert_msg(step_exchange(&work.exchange[0], &k->how, &found, &problem) == 0, "%s",
                      problem.text);
        if (calls[i].codec[0] != '\0') {
            ck_assert_ptr_nonnull(found.codec);
            ck_assert_str_eq(found.codec->spec, calls[i].codec);
        } else {
            ck_assert(found.codec == NULL || found.codec->bytes == sizeof(double));
        }
        workload_free(&work);
    }
}
END_TEST

/* A program under the drop-in: what no codec makes smaller is MPI's own. */
START_TEST(what_is_left_to_mpi)
{
    static const char head[] = "name = \"job\"; ranks = 1; threshold = 4000000; step = (";
    static const struct {
        const char *call, *spec;
        double      bytes; /* of MPI's; 0: by the library */
    } calls[] = {
        {"count = 1000000;", "fp32", 4e6},
        {"count = 1000000;", "tree8", 0.0},
        {"count = 999996;", "tree8", 4 * 999996.0},
        {"count = 1000000; type = \"other\";", "tree8", 4e6},
        {"count = 1000000; type = \"double\";", "tree8", 8e6},
        {"count = 1000000; ranks = 2;", "fp32", 0.0},
        {"count = 10000000;", "fp32", 4e7},
        {"count = 10000001;", "fp32", 0.0},
    };
    on_four_t   *k = on_four("fp32");
    char         text[TEXT];
    tw_problem_t problem = {.set = 0};
    workload_t   work;
    step_time_t  time;

    k->facts.native[TW_OPERATION_ALLREDUCE] = (tw_ladder_t){2, {1e6, 1e7}, {0.25, 2.5}};
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        tw_facts_t      facts = k->facts;
        tw_prediction_t by;

        k->how.spec = calls[i].spec;
        snprintf(text, sizeof(text), "%s{ call = \"allreduce\"; %s });", head, calls[i].call);
        ck_assert_msg(read_text(&work, text, &problem) == 0, "%s", problem.text);
        ck_assert_msg(step_time(&work, &k->how, &time, &problem) == 0, "%s", problem.text);
        workload_free(&work);
        facts.ranks = facts.nodes = strstr(calls[i].call, "ranks") != NULL ? 2 : 4;
        by                        = predicted(&facts, TW_OPERATION_ALLREDUCE,
                                              strtod(calls[i].call + strlen("count = "), NULL), calls[i].spec, 0);
        NEAR(time.seconds, calls[i].bytes > 0.0 ? 0.25e-6 * calls[i].bytes : by.seconds);
        NEAR(time.bytes, calls[i].bytes > 0.0 ? 1.5 * calls[i].bytes : by.bytes_sent);
    }
    k->how.spec = "fp32"; /* a ladder is of ranks and nodes */
    snprintf(text, sizeof(text), "%s{ call = \"allreduce\"; count = 1000000; });", head);
    ck_assert_msg(read_text(&work, text, &problem) == 0, "%s", problem.text);
    network_facts(&(network_t){.measured = 1}, 4, 2, &k->facts);
    ck_assert_int_eq(k->facts.native[TW_OPERATION_ALLREDUCE].steps, 0);
    ck_assert(step_time(&work, &k->how, &time, &problem) == 0);
    ck_assert(time.seconds < 0.5);
    workload_free(&work);
}
END_TEST

/* What a rank waits in MPI for is no longer where processors are shared, nor beside a codec. */
START_TEST(idling_is_not_computing)
{
    on_four_t *k = on_four("tree8");

    k->facts.processor = 0.5;
    NEAR(time_of(&k->how, "{ compute = 2; idle = true; }, { compute = 3; fixed = true; }").seconds,
         2.0 + 3.0 / 0.5);
    NEAR(time_of(&k->how, "{ start = \"allreduce\"; " A1M "}, { compute = 2; fixed = true; "
                          "idle = true; }, { wait = \"a\"; }")
             .seconds,
         2.0);
}
END_TEST

START_TEST(what_is_compressed)
{
    static const char grad[] = "{ call = \"allreduce\"; class = \"grad\"; count = 1000000; }";
    static const char act[]  = "{ call = \"allreduce\"; class = \"act\"; count = 1000000; }";
    static const char other[] =
        "{ call = \"allreduce\"; class = \"grad\"; type = \"other\"; count = 1000000; }";
    static const char wide[] = "{ call = \"allreduce\"; type = \"double\"; count = 1000000; }";
    on_four_t        *k      = on_four("onebit");
    const double      plain  = predicted(&k->facts, TW_OPERATION_ALLREDUCE, 1e6, "fp32", 0).seconds;

    NEAR(time_of(&k->how, "%s", grad).seconds, k->a.seconds);
    NEAR(time_of(&k->how, "%s", act).seconds, k->a.seconds);
    NEAR(time_of(&k->how, "%s", other).seconds, plain);
    NEAR(time_of(&k->how, "%s", wide).seconds,
         predicted(&k->facts, TW_OPERATION_ALLREDUCE, 1e6, "bitpack:8", 1).seconds);
    k->how.only_gradients = 1;
    NEAR(time_of(&k->how, "%s", grad).seconds, k->a.seconds);
    NEAR(time_of(&k->how, "%s", act).seconds, plain);
    NEAR(time_of(&k->how, "%s", other).seconds, plain);
}
END_TEST

START_TEST(an_unknown_codec_is_said)
{
    on_four_t   *k       = on_four("tree8");
    tw_problem_t problem = {.set = 0};
    workload_t   work;
    step_time_t  time = {.seconds = -1.0};

    k->how.spec = "wash";
    ck_assert(read_text(&work,
                        "name = \"x\"; ranks = 1; step = ({ call = \"bcast\"; count = 9; });",
                        &problem) == 0);
    ck_assert(step_time(&work, &k->how, &time, &problem) != 0);
    ck_assert_msg(strstr(problem.text, "nothing is known of wash on 4 ranks") != NULL, "%s",
                  problem.text);
    ck_assert(time.seconds == -1.0);
    workload_free(&work);
}
END_TEST

/* ---- loops ----------------------------------------------------------------------------------- */

/* More than could be walked one by one within the test's time limit. */
START_TEST(many_rounds)
{
    const on_four_t *k = on_four("tree8");
    const double     s = k->a.seconds;
    step_time_t      time;

    time = time_of(&k->how, "{ repeat = 1000000000000L; step = ({ compute = 0.001; }, "
                            "{ call = \"allreduce\"; count = 1000000; }); }");
    NEAR(time.seconds, 1e12 * (0.001 + s));
    NEAR(time.compute, 1e9);
    NEAR(time.exposed, 1e12 * s);
    NEAR(time.codec, 1e12 * k->a.codec);
    NEAR(time.bytes, 1e12 * k->a.bytes_sent);
    time = time_of(&k->how,
                   "{ repeat = 1000000000000L; step = ({ start = \"allreduce\"; " A1M
                   " }, { compute = %.17g; }, { wait = \"a\"; }); }",
                   2.0 * s);
    NEAR(time.seconds, 1e12 * (2.0 * s + k->a.codec));
}
END_TEST

START_TEST(nested_loops)
{
    const on_four_t *k = on_four("tree8");
    char             text[2000];
    size_t           used = 0;

    NEAR(time_of(&k->how, "{ repeat = 1000; step = ({ compute = 0.5; }, { repeat = 1000; step = "
                          "({ call = \"allreduce\"; count = 1000000; }); }); }")
             .seconds,
         1e3 * (0.5 + 1e3 * k->a.seconds));
    for (int depth = 0; depth < WORKLOAD_NESTED; depth++) {
        used += (size_t)snprintf(text + used, sizeof(text) - used, "{ repeat = 10; step = (");
    }
    used += (size_t)snprintf(text + used, sizeof(text) - used,
                             "{ compute = 0.5; }, { call = \"allreduce\"; count = 1000000; }");
    for (int depth = 0; depth < WORKLOAD_NESTED; depth++) {
        used += (size_t)snprintf(text + used, sizeof(text) - used, "); }");
    }
    ck_assert_double_eq_tol(time_of(&k->how, "%s", text).seconds * 1e-8, 0.5 + k->a.seconds, 1e-6);
}
END_TEST

/* What was started before a loop goes on in it, and is not put off by the rounds that are
 * folded. */
START_TEST(an_exchange_beside_a_loop)
{
    const on_four_t *k = on_four("tree8");

    NEAR(time_of(&k->how,
                 "{ start = \"allreduce\"; " A1M " }, { repeat = 100000; step = ({ compute = "
                 "%.17g; }); }, { wait = \"a\"; }",
                 1e-3 * k->a.seconds)
             .seconds,
         100.0 * k->a.seconds + k->a.codec);
}
END_TEST

/* Nothing in the loop waits: what is queued grows, or gets shorter until it is gone. */
START_TEST(a_queue_that_grows_and_one_that_shrinks)
{
    static const char loop[] = "{ repeat = 100000; step = ({ compute = %.17g; }, "
                               "{ start = \"allreduce\"; " A1M " }); }, { wait = \"a\"; }";
    const on_four_t  *k      = on_four("tree8");
    const double      s      = k->a.seconds;
    char              text[400];

    NEAR(time_of(&k->how, loop, 0.25 * s).seconds, (0.25 + 1e5) * s);
    NEAR(time_of(&k->how, loop, 1.5 * s).seconds, (1.5e5 + 1.0) * s + (1e5 - 1.0) * k->a.codec);
    snprintf(text, sizeof(text), "{ start = \"allreduce\"; " B2M " }, %s", loop);
    NEAR(time_of(&k->how, text, 1.01 * s).seconds,
         (1.01e5 + 1.0) * s + (1e5 - 1.0) * k->a.codec + k->b.codec);
    /* the queue is empty for a part of each round, but not at its end */
    NEAR(time_of(&k->how,
                 "{ start = \"allreduce\"; " B2M " }, { repeat = 8; step = ({ compute = %.17g; }, "
                 "{ start = \"allreduce\"; " A1M " }, { compute = %.17g; }); }, { wait = \"a\"; }",
                 0.7 * s, 0.5 * s)
             .seconds,
         8.0 * 1.2 * s + 0.5 * s + 7.0 * k->a.codec + k->b.codec);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("scale");
    TCase *tcase = test_case(suite, "a step");

    tcase_add_test(tcase, computing_alone);
    tcase_add_test(tcase, a_blocking_call_takes_what_is_predicted);
    tcase_add_test(tcase, what_is_hidden_costs_its_codec_time);
    tcase_add_test(tcase, what_is_hidden_costs_its_bytes);
    tcase_add_test(tcase, what_is_partly_hidden_costs_the_rest);
    tcase_add_test(tcase, exchanges_queue);
    tcase_add_test(tcase, roots_that_take_turns_queue_by_their_mean);
    tcase_add_test(tcase, waits_in_any_order);
    tcase_add_test(tcase, what_is_started_again_costs_its_codec);
    tcase_add_test(tcase, a_wait_for_the_step_before);
    tcase_add_test(tcase, shares_and_what_is_fixed);
    tcase_add_test(tcase, parts_of_the_ranks);
    tcase_add_test(tcase, what_is_compressed);
    tcase_add_test(tcase, messages_to_neighbours);
    tcase_add_test(tcase, what_is_left_as_it_is);
    tcase_add_test(tcase, what_is_left_to_mpi);
    tcase_add_test(tcase, idling_is_not_computing);
    tcase_add_test(tcase, an_unknown_codec_is_said);
    tcase_add_test(tcase, many_rounds);
    tcase_add_test(tcase, nested_loops);
    tcase_add_test(tcase, an_exchange_beside_a_loop);
    tcase_add_test(tcase, a_queue_that_grows_and_one_that_shrinks);
    add_any_job(suite);
    add_job_files(suite);
    add_networks(suite);
    add_predictions(suite);
    return test_main(suite);
}
