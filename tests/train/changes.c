/* SPDX-License-Identifier: BSD-3-Clause
 * tests/train/changes.c - runs that go on from a checkpoint of another codec, scheme, batch, rate
 * and so on: with the weights and the momentum that it holds, and only where that was allowed.
 */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/mpi/harness.h"
#include "tests/train/hybrid_net.h"
#include "tests/train/runs.h"
#include "train/changes.h"
#include "train/checkpoint/checkpoint.h"

static char model[512], first_file[512], second_file[512];

/* A run of the small network, with more options; by default 4 steps of 30 images are an epoch. */
static tw_train_options_t options_of(const char *more)
{
    hybrid_net_write(model, sizeof(model), HYBRID_CODED, "");
    hybrid_path(first_file, sizeof(first_file), "first");
    hybrid_path(second_file, sizeof(second_file), "second");
    return options_from(
        "x --model %s --data digits:train=120 --batch 30 --epochs 3 --checkpoint %s "
        "--eval-every 3 %s",
        model, first_file, more);
}

/* What runs have first. */
static const char *const basis[] = {
    "--codec onebit --bn adaptive",
    "--codec grad=onebit,act=tree8 --scheme c --update-period 1 --bn adaptive",
    "--codec tree8 --bn adaptive"};

/* Six steps: an epoch and a half. */
static void begin(tw_training_t *t, const char *how)
{
    tw_train_options_t options = options_of(how);

    options.steps = 6;
    run(t, &options, MPI_COMM_WORLD);
}

static void create(tw_training_t *t, const tw_train_options_t *options)
{
    tw_problem_t problem = {0};

    T_CHECK(tw_training_create(t, options, t_ctx, MPI_COMM_WORLD, &problem) == 0 &&
                tw_training_hash(t, &problem) == 0,
            "%s", problem.text);
}

/* What a run has just taken from the first file, it writes to the second: a run as the first one
 * was finds the same weights, running statistics and momentum there. */
static void same_again(tw_training_t *changed, const char *how, const tw_training_t *first)
{
    tw_problem_t       problem = {0};
    tw_train_options_t options;
    tw_training_t      again;

    T_CHECK(tw_checkpoint_save(changed, second_file, &problem) == 0, "%s", problem.text);
    MPI_Barrier(MPI_COMM_WORLD);
    options            = options_of(how);
    options.checkpoint = second_file;
    options.resume     = 1;
    options.allowed    = TW_CHANGES_ALL;
    create(&again, &options);
    T_CHECK(again.hash == first->hash, "other weights");
    T_CHECK(tw_training_done(&again) == 6, "%d steps", (int)tw_training_done(&again));
    T_SAME(TW_F32, again.params.state, first->params.state, first->params.states);
    T_SAME(TW_F32, again.params.momentum, first->params.momentum, first->params.moments);
    tw_training_destroy(&again);
}

typedef struct change {
    int         basis;
    const char *options, *allow, *refused;
    uint64_t    steps, step; /* an epoch has; where it goes on */
} change_t;

static const change_t changes[] = {
    {0, "--codec onebit --bn adaptive --lr 0.01", "rate",
     "is of learning rate 0.05, this run of 0.01; --allow-change rate permits it", 4, 6},
    {0, "--codec onebit --bn adaptive --lr-schedule exp:0.5 --momentum 0.5", "rate",
     "is of schedule , this run of exp:0.5; --allow-change rate permits it", 4, 6},
    {0, "--codec tree8 --bn adaptive", "codec",
     "is of codec onebit:block=2048, this run of tree8:block=4096,split=0.45; --allow-change codec",
     4, 6},
    {0, "--codec onebit --bn adaptive --update sharded", NULL, NULL, 4, 6},
    {0, "--codec grad=onebit,weight=awp:group=block --bn adaptive --update root", "codec",
     "is of weights that travel in fp32, this run of awp:T=0.0001", 4, 6},
    {2, "--codec weight=bitpack:2,grad=onebit --bn adaptive --update root", "codec",
     "is of codec tree8:block=4096,split=0.45, this run of onebit:block=2048; --allow-change codec",
     4, 6},
    {2, "--codec weight=bitpack:2,grad=tree8 --bn adaptive --update sharded", "codec",
     "is of weights that travel in fp32, this run of bitpack:2; --allow-change codec permits", 4,
     6},
    {0, "--codec grad=onebit,act=tree8 --scheme c --update-period 1 --bn adaptive", "scheme",
     "is of scheme data, this run of c; --allow-change scheme permits it", 4, 6},
    {0, "--codec onebit --bn global", "bn", "--allow-change bn permits it", 4, 6},
    {0, "--codec onebit --bn adaptive --seed 7", "seed",
     "is of seed 1, this run of 7; --allow-change seed permits it", 4, 6},
    {1, "--codec onebit --bn adaptive", "scheme",
     "is of scheme c, this run of data; --allow-change scheme permits it", 4, 6},
    {1, "--codec grad=onebit,act=tree8 --scheme a --bn adaptive", "scheme,update-period",
     "is of scheme c, this run of a; --allow-change scheme,update-period permits it", 4, 6},
    {1, "--codec grad=onebit,act=bf16 --scheme c --bn local --lr 0.1 --update-period 2",
     "bn,rate,update-period,codec",
     "this run of grad=onebit:block=2048,act=bf16,back=bf16; --allow-change "
     "rate,codec,update-period,bn permits it",
     4, 6},
};

