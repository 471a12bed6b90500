/* SPDX-License-Identifier: BSD-3-Clause
 * tests/tools/test_training.c - the step that scaling/training.h makes of layers: against steps
 * worked out by hand, against the library's own buckets and passes, and what must hold of any
 * training.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <thinwire/model.h>
#include <thinwire/weights.h>

#include "runtime/scheduler/buckets.h"
#include "runtime/scheduler/hybrid.h"
#include "scaling/step.h"
#include "scaling/training.h"
#include "tests/suite.h"

enum { WHY = 600, TEXT = 8192, RUNS = 300, LAYERS = 12, RANKS = 24 };

#define LINK 1e8 /* bytes a second */

#define NEAR(got, want)                                                                            \
    ck_assert_msg(fabs((got) - (want)) <= 1e-9 * fabs(want) + 1e-15, "%s is %.12g, not %.12g",     \
                  #got, (got), (want))

/* P ranks, each on a node of its own; codecs take no time. */
static tw_facts_t alone_on_nodes(int ranks)
{
    tw_facts_t facts = {
        .ranks = ranks, .nodes = ranks, .local_ranks = 1, .engine = 1e-6, .codecs = 2};

    facts.between  = (tw_link_facts_t){20e-6, LINK, LINK, 2e-6};
    facts.codec[0] = (tw_codec_facts_t){.spec = "fp32", .bytes = 4.0, .block = 1};
    facts.codec[1] =
        (tw_codec_facts_t){.spec = "tree8", .bytes = 1.0, .block = 4096, .max_error = 0.01};
    return facts;
}

static int read_text(workload_t *work, const char *text, char *why)
{
    char  path[] = "/tmp/thinwire-training.XXXXXX";
    FILE *file;
    int   good;

    ck_assert_int_ge(close(mkstemp(path)), 0);
    file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_ge(fputs(text, file), 0);
    ck_assert_int_eq(fclose(file), 0);
    good = workload_read(work, path, why, WHY);
    unlink(path);
    return good;
}

static scheme_t scheme_of(const char *text)
{
    scheme_t scheme;
    char     why[WHY];

    ck_assert_msg(scheme_parse(&scheme, text, strlen(text), why, sizeof(why)), "%s", why);
    return scheme;
}

static void make_step(const workload_t *of, const char *scheme, int ranks, double batch, int lossy,
                      workload_t *step)
{
    const scheme_t how = scheme_of(scheme);
    char           why[WHY];

    ck_assert_msg(training_step(of, &how, ranks, batch, lossy, step, why, sizeof(why)), "%s", why);
}

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
     "reduce:100:grad 0 reduce:2000:grad allgather:400:- wait400 0.02 0.04 reduce:900:grad 0 "
     "allreduce:2:- reduce:310:- wait100 wait2000 wait900 wait310 wait2 0.003 "
     "bcast:310:- bcast:900:weight bcast:2000:weight bcast:100:weight"},
    {WITH_OWNERS("owners = \"root\"; norms = true; blocks = true;"), "data", 2, 0,
     "0.001 wait310 wait900 0.02 allgather:402:- wait402 0.01 wait2100 0.004 0.002 0.008 "
     "0 reduce:2100:grad allgather:400:- wait400 0.02 0.04 reduce:900:grad 0 "
     "allreduce:2:- reduce:310:- wait2100 wait900 wait310 wait2 0.003 allgather:6:- wait6 "
     "bcast:310:- bcast:900:weight bcast:2100:weight"},
    {WITH_OWNERS("owners = \"sharded\"; norms = true;"), "data", 3, 0,
     "0.0006666666667 wait128 wait320 0.01333333333 allgather:402:- wait402 0.006666666667 wait704 "
     "0.002666666667 wait64 0.001333333333 0.005333333333 reduce_scatter:100:grad 0 "
     "reduce_scatter:2000:grad allgather:400:- wait400 0.01333333333 0.02666666667 "
     "reduce_scatter:900:grad 0 allreduce:2:- reduce_scatter:310:- wait100 wait2000 wait900 "
     "wait310 wait2 0.001102114804 allgather:8:- wait8 allgather:128:- allgather:320:weight "
     "allgather:704:weight allgather:64:weight"},
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
    char                  text[TEXT], why[WHY];
    workload_t            of, step;

    ck_assert_msg(read_text(&of, k->job, why), "%s", why);
    make_step(&of, k->scheme, k->ranks, of.training.batch, k->lossy, &step);
    describe(&step, text);
    ck_assert_str_eq(text, k->items);
    ck_assert(step.ranks == k->ranks && strcmp(step.name, of.name) == 0);
    workload_free(&step);
    workload_free(&of);
}
END_TEST

/* ---- trainings drawn at random --------------------------------------------------------------- */

typedef struct drawn_training {
    training_layer_t layer[LAYERS];
    workload_t       work;
} drawn_training_t;

