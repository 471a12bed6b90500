/* SPDX-License-Identifier: BSD-3-Clause
 * tests/tools/test_scale.c - thinwire scale without the command: the time of a step against cases
 * worked out by hand, what must hold of any job, job files and networks with mistakes, and the
 * predictions of thinwire/facts.h below it.
 */
#include "config.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <thinwire/facts.h>

#include "runtime/policy/model.h"
#include "tests/suite.h"
#include "scaling/network.h"
#include "scaling/step.h"

enum { WHY = 600, TEXT = 65536, RUNS = 300 };

#define LINK 1e8 /* bytes a second */

/* P ranks, `local` on a node. */
static tw_facts_t made_up(int ranks, int local)
{
    tw_facts_t facts = {.ranks       = ranks,
                        .nodes       = (ranks - 1) / local + 1,
                        .local_ranks = local,
                        .engine      = 1e-6,
                        .codecs      = 4};

    facts.between  = (tw_link_facts_t){20e-6, LINK, LINK, 2e-6};
    facts.inside   = (tw_link_facts_t){1e-6, 1e10, 5e9, 1e-7};
    facts.codec[0] = (tw_codec_facts_t){"fp32", 0, 4.0, 1, 0.0, 0, 0.0, 0.0, 3e-10, 1e-8};
    facts.codec[1] = (tw_codec_facts_t){"tree8", 0, 1.0, 4096, 0.01, 0, 1e-9, 5e-10, 5e-10, 1e-8};
    facts.codec[2] = (tw_codec_facts_t){"onebit", 0, 0.125, 2048, 1, 1, 1e-9, 5e-10, 5e-10, 1e-8};
    facts.codec[3] = (tw_codec_facts_t){"bitpack:8", 1, 8.0, 1, 0.0, 0, 2e-10, 2e-10, 3e-10, 1e-8};
    return facts;
}

static tw_prediction_t predicted(const tw_facts_t *facts, tw_operation_t operation, double count,
                                 const char *spec, tw_dtype_t dtype)
{
    tw_prediction_t prediction;

    ck_assert_int_eq(tw_facts_predict(facts, operation, count, spec, dtype, NULL, &prediction),
                     TW_OK);
    return prediction;
}

#define NEAR(got, want)                                                                            \
    ck_assert_msg(fabs((got) - (want)) <= 1e-9 * fabs(want) + 1e-15, "%s is %.12g, not %.12g",     \
                  #got, (got), (want))

/* ---- jobs of files --------------------------------------------------------------------------- */

static void put_file(char *path, const char *text, size_t length)
{
    FILE *file;

    strcpy(path, "/tmp/thinwire-scale.XXXXXX");
    ck_assert_int_ge(close(mkstemp(path)), 0);
    file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(text, 1, length, file), length);
    ck_assert_int_eq(fclose(file), 0);
}

static int read_text(workload_t *work, const char *text, char *why)
{
    char path[64];
    int  good;

    put_file(path, text, strlen(text));
    good = workload_read(work, path, why, WHY);
    unlink(path);
    return good;
}

