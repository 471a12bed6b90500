/* SPDX-License-Identifier: BSD-3-Clause
 * tests/train/test_params.c - layout, first values, hashes and pieces of the parameters.
 */
#include "config.h"

#include <check.h>
#include <math.h>

#include "tests/suite.h"
#include "tests/train/on_backend.h"
#include "tests/train/small_net.h"
#include "train/model/params.h"

static void load(tw_network_t *net, const char *name)
{
    tw_problem_t problem = {.set = 0};

    ck_assert_msg(tw_network_load(net, name, &problem) == 0, "%s", problem.text);
}

static void create(tw_params_t *params, const tw_network_t *net, int rank, int ranks, int split)
{
    tw_problem_t problem = {.set = 0};

    ck_assert_msg(
        tw_params_create(params, net, on_backend(NULL, 1), rank, ranks, split, &problem) == 0, "%s",
        problem.text);
}

static void destroy(tw_params_t *params)
{
    tw_backend_t *backend = params->backend;

    tw_params_destroy(params);
    tw_backend_destroy(backend);
}

static void draw_values(tw_params_t *params, const tw_network_t *net, uint64_t seed)
{
    tw_problem_t problem = {.set = 0};

    ck_assert_msg(tw_params_init(params, net, seed, &problem) == 0, "%s", problem.text);
}

/* A copy for the host, to be freed. */
static float *read(const tw_params_t *params, const float *from, size_t n)
{
    tw_problem_t problem = {.set = 0};
    float       *host    = malloc((n + 1) * sizeof(*host));

    ck_assert_msg(tw_params_get(params, host, from, n, &problem) == 0, "%s", problem.text);
    return host;
}

static void write_one(const tw_params_t *params, size_t at, float value)
{
    tw_problem_t problem = {.set = 0};

    ck_assert_msg(tw_params_put(params, params->value + at, &value, 1, &problem) == 0, "%s",
                  problem.text);
}

static uint64_t hash(const tw_params_t *params, size_t layer, int *finite)
{
    tw_problem_t problem = {.set = 0};
    uint64_t     h       = 0;

    ck_assert_msg(tw_params_hash(params, layer, 0, &h, finite, &problem) == 0, "%s", problem.text);
    return h;
}

START_TEST(shares_follow_each_other)
{
    for (int ranks = 1; ranks < 9; ranks++) {
        for (size_t units = 0; units < 20; units++) {
            size_t next = 0, first, most = units, n;

            for (int r = 0; r < ranks; r++, next += n) {
                n = tw_params_share(units, r, ranks, &first);
                ck_assert_uint_eq(first, next);
                ck_assert_uint_le(n, most); /* the first ranks take the remainder */
                ck_assert_uint_ge(n, units / (size_t)ranks);
                ck_assert_uint_le(n, units / (size_t)ranks + 1);
                most = n;
            }
            ck_assert_uint_eq(next, units);
        }
    }
}
END_TEST

/* Where a tensor begins: behind the one before it, but for what does not travel with that. */
static size_t begins(size_t at, int aligned)
{
    return aligned ? (at + TW_PARAMS_ALIGN - 1) / TW_PARAMS_ALIGN * TW_PARAMS_ALIGN : at;
}

/* Tensors lie one after another, layer by layer, and those all ranks hold come first. */
static void check_layout(const tw_params_t *params, const tw_network_t *net)
{
    size_t at = 0, layer = 0;

    for (size_t i = 0; i < params->count; i++) {
        const tw_param_t *p = &params->param[i];

        at = begins(at, p->split);
        ck_assert_uint_eq(p->first, at);
        ck_assert_uint_ge(p->layer, layer);
        ck_assert_uint_eq(p->count, p->units * p->per_unit);
        ck_assert_int_eq(p->split, p->first >= params->replicated);
        ck_assert_uint_le(p->units_first + p->units, p->units_all);
        ck_assert_ptr_eq(tw_params_find(params, p->layer, p->role), p);
        ck_assert(p->units_all * p->per_unit == tw_network_weights(net, p->layer) ||
                  p->units_all * p->per_unit == tw_network_biases(net, p->layer));
        layer = p->layer;
        at += p->count;
    }
    ck_assert_uint_eq(at, params->total);
    ck_assert_uint_eq((uintptr_t)params->value % 64, 0);
    ck_assert_uint_eq((uintptr_t)params->gradient % 64, 0);
    ck_assert_uint_eq((uintptr_t)params->momentum % 64, 0);
}