static double drawn_count(test_random_t *random, double most) /* in the logarithm */
{
    return floor(pow(most, test_below(random, 10001) / 10000.0));
}

/* Measured on one rank with one example, so that seconds are those of an example. */
static void draw(drawn_training_t *k, test_random_t *random, size_t layers, size_t dense)
{
    training_t *t = &k->work.training;

    *k         = (drawn_training_t){.work = {.name = "drawn", .ranks = 1}};
    t->batch   = 1.0;
    t->bucket  = drawn_count(random, 1e6);
    t->update  = 1e-3 * test_below(random, 100);
    t->softmax = test_below(random, 2);
    t->layers  = layers;
    t->dense   = dense;
    t->layer   = k->layer;
    for (size_t l = 0; l < layers; l++) {
        const double units = drawn_count(random, 300.0), inputs = drawn_count(random, 300.0);

        snprintf(k->layer[l].name, WORKLOAD_NAME, "layer %zu", l);
        k->layer[l].biases   = test_below(random, 3) > 0 ? units : 0.0;
        k->layer[l].units    = l >= dense ? units : 0.0;
        k->layer[l].weights  = l >= dense || test_below(random, 5) > 0 ? units * inputs : 0.0;
        k->layer[l].forward  = 1e-5 * (1 + test_below(random, 1000));
        k->layer[l].backward = 1e-5 * (1 + test_below(random, 1000));
    }
}

static void draw_any(drawn_training_t *k, test_random_t *random)
{
    const size_t layers = 1 + (size_t)test_below(random, LAYERS);

    draw(k, random, layers, (size_t)test_below(random, (int)layers));
}

static double parameters_of(const workload_t *of, size_t layers)
{
    double sum = 0.0;

    for (size_t l = 0; l < layers; l++) {
        sum += of->training.layer[l].weights + of->training.layer[l].biases;
    }
    return sum;
}

/* How often a step starts an exchange. */
static double starts_of(const workload_t *step, size_t exchange)
{
    double times = 1.0, sum = 0.0;

    for (size_t i = 0; i < step->items; i++) {
        const item_t *item = &step->item[i];

        times = item->kind == ITEM_REPEAT ? (double)item->times
                                          : (item->kind == ITEM_END ? 1.0 : times);
        sum += item->kind == ITEM_START && item->exchange == exchange ? times : 0.0;
    }
    return sum;
}

/* The first exchange of a name's beginning; SIZE_MAX: there is none. */
static size_t called(const workload_t *step, const char *name)
{
    for (size_t x = 0; x < step->exchanges; x++) {
        if (strncmp(step->exchange[x].name, name, strlen(name)) == 0) {
            return x;
        }
    }
    return SIZE_MAX;
}

static step_time_t time_of(const workload_t *step, const tw_facts_t *facts, const char *spec)
{
    const step_case_t how = {.facts = facts, .spec = spec, .share = 1.0};
    step_time_t       time;
    char              why[WHY];

    ck_assert_msg(step_time(step, &how, &time, why, sizeof(why)), "%s", why);
    ck_assert(isfinite(time.seconds) && time.exposed >= 0.0 && time.bytes >= 0.0);
    return time;
}

static step_time_t time_on(const workload_t *of, const char *scheme, int ranks, double batch,
                           const char *spec)
{
    const tw_facts_t facts = alone_on_nodes(ranks);
    workload_t       step;
    step_time_t      time;

    make_step(of, scheme, ranks, batch, strcmp(spec, "fp32") != 0, &step);
    time = time_of(&step, &facts, spec);
    workload_free(&step);
    return time;
}

static const char *const any_scheme[] = {"data", "a", "b", "c", "group=2"};

/* ---- against the library --------------------------------------------------------------------- */

static const struct scheme_case {
    const char *text;
    tw_scheme_t scheme;
} schemes[] = {
    {"a", TW_SCHEME_A}, {"b", TW_SCHEME_B}, {"c", TW_SCHEME_C}, {"group=", TW_SCHEME_GROUP}};

/* Of any batch as many passes, and all examples in them; of one that every slice divides each
 * pass. */