/* A step of a job with these items. */
__attribute__((format(printf, 2, 3))) static step_time_t time_of(const step_case_t *how,
                                                                 const char        *format, ...)
{
    static const char head[] = "name = \"job\"; ranks = 1; step = (\n";
    char              text[4096], why[WHY] = "";
    size_t            used = sizeof(head) - 1;
    workload_t        work;
    step_time_t       time = {0};
    va_list           list;

    strcpy(text, head);
    va_start(list, format);
    used += (size_t)vsnprintf(text + used, sizeof(text) - used, format, list);
    va_end(list);
    ck_assert_uint_lt(used + 3, sizeof(text));
    strcpy(text + used, ");");
    ck_assert_msg(read_text(&work, text, why), "%s", why);
    ck_assert_msg(step_time(&work, how, &time, why, sizeof(why)), "%s", why);
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
    const on_four_t *k = on_four("fp32");
    char             why[WHY];
    workload_t       work;
    step_time_t      time, fixed;
    const char      *text = "name = \"j\"; ranks = 1; step = ({ start = \"bcast\"; " A1M " },"
                            "{ start = \"bcast\"; " B2M " }, { wait = \"a\"; }, { wait = \"b\"; });";
    tw_prediction_t  a    = predicted(&k->facts, TW_OPERATION_BCAST, 1e6, "fp32", 0),
                    b     = predicted(&k->facts, TW_OPERATION_BCAST, 2e6, "fp32", 0);

    ck_assert_msg(read_text(&work, text, why), "%s", why);
    ck_assert(step_time(&work, &k->how, &fixed, why, sizeof(why)));
    NEAR(fixed.seconds, a.seconds + b.seconds);
    work.exchange[0].turns = work.exchange[1].turns = 1;
    ck_assert(step_time(&work, &k->how, &time, why, sizeof(why)));
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
        NEAR(time.bytes, want.bytes_sent);
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
    on_four_t *k = on_four("tree8");
    char       text[TEXT], why[WHY] = "";
    workload_t work;

    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        step_exchange_t found;

        snprintf(text, sizeof(text), "%s{ call = \"allreduce\"; %s });", head, calls[i].call);
        ck_assert_msg(read_text(&work, text, why), "%s", why);
        k->how.narrow = calls[i].narrow;
        ck_assert_msg(step_exchange(&work.exchange[0], &k->how, &found, why, sizeof(why)), "%s",
                      why);
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
        {"count = 999999;", "tree8", 4 * 999999.0},
        {"count = 1000000; type = \"other\";", "tree8", 4e6},
        {"count = 1000000; type = \"double\";", "tree8", 8e6},
        {"count = 1000000; ranks = 2;", "fp32", 0.0},
        {"count = 10000000;", "fp32", 4e7},
        {"count = 10000001;", "fp32", 0.0},
    };
    on_four_t  *k = on_four("fp32");
    char        text[TEXT], why[WHY] = "";
    workload_t  work;
    step_time_t time;

    k->facts.native[TW_OPERATION_ALLREDUCE] = (tw_ladder_t){2, {1e6, 1e7}, {0.25, 2.5}};
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        tw_facts_t      facts = k->facts;
        tw_prediction_t by;

        k->how.spec = calls[i].spec;
        snprintf(text, sizeof(text), "%s{ call = \"allreduce\"; %s });", head, calls[i].call);
        ck_assert_msg(read_text(&work, text, why), "%s", why);
        ck_assert_msg(step_time(&work, &k->how, &time, why, sizeof(why)), "%s", why);
        workload_free(&work);
        facts.ranks = facts.nodes = strstr(calls[i].call, "ranks") != NULL ? 2 : 4;
        by                        = predicted(&facts, TW_OPERATION_ALLREDUCE,
                                              strtod(calls[i].call + strlen("count = "), NULL), calls[i].spec, 0);
        NEAR(time.seconds, calls[i].bytes > 0.0 ? 0.25e-6 * calls[i].bytes : by.seconds);
        NEAR(time.bytes, calls[i].bytes > 0.0 ? 1.5 * calls[i].bytes : by.bytes_sent);
    }
    k->how.spec = "fp32"; /* a ladder is of ranks and nodes */
    snprintf(text, sizeof(text), "%s{ call = \"allreduce\"; count = 1000000; });", head);
    ck_assert_msg(read_text(&work, text, why), "%s", why);
    network_facts(&(network_t){.measured = 1}, 4, 2, &k->facts);
    ck_assert_int_eq(k->facts.native[TW_OPERATION_ALLREDUCE].steps, 0);
    ck_assert(step_time(&work, &k->how, &time, why, sizeof(why)));
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
    on_four_t  *k = on_four("tree8");
    char        why[WHY];
    workload_t  work;
    step_time_t time = {.seconds = -1.0};

    k->how.spec = "wash";
    ck_assert(read_text(
        &work, "name = \"x\"; ranks = 1; step = ({ call = \"bcast\"; count = 9; });", why));
    ck_assert(!step_time(&work, &k->how, &time, why, sizeof(why)));
    ck_assert_msg(strstr(why, "nothing is known of wash on 4 ranks") != NULL, "%s", why);
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

/* ---- any job --------------------------------------------------------------------------------- */

static double drawn(test_random_t *random, double least, double most) /* in the logarithm */
{
    return least * pow(most / least, test_below(random, 10001) / 10000.0);
}