START_TEST(layout_is_dense)
{
    tw_network_t net;
    tw_params_t  params;
    float       *state;

    small_net_read(&net, small_net_text);
    for (int rank = 0; rank < 8; rank++) { /* more ranks than units in a layer */
        size_t first;

        create(&params, &net, rank, 8, 1);
        check_layout(&params, &net);
        ck_assert_uint_eq(tw_params_find(&params, net.layers - 1, TW_BIAS)->units,
                          tw_params_share(5, rank, 8, &first));
        destroy(&params);
        create(&params, &net, rank, 8, 0);
        check_layout(&params, &net);
        ck_assert_uint_eq(params.total, tw_network_parameters(&net));
        ck_assert_uint_eq(params.replicated, params.total);
        destroy(&params);
    }
    create(&params, &net, 0, 1, 1);
    ck_assert_uint_eq(params.replicated, params.total);
    ck_assert_uint_eq(params.norms, 8);
    ck_assert_uint_eq(params.states, 2 * (3 * 8 + 2 * 12 + 3 * 10));
    ck_assert_ptr_null(tw_params_find(&params, 1, TW_WEIGHT));
    ck_assert_ptr_null(tw_params_state(&params, 0));
    ck_assert_ptr_eq(tw_params_state(&params, 4), params.state);
    state = read(&params, params.state, params.states);
    ck_assert_float_eq(state[0], 0.0f);
    ck_assert_float_eq(state[8], 1.0f);
    free(state);
    destroy(&params);
    tw_network_destroy(&net);
}
END_TEST

START_TEST(shards_are_pieces_of_the_whole)
{
    const int    ranks = _i;
    tw_network_t net;
    tw_params_t  whole, shard;
    float       *all_values, *values;

    small_net_read(&net, small_net_text);
    create(&whole, &net, 0, 1, 1);
    draw_values(&whole, &net, 99);
    all_values = read(&whole, whole.value, whole.total);
    for (int rank = 0; rank < ranks; rank++) {
        create(&shard, &net, rank, ranks, 1);
        draw_values(&shard, &net, 99);
        values = read(&shard, shard.value, shard.total);
        for (size_t i = 0; i < shard.count; i++) {
            const tw_param_t *p = &shard.param[i], *all = &whole.param[i];

            ck_assert_str_eq(p->name, all->name);
            ck_assert_int_eq(memcmp(values + p->first,
                                    all_values + all->first + p->units_first * p->per_unit,
                                    p->count * sizeof(float)),
                             0);
        }
        free(values);
        destroy(&shard);
    }
    free(all_values);
    destroy(&whole);
    tw_network_destroy(&net);
}
END_TEST

/* -------------------------------------------------------------------------- first values */

enum { WIDE = 400, HIGH = 500 };

static const char wide_text[] =
    "name = \"wide\"; classes = 400; input = { channels = 500; height = 1; width = 1; };\n"
    "layers = ( { type = \"dense\"; name = \"fc\"; init = \"%s\"; bias_init = \"constant:0.25\"; } "
    ");";

typedef struct shape {
    double mean, deviation, most, beyond; /* beyond: share farther than one deviation */
} shape_t;

static shape_t draw(const char *init)
{
    char         text[400];
    tw_network_t net;
    tw_params_t  params;
    float       *value;
    shape_t      s = {0};

    snprintf(text, sizeof(text), wide_text, init);
    small_net_read(&net, text);
    create(&params, &net, 0, 1, 0);
    draw_values(&params, &net, 3);
    value = read(&params, params.value, params.total);
    for (size_t i = 0; i < WIDE * HIGH; i++) {
        s.mean += value[i] / (WIDE * HIGH);
        s.deviation += value[i] * value[i] / (WIDE * HIGH);
        s.most = fmax(s.most, fabsf(value[i]));
    }
    s.deviation = sqrt(s.deviation);
    for (size_t i = 0; i < WIDE * HIGH; i++) {
        s.beyond += (fabsf(value[i]) > s.deviation) / (double)(WIDE * HIGH);
    }
    ck_assert_float_eq(value[WIDE * HIGH], 0.25f);
    ck_assert_float_eq(value[WIDE * HIGH + WIDE - 1], 0.25f);
    free(value);
    destroy(&params);
    tw_network_destroy(&net);
    return s;
}