static void compare_passes(test_random_t *random, const struct scheme_case *scheme, int ranks,
                           int even)
{
    const int group  = 1 + test_below(random, ranks);
    const int slices = scheme->scheme == TW_SCHEME_GROUP ? group : ranks;
    const int batch =
        even ? ranks * slices * (1 + test_below(random, 3)) : 1 + test_below(random, 4 * ranks);
    size_t           examples[RANKS], arrays[2 * RANKS * RANKS], longest, passes;
    int              position[RANKS];
    tw_hybrid_pass_t pass[RANKS];
    char             text[32];
    drawn_training_t k;
    workload_t       step;

    for (int r = 0; r < ranks; r++) {
        examples[r] = (size_t)(batch / ranks + (r < batch % ranks));
        position[r] = r;
    }
    passes = tw_hybrid_count(scheme->scheme, group, examples, position, ranks, &longest);
    tw_hybrid_schedule(scheme->scheme, group, examples, position, ranks, pass, arrays);
    draw_any(&k, random);
    k.work.training.softmax = 1;
    snprintf(text, sizeof(text), scheme->scheme == TW_SCHEME_GROUP ? "%s%d" : "%s", scheme->text,
             group);
    make_step(&k.work, text, ranks, batch, 0, &step);
    {
        const size_t activations = called(&step, "activations"), losses = called(&step, "losses");
        const double rows = step.exchange[losses].count / 2.0;

        ck_assert_uint_eq((size_t)starts_of(&step, activations), passes);
        ck_assert_uint_eq((size_t)starts_of(&step, losses), passes);
        NEAR(rows * (double)passes, (double)batch);
        for (size_t p = 0; p < passes && even && ranks % slices == 0; p++) {
            ck_assert_uint_eq(pass[p].examples, (size_t)rows);
        }
    }
    workload_free(&step);
}

START_TEST(passes_are_those_of_the_library)
{
    test_random_t random = {test_seed()};

    for (int run = 0; run < 4 * RUNS; run++) {
        compare_passes(&random, &schemes[run % 4], 2 + test_below(&random, RANKS - 1), run % 8 < 4);
    }
}
END_TEST

/* The tensors of a training as tw_buckets_create() lists them for the trainer. */
static size_t list_parts(const workload_t *of, int lossy, tw_bucket_part_t *part, float *memory)
{
    static const char coded; /* the address of a codec */
    size_t            n = 0;

    for (size_t l = of->training.layers; l-- > 0;) {
        const double counts[] = {of->training.layer[l].biases, of->training.layer[l].weights};

        for (int k = 0; k < 2; k++) {
            const int axes  = k == 0 || of->training.layer[l].channels > 0.0;
            const int alone = lossy && !tw_tensor_is_small((size_t)counts[k], axes);

            if (counts[k] > 0.0) {
                part[n++] = (tw_bucket_part_t){
                    .count = (size_t)counts[k],
                    .alone = alone,
                    .codec = alone ? (const tw_codec_t *)(const void *)&coded : NULL,
                    .at    = l};
            }
        }
    }
    part[n++] = (tw_bucket_part_t){.count = 2};
    for (size_t i = n; i-- > 0;) {
        part[i].data = memory;
        memory += part[i].count;
    }
    return n;
}

/* The same counts in the same order, and each when its last tensor is there: behind the computation
 * of that layer. */
static void compare_buckets(const workload_t *of, int lossy, float *memory)
{
    static tw_bucket_part_t part[2 * LAYERS + 1];
    static tw_bucket_t      bucket[2 * LAYERS + 1];
    const size_t            layers = of->training.layers;
    size_t                  layer_of[2 * LAYERS + 1], seen = 0, computed = 0;
    tw_buckets_t            library = {.part = part, .bucket = bucket};
    workload_t              step;

    library.parts = list_parts(of, lossy, part, memory);
    for (size_t i = 0; i < library.parts; i++) {
        layer_of[i] = part[i].at;
    }
    tw_buckets_group(&library, (size_t)of->training.bucket);
    make_step(of, "data", 4, 16.0, lossy, &step);
    for (size_t i = 0; i < step.items; i++) {
        const exchange_t *x = &step.exchange[step.item[i].exchange];

        computed += step.item[i].kind == ITEM_FIXED;
        if (step.item[i].kind != ITEM_START) {
            continue;
        }
        ck_assert_uint_lt(seen, library.buckets);
        ck_assert_uint_eq((size_t)x->count, bucket[seen].count);
        ck_assert_int_eq(x->plain, lossy && !bucket[seen].alone);
        ck_assert_uint_eq(computed, 2 * layers - layer_of[bucket[seen].last]);
        seen++;
    }
    ck_assert_uint_eq(seen, library.buckets);
    workload_free(&step);
}

START_TEST(buckets_are_those_of_the_library)
{
    test_random_t    random = {test_seed()};
    float           *memory = malloc(LAYERS * 100000 * sizeof(*memory)); /* never touched */
    drawn_training_t k;

    ck_assert_ptr_nonnull(memory);
    for (int run = 0; run < 4 * RUNS; run++) {
        draw_any(&k, &random);
        compare_buckets(&k.work, run % 2, memory);
    }
    free(memory);
}
END_TEST

/* ---- weights with owners --------------------------------------------------------------------- */

static void draw_owned(drawn_training_t *k, test_random_t *random, int owners)
{
    draw_any(k, random);
    k->work.training.owners = owners;
    k->work.training.norms  = test_below(random, 2);
    k->work.training.blocks = test_below(random, 2);
    for (size_t l = 0; l < k->work.training.layers; l++) {
        strcpy(k->layer[l].copy, test_below(random, 2) ? "tree8" : "");
        if (test_below(random, 2)) {
            snprintf(k->layer[l].name, WORKLOAD_NAME, "block%d.%zu", (int)l / 3, l);
        }
    }
}

