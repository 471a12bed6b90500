/* SPDX-License-Identifier: BSD-3-Clause
 * tests/train/owners.c - weights with owners, at the root or in shares, beside runs in which every
 * rank updates all: the same bits where codecs lose nothing; bits of AWP at the steps at which a
 * serial rule gives them; runs that stop and go on, under another arrangement too.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/mpi/harness.h"
#include "tests/train/hybrid_net.h"
#include "tests/train/runs.h"
#include "train/report/report.h"

#define BATCH 31u /* of 120 images: uneven shares, and a last batch of 27; 4 steps an epoch */

static char model[600], checkpoint[600];

static tw_train_options_t options_of(const char *update, const char *scheme, const char *codec,
                                     const char *more)
{
    tw_train_options_t options;
    tw_problem_t       problem = {0};
    const char        *words[] = {"x",        "--model", model,     "--data", "digits:train=120",
                                  "--scheme", scheme,    "--codec", codec,    "--update",
                                  update};

    hybrid_net_write(model, sizeof(model), HYBRID_CODED, more);
    hybrid_path(checkpoint, sizeof(checkpoint), "checkpoint");
    tw_train_options_parse(&options, sizeof(words) / sizeof(words[0]), (char **)(uintptr_t)words,
                           &problem);
    T_CHECK(!problem.set, "%s", problem.text);
    options.epochs = 5;
    options.batch  = BATCH;
    options.bn     = "global";
    return options;
}

/* Tensors of two runs, which lay them out in different orders. */
static void same_weights(const tw_training_t *a, const tw_training_t *b)
{
    T_CHECK(a->hash == b->hash, "other weights");
    for (size_t i = 0; i < a->params.count; i++) {
        const tw_param_t *p = &a->params.param[i];
        const tw_param_t *q = tw_params_find(&b->params, p->layer, p->role);

        t_note("%s", p->name);
        T_CHECK(q != NULL && q->count == p->count, "it is not there");
        T_SAME(TW_F32, a->params.value + p->first, b->params.value + q->first, p->count);
    }
    T_SAME(TW_F32, a->params.state, b->params.state, a->params.states);
}

/* Twenty steps with momentum and decay, by RMSProp with limited rows as well. */
static void as_replicated(void)
{
    static const char *const updates[] = {"root", "sharded"};
    static const char *const schemes[] = {"data", "c", "c:split=2"};
    static const char *const codecs[]  = {"fp32", "weight=bitpack:4,grad=bitpack:4"};

    for (int s = 0; s < 3; s++) {
        tw_train_options_t options = options_of("replicated", schemes[s], "fp32", "");
        tw_training_t      whole, owned;

        if (!hybrid_fits(schemes[s])) {
            continue;
        }
        run(&whole, &options, MPI_COMM_WORLD);
        for (int k = 0; k < 4; k++) {
            t_within("%s, scheme %s, %s", updates[k % 2], schemes[s], codecs[k / 2]);
            options        = options_of(updates[k % 2], schemes[s], codecs[k / 2], "");
            options.bucket = 4096;
            run(&owned, &options, MPI_COMM_WORLD);
            T_CHECK(owned.step == 20, "%d steps", (int)owned.step);
            same_weights(&whole, &owned);
            tw_training_destroy(&owned);
        }
        tw_training_destroy(&whole);
    }
}

/* On several hosts with one rank or several each, and on hosts of unequal size: the same bits, as
 * sums are added by host, and in rank order on each. */