/* Bounds are about six standard errors of 200,000 draws. */
START_TEST(first_values_have_their_distribution)
{
    shape_t s = draw("gaussian:0.01");

    ck_assert_double_le(fabs(s.mean), 1.4e-4);
    ck_assert_double_eq_tol(s.deviation, 0.01, 1e-4);
    ck_assert_double_eq_tol(s.beyond, 0.31731, 0.0065);
    ck_assert_double_ge(s.most, 0.04);
    s = draw("truncated:0.01");
    ck_assert_double_le(s.most, 0.02);
    ck_assert_double_ge(s.most, 0.0199);
    ck_assert_double_eq_tol(s.deviation, 0.0087963, 1e-4);
    s = draw("he");
    ck_assert_double_eq_tol(s.deviation, sqrt(2.0 / HIGH), 6e-4);
    s = draw("glorot");
    ck_assert_double_le(s.most, sqrt(6.0 / (HIGH + WIDE)));
    ck_assert_double_eq_tol(s.deviation, sqrt(2.0 / (HIGH + WIDE)), 3e-4);
    s = draw("zero");
    ck_assert_double_eq(s.most, 0.0);
}
END_TEST

/* 8 channels into each unit of a group, and 16 that a number goes into. */
START_TEST(groups_have_their_own_fans)
{
    static const char text[] =
        "name = \"grouped\"; classes = 2; input = { channels = 32; height = 3; width = 3; };\n"
        "layers = ( { type = \"conv\"; channels = 64; kernel = 3; groups = 4; },\n"
        "           { type = \"dense\"; } );\n";
    const float  limit = sqrtf(6.0f / (9 * (8 + 16)));
    float        most  = 0.0f;
    tw_network_t net;
    tw_params_t  params;
    float       *value;

    small_net_read(&net, text);
    ck_assert_uint_eq(tw_network_weights(&net, 0), 64 * 8 * 9);
    ck_assert_uint_eq(tw_network_operations(&net, 0), 64 * 8 * 9);
    create(&params, &net, 0, 1, 0);
    draw_values(&params, &net, 3);
    value = read(&params, params.value, params.total);
    for (size_t i = 0; i < 64 * 8 * 9; i++) {
        most = fmaxf(most, fabsf(value[i]));
    }
    ck_assert_float_le(most, limit);
    ck_assert_float_ge(most, 0.99f * limit);
    free(value);
    destroy(&params);
    tw_network_destroy(&net);
}
END_TEST

/* A layer split by input begins as the same one split by output: its weights are turned, and a rank
 * has those of its inputs. */
START_TEST(first_values_do_not_depend_on_the_split)
{
    enum { IN = 300, UNITS = 400, RANKS = 3 };
    static const char text[] =
        "name = \"x\"; classes = 400; input = { channels = 1; height = 2; width "
        "= 2; };\nlayers = ( { type = \"dense\"; units = 300; },\n"
        "           { type = \"dense\"; init = \"gaussian:1\"; %s } );\n";
    float            *value[1 + RANKS];
    const tw_param_t *p[1 + RANKS];
    tw_params_t       params[1 + RANKS];
    tw_network_t      net[2];

    for (int k = 0; k < 2; k++) {
        char made[sizeof(text) + 32];

        snprintf(made, sizeof(made), text, k == 1 ? "split = \"input\";" : "");
        small_net_read(&net[k], made);
    }
    for (int k = 0; k < 1 + RANKS; k++) {
        create(&params[k], &net[k > 0], k > 0 ? k - 1 : 0, k > 0 ? RANKS : 1, TW_PARAMS_SPLIT);
        draw_values(&params[k], &net[k > 0], 7);
        p[k]     = tw_params_find(&params[k], 1, TW_WEIGHT);
        value[k] = read(&params[k], params[k].value + p[k]->first, p[k]->count);
    }
    for (size_t i = 0, k = 1; i < IN; i++) {
        k += i == p[k]->units_first + p[k]->units;
        for (size_t u = 0; u < UNITS; u++) {
            ck_assert_float_eq(value[k][(i - p[k]->units_first) * UNITS + u], value[0][u * IN + i]);
        }
    }
    for (int k = 0; k < 1 + RANKS; k++) {
        free(value[k]);
        destroy(&params[k]);
    }
    tw_network_destroy(&net[0]);
    tw_network_destroy(&net[1]);
}
END_TEST