/* Gradients to the owners and weights back: each value once, in shares as the library has them;
 * small ones as they are, weights by what the layer says. */
START_TEST(owners_get_and_send_all)
{
    test_random_t    random = {test_seed()};
    drawn_training_t k;

    for (int run = 0; run < RUNS; run++) {
        const int    scheme = test_below(&random, 5), ranks = 2 + test_below(&random, 40);
        const int    root  = test_below(&random, 2);
        double       there = 0.0, back = 0.0, most = 0.0;
        const double loss = 2.0;
        size_t       layers;
        workload_t   step;

        draw_owned(&k, &random, root ? TW_WEIGHTS_ROOT : TW_WEIGHTS_SHARDED);
        layers = scheme == 0 ? k.work.training.layers : k.work.training.dense;
        make_step(&k.work, any_scheme[scheme], ranks, 1.0 + test_below(&random, 100),
                  test_below(&random, 2), &step);
        for (size_t x = 0; x < step.exchanges; x++) {
            const exchange_t *one = &step.exchange[x];

            if (strncmp(one->name, "gradients", 9) == 0) {
                ck_assert_int_eq(one->operation,
                                 root ? TW_OPERATION_REDUCE : TW_OPERATION_REDUCE_SCATTER);
                ck_assert(one->first == root && starts_of(&step, x) == 1.0);
                there += one->count;
                most += root ? one->count
                             : (double)tw_weights_owned(TW_WEIGHTS_SHARDED, (size_t)one->count, 64,
                                                        0, ranks, NULL);
            } else if (strcmp(one->class, "weight") == 0 || strncmp(one->name, "biases", 6) == 0) {
                ck_assert_int_eq(one->operation,
                                 root ? TW_OPERATION_BCAST : TW_OPERATION_ALLGATHER);
                ck_assert_int_eq(one->plain, one->codec == NULL);
                ck_assert(one->codec == NULL || strcmp(one->codec, "tree8") == 0 ||
                          strcmp(one->codec, "fp32") == 0);
                back += one->count;
            } else if (one->operation == TW_OPERATION_ALLREDUCE) {
                NEAR(one->count, loss);
            }
        }
        NEAR(there, parameters_of(&k.work, layers));
        NEAR(back, most);
        workload_free(&step);
    }
}
END_TEST

/* What is sent in a step is waited for in the next, before that sends it again. */
START_TEST(copies_travel_into_the_next_step)
{
    test_random_t    random = {test_seed()};
    drawn_training_t k;

    for (int run = 0; run < RUNS; run++) {
        workload_t step;
        char      *pending;

        draw_owned(&k, &random, 1 + test_below(&random, 2));
        make_step(&k.work, any_scheme[test_below(&random, 5)], 2 + test_below(&random, 9), 20.0, 0,
                  &step);
        pending = calloc(step.exchanges + 1, 1);
        ck_assert_ptr_nonnull(pending);
        for (size_t i = 0; i < 2 * step.items; i++) {
            const item_t *item = &step.item[i % step.items];

            if (item->kind == ITEM_START) {
                const int weights = step.exchange[item->exchange].codec != NULL;

                ck_assert(!pending[item->exchange] || !weights);
                pending[item->exchange] = 1;
            } else if (item->kind == ITEM_WAIT) {
                pending[item->exchange] = 0;
            }
        }
        for (size_t x = 0; x < step.exchanges; x++) {
            ck_assert_int_eq(pending[x], step.exchange[x].codec != NULL ||
                                             strncmp(step.exchange[x].name, "biases", 6) == 0);
        }
        free(pending);
        workload_free(&step);
    }
}
END_TEST

/* What each rank sends of one exchange, in vectors; by the comments of the library's algorithms. */
static double vectors_of(const exchange_t *x, const char *algorithm, int rank, int ranks)
{
    double times = 0.0;

    switch (x->operation) {
    case TW_OPERATION_BCAST:
        if (strcmp(algorithm, "chain") == 0) {
            return rank + 1 < ranks;
        }
        ck_assert_str_eq(algorithm, "tree");
        for (int bit = 1; bit < ranks && (rank & bit) == 0; bit *= 2) {
            times += rank + bit < ranks;
        }
        return times;
    case TW_OPERATION_REDUCE:
        if (strcmp(algorithm, "direct") == 0) {
            return rank > 0;
        }
        ck_assert_str_eq(algorithm, "two_pass");
        return rank > 0 ? 1.0 : 1.0 - 1.0 / ranks;
    default:
        ck_assert_int_eq(x->operation, TW_OPERATION_ALLREDUCE); /* of the loss */
        return strcmp(algorithm, "direct") == 0 ? ranks - 1.0 : 2.0 * (1.0 - 1.0 / ranks);
    }
}

