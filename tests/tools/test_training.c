/* SPDX-License-Identifier: BSD-3-Clause
 * tests/tools/test_training.c - the step that scaling/training.h makes of layers: against
 * steps worked out by hand, and of bad input. Against the library: training_library.c; what must
 * hold of any training: training_drawn.c.
 */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include <thinwire/model.h>

#include "tests/tools/training_rig.h"

/* ---- by hand --------------------------------------------------------------------------------- */

/* Items as text: seconds, operation:count:class, "wait", loops in brackets. */
static void describe(const workload_t *step, char *text)
{
    size_t used = 0;

    text[0] = '\0';
    for (size_t i = 0; i < step->items; i++) {
        const item_t     *item = &step->item[i];
        const exchange_t *x    = &step->exchange[item->exchange];
        const char       *gap  = i > 0 ? " " : "";
        char             *at   = text + used;
        const size_t      size = TEXT - used;

        ck_assert_uint_lt(used, TEXT - 200);
        switch (item->kind) {
        case ITEM_START:
            used +=
                (size_t)snprintf(at, size, "%s%s:%.10g:%s", gap, tw_operation_name(x->operation),
                                 x->count, x->plain ? "-" : x->class);
            break;
        case ITEM_WAIT:
            used += (size_t)snprintf(at, size, "%swait%.0f", gap, x->count);
            break;
        case ITEM_REPEAT:
            used += (size_t)snprintf(at, size, "%s%dx[", gap, (int)item->times);
            break;
        case ITEM_END:
            used += (size_t)snprintf(at, size, " ]");
            break;
        default:
            ck_assert_int_eq(item->kind, ITEM_FIXED);
            used += (size_t)snprintf(at, size, "%s%.10g", gap, item->seconds);
        }
    }
}

#define TWO_DENSE                                                                                  \
    "name = \"two\"; ranks = 1; training = { batch = 128; update = 0.002; layers = (\n"            \
    "{ name = \"fc1\"; weights = 802816; biases = 1024; units = 1024; forward = 0.010;"            \
    "  backward = 0.020; },\n"                                                                     \
    "{ name = \"fc2\"; weights = 1048576; biases = 1024; units = 1024; forward = 0.010;"           \
    "  backward = 0.020; }); };"

/* A convolution, a normalisation, a dense layer. */
#define WITH_TRUNK                                                                                 \
    "name = \"trunk\"; ranks = 2; training = { batch = 24; bucket = 4096; update = 0.003;\n"       \
    "layers = ({ name = \"conv\"; weights = 900; biases = 100; forward = 0.02; backward = 0.04;"   \
    "},\n{ name = \"norm\"; biases = 200; channels = 100; forward = 0.01; backward = 0.02; },\n"   \
    "{ name = \"fc\"; weights = 2000; biases = 10; units = 10; forward = 0.004;"                   \
    "  backward = 0.008; }); loss = \"logistic\"; };"

/* One pass of TWO_DENSE by scheme c on two ranks, between its exchange of activations. */
#define PASS                                                                                       \
    "0.0025 allgather:32768:act wait32768 0.0025 allgather:128:- wait128 "                         \
    "0.0025 reduce_scatter:65536:back 0.0025 wait65536 0.005"

/* One pass of WITH_TRUNK by scheme b on three ranks: a third of 24 examples, 4 of 10 units. */
#define ALONE "wait1600 0.001066666667 0.002133333333 reduce:1600:back"

/* The same with owners, and a fourth layer, of the same block as the third. */
#define WITH_OWNERS(how)                                                                           \
    "name = \"owners\"; ranks = 2; training = { batch = 24; update = 0.003; " how " layers = ("    \
    "{ name = \"in\"; forward = 0.001; },\n"                                                       \
    "{ name = \"conv\"; weights = 900; biases = 100; forward = 0.02; backward = 0.04; "            \
    "  copy = \"tree8\"; },\n"                                                                     \
    "{ name = \"norm\"; biases = 200; channels = 100; forward = 0.01; backward = 0.02; },\n"       \
    "{ name = \"fc.1\"; weights = 2000; biases = 10; units = 10; forward = 0.004; },\n"            \
    "{ name = \"fc.2\"; weights = 100; units = 10; forward = 0.002; backward = 0.008; });"         \
    " loss = \"logistic\"; };"