static tw_facts_t drawn_facts(test_random_t *random, int one_per_node)
{
    const int  ranks = 2 + test_below(random, 40);
    tw_facts_t facts = made_up(ranks, one_per_node ? 1 : 1 + test_below(random, ranks));

    facts.engine            = drawn(random, 1e-8, 1e-5);
    facts.between.latency   = drawn(random, 1e-6, 1e-4);
    facts.between.shared    = drawn(random, 1e7, 1e10);
    facts.between.bandwidth = facts.between.shared * drawn(random, 1.0, 4.0);
    facts.between.message   = drawn(random, 1e-8, 1e-5);
    facts.inside.shared     = drawn(random, 1e9, 1e10);
    for (int c = 0; c < facts.codecs; c++) {
        facts.codec[c].encode     = c == 0 ? 0.0 : drawn(random, 1e-11, 1e-8);
        facts.codec[c].decode     = c == 0 ? 0.0 : drawn(random, 1e-11, 1e-8);
        facts.codec[c].decode_add = drawn(random, 1e-11, 1e-8);
        facts.codec[c].call       = drawn(random, 1e-9, 1e-7);
    }
    return facts;
}

enum { EXCHANGES = 3, ITEMS = 12, UNROLLED = 1 << 14, TIMES = 40 };

typedef struct drawn_job {
    exchange_t exchange[EXCHANGES];
    item_t     item[UNROLLED];
    workload_t work;
} drawn_job_t;

static void point(drawn_job_t *job)
{
    job->work.item     = job->item;
    job->work.exchange = job->exchange;
}

static void push(drawn_job_t *job, item_t item)
{
    ck_assert_uint_lt(job->work.items, UNROLLED);
    job->item[job->work.items++] = item;
}

static void draw_items(drawn_job_t *job, test_random_t *random, int items, int depth, int blocking)
{
    for (int i = 0; i < items; i++) {
        const size_t exchange = (size_t)test_below(random, EXCHANGES);
        const size_t at       = job->work.items;

        switch (test_below(random, depth < 2 ? 4 : 3)) {
        case 0:
            push(job, (item_t){.kind    = test_below(random, 2) ? ITEM_COMPUTE : ITEM_FIXED,
                               .seconds = drawn(random, 1e-6, 1e-2)});
            break;
        case 1:
            push(job, (item_t){.kind = ITEM_START, .exchange = exchange});
            if (blocking) {
                push(job, (item_t){.kind = ITEM_WAIT, .exchange = exchange});
            }
            break;
        case 2:
            push(job, (item_t){.kind = ITEM_WAIT, .exchange = exchange});
            break;
        default:
            push(job,
                 (item_t){.kind = ITEM_REPEAT, .times = 1 + (uint64_t)test_below(random, TIMES)});
            draw_items(job, random, 1 + test_below(random, 4), depth + 1, blocking);
            job->item[at].end = job->work.items;
            push(job, (item_t){.kind = ITEM_END});
        }
    }
}

static drawn_job_t *draw_job(test_random_t *random, int blocking)
{
    drawn_job_t *job = calloc(1, sizeof(*job));

    ck_assert_ptr_nonnull(job);
    job->work = (workload_t){.ranks = 1, .exchanges = EXCHANGES};
    point(job);
    for (int i = 0; i < EXCHANGES; i++) {
        exchange_t *x = &job->exchange[i];

        snprintf(x->name, sizeof(x->name), "%d", i);
        strcpy(x->class, test_below(random, 2) ? "grad" : "");
        x->operation = (tw_operation_t)test_below(random, TW_OPERATIONS);
        x->count     = floor(drawn(random, 1.0, 1e6));
        x->dtype     = test_below(random, 4) == 0 ? TW_F64 : TW_F32;
        x->plain     = test_below(random, 4) == 0 && x->dtype == TW_F32;
        x->scales    = test_below(random, 2);
    }
    draw_items(job, random, 1 + test_below(random, ITEMS), 0, blocking);
    return job;
}

static step_time_t time_drawn(const drawn_job_t *job, const step_case_t *how)
{
    step_time_t time;
    char        why[WHY];

    ck_assert_msg(step_time(&job->work, how, &time, why, sizeof(why)), "%s", why);
    ck_assert(isfinite(time.seconds) && time.seconds >= 0.0 && time.exposed >= 0.0);
    ck_assert_double_ge(time.seconds, time.compute * (1.0 - 1e-6));
    ck_assert_msg(fabs(time.seconds - time.compute - time.exposed) <= 1e-6 * time.seconds + 1e-12,
                  "%g is not %g and %g", time.seconds, time.compute, time.exposed);
    return time;
}