static void several_hosts(void)
{
    static const char *const updates[]  = {"root", "sharded"};
    static const char *const hosts[][2] = {
        {"NODE_RANKS=1", NULL}, {"NODE_RANKS=2", NULL}, {"NODE_RANKS=3", NULL}};
    tw_context_t *const before = t_ctx;

    for (int host = 0; host < 3; host++) {
        tw_train_options_t options = options_of("replicated", "data", "fp32", "");
        tw_training_t      whole, owned;

        t_settings_put(hosts[host]);
        t_ctx          = t_context();
        options.epochs = 2;
        run(&whole, &options, MPI_COMM_WORLD);
        for (int k = 0; k < 2; k++) {
            t_within("%s, %s", updates[k], hosts[host][0]);
            options        = options_of(updates[k], "data", "fp32", "");
            options.epochs = 2;
            options.bucket = 4096;
            run(&owned, &options, MPI_COMM_WORLD);
            same_weights(&whole, &owned);
            tw_training_destroy(&owned);
        }
        tw_training_destroy(&whole);
        tw_context_destroy(t_ctx);
        t_settings_take_out(hosts[host]);
    }
    t_ctx = before;
}

/* The rows of dense layers stay with one owner, which shortens them. */
static void rows_are_shortened(void)
{
    static const char *const updates[] = {"replicated", "root", "sharded"};
    tw_training_t            t[3];

    for (int k = 0; k < 3; k++) {
        tw_train_options_t options = options_of(updates[k], "data", "fp32", "");

        options.model  = "mlp";
        options.rate   = 0.05;
        options.epochs = 1;
        run(&t[k], &options, MPI_COMM_WORLD);
        if (k > 0) {
            t_within("%s", updates[k]);
            same_weights(&t[0], &t[k]);
            tw_training_destroy(&t[k]);
        }
    }
    T_CHECK(t[0].network.max_norm > 0.0, "rows have no limit");
    tw_training_destroy(&t[0]);
}

/* Each rank keeps a share of masters and momentum. */
static void memory(void)
{
    tw_train_options_t options = options_of("sharded", "data", "fp32", "");
    tw_training_t      t;
    tw_masters_facts_t facts;
    uint64_t           state;

    options.epochs = 1;
    run(&t, &options, MPI_COMM_WORLD);
    tw_masters_facts(t.masters, &facts);
    state = tw_report_state_bytes(&t);
    T_CHECK(t.params.moments == 0 && state == 4 * facts.own, "%d bytes of momentum", (int)state);
    T_CHECK(t_over_all(facts.own) == t.params.total && facts.elements == t.params.total,
            "not every weight has one owner");
    T_CHECK(facts.own <= t.params.total / (size_t)t_size + 64 * facts.groups,
            "this rank owns %zu of %zu", facts.own, t.params.total);
    tw_training_destroy(&t);
}

/* ---- AWP ----------------------------------------------------------------------------------- */

/* With a threshold that every rate is below, bits rise after 1 + interval steps: the first norm has
 * no rate, and after a raise the next is a first again. The weights of every rank are the same all
 * the time (a run compares them after every epoch). */
static void bits_rise(void)
{
    static const char *const updates[] = {"root", "sharded"};
    static const struct {
        const char *scheme, *codec;
        int         groups, bits;
        uint64_t    every;
        int         raises;
    } runs[] = {
        {"data", "weight=awp:T=1e9,interval=3", 5, 8, 4, 3},
        {"data", "weight=awp:T=1e9,interval=1,step=4,first=12,round,norm=packed", 5, 4, 2, 5},
        {"data", "weight=awp:T=1e9,interval=9,group=block", 5, 8, 10, 2},
        {"data", "weight=awp:T=-1e9,interval=1", 5, 8, 1, 0},
        {"data", "weight=awp:T=1e9,interval=3,grad=tree8", 5, 8, 4, 3},
        {"data", "weight=awp:T=1e9,interval=3,byte=bitpack:1", 5, 8, 4, 3},
        {"data", "weight=awp:T=1e9,interval=3,family=int", 5, 4, 4, 4},
        /* Dense layers have no owners, on one rank as on many. */
        {"c", "weight=awp:T=1e9,interval=3", 2, 8, 4, 3},
    };

    for (int k = 0; k < 2 * (int)(sizeof(runs) / sizeof(runs[0])); k++) {
        const int          r       = k / 2;
        tw_train_options_t options = options_of(updates[k % 2], runs[r].scheme, runs[r].codec, "");
        tw_masters_facts_t facts;
        tw_training_t      t;

        t_within("%s, %s", updates[k % 2], runs[r].codec);
        run(&t, &options, MPI_COMM_WORLD);
        tw_masters_facts(t.masters, &facts);
        T_CHECK(facts.groups == (size_t)runs[r].groups + 1, "%zu groups", facts.groups);
        T_CHECK(facts.changes == (size_t)(runs[r].raises * runs[r].groups), "%zu changes",
                facts.changes);
        for (size_t c = 0; c < facts.changes; c++) {
            const size_t raise = c / (size_t)runs[r].groups;
            const int    first = strstr(runs[r].codec, "first=12") != NULL ? 12 : 8;

            T_CHECK(facts.change[c].step == (raise + 1) * runs[r].every &&
                        facts.change[c].group == 1 + c % (size_t)runs[r].groups &&
                        facts.change[c].bits == first + (int)(raise + 1) * runs[r].bits,
                    "change %zu: group %zu has %d bits after step %d", c, facts.change[c].group,
                    facts.change[c].bits, (int)facts.change[c].step);
        }
        tw_training_destroy(&t);
    }
}