/* The busiest rank is that with the largest sum, not the sum of the largest. */
START_TEST(the_busiest_rank_of_a_root)
{
    test_random_t    random = {test_seed()};
    drawn_training_t k;

    for (int run = 0; run < RUNS; run++) {
        const int         ranks = 2 + test_below(&random, 22);
        tw_facts_t        facts = alone_on_nodes(ranks);
        const step_case_t how = {.facts = &facts, .spec = "fp32", .weights = "tree8", .share = 1.0};
        double            sent[RANKS] = {0.0}, most = 0.0;
        step_time_t       time;
        workload_t        step;
        char              why[WHY];

        facts.between.message = 0.0; /* no grid */
        facts.between.latency = test_below(&random, 2) ? 1e-7 : 1e-2;
        draw_owned(&k, &random, TW_WEIGHTS_ROOT);
        k.work.training.norms = 0;
        make_step(&k.work, "data", ranks, 40.0, 0, &step);
        for (size_t x = 0; x < step.exchanges; x++) {
            step_exchange_t found;

            ck_assert(step_exchange(&step.exchange[x], &how, &found, why, sizeof(why)));
            for (int r = 0; r < ranks; r++) {
                sent[r] += vectors_of(&step.exchange[x], found.prediction.algorithm, r, ranks) *
                           found.count * found.codec->bytes;
            }
        }
        for (int r = 0; r < ranks; r++) {
            most = fmax(most, sent[r]);
        }
        ck_assert_msg(step_time(&step, &how, &time, why, sizeof(why)), "%s", why);
        ck_assert_msg(time.bytes >= most * (1.0 - 1e-9) && time.bytes <= most * (1.0 + 1e-9),
                      "%d ranks: %.10g, not %.10g", ranks, time.bytes, most);
        workload_free(&step);
    }
}
END_TEST

/* What is written is what is read. */
START_TEST(owners_are_written)
{
    test_random_t    random = {test_seed()};
    drawn_training_t k;

    for (int run = 0; run < 20; run++) {
        char              text[TEXT] = "", why[WHY];
        workload_t        again;
        const training_t *a = &k.work.training, *b = &again.training;
        FILE             *file = fmemopen(text, sizeof(text), "w");

        draw_owned(&k, &random, run % 3);
        for (size_t l = 0; l < a->layers; l++) {
            if (a->owners == 0 || k.layer[l].weights == 0.0) {
                k.layer[l].copy[0] = '\0';
            }
        }
        k.work.training.norms &= a->owners != 0;
        k.work.training.blocks &= a->owners != 0;
        ck_assert_ptr_nonnull(file);
        training_write(file, &k.work);
        ck_assert_int_eq(fclose(file), 0);
        ck_assert_msg(read_text(&again, text, why), "%s: %s", why, text);
        ck_assert(a->owners == b->owners && a->norms == b->norms && a->blocks == b->blocks &&
                  a->layers == b->layers);
        for (size_t l = 0; l < a->layers; l++) {
            ck_assert_str_eq(a->layer[l].copy, b->layer[l].copy);
        }
        workload_free(&again);
    }
}
END_TEST

/* ---- any training ---------------------------------------------------------------------------- */

START_TEST(gradients_travel_once)
{
    test_random_t    random = {test_seed()};
    drawn_training_t k;

    for (int run = 0; run < RUNS; run++) {
        const int  scheme = test_below(&random, 5);
        const int  ranks  = 2 + test_below(&random, 40);
        workload_t step;
        double     sum = 0.0;

        draw_any(&k, &random);
        make_step(&k.work, any_scheme[scheme], ranks, 1.0 + test_below(&random, 100),
                  test_below(&random, 2), &step);
        for (size_t x = 0; x < step.exchanges; x++) {
            if (step.exchange[x].operation == TW_OPERATION_ALLREDUCE) {
                ck_assert(starts_of(&step, x) == 1.0);
                sum += step.exchange[x].count;
            }
        }
        NEAR(sum, 2.0 + parameters_of(&k.work, scheme == 0 ? k.work.training.layers
                                                           : k.work.training.dense));
        workload_free(&step);
    }
}
END_TEST

/* Everything that is started is waited for within the step. */
START_TEST(nothing_is_left_at_the_end)
{
    test_random_t    random = {test_seed()};
    drawn_training_t k;

    for (int run = 0; run < RUNS; run++) {
        size_t     pending = 0;
        char      *started;
        workload_t step;

        draw_any(&k, &random);
        make_step(&k.work, any_scheme[run % 5], 2 + test_below(&random, 40),
                  1.0 + test_below(&random, 100), run % 2, &step);
        started = calloc(step.exchanges + 1, 1);
        ck_assert_ptr_nonnull(started);
        for (size_t i = 0; i < step.items; i++) {
            const item_t *item = &step.item[i];

            if (item->kind == ITEM_START) {
                ck_assert_msg(!started[item->exchange], "%s", step.exchange[item->exchange].name);
                started[item->exchange] = 1;
                pending++;
            } else if (item->kind == ITEM_WAIT) {
                pending -= (size_t)started[item->exchange];
                started[item->exchange] = 0;
            }
        }
        ck_assert_uint_eq(pending, 0);
        free(started);
        workload_free(&step);
    }
}
END_TEST