static step_case_t drawn_case(test_random_t *random, const tw_facts_t *facts)
{
    static const char *const specs[] = {"fp32", "tree8", "onebit"};

    return (step_case_t){.facts          = facts,
                         .spec           = specs[test_below(random, 3)],
                         .only_gradients = test_below(random, 2),
                         .share          = drawn(random, 0.01, 1.0)};
}

/* Whole multiples: the model's fragments make a vector of a little more than one of them faster.
 * And no codec beside a computation: another algorithm for the larger vector may spend less on
 * it. */
START_TEST(more_values_never_take_less)
{
    test_random_t random = {test_seed()};

    for (int run = 0; run < RUNS; run++) {
        const int    blocking = test_below(&random, 2);
        tw_facts_t   facts    = drawn_facts(&random, 1);
        drawn_job_t *job      = draw_job(&random, blocking);
        step_case_t  how      = drawn_case(&random, &facts);
        double       last;

        if (!blocking) {
            how.spec = "fp32";
            for (int c = 0; c < facts.codecs; c++) {
                tw_codec_facts_t *f = &facts.codec[c];

                f->encode = f->decode = f->decode_add = f->call = 0.0;
            }
        }
        last = time_drawn(job, &how).seconds;
        for (int k = 0; k < 8; k++) {
            double now;

            job->exchange[test_below(&random, EXCHANGES)].count *= 2 + test_below(&random, 3);
            now = time_drawn(job, &how).seconds;
            ck_assert_msg(now >= last * (1.0 - 1e-6), "run %d: %g, before %g", run, now, last);
            last = now;
        }
        free(job);
    }
}
END_TEST

/* Ranks that share processors are never faster, nor those that messages keep busy; a whole
 * processor each, said or not, is the same. Blocking, as what is left of one step may hold up
 * another. */
START_TEST(sharing_is_never_faster)
{
    test_random_t random = {test_seed()};

    for (int run = 0; run < RUNS; run++) {
        tw_facts_t        facts = drawn_facts(&random, 1);
        drawn_job_t      *job   = draw_job(&random, 1);
        const step_case_t how   = drawn_case(&random, &facts);
        const step_time_t alone = time_drawn(job, &how);
        step_time_t       last  = alone;

        facts.processor = 1.0;
        ck_assert(time_drawn(job, &how).seconds == alone.seconds);
        for (int k = 0; k < 8; k++) {
            step_time_t now;

            if (test_below(&random, 2)) {
                facts.processor *= drawn(&random, 0.3, 1.0);
            } else {
                facts.moving += drawn(&random, 1e-11, 1e-8);
            }
            now = time_drawn(job, &how);
            ck_assert_msg(now.seconds >= last.seconds * (1.0 - 1e-6), "run %d: %.9g, before %.9g",
                          run, now.seconds, last.seconds);
            NEAR(now.compute * facts.processor, alone.compute);
            last = now;
        }
        job->work.processor = facts.processor; /* it was measured like that */
        NEAR(time_drawn(job, &how).compute, alone.compute);
        free(job);
    }
}
END_TEST

START_TEST(links_are_never_faster_than_they_are)
{
    test_random_t random = {test_seed()};

    for (int run = 0; run < RUNS; run++) {
        const tw_facts_t  facts = drawn_facts(&random, 1);
        drawn_job_t      *job   = draw_job(&random, 1);
        const step_case_t how   = drawn_case(&random, &facts);
        const step_time_t time  = time_drawn(job, &how);

        ck_assert_double_ge(time.seconds * (1.0 + 1e-6), time.bytes / facts.between.bandwidth);
        ck_assert_double_ge(time.exposed * (1.0 + 1e-6), time.codec);
        free(job);
    }
}
END_TEST

START_TEST(one_rank_exchanges_nothing)
{
    test_random_t random = {test_seed()};

    for (int run = 0; run < RUNS; run++) {
        const tw_facts_t  facts = made_up(1, 1);
        drawn_job_t      *job   = draw_job(&random, test_below(&random, 2));
        const step_case_t how   = drawn_case(&random, &facts);
        const step_time_t time  = time_drawn(job, &how);

        NEAR(time.seconds, time.compute);
        ck_assert(time.exposed == 0.0 && time.bytes == 0.0 && time.codec == 0.0);
        free(job);
    }
}
END_TEST