/* At the moment of going on, and then to the end. */
static void go_on(const change_t *c, const tw_train_options_t *options, const tw_training_t *first)
{
    tw_problem_t  problem = {0};
    tw_training_t t;

    create(&t, options);
    T_CHECK(t.steps == c->steps && t.step == c->step && t.epochs == 1 && tw_training_done(&t) == 6,
            "at step %d of %d", (int)t.step, (int)t.steps);
    T_CHECK(t.evaluations.count == first->evaluations.count && t.seconds == first->seconds,
            "another history");
    same_again(&t, basis[c->basis], first);
    T_CHECK(tw_training_run(&t, &problem) == 0, "%s", problem.text);
    T_CHECK(t.epochs == 3 && t.step == 3 * t.steps, "ended after %d epochs", (int)t.epochs);
    T_CHECK(tw_training_done(&t) == 6 + 3 * c->steps - c->step, "%d steps in all",
            (int)tw_training_done(&t));
    T_CHECK(tw_evaluations_possible(&t.evaluations, tw_training_done(&t), t.seconds),
            "tests in another order");
    T_CHECK(isfinite(t.records[2].train_loss) && t.hash != first->hash, "it learned nothing");
    T_SAME_EVERYWHERE(MPI_COMM_WORLD, &t.hash, sizeof(t.hash));
    tw_training_destroy(&t);
}

static void change(const change_t *c)
{
    tw_problem_t       problem = {0};
    tw_train_options_t options;
    tw_training_t      first;

    t_within("%s", c->options);
    begin(&first, basis[c->basis]);
    options        = options_of(c->options);
    options.resume = 1;
    if (c->refused != NULL) {
        expect_refusal(&options, c->refused);
        tw_changes_parse("seed,data,rate,codec,scheme,bn,batch,update-period", &options.allowed,
                         &problem);
        T_CHECK(options.allowed == TW_CHANGES_ALL, "all have names");
        tw_changes_parse(c->allow, &options.allowed, &problem);
        options.allowed ^= TW_CHANGES_ALL; /* all but these */
        expect_refusal(&options, "permits it");
        options.allowed ^= TW_CHANGES_ALL;
    }
    T_CHECK(!problem.set, "%s", problem.text);
    go_on(c, &options, &first);
    tw_training_destroy(&first);
}

/* Many ranks share few processors: they take some of the cases. */
static size_t stride(void)
{
    return t_size > 3 ? 5 : 1;
}

static void changes_keep_the_state(void)
{
    for (size_t k = 0; k < sizeof(changes) / sizeof(changes[0]); k += stride()) {
        change(&changes[k]);
    }
}

/* After 60 of 120 images: 40 are a batch that holds the next one, 60 and 20 begin with it. */
static void other_batches_go_on_where_it_was(void)
{
    static const struct {
        const char *options, *allow;
        uint64_t    steps, step;
    } to[] = {{"--batch 60", "batch", 2, 3},
              {"--batch 40", "batch", 3, 4},
              {"--batch 20", "batch", 6, 9},
              {"--batch 120", "batch", 1, 1},
              {"--batch 30 --data digits:train=90", "data", 3, 3},
              {"--batch 30 --data digits:train=120,seed=2", "data", 4, 4}};

    for (size_t k = 0; k < sizeof(to) / sizeof(to[0]); k += stride()) {
        const change_t     c       = {0, to[k].options, to[k].allow, NULL, to[k].steps, to[k].step};
        tw_problem_t       problem = {0};
        tw_train_options_t options;
        tw_training_t      first;
        uint64_t           batch = 0;

        t_within("%s", to[k].options);
        begin(&first, basis[0]);
        options = options_of(basis[0]);
        sscanf(to[k].options, "--batch %" SCNu64, &batch);
        options.batch = batch;
        if (strstr(to[k].options, "--data ") != NULL) {
            options.data = strstr(to[k].options, "--data ") + 7;
        }
        options.resume = 1;
        expect_refusal(&options,
                       k < 4 ? "is of batch 30, this run of" : "is of other data; --allow");
        tw_changes_parse(to[k].allow, &options.allowed, &problem);
        go_on(&c, &options, &first);
        tw_training_destroy(&first);
    }
}