START_TEST(ranks_share_the_work)
{
    test_random_t    random = {test_seed()};
    drawn_training_t k;

    for (int run = 0; run < RUNS; run++) {
        const int    ranks = 1 + test_below(&random, 40), each = 1 + test_below(&random, 20);
        const double batch = ranks * each;
        double       one, update;

        draw_any(&k, &random);
        update = k.work.training.update;
        one    = time_on(&k.work, "data", 1, batch, "fp32").compute - update;
        NEAR(time_on(&k.work, "data", ranks, batch, "fp32").compute, one / ranks + update);
        if (ranks > 1) { /* uneven: the first has one more */
            NEAR(time_on(&k.work, "data", ranks, batch + 1.0, "fp32").compute,
                 one / batch * (each + 1) + update);
        }
        NEAR(time_on(&k.work, "data", 3 * ranks, 3.0 * batch, "fp32").compute, /* weak */
             one / ranks + update);
    }
}
END_TEST

/* Passes divide what a step computes, whatever their number. */
START_TEST(schemes_compute_the_same)
{
    test_random_t    random = {test_seed()};
    drawn_training_t k;

    for (int run = 0; run < RUNS; run++) {
        const int    ranks = 2 + test_below(&random, 30);
        const double batch = 1.0 + test_below(&random, 200);
        char         group[32];
        double       want;

        draw_any(&k, &random);
        snprintf(group, sizeof(group), "group=%d", 1 + test_below(&random, ranks));
        want = time_on(&k.work, "a", ranks, batch, "fp32").compute;
        NEAR(time_on(&k.work, "b", ranks, batch, "fp32").compute, want);
        NEAR(time_on(&k.work, "c", ranks, batch, "fp32").compute, want);
        NEAR(time_on(&k.work, group, ranks, batch, "tree8").compute, want);
    }
}
END_TEST

/* On more ranks than a layer has units, a rank has one of them or none. */
START_TEST(a_unit_is_not_divided)
{
    test_random_t     random = {test_seed()};
    drawn_training_t  k;
    training_layer_t *layer = &k.layer[0];

    draw(&k, &random, 1, 0);
    layer->weights         = 1000.0;
    layer->units           = 10.0;
    k.work.training.update = 0.0;
    NEAR(time_on(&k.work, "c", 5, 50.0, "fp32").compute, 10.0 * (layer->forward + layer->backward));
    NEAR(time_on(&k.work, "c", 4, 40.0, "fp32").compute, 12.0 * (layer->forward + layer->backward));
    NEAR(time_on(&k.work, "c", 50, 50.0, "fp32").compute, 5.0 * (layer->forward + layer->backward));
}
END_TEST

static void ck_same_steps(const workload_t *of, const char *one, const char *two, int ranks,
                          int batch)
{
    workload_t a, b;

    make_step(of, one, ranks, batch, 1, &a);
    make_step(of, two, ranks, batch, 1, &b);
    ck_assert(a.items == b.items && a.exchanges == b.exchanges);
    for (size_t i = 0; i < a.items; i++) {
        ck_assert(a.item[i].kind == b.item[i].kind && a.item[i].seconds == b.item[i].seconds &&
                  a.item[i].exchange == b.item[i].exchange && a.item[i].times == b.item[i].times &&
                  a.item[i].end == b.item[i].end);
    }
    for (size_t x = 0; x < a.exchanges; x++) {
        ck_assert(a.exchange[x].operation == b.exchange[x].operation &&
                  a.exchange[x].count == b.exchange[x].count &&
                  a.exchange[x].part == b.exchange[x].part &&
                  a.exchange[x].turns == b.exchange[x].turns &&
                  strcmp(a.exchange[x].class, b.exchange[x].class) == 0);
    }
    workload_free(&a);
    workload_free(&b);
}

START_TEST(groups_of_one_and_of_all)
{
    test_random_t    random = {test_seed()};
    drawn_training_t k;

    for (int run = 0; run < RUNS; run++) {
        const int ranks = 1 + test_below(&random, 40), batch = 1 + test_below(&random, 200);
        char      text[32];

        draw_any(&k, &random);
        ck_same_steps(&k.work, "group=1", "b", ranks, batch);
        snprintf(text, sizeof(text), "group=%d", ranks);
        ck_same_steps(&k.work, text, "c", ranks, batch);
        ck_same_steps(&k.work, "group=65536", "c", ranks, batch);
    }
}
END_TEST

/* Wider layers by whole multiples, as fragments make a vector of a little more than one faster;
 * each tensor in a bucket of its own, as another division of the buckets may start earlier. */