/* Groups of 310 small values, 900, 2000 and 100, their shares of whole 64 on three ranks 128, 320,
 * 704 and 64; updated are 1216 of 3310. */
static const struct by_hand {
    const char *job, *scheme;
    int         ranks, lossy;
    const char *items;
} by_hand[] = {
    {TWO_DENSE, "data", 1, 0, "0.01 0.01 0.02 0.02 0.002"},
    {TWO_DENSE, "c", 1, 1, "0.01 0.01 0.02 0.02 0.002"},
    {TWO_DENSE, "data", 2, 0,
     "0.005 0.005 0.01 allreduce:1024:grad allreduce:1048576:grad 0.01 allreduce:803842:grad "
     "wait1024 wait1048576 wait803842 0.002"},
    {TWO_DENSE, "data", 2, 1,
     "0.005 0.005 0.01 allreduce:1048576:grad 0.01 allreduce:802816:grad allreduce:2050:- "
     "wait1048576 wait802816 wait2050 0.002"},
    {TWO_DENSE, "a", 2, 0,
     "allgather:50176:act wait50176 0.005 allgather:65536:act wait65536 0.005 allgather:256:- "
     "wait256 0.005 reduce_scatter:131072:back 0.005 wait131072 0.01 0.001 allreduce:2:grad wait2 "
     "0"},
    {TWO_DENSE, "c", 2, 0,
     "allgather:25088:act wait25088 allgather:25088:act " PASS " wait25088 " PASS
     " 0.001 allreduce:2:grad wait2 0"},
    {WITH_TRUNK, "data", 2, 0,
     "0.02 allgather:402:- wait402 0.01 0.004 0.008 allreduce:10:grad allreduce:2000:grad "
     "allgather:400:- wait400 0.02 0.04 allreduce:300:grad allreduce:902:grad wait10 wait2000 "
     "wait300 wait902 0.003"},
    {WITH_TRUNK, "data", 2, 1,
     "0.02 allgather:402:- wait402 0.01 0.004 0.008 allreduce:2000:grad "
     "allgather:400:- wait400 0.02 0.04 allreduce:310:- allreduce:902:- wait2000 wait310 wait902 "
     "0.003"},
    {WITH_TRUNK, "b", 3, 0,
     "0.01333333333 allgather:402:- wait402 0.006666666667 bcast:1600:act wait1600 "
     "1x[ bcast:1600:act " ALONE " wait1600 bcast:1600:act " ALONE " wait1600 ] " ALONE
     " wait1600 wait1600 0.0006261682243 allgather:400:- wait400 0.01333333333 0.02666666667 "
     "allreduce:300:grad allreduce:902:grad wait300 wait902 0.001121495327"},
    {WITH_OWNERS("owners = \"root\";"), "data", 1, 0,
     "0.002 0.04 0.02 0.008 0.004 0.016 0 0.04 0.08 0 0.003"},
    {WITH_OWNERS("owners = \"sharded\";"), "c", 1, 1,
     "0.002 0.04 0.02 0.008 0.004 0.016 0 0.04 0.08 0 0.003"},
    {WITH_OWNERS("owners = \"root\";"), "data", 2, 1,
     "0.001 wait310 wait900 0.02 allgather:402:- wait402 0.01 wait2000 0.004 wait100 0.002 0.008 "
     "reduce:100:- 0 reduce:2000:grad allgather:400:- wait400 0.02 0.04 reduce:900:- 0 "
     "allreduce:2:- reduce:310:- wait100 wait2000 wait900 wait310 wait2 0.003 "
     "bcast:310:- bcast:900:weight bcast:2000:weight bcast:100:weight"},
    {WITH_OWNERS("owners = \"root\"; norms = true; blocks = true;"), "data", 2, 0,
     "0.001 wait310 wait900 0.02 allgather:402:- wait402 0.01 wait2100 0.004 0.002 0.008 "
     "0 reduce:2100:grad allgather:400:- wait400 0.02 0.04 reduce:900:grad 0 "
     "allreduce:2:- reduce:310:- wait2100 wait900 wait310 wait2 0.003 allgather:6:- wait6 "
     "bcast:310:- bcast:900:weight bcast:2100:weight"},
    {WITH_OWNERS("owners = \"sharded\"; norms = true;"), "data", 3, 0,
     "0.0006666666667 wait310 wait900 0.01333333333 allgather:402:- wait402 0.006666666667 "
     "wait2000 "
     "0.002666666667 wait100 0.001333333333 0.005333333333 reduce_scatter:100:grad 0 "
     "reduce_scatter:2000:grad allgather:400:- wait400 0.01333333333 0.02666666667 "
     "reduce_scatter:900:grad 0 allreduce:2:- reduce_scatter:310:- wait100 wait2000 wait900 "
     "wait310 wait2 0.001102114804 allgather:8:- wait8 allgather:310:- allgather:900:weight "
     "allgather:2000:weight allgather:100:weight"},
    {WITH_OWNERS("owners = \"root\"; blocks = true;"), "a", 2, 0,
     "0.001 wait300 wait900 0.02 allgather:402:- wait402 0.01 allgather:2400:act wait2400 wait4800 "
     "0.004 allgather:120:act wait120 0.002 0.004 reduce_scatter:240:back 0.004 wait240 0 "
     "reduce_scatter:4800:back wait4800 wait4800 0.0009561933535 allgather:400:- wait400 0.02 0.04 "
     "reduce:900:grad 0 allreduce:2:- reduce:300:- wait900 wait300 wait2 0.001087613293 "
     "bcast:300:- bcast:900:weight"},
    {WITH_OWNERS("owners = \"root\";"), "b", 1, 0,
     "0.002 0.04 0.02 0.008 0.004 0.016 0 0.04 0.08 0 0.003"}};

