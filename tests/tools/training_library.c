/* SPDX-License-Identifier: BSD-3-Clause
 * tests/tools/training_library.c - thinwire scale's step of a training against the library's
 * own passes and buckets, and its owners of weights.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <thinwire/model.h>
#include <thinwire/weights.h>

#include "runtime/scheduler/buckets.h"
#include "runtime/scheduler/hybrid.h"
#include "tests/tools/training_rig.h"

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
    tw_buckets_t            library = {.part = part, .bucket = bucket, .element = sizeof(*memory)};
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
/* What travels of the first owner, in whole blocks of the weights' codec. */
static void first_share(const exchange_t *x, const tw_facts_t *facts, int root)
{
    const step_case_t how   = {.facts = facts, .spec = "fp32", .share = 1.0};
    const size_t      block = x->codec != NULL ? tw_facts_codec(facts, x->codec, TW_F32)->block : 1;
    tw_problem_t      problem = {.set = 0};
    step_exchange_t   found;

    ck_assert(step_exchange(x, &how, &found, &problem) == 0);
    NEAR(found.count,
         (double)tw_weights_owned(root ? TW_WEIGHTS_ROOT : TW_WEIGHTS_SHARDED, (size_t)x->count,
                                  block > 64 ? block : 64, 0, facts->ranks, NULL));
}

START_TEST(owners_get_and_send_all)
{
    test_random_t    random = {test_seed()};
    drawn_training_t k;

    for (int run = 0; run < RUNS; run++) {
        const int    scheme = test_below(&random, 5), ranks = 2 + test_below(&random, 40);
        const int    root  = test_below(&random, 2);
        double       there = 0.0, back = 0.0;
        const double loss  = 2.0;
        tw_facts_t   facts = alone_on_nodes(ranks);
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
            } else if (strcmp(one->class, "weight") == 0 || strncmp(one->name, "biases", 6) == 0) {
                ck_assert_int_eq(one->operation,
                                 root ? TW_OPERATION_BCAST : TW_OPERATION_ALLGATHER);
                ck_assert_int_eq(one->plain, one->codec == NULL);
                ck_assert(one->codec == NULL || strcmp(one->codec, "tree8") == 0 ||
                          strcmp(one->codec, "fp32") == 0);
                back += one->count;
                first_share(one, &facts, root);
            } else if (one->operation == TW_OPERATION_ALLREDUCE) {
                NEAR(one->count, loss);
            }
        }
        NEAR(there, parameters_of(&k.work, layers));
        NEAR(back, there);
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
    const double own   = ceil(x->count / ranks); /* of the first, as predicted for all */
    double       times = 0.0;

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
        return strcmp(algorithm, "direct") == 0 ? ranks - 1.0
                                                : 1.0 + (ranks - 2.0) * own / x->count;
    }
}

/* The busiest rank is that with the largest sum, not the sum of the largest. */
START_TEST(the_busiest_rank_of_a_root)
{
    test_random_t    random = {test_seed()};
    drawn_training_t k;

    for (int run = 0; run < RUNS; run++) {
        const int         ranks = 2 + test_below(&random, 13); /* no grid */
        tw_facts_t        facts = alone_on_nodes(ranks);
        const step_case_t how = {.facts = &facts, .spec = "fp32", .weights = "tree8", .share = 1.0};
        double            sent[RANKS] = {0.0}, most = 0.0;
        step_time_t       time;
        workload_t        step;
        tw_problem_t      problem = {.set = 0};

        facts.between.latency = test_below(&random, 2) ? 1e-7 : 1e-2;
        draw_owned(&k, &random, TW_WEIGHTS_ROOT);
        k.work.training.norms = 0;
        make_step(&k.work, "data", ranks, 40.0, 0, &step);
        for (size_t x = 0; x < step.exchanges; x++) {
            step_exchange_t found;

            ck_assert(step_exchange(&step.exchange[x], &how, &found, &problem) == 0);
            for (int r = 0; r < ranks; r++) {
                sent[r] += vectors_of(&step.exchange[x], found.prediction.algorithm, r, ranks) *
                           found.count * found.codec->bytes;
            }
        }
        for (int r = 0; r < ranks; r++) {
            most = fmax(most, sent[r]);
        }
        ck_assert_msg(step_time(&step, &how, &time, &problem) == 0, "%s", problem.text);
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
        char              text[TEXT] = "";
        tw_problem_t      problem    = {.set = 0};
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
        ck_assert_msg(read_text(&again, text, &problem) == 0, "%s: %s", problem.text, text);
        ck_assert(a->owners == b->owners && a->norms == b->norms && a->blocks == b->blocks &&
                  a->layers == b->layers);
        for (size_t l = 0; l < a->layers; l++) {
            ck_assert_str_eq(a->layer[l].copy, b->layer[l].copy);
        }
        workload_free(&again);
    }
}
END_TEST

void add_library(Suite *suite)
{
    TCase *tcase = test_case_within(suite, "the library", 60);

    tcase_add_test(tcase, passes_are_those_of_the_library);
    tcase_add_test(tcase, buckets_are_those_of_the_library);
}

void add_owners(Suite *suite)
{
    TCase *tcase = test_case_within(suite, "owners", 60);

    tcase_add_test(tcase, owners_get_and_send_all);
    tcase_add_test(tcase, copies_travel_into_the_next_step);
    tcase_add_test(tcase, the_busiest_rank_of_a_root);
    tcase_add_test(tcase, owners_are_written);
}