/* As long as there are 8 bits they are those of tree8, unless another codec was given; integers of
 * 9 bits are of 10. */
static void bits_that_stay(void)
{
    static const struct {
        const char *codec, *fixed, *spec;
        int         bits;
    } runs[] = {{"weight=awp:T=-1e9,interval=1", "weight=tree8", "tree8", 8},
                {"weight=awp:T=-1e9,interval=1,family=int,first=9", "weight=int:10", "int:10", 9},
                {"weight=awp:T=-1e9,interval=1,family=int,byte=bitpack:1", "weight=bitpack:1",
                 "bitpack:1", 8}};

    for (int k = 0; k < (int)(sizeof(runs) / sizeof(runs[0])); k++) {
        tw_train_options_t options = options_of("sharded", "data", runs[k].codec, "");
        tw_training_t      t, fixed;
        const char        *spec;
        size_t             elements;
        int                bits;

        t_within("%s", runs[k].codec);
        run(&t, &options, MPI_COMM_WORLD);
        tw_masters_group(t.masters, 1, &elements, &spec, &bits);
        T_CHECK(strncmp(spec, runs[k].spec, strlen(runs[k].spec)) == 0 && bits == runs[k].bits,
                "%d bits, %s", bits, spec);
        options = options_of("sharded", "data", runs[k].fixed, "");
        run(&fixed, &options, MPI_COMM_WORLD);
        same_weights(&t, &fixed);
        tw_training_destroy(&fixed);
        tw_training_destroy(&t);
    }
}

/* ---- stop and go on ------------------------------------------------------------------------ */

/* Changes of bits, those before a checkpoint included. */
static void same_changes(const tw_training_t *a, const tw_training_t *b)
{
    tw_masters_facts_t of_a, of_b;

    if (a->masters == NULL || b->masters == NULL) {
        return;
    }
    tw_masters_facts(a->masters, &of_a);
    tw_masters_facts(b->masters, &of_b);
    T_CHECK(of_a.changes == of_b.changes, "%zu changes, not %zu", of_a.changes, of_b.changes);
    for (size_t c = 0; c < of_a.changes; c++) {
        T_CHECK(of_a.change[c].step == of_b.change[c].step &&
                    of_a.change[c].group == of_b.change[c].group &&
                    of_a.change[c].bits == of_b.change[c].bits,
                "change %zu is another", c);
    }
}