START_TEST(wider_layers_never_take_less)
{
    test_random_t    random = {test_seed()};
    drawn_training_t k;

    for (int run = 0; run < RUNS; run++) {
        const int    ranks = 2 + test_below(&random, 40);
        const double batch = ranks * (1.0 + test_below(&random, 5));
        double       last;

        draw_any(&k, &random);
        k.work.training.bucket = 1.0;
        k.work.training.update = 0.0; /* by how many parameters are split */
        last = time_on(&k.work, any_scheme[run % 5], ranks, batch, "fp32").seconds;
        for (int i = 0; i < 5; i++) {
            training_layer_t *layer = &k.layer[test_below(&random, (int)k.work.training.layers)];
            double            now;

            layer->weights *= 2 + test_below(&random, 3);
            now = time_on(&k.work, any_scheme[run % 5], ranks, batch, "fp32").seconds;
            ck_assert_msg(now >= last * (1.0 - 1e-6), "run %d: %g, before %g", run, now, last);
            last = now;
        }
    }
}
END_TEST

START_TEST(links_are_never_faster_than_they_are)
{
    test_random_t    random = {test_seed()};
    drawn_training_t k;

    for (int run = 0; run < RUNS; run++) {
        step_time_t time;

        draw_any(&k, &random);
        for (size_t l = 0; l < k.work.training.layers; l++) {
            k.layer[l].forward = k.layer[l].backward = 0.0;
        }
        time = time_on(&k.work, any_scheme[run % 5], 2 + test_below(&random, 40),
                       1.0 + test_below(&random, 300), run % 2 ? "fp32" : "tree8");
        ck_assert_double_gt(time.bytes, 0.0);
        ck_assert_msg(time.seconds >= time.bytes / LINK * (1.0 - 1e-9), "run %d: %g s, %g bytes",
                      run, time.seconds, time.bytes);
    }
}
END_TEST

/* Each rank is the root once: values go to all others, and come back to be summed, in two passes by
 * a detour. */
START_TEST(roots_take_turns)
{
    test_random_t    random = {test_seed()};
    drawn_training_t k;

    for (int run = 0; run < RUNS; run++) {
        const int    ranks = 2 + test_below(&random, 40);
        const double each = 1.0 + test_below(&random, 8), share = (ranks - 1.0) / ranks;
        double       values, bytes;

        draw(&k, &random, 1, 0);
        k.work.training.softmax = 0;
        k.work.training.layers  = 2;
        k.work.training.dense   = 1;
        k.layer[1]              = k.layer[0];
        k.layer[0]              = (training_layer_t){.name = "pool", .backward = 1e-9};
        values                  = ranks * each * k.layer[1].weights / k.layer[1].units;
        bytes = time_on(&k.work, "b", ranks, ranks * each, "fp32").bytes; /* 8 of loss and errors */
        ck_assert_double_ge(bytes, 8.0 * values * share);
        ck_assert_double_le(bytes, 4.0 * values * share * (2.0 + 1.0 / ranks) + ranks * 8.0);
    }
}
END_TEST

START_TEST(one_rank_exchanges_nothing)
{
    test_random_t    random = {test_seed()};
    drawn_training_t k;

    for (int run = 0; run < RUNS; run++) {
        const double batch = 1.0 + test_below(&random, 100);
        double       sum;
        step_time_t  time;
        workload_t   step;

        draw_any(&k, &random);
        k.layer[0].channels = 5.0;
        sum                 = k.work.training.update;
        for (size_t l = 0; l < k.work.training.layers; l++) {
            sum += batch * (k.layer[l].forward + k.layer[l].backward);
        }
        make_step(&k.work, any_scheme[run % 5], 1, batch, run % 2, &step);
        ck_assert_uint_eq(step.exchanges, 0);
        workload_free(&step);
        time = time_on(&k.work, any_scheme[run % 5], 1, batch, run % 2 ? "fp32" : "tree8");
        NEAR(time.seconds, sum);
        ck_assert(time.bytes == 0.0 && time.exposed == 0.0);
    }
}
END_TEST

/* ---- large trainings ------------------------------------------------------------------------- */

/* Loops are folded: as many items on 65536 ranks as on 6. */
START_TEST(many_ranks)
{
    test_random_t    random = {test_seed()};
    drawn_training_t k;

    draw(&k, &random, LAYERS, LAYERS / 2);
    for (int s = 0; s < 5; s++) {
        size_t items = 0;

        for (int ranks = 6; ranks <= 65536; ranks += ranks < 100 ? 1 : ranks / 3) {
            const tw_facts_t facts = alone_on_nodes(ranks);
            workload_t       step;

            make_step(&k.work, any_scheme[s], ranks, 4.0 * ranks, s % 2, &step);
            items = items > 0 ? items : step.items;
            ck_assert_uint_le(step.items, items + 40);
            time_of(&step, &facts, "fp32");
            workload_free(&step);
        }
        time_on(&k.work, any_scheme[s], 65536, 65537.0, "fp32");
        time_on(&k.work, any_scheme[s], 65536, 3.0, "fp32");
    }
}
END_TEST