START_TEST(steps_by_hand)
{
    const struct by_hand *k = &by_hand[_i];
    char                  text[TEXT];
    tw_problem_t          problem = {.set = 0};
    workload_t            of, step;

    ck_assert_msg(read_text(&of, k->job, &problem) == 0, "%s", problem.text);
    make_step(&of, k->scheme, k->ranks, of.training.batch, k->lossy, &step);
    describe(&step, text);
    ck_assert_str_eq(text, k->items);
    ck_assert(step.ranks == k->ranks && strcmp(step.name, of.name) == 0);
    workload_free(&step);
    workload_free(&of);
}
END_TEST

/* ---- bad trainings --------------------------------------------------------------------------- */

#define TRAINING(text) "name = \"x\"; ranks = 1;\ntraining = " text ";"
#define LAYER(text)    TRAINING("{ batch = 8; layers = ({ " text " }); }")

#define OWNED(text)                                                                                \
    TRAINING("{ batch = 8; owners = \"root\"; layers = ({ name = \"a\"; " text " }); }")

static const struct bad_training {
    const char *text, *why;
} bad_trainings[] = {
    {TRAINING("5"), ":2: training: accepted is a group"},
    {TRAINING("{ }"), ":2: training: it needs batch and layers"},
    {TRAINING("{ batch = 8; }"), ":2: training: it needs batch and layers"},
    {TRAINING("{ layers = ({ name = \"a\"; }); }"), ":2: training: it needs batch and layers"},
    {TRAINING("{ batches = 8; }"), ":2: 'batches' is no key here; accepted are batch, bucket"},
    {TRAINING("{ batch = 0; layers = ({ name = \"a\"; }); }"), ":2: batch: accepted is a number"},
    {TRAINING("{ batch = 1e13; layers = ({ name = \"a\"; }); }"), ":2: batch: accepted"},
    {TRAINING("{ batch = 1.5; layers = ({ name = \"a\"; }); }"),
     ":2: batch: accepted is a whole number"},
    {TRAINING("{ batch = 1; bucket = -1; layers = ({ name = \"a\"; }); }"), ":2: bucket: accepted"},
    {TRAINING("{ batch = 1; update = -1; layers = ({ name = \"a\"; }); }"), ":2: update: accepted"},
    {TRAINING("{ batch = 1; loss = \"l2\"; layers = ({ name = \"a\"; }); }"),
     ":2: loss: accepted are softmax and logistic"},
    {TRAINING("{ batch = 1; loss = 5; layers = ({ name = \"a\"; }); }"), ":2: loss: accepted are"},
    {TRAINING("{ batch = 1; layers = 5; }"), ":2: layers: accepted is a list of 1 to 4096"},
    {TRAINING("{ batch = 1; layers = (); }"), ":2: layers: accepted is a list of 1 to 4096"},
    {TRAINING("{ batch = 1; layers = (5); }"), ":2: a layer is a group"},
    {LAYER(""), ":2: a layer needs a name"},
    {LAYER("name = \"\";"), ":2: name: accepted is a text of 1 to 63 characters"},
    {LAYER("name = \"a\\nb\";"),
     ":2: name: accepted is a text of 1 to 63 characters, none of control"},
    {LAYER("name = \"a\"; width = 5;"), ":2: 'width' is no key here; accepted are name, weights"},
    {LAYER("name = \"a\"; weights = -1;"), ":2: weights: accepted is a number from 0 to 1e+12"},
    {LAYER("name = \"a\"; weights = 1.5;"), ":2: weights: accepted is a whole number"},
    {LAYER("name = \"a\"; biases = \"1\";"), ":2: biases: accepted is a number"},
    {LAYER("name = \"a\"; biases = 0.5;"), ":2: biases: accepted is a whole number"},
    {LAYER("name = \"a\"; channels = 1e999;"), ":2: channels: accepted is a number"},
    {LAYER("name = \"a\"; forward = -1e-9;"), ":2: forward: accepted is a number from 0 to 1e+06"},
    {LAYER("name = \"a\"; backward = 2e6;"), ":2: backward: accepted is a number"},
    {LAYER("name = \"a\"; weights = 9; units = 10;"),
     ":2: 'a': a dense layer has at least as many weights as units"},
    {LAYER("name = \"a\"; weights = 9; units = 0.1;"), ":2: units: accepted is a whole number"},
    {LAYER("name = \"a\"; weights = 20; units = 10; groups = 3;"),
     ":2: groups: accepted is a divisor of a dense layer's units"},
    {LAYER("name = \"a\"; weights = 20; groups = 2;"), ":2: groups: accepted is a divisor"},
    {LAYER("name = \"a\"; weights = 20; units = 10; split = \"width\";"),
     ":2: split: accepted for a dense layer are output and"},
    {LAYER("name = \"a\"; weights = 20; units = 10; split = \"input\";"),
     ":2: 'a', split: accepted for the first dense layer is output"},
    {TRAINING("{ batch = 8; owners = \"me\"; layers = ({ name = \"a\"; }); }"),
     ":2: owners: accepted are replicated, root and sharded"},
    {TRAINING("{ batch = 8; owners = \"\"; layers = ({ name = \"a\"; }); }"),
     ":2: owners: accepted"},
    {TRAINING("{ batch = 8; owners = 1; layers = ({ name = \"a\"; }); }"),
     ":2: owners: accepted are"},
    {TRAINING("{ batch = 8; norms = true; layers = ({ name = \"a\"; }); }"),
     ":2: norms: accepted for weights that have owners"},
    {TRAINING("{ batch = 8; owners = \"root\"; norms = 1; layers = ({ name = \"a\"; }); }"),
     ":2: norms: accepted is true or false"},
    {TRAINING(
         "{ batch = 8; owners = \"replicated\"; blocks = true; layers = ({ name = \"a\"; }); }"),
     ":2: blocks: accepted for weights that have owners"},
    {OWNED("weights = 9; copy = 5;"), ":2: copy: accepted is a text of 1 to 63 characters"},
    {OWNED("weights = 9; copy = \"\";"), ":2: copy: accepted is a text of 1 to 63 characters"},
    {OWNED("weights = 9; copy = \"tree8\\n\";"), ":2: copy: accepted is a text"},
    {OWNED("copy = \"tree8\";"), ":2: copy: accepted for weights that have owners"},
    {LAYER("name = \"a\"; weights = 9; copy = \"tree8\";"),
     ":2: copy: accepted for weights that have owners"},
    {"name = \"x\"; ranks = 1;\nstep = ({ compute = 1; });\ntraining = { batch = 1; };",
     ":3: training: it has a step already"},
    {"name = \"x\"; ranks = 1;", ":1: it needs name, ranks and step (or training)"}};