static void stop_and_go(const char *first, const char *second, const char *codec, const char *then,
                        const tw_training_t *straight)
{
    tw_train_options_t options = options_of(first, "data", codec, "");
    tw_training_t      t;

    options.checkpoint = checkpoint;
    options.eval_every = 3;
    options.steps      = 6;
    run(&t, &options, MPI_COMM_WORLD);
    tw_training_destroy(&t);
    options            = options_of(second, "data", then, "");
    options.checkpoint = checkpoint;
    options.eval_every = 3;
    options.resume     = 1;
    run(&t, &options, MPI_COMM_WORLD);
    same_weights(&t, straight);
    same_changes(&t, straight);
    tw_training_destroy(&t);
}

static void resumed_runs_end_the_same(void)
{
    static const struct {
        const char *first, *second, *codec, *then;
    } runs[] = {
        {"sharded", "sharded", "weight=awp:T=1e9,interval=4,grad=onebit", NULL},
        {"root", "root", "weight=awp:T=1e9,interval=4,family=int,grad=tree8", NULL},
        {"replicated", "sharded", "fp32", NULL},
        {"sharded", "root", "fp32", NULL},
        {"root", "replicated", "fp32", NULL},
        {"sharded", "root", "weight=awp:T=1e9,interval=4", NULL},
    };

    for (size_t k = 0; k < sizeof(runs) / sizeof(runs[0]); k++) {
        tw_train_options_t options = options_of(runs[k].first, "data", runs[k].codec, "");
        tw_training_t      straight;

        t_within("%s, then %s, %s", runs[k].first, runs[k].second, runs[k].codec);
        options.eval_every = 3;
        run(&straight, &options, MPI_COMM_WORLD);
        stop_and_go(runs[k].first, runs[k].second, runs[k].codec, runs[k].codec, &straight);
        tw_training_destroy(&straight);
    }
}

/* With split layers too: the groups are the same ones. */
static void one_rank_begins(void)
{
    tw_train_options_t options = options_of("sharded", "c", "weight=awp:T=1e9,interval=4", "");
    tw_masters_facts_t facts;
    tw_training_t      t;
    MPI_Comm           alone;

    options.checkpoint = checkpoint;
    options.epochs     = 2;
    MPI_Comm_split(MPI_COMM_WORLD, t_rank == 0 ? 0 : MPI_UNDEFINED, 0, &alone);
    if (t_rank == 0) {
        run(&t, &options, alone);
        tw_training_destroy(&t);
        MPI_Comm_free(&alone);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    options.epochs = 5;
    options.resume = 1;
    run(&t, &options, MPI_COMM_WORLD);
    tw_masters_facts(t.masters, &facts);
    T_CHECK(t.step == 20 && facts.change[facts.changes - 1].bits == 32, "%d steps, %d bits",
            (int)t.step, facts.change[facts.changes - 1].bits);
    tw_training_destroy(&t);
}

/* A file of weights in other bytes than the run's. */
static void others_are_refused(void)
{
    tw_train_options_t options = options_of("sharded", "data", "weight=bitpack:2", "");
    tw_training_t      t;

    options.checkpoint = checkpoint;
    options.epochs     = 1;
    run(&t, &options, MPI_COMM_WORLD);
    tw_training_destroy(&t);
    options            = options_of("sharded", "data", "weight=awp", "");
    options.checkpoint = checkpoint;
    options.resume     = 1;
    expect_refusal(&options, "is of weights that travel in bitpack:2, this run of awp:T=0.0001");
    options            = options_of("replicated", "data", "fp32", "");
    options.checkpoint = checkpoint;
    options.resume     = 1;
    expect_refusal(&options, "is of weights that travel in bitpack:2, this run of fp32");
}

static const t_case_t cases[] = {
    {"as replicated", as_replicated, 1},
    {"several hosts", several_hosts, 1},
    {"rows are shortened", rows_are_shortened, 1},
    {"memory", memory, 1},
    {"bits rise", bits_rise, 1},
    {"bits that stay", bits_that_stay, 1},
    {"resumed runs end the same", resumed_runs_end_the_same, 1},
    {"one rank begins", one_rank_begins, 1},
    {"others are refused", others_are_refused, 1},
};

T_MAIN(cases)