/* The values of a seed stay what they are, on every machine: runs can be repeated. */
START_TEST(first_values_are_known)
{
    tw_network_t net;
    tw_params_t  params;
    int          finite;

    small_net_read(&net, small_net_text);
    create(&params, &net, 0, 1, 0);
    draw_values(&params, &net, 1);
    ck_assert_uint_eq(hash(&params, 0, &finite), UINT64_C(4886913109927219096));
    ck_assert_uint_eq(hash(&params, net.layers - 1, &finite), UINT64_C(4859524435784050480));
    destroy(&params);
    tw_network_destroy(&net);
}
END_TEST

START_TEST(hashes_see_every_bit)
{
    tw_network_t net;
    tw_params_t  params;
    uint64_t     before[2];
    float       *value;
    int          finite;
    size_t       last;

    small_net_read(&net, small_net_text);
    create(&params, &net, 1, 2, 1);
    draw_values(&params, &net, 1);
    last      = net.layers - 1;
    before[0] = hash(&params, 0, &finite);
    before[1] = hash(&params, last, &finite);
    value     = read(&params, params.value, params.total);
    write_one(&params, 161, nextafterf(value[161], 1.0f));
    /* Of the split layer: this rank's own. */
    write_one(&params, params.total - 1, value[params.total - 1] + 1.0f);
    free(value);
    ck_assert(hash(&params, 0, &finite) != before[0]);
    ck_assert_int_eq(finite, 1);
    ck_assert_uint_eq(hash(&params, last, &finite), before[1]);
    ck_assert_int_eq(finite, 1);
    write_one(&params, params.total - 1, NAN);
    hash(&params, last, &finite);
    ck_assert_int_eq(finite, 0);
    write_one(&params, 167, INFINITY); /* a bias */
    hash(&params, 0, &finite);
    ck_assert_int_eq(finite, 0);
    destroy(&params);
    tw_network_destroy(&net);
}
END_TEST

/* For tensor cores: all weights of known models, 16 bytes. What has no owners stays where it
 * was. */
static void check_alignment(const tw_params_t *params, int layout)
{
    size_t at = 0;

    for (size_t i = 0; i < params->count; i++) {
        const tw_param_t *p = &params->param[i];

        ck_assert_msg(p->role != TW_WEIGHT || p->first % 4 == 0, "%s at %zu, layout %d", p->name,
                      p->first, layout);
        ck_assert_uint_ge(p->first, at);
        ck_assert_uint_lt(p->first - at, TW_PARAMS_ALIGN);
        at = p->first + p->count;
    }
    ck_assert_uint_eq(at, params->total);
}

/* The models of the zoo have the parameters that the network counts. */
START_TEST(builtin_models_have_a_layout)
{
    const char  *name = tw_network_builtin((size_t)_i);
    tw_network_t net;
    tw_params_t  params;
    size_t       total = 0;

    load(&net, name);
    for (int rank = 0; rank < 3 && tw_network_parameters(&net) < 3000000; rank++) {
        create(&params, &net, rank, 3, 1);
        check_layout(&params, &net);
        for (size_t i = 0; i < params.count; i++) {
            total += params.param[i].split || rank == 0 ? params.param[i].count : 0;
        }
        destroy(&params);
        for (int layout = 0; layout < 4; layout++) {
            create(&params, &net, rank, 3, layout);
            check_alignment(&params, layout);
            destroy(&params);
        }
    }
    ck_assert(total == 0 || total == tw_network_parameters(&net));
    tw_network_destroy(&net);
}
END_TEST

int main(void)
{
    Suite *suite  = suite_create("train/params");
    TCase *tcase  = tcase_create("all");
    int    models = 0;

    while (tw_network_builtin((size_t)models) != NULL) {
        models++;
    }
    tcase_add_test(tcase, shares_follow_each_other);
    tcase_add_test(tcase, layout_is_dense);
    tcase_add_loop_test(tcase, shards_are_pieces_of_the_whole, 1, 10);
    tcase_add_test(tcase, first_values_have_their_distribution);
    tcase_add_test(tcase, groups_have_their_own_fans);
    tcase_add_test(tcase, first_values_do_not_depend_on_the_split);
    tcase_add_test(tcase, first_values_are_known);
    tcase_add_test(tcase, hashes_see_every_bit);
    tcase_add_loop_test(tcase, builtin_models_have_a_layout, 0, models);
    suite_add_tcase(suite, tcase);
    return test_main(suite);
}