START_TEST(bad_trainings_are_refused)
{
    tw_problem_t problem = {.set = 0};
    workload_t   work;

    ck_assert_msg(read_text(&work, bad_trainings[_i].text, &problem) != 0, "%s",
                  bad_trainings[_i].text);
    ck_assert_msg(strstr(problem.text, bad_trainings[_i].why) != NULL, "'%s' instead of '%s'",
                  problem.text, bad_trainings[_i].why);
    ck_assert(strchr(problem.text, '\n') == NULL && work.training.layer == NULL);
}
END_TEST

static const char *const bad_schemes[] = {
    "",
    "x",
    "A",
    "data ",
    "group",
    "group=",
    "group=0",
    "group=-1",
    "group=+1",
    "group= 1",
    "group=1 ",
    "group=1.5",
    "group=65537",
    "c:",
    "c:split",
    "c:split=",
    "c:split=0",
    "c:split=1",
    "c:split=nodes",
    "c:split=2:split=2",
    "c:node",
    "data:split=2",
    ":split=2",
    "group=99999999999999999999",
    "group=0000000000000000000000000000000000000000000000000000000000000001"};

START_TEST(bad_schemes_are_refused)
{
    const char  *text    = bad_schemes[_i];
    tw_problem_t problem = {.set = 0};
    scheme_t     scheme;

    ck_assert_msg(scheme_parse(&scheme, text, strlen(text), &problem) != 0, "'%s'", text);
    ck_assert_msg(strstr(problem.text, "accepted are data, a, b, c and group=G") != NULL, "%s",
                  problem.text);
}
END_TEST