/* Without loops. */
static void unroll(const drawn_job_t *job, size_t from, size_t end, drawn_job_t *into)
{
    for (size_t i = from; i < end; i++) {
        const item_t *item = &job->item[i];

        if (item->kind != ITEM_REPEAT) {
            push(into, *item);
            continue;
        }
        for (uint64_t k = 0; k < item->times; k++) {
            unroll(job, i + 1, item->end, into);
        }
        i = item->end;
    }
}

static size_t unrolled_items(const drawn_job_t *job, size_t from, size_t end)
{
    size_t n = 0;

    for (size_t i = from; i < end; i++) {
        const item_t *item = &job->item[i];

        n += item->kind == ITEM_REPEAT ? item->times * unrolled_items(job, i + 1, item->end) : 1;
        i = item->kind == ITEM_REPEAT ? item->end : i;
    }
    return n;
}

START_TEST(folded_loops_take_what_their_rounds_take)
{
    test_random_t random = {test_seed()};

    for (int run = 0; run < 2 * RUNS; run++) {
        const tw_facts_t  facts = drawn_facts(&random, 1);
        drawn_job_t      *job   = draw_job(&random, 0);
        const step_case_t how   = drawn_case(&random, &facts);

        if (unrolled_items(job, 0, job->work.items) < UNROLLED) {
            drawn_job_t *flat = calloc(1, sizeof(*flat));
            step_time_t  a, b;

            ck_assert_ptr_nonnull(flat);
            memcpy(flat, job, sizeof(*flat));
            flat->work.items = 0;
            point(flat);
            unroll(job, 0, job->work.items, flat);
            a = time_drawn(job, &how);
            b = time_drawn(flat, &how);
            ck_assert_msg(fabs(a.seconds - b.seconds) <= 1e-6 * b.seconds + 1e-12,
                          "run %d: %.9g folded, %.9g unrolled", run, a.seconds, b.seconds);
            ck_assert_msg(fabs(a.bytes - b.bytes) <= 1e-6 * b.bytes, "run %d: %g, %g bytes", run,
                          a.bytes, b.bytes);
            ck_assert(fabs(a.codec - b.codec) <= 1e-6 * b.codec + 1e-12);
            free(flat);
        }
        free(job);
    }
}
END_TEST

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
     ":2: type: accepted are float, double"},
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
    workload_t work;
    char       why[WHY] = "";

    ck_assert_msg(!read_text(&work, bad_jobs[_i].text, why), "%s", bad_jobs[_i].text);
    ck_assert_msg(strstr(why, bad_jobs[_i].why) != NULL && strncmp(why, "/tmp/", 5) == 0,
                  "'%s' instead of '%s'", why, bad_jobs[_i].why);
    ck_assert(strchr(why, '\n') == NULL && work.item == NULL && work.exchange == NULL);
}
END_TEST

START_TEST(files_that_are_no_jobs)
{
    static const char nul[] = "name = \"x\"; ranks = 1;\0 step = ();";
    char              path[64], why[WHY];
    workload_t        work;

    ck_assert(!workload_read(&work, "/tmp", why, sizeof(why)));
    ck_assert_str_eq(why, "cannot read '/tmp': Is a directory");
    ck_assert(!workload_read(&work, "/tmp/thinwire-missing", why, sizeof(why)));
    ck_assert_str_eq(why, "cannot read '/tmp/thinwire-missing': No such file or directory");
    put_file(path, nul, sizeof(nul));
    ck_assert(!workload_read(&work, path, why, sizeof(why)));
    ck_assert_ptr_nonnull(strstr(why, "it is no text"));
    unlink(path);
    ck_assert(!workload_read(&work, "/dev/zero", why, sizeof(why)));
    ck_assert_str_eq(why, "cannot read '/dev/zero': File too large");
}
END_TEST