/* What is allowed and does not differ changes no bit. */
static void nothing_changed(void)
{
    for (size_t k = t_size > 3; k < 2; k++) {
        tw_train_options_t options = options_of(basis[k]);
        tw_training_t      straight, t;

        t_within("%s", basis[k]);
        run(&straight, &options, MPI_COMM_WORLD);
        begin(&t, basis[k]);
        tw_training_destroy(&t);
        options         = options_of(basis[k]);
        options.resume  = 1;
        options.allowed = TW_CHANGES_ALL;
        run(&t, &options, MPI_COMM_WORLD);
        T_CHECK(t.hash == straight.hash && t.shift == 0, "it ends with other weights");
        T_CHECK(t.evaluations.count == straight.evaluations.count, "%zu tests",
                t.evaluations.count);
        for (size_t i = 0; i < t.evaluations.count; i++) {
            T_CHECK(t.evaluations.list[i].test_loss == straight.evaluations.list[i].test_loss &&
                        t.evaluations.list[i].epoch == straight.evaluations.list[i].epoch,
                    "test %zu went otherwise", i);
        }
        tw_training_destroy(&t);
        tw_training_destroy(&straight);
    }
}

/* Bits that have risen after an epoch stay with another batch, in another rule they begin anew. */
static void bits_of_weights(void)
{
    static const struct {
        const char *codec;
        uint64_t    batch;
        int         bits;
    } to[] = {{"weight=awp:T=1e9", 30, 16},
              {"weight=awp:T=1e9", 60, 16},
              {"weight=awp:T=1e9,round", 30, 8},
              {"weight=fp32", 30, 0}};

    for (size_t k = t_size > 3; k < sizeof(to) / sizeof(to[0]); k += stride()) {
        tw_train_options_t options;
        tw_masters_facts_t facts;
        tw_training_t      t;
        size_t             elements;
        const char        *spec;
        int                bits;

        t_within("%s, batch %d", to[k].codec, (int)to[k].batch);
        begin(&t, "--update sharded --codec weight=awp:T=1e9");
        tw_training_destroy(&t);
        options         = options_of("--update sharded");
        options.codec   = to[k].codec;
        options.batch   = to[k].batch;
        options.resume  = 1;
        options.allowed = 1u << (options.batch == 30 ? TW_CHANGE_CODEC : TW_CHANGE_BATCH);
        create(&t, &options);
        tw_masters_group(t.masters, 1, &elements, &spec, &bits);
        tw_masters_facts(t.masters, &facts);
        T_CHECK(bits == to[k].bits, "%d bits", bits);
        T_CHECK((facts.changes > 0) == (bits == 16), "%zu changes", facts.changes);
        tw_training_destroy(&t);
    }
}

/* Images of another size give weights of another shape, whatever is allowed; and so does a file of
 * which less is left than weights. */
static void never_taken(void)
{
    tw_train_options_t options;
    tw_training_t      t;
    FILE              *file;

    begin(&t, basis[0]);
    tw_training_destroy(&t);
    options         = options_of(basis[0]);
    options.data    = "random:12x12x1,5,n=120";
    options.resume  = 1;
    options.allowed = TW_CHANGES_ALL;
    expect_refusal(&options, "whose images or classes give weights of other shapes");
    options         = options_of("--codec tree8 --bn adaptive");
    options.model   = "linear";
    options.resume  = 1;
    options.allowed = TW_CHANGES_ALL;
    expect_refusal(&options, "is of model small, this run of linear");
    options         = options_of("--codec tree8 --bn adaptive");
    options.resume  = 1;
    options.allowed = TW_CHANGES_ALL;
    if (t_rank == 0) {
        file = fopen(first_file, "r+b");
        T_CHECK(file != NULL && fseek(file, 4000, SEEK_SET) == 0 && fputc('x', file) == 'x', "-");
        fclose(file);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    expect_refusal(&options, "its check sum is wrong");
}

int main(int argc, char **argv)
{
    static const t_case_t cases[] = {
        {"nothing changed", nothing_changed, 1},
        {"changes keep the state", changes_keep_the_state, 1},
        {"other batches go on where it was", other_batches_go_on_where_it_was, 1},
        {"bits of weights", bits_of_weights, 1},
        {"never taken", never_taken, 1},
    };

    return t_main(argc, argv, cases, sizeof(cases) / sizeof(cases[0]));
}