START_TEST(ranks_share_split_layers)
{
    static const struct {
        const char *scheme;
        int         ranks, local, share; /* share 0: refused */
    } rows[] = {{"c", 6, 4, 6},
                {"c:split=2", 6, 4, 2},
                {"c:split=4", 6, 4, 0},
                {"a:split=8", 6, 4, 6},
                {"b:split=node", 8, 4, 4},
                {"c:split=node", 8, 8, 8},
                {"c:split=node", 8, 1, 0},
                {"c:split=node", 7, 0, 0},
                {"c:split=node", 1, 1, 1}};

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const scheme_t scheme  = scheme_of(rows[i].scheme);
        tw_problem_t   problem = {.set = 0};

        ck_assert_int_eq(scheme_ranks(&scheme, rows[i].ranks, rows[i].local, &problem),
                         rows[i].share);
        ck_assert_int_eq(problem.set, rows[i].share == 0);
    }
    ck_assert_int_eq(scheme_local(3, 4), 3);
    ck_assert_int_eq(scheme_local(8, 4), 4);
    ck_assert_int_eq(scheme_local(6, 4), 0);
}
END_TEST

START_TEST(layers_that_cannot_be_split)
{
    static const char job[] =
        TRAINING("{ batch = 8; layers = ({ name = \"d\"; weights = 9; units = 3; "
                 "}, { name = \"conv\"; weights = 5; }); }");
    tw_problem_t problem = {.set = 0};
    workload_t   of, step;

    ck_assert_msg(read_text(&of, job, &problem) == 0, "%s", problem.text);
    for (int s = 1; s < 5; s++) {
        const scheme_t scheme = scheme_of(any_scheme[s]);

        for (int ranks = 1; ranks < 3; ranks++) {
            problem.set = 0;
            ck_assert(training_step(&of, &scheme, ranks, 1, 8.0, 0, &step, &problem) != 0);
            ck_assert_msg(strstr(problem.text, "'x' has no dense layers at its end") != NULL, "%s",
                          problem.text);
            ck_assert(step.item == NULL && step.exchange == NULL);
        }
    }
    workload_free(&of);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("training");
    TCase *tcase = test_case(suite, "by hand");

    TEST_EACH(tcase, steps_by_hand, by_hand);
    add_library(suite);
    add_owners(suite);
    add_any_training(suite);
    add_large_trainings(suite);
    tcase = test_case(suite, "bad input");
    TEST_EACH(tcase, bad_trainings_are_refused, bad_trainings);
    TEST_EACH(tcase, bad_schemes_are_refused, bad_schemes);
    tcase_add_test(tcase, ranks_share_split_layers);
    tcase_add_test(tcase, layers_that_cannot_be_split);
    return test_main(suite);
}