START_TEST(many_layers)
{
    static const int counts[] = {1, 2, 63, 4096};
    char            *text     = malloc((size_t)TRAINING_LAYERS * 100), why[WHY];

    ck_assert_ptr_nonnull(text);
    for (int c = 0; c < 4; c++) {
        int used = sprintf(text, "name = \"n\"; ranks = 1; training = { batch = 64; layers = (");
        workload_t of;

        for (int l = 0; l < counts[c]; l++) {
            used +=
                sprintf(text + used, "%s{ name = \"l\"; weights = %d; biases = 9; units = %d; }",
                        l > 0 ? ",\n" : "", 900 + l, l >= counts[c] / 2 ? 9 : 0);
        }
        strcpy(text + used, "); };");
        ck_assert_msg(read_text(&of, text, why), "%s", why);
        ck_assert_uint_eq(of.training.layers, (size_t)counts[c]);
        ck_assert_uint_eq(of.training.dense, (size_t)counts[c] / 2);
        for (int s = 0; s < 5; s++) {
            time_on(&of, any_scheme[s], 64, 128.0, s % 2 ? "tree8" : "fp32");
        }
        workload_free(&of);
    }
    free(text);
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
    char       why[WHY] = "";
    workload_t work;

    ck_assert_msg(!read_text(&work, bad_trainings[_i].text, why), "%s", bad_trainings[_i].text);
    ck_assert_msg(strstr(why, bad_trainings[_i].why) != NULL, "'%s' instead of '%s'", why,
                  bad_trainings[_i].why);
    ck_assert(strchr(why, '\n') == NULL && work.training.layer == NULL);
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
    "group=99999999999999999999",
    "group=0000000000000000000000000000000000000000000000000000000000000001"};

START_TEST(bad_schemes_are_refused)
{
    const char *text     = bad_schemes[_i];
    char        why[WHY] = "";
    scheme_t    scheme;

    ck_assert_msg(!scheme_parse(&scheme, text, strlen(text), why, sizeof(why)), "'%s'", text);
    ck_assert_msg(strstr(why, "accepted are data, a, b, c and group=G") != NULL, "%s", why);
}
END_TEST

START_TEST(layers_that_cannot_be_split)
{
    static const char job[] =
        TRAINING("{ batch = 8; layers = ({ name = \"d\"; weights = 9; units = 3; "
                 "}, { name = \"conv\"; weights = 5; }); }");
    char       why[WHY] = "";
    workload_t of, step;

    ck_assert_msg(read_text(&of, job, why), "%s", why);
    for (int s = 1; s < 5; s++) {
        const scheme_t scheme = scheme_of(any_scheme[s]);

        for (int ranks = 1; ranks < 3; ranks++) {
            ck_assert(!training_step(&of, &scheme, ranks, 8.0, 0, &step, why, sizeof(why)));
            ck_assert_msg(strstr(why, "'x' has no dense layers at its end") != NULL, "%s", why);
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
    tcase = test_case_within(suite, "the library", 60);
    tcase_add_test(tcase, passes_are_those_of_the_library);
    tcase_add_test(tcase, buckets_are_those_of_the_library);
    tcase = test_case_within(suite, "owners", 60);
    tcase_add_test(tcase, owners_get_and_send_all);
    tcase_add_test(tcase, copies_travel_into_the_next_step);
    tcase_add_test(tcase, the_busiest_rank_of_a_root);
    tcase_add_test(tcase, owners_are_written);
    tcase = test_case_within(suite, "any training", 60);
    tcase_add_test(tcase, gradients_travel_once);
    tcase_add_test(tcase, nothing_is_left_at_the_end);
    tcase_add_test(tcase, ranks_share_the_work);
    tcase_add_test(tcase, schemes_compute_the_same);
    tcase_add_test(tcase, a_unit_is_not_divided);
    tcase_add_test(tcase, groups_of_one_and_of_all);
    tcase_add_test(tcase, wider_layers_never_take_less);
    tcase_add_test(tcase, links_are_never_faster_than_they_are);
    tcase_add_test(tcase, roots_take_turns);
    tcase_add_test(tcase, one_rank_exchanges_nothing);
    tcase = test_case_within(suite, "large trainings", 60);
    tcase_add_test(tcase, many_ranks);
    tcase_add_test(tcase, many_layers);
    tcase = test_case(suite, "bad input");
    TEST_EACH(tcase, bad_trainings_are_refused, bad_trainings);
    TEST_EACH(tcase, bad_schemes_are_refused, bad_schemes);
    tcase_add_test(tcase, layers_that_cannot_be_split);
    return test_main(suite);
}