/* Bytes that were changed: refused or accepted, in one line and without harm. */
START_TEST(damaged_jobs)
{
    static const char job[] =
        STEP(NEST("{ start = \"allreduce\"; name = \"a\"; count = 100; class = "
                  "\"grad\"; }, { compute = 1e-3; }, { wait = \"a\"; }"));
    test_random_t random = {test_seed()};
    char          text[sizeof(job)], why[WHY];

    for (int run = 0; run < RUNS; run++) {
        workload_t work;

        memcpy(text, job, sizeof(job));
        for (int k = test_below(&random, 4); k >= 0; k--) {
            text[test_below(&random, sizeof(job) - 1)] = (char)(1 + test_below(&random, 255));
        }
        text[test_below(&random, 4) == 0 ? (size_t)test_below(&random, sizeof(job))
                                         : sizeof(job) - 1] = '\0';
        if (read_text(&work, text, why)) {
            ck_assert_uint_gt(work.items, 0);
            workload_free(&work);
        }
    }
}
END_TEST

START_TEST(what_a_job_says)
{
    char       why[WHY] = "";
    workload_t work;

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
            why),
        "%s", why);
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

    char      *text = malloc(ROOM), why[WHY] = "";
    size_t     used;
    workload_t work;

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
    ck_assert_msg(read_text(&work, text, why), "%s", why);
    ck_assert_uint_eq(work.exchanges, MANY);
    workload_free(&work);
    free(text);
}
END_TEST

/* ---- networks -------------------------------------------------------------------------------- */

static network_t network_of(const char *text)
{
    network_t network;
    char      why[WHY] = "";

    ck_assert_msg(network_parse(&network, text, strlen(text), why, sizeof(why)), "%s", why);
    return network;
}

START_TEST(presets_and_keys)
{
    static const char *const names[] = {"ethernet-1g",   "ethernet-10g",    "ethernet-25g",
                                        "ethernet-100g", "infiniband-100g", "infiniband-200g"};
    static const double      rates[] = {1, 10, 25, 100, 100, 200};
    char                     text[400];
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
    ck_assert(network_parse(&network, "ethernet-1g:rate=2,rest", 18, text, sizeof(text)));
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
    const char *text = bad_networks[_i].text;
    network_t   network;
    char        why[WHY] = "";

    ck_assert(!network_parse(&network, text, strlen(text), why, sizeof(why)));
    ck_assert_msg(strstr(why, bad_networks[_i].why) != NULL, "'%s' instead of '%s'", why,
                  bad_networks[_i].why);
    for (size_t size = 1; size < 40; size++) { /* cut, within its room */
        memset(why, 'x', sizeof(why));
        ck_assert(!network_parse(&network, text, strlen(text), why, size));
        ck_assert(strlen(why) < size && why[size] == 'x');
    }
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
        ck_assert_int_eq(tw_facts_predict(&facts, sent[_i].operation, 1e6, codec->spec,
                                          codec->dtype, sent[_i].algorithm, &one),
                         TW_OK);
        NEAR(one.bytes_sent, sent[_i].vectors * 1e6 * codec->bytes);
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
    tcase = test_case_within(suite, "any job", 60);
    tcase_add_test(tcase, more_values_never_take_less);
    tcase_add_test(tcase, sharing_is_never_faster);
    tcase_add_test(tcase, links_are_never_faster_than_they_are);
    tcase_add_test(tcase, one_rank_exchanges_nothing);
    tcase_add_test(tcase, folded_loops_take_what_their_rounds_take);
    tcase = test_case_within(suite, "job files", 60);
    TEST_EACH(tcase, bad_jobs_are_refused, bad_jobs);
    tcase_add_test(tcase, files_that_are_no_jobs);
    tcase_add_test(tcase, damaged_jobs);
    tcase_add_test(tcase, what_a_job_says);
    tcase_add_test(tcase, many_exchanges);
    tcase = test_case(suite, "networks");
    tcase_add_test(tcase, presets_and_keys);
    tcase_add_test(tcase, facts_of_a_network);
    TEST_EACH(tcase, bad_networks_are_refused, bad_networks);
    tcase = test_case(suite, "predictions");
    tcase_add_test(tcase, the_fastest_algorithm_is_predicted);
    TEST_EACH(tcase, bytes_are_those_of_the_algorithm, sent);
    tcase_add_test(tcase, what_cannot_be_predicted);
    tcase_add_test(tcase, calibrations_are_loaded);
    return test_main(suite);
}
