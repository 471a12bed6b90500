/* SPDX-License-Identifier: BSD-3-Clause
 * tests/train/test_trunk.c - the trunk on a backend against the oracle, the order of hooks, and the
 * search for Inf and NaN.
 */
#include "config.h"

#include <check.h>

#include "tests/suite.h"
#include "tests/train/trunk_rig.h"

static const char dense_text[] =
    "name = \"dense\"; classes = 5; input = { channels = 2; height = 3; width = 4; };\n"
    "layers = ( { type = \"dropout\"; rate = 0.2; }, { type = \"dense\"; units = 6; },\n"
    "           { type = \"dense\"; } );\n";

static const char *const texts[] = {
    small_net_text,
#ifndef TW_ON_STANDIN
    branches_net_text,
#endif
};

START_TEST(trunk_agrees_with_the_oracle)
{
    const ref_how_t evaluation = {.training = 0, .scale = 1.0};
    tw_network_t    net;
    examples_t      e;
    oracle_t        o;
    rig_t           rig;
    const char     *name;
    double          off;

    small_net_read(&net, texts[_i]);
    e = examples_make(&net, 7, 2);
    oracle_make(&o, &net, &e);
    rig_make(&rig, &net, NULL);
    ck_assert_uint_eq(tw_trunk_features(rig.trunk), o.features);
    ck_assert_double_le(apart(forward(&rig, &e, 0, 7, 1), o.want, 7 * o.features), 2e-6);
    for (int i = 0; i < 2; i++) { /* gradients are overwritten */
        backward(&rig, &e, 0, 7, o.gfeatures);
        off = gradients_apart(&net, rig.params.gradient, &o, &name);
        ck_assert_msg(off < 2e-5, "%s: off by %g", name, off);
        forward(&rig, &e, 0, 7, 1);
    }
    rig_free(&rig);
    rig_make(&rig, &net, NULL);
    forward(&rig, &e, 0, 7, 1);
    ck_assert_double_le(apart(rig.params.state, o.ref.state, rig.params.states), 2e-6);
    ref_net_forward(&o.ref, &o.part, 1, &evaluation);
    ck_assert_double_le(apart(forward(&rig, &e, 0, 7, 0), o.want, 7 * o.features), 2e-6);
    rig_free(&rig);
    oracle_free(&o);
    examples_free(&e);
    tw_network_destroy(&net);
}
END_TEST

/* The norm of the difference of gradients, relative to that of `a`. */
static double gradients_differ(const float *a, const float *b, size_t n)
{
    double sum = 0.0, of = 0.0;

    for (size_t i = 0; i < n; i++) {
        sum += pow((double)a[i] - (double)b[i], 2.0);
        of += pow((double)a[i], 2.0);
    }
    return sqrt(sum / of);
}

/* What becomes of outputs between the passes: kept, computed again, or stored. */
enum { KEPT, AGAIN, LOSSLESS, HALVES, WAYS };

static void set_way(rig_t *rig, int way, tw_codec_t *const *codec)
{
    tw_trunk_set_recompute(rig->trunk, way == AGAIN);
    tw_trunk_set_storage(rig->trunk, codec[way]);
}

/* Outputs that are computed again, or stored in full: the same features and gradients, the first in
 * less memory; stored as bf16, gradients near those, which they are not, in less memory too. */
START_TEST(outputs_need_not_be_kept)
{
    tw_context_t *ctx;
    tw_codec_t   *codec[WAYS] = {NULL};
    tw_network_t  net;
    examples_t    e;
    rig_t         rig[WAYS];
    float        *ones;
    size_t        used[WAYS];
    double        off;
    tw_problem_t  problem = {.set = 0};

    must(tw_context_create(&ctx) == TW_OK, "no context");
    must(tw_codec_create(ctx, "fp32", TW_F32, &codec[LOSSLESS], NULL, 0) == TW_OK, "no codec");
    must(tw_codec_create(ctx, "bf16", TW_F32, &codec[HALVES], NULL, 0) == TW_OK, "no codec");
    if (_i > 0) {
        small_net_read(&net, texts[_i - 1]);
    } else {
        ck_assert_msg(tw_network_load(&net, "resnet-20", &problem) == 0, "%s", problem.text);
    }
    e = examples_make(&net, 4, 6);
    for (int k = 0; k < WAYS; k++) {
        rig_make(&rig[k], &net, NULL);
        set_way(&rig[k], k, codec);
        ones = calloc(4 * tw_trunk_features(rig[k].trunk), sizeof(*ones));
        for (size_t i = 0; i < 4 * tw_trunk_features(rig[k].trunk); i++) {
            ones[i] = (float)(i % 7) - 3.0f;
        }
        for (int pass = 0; pass < 2; pass++) {
            forward(&rig[k], &e, 0, 4, 1);
            backward(&rig[k], &e, 0, 4, ones);
        }
        used[k] = tw_backend_memory_used(rig[k].backend);
        free(ones);
    }
    for (int k = 1; k < WAYS; k++) {
        ck_assert_mem_eq(rig[0].got, rig[k].got,
                         4 * tw_trunk_features(rig[0].trunk) * sizeof(float));
        ck_assert_mem_eq(rig[0].params.state, rig[k].params.state,
                         rig[0].params.states * sizeof(float));
        off = gradients_differ(rig[0].params.gradient, rig[k].params.gradient, rig[0].params.total);
        ck_assert_msg(k == HALVES ? off < 0.1 : off == 0.0, "way %d: off by %g", k, off);
        ck_assert_msg(k != HALVES || _i > 0 || off > 1e-5, "nothing was rounded");
    }
    ck_assert_msg(_i > 0 || 4 * used[AGAIN] < 3 * used[0], "%zu of %zu bytes", used[AGAIN],
                  used[0]);
    ck_assert_msg(_i > 0 || 20 * used[HALVES] < 19 * used[0], "%zu of %zu bytes", used[HALVES],
                  used[0]);
    for (int k = 0; k < WAYS; k++) {
        rig_free(&rig[k]);
        tw_codec_destroy(codec[k]);
    }
    tw_context_destroy(ctx);
    examples_free(&e);
    tw_network_destroy(&net);
}
END_TEST

/* Evaluation of the same examples in graphs of other sizes, some of them made anew. */
START_TEST(numbers_of_examples_may_change)
{
    static const size_t sizes[] = {4, 2, 3, 4, 1, 0, 2, 4};
    tw_network_t        net;
    examples_t          e;
    rig_t               rig;
    double             *want;
    size_t              f;

    small_net_read(&net, small_net_text);
    e = examples_make(&net, 4, 6);
    rig_make(&rig, &net, NULL);
    f    = tw_trunk_features(rig.trunk);
    want = calloc(4 * f, sizeof(double));
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        const float *got = forward(&rig, &e, 0, sizes[i], 0);

        for (size_t k = 0; i == 0 && k < 4 * f; k++) {
            want[k] = got[k];
        }
        ck_assert_double_le(apart(got, want, sizes[i] * f), 1e-6);
    }
    free(want);
    rig_free(&rig);
    examples_free(&e);
    tw_network_destroy(&net);
}
END_TEST

START_TEST(dense_networks_have_no_trunk)
{
    tw_network_t net;
    examples_t   e;
    rig_t        rig;
    tw_problem_t problem = {.set = 0};

    small_net_read(&net, dense_text);
    e = examples_make(&net, 3, 1);
    rig_make(&rig, &net, NULL);
    ck_assert_uint_eq(tw_trunk_features(rig.trunk), 24);
    forward(&rig, &e, 0, 3, 1);
    ck_assert_ptr_eq(rig.features, tw_trunk_input(rig.trunk, 3, &problem));
    ck_assert_mem_eq(forward(&rig, &e, 1, 2, 1), e.images + 24, 48 * sizeof(float));
    backward(&rig, &e, 1, 2, e.images);
    ck_assert_ptr_nonnull(forward(&rig, &e, 0, 0, 1));
    rig_free(&rig);
    examples_free(&e);
    tw_network_destroy(&net);
}
END_TEST

/* -------------------------------------------------------------------------- order of hooks */

typedef struct log {
    const rig_t *rig;
    size_t       last, calls;
    int          stop; /* the call of moments that fails, from 1 */
} log_t;

/* Falling order, and what is final is written: the test fills gradients with NaN first. */
static void log_ready(void *user, size_t layer)
{
    log_t *log = user;

    ck_assert_uint_lt(layer, log->last);
    log->last = layer;
    log->calls++;
    for (size_t i = 0; i < log->rig->params.count; i++) {
        const tw_param_t *p = &log->rig->params.param[i];

        if (p->layer == layer) {
            rig_get(log->rig, log->rig->params.gradient + p->first,
                    log->rig->on.gradient + p->first, p->count);
        }
        for (size_t k = 0; p->layer == layer && k < p->count; k++) {
            ck_assert_msg(isfinite(log->rig->params.gradient[p->first + k]), "%s", p->name);
        }
    }
}

static int log_moments(void *user, double *const *moments, const size_t *channels, size_t layers)
{
    log_t *log = user;

    (void)moments, (void)channels, (void)layers;
    return log->stop > 0 && --log->stop == 0 ? -1 : 0;
}

START_TEST(layers_are_ready_in_falling_order)
{
    const size_t     n      = _i == 0 ? 3 : 0;
    log_t            log    = {.last = SIZE_MAX};
    tw_trunk_hooks_t hooks  = {.user = &log, .ready = log_ready};
    size_t           layers = 0;
    tw_network_t     net;
    examples_t       e;
    oracle_t         o;
    rig_t            rig;

    small_net_read(&net, small_net_text);
    e = examples_make(&net, 3, 2);
    oracle_make(&o, &net, &e);
    rig_make(&rig, &net, &hooks);
    log.rig = &rig;
    memset(rig.params.gradient, 0xff, rig.params.total * sizeof(float));
    forward(&rig, &e, 0, n, 1);
    backward(&rig, &e, 0, n, o.gfeatures);
    for (size_t l = 0; l < net.first_dense; l++) {
        layers += tw_network_weights(&net, l) > 0;
    }
    ck_assert_uint_eq(log.calls, layers);
    ck_assert_uint_eq(log.last, 0);
    rig_free(&rig);
    oracle_free(&o);
    examples_free(&e);
    tw_network_destroy(&net);
}
END_TEST

START_TEST(a_hook_stops_the_pass)
{
    log_t            log     = {.stop = 3};
    tw_trunk_hooks_t hooks   = {.user = &log, .moments = log_moments};
    tw_problem_t     problem = {.set = 0};
    tw_network_t     net;
    examples_t       e;
    rig_t            rig;

    small_net_read(&net, small_net_text);
    e = examples_make(&net, 2, 2);
    rig_make(&rig, &net, &hooks);
    prepare(&rig, &e, 0, 2);
    ck_assert_ptr_null(
        tw_trunk_forward(rig.trunk, &(tw_trunk_pass_t){2, 1, SEED, STEP, e.index, 0.0f}, &problem));
    ck_assert_int_eq(log.stop, 0);
    ck_assert_ptr_nonnull(forward(&rig, &e, 0, 2, 1)); /* and the next pass runs */
    ck_assert_ptr_null(
        tw_trunk_forward(rig.trunk, &(tw_trunk_pass_t){5, 1, SEED, STEP, e.index, 0.0f}, &problem));
    ck_assert_str_eq(problem.text, "no input was asked for 5 examples");
    rig_free(&rig);
    examples_free(&e);
    tw_network_destroy(&net);
}
END_TEST

/* Parameters that arrive when they are asked for: values of `from`. */
typedef struct late {
    const rig_t *rig;
    const float *from;
    size_t       calls;
    size_t       stop; /* the call that fails, from 1 */
} late_t;

static int late_before(void *user, size_t layer)
{
    late_t *late = user;

    for (size_t i = 0; i < late->rig->params.count; i++) {
        const tw_param_t *p = &late->rig->params.param[i];

        if (p->layer == layer) {
            rig_put(late->rig, late->rig->on.value + p->first, late->from + p->first, p->count);
        }
    }
    return ++late->calls == late->stop ? -1 : 0;
}

/* No layer reads its parameters before `before` was called for it; without examples it is, too. */
START_TEST(parameters_may_come_late)
{
    late_t           late    = {.calls = 0};
    tw_trunk_hooks_t hooks   = {.user = &late, .before = late_before};
    tw_problem_t     problem = {.set = 0};
    size_t           layers  = 0, all;
    float           *want, *from;
    tw_network_t     net;
    examples_t       e;
    rig_t            rig;

    small_net_read(&net, small_net_text);
    e = examples_make(&net, 2, 2);
    rig_make(&rig, &net, NULL);
    all  = 2 * tw_trunk_features(rig.trunk) * sizeof(float);
    want = malloc(all);
    from = malloc(rig.params.total * sizeof(float));
    memcpy(want, forward(&rig, &e, 0, 2, 1), all);
    memcpy(from, rig.params.value, rig.params.total * sizeof(float));
    late.rig  = &rig;
    late.from = from;
    tw_trunk_set_hooks(rig.trunk, &hooks);
    for (size_t l = 0; l < net.first_dense; l++) {
        layers += tw_network_weights(&net, l) > 0;
    }
    memset(rig.params.value, 0xff, rig.params.total * sizeof(float));
    ck_assert_mem_eq(forward(&rig, &e, 0, 2, 1), want, all);
    ck_assert_uint_eq(late.calls, layers);
    forward(&rig, &e, 0, 0, 1);
    ck_assert_uint_eq(late.calls, 2 * layers);
    late.stop = late.calls + 2;
    ck_assert_ptr_null(
        tw_trunk_forward(rig.trunk, &(tw_trunk_pass_t){2, 1, SEED, STEP, e.index, 0.0f}, &problem));
    free(want);
    free(from);
    rig_free(&rig);
    examples_free(&e);
    tw_network_destroy(&net);
}
END_TEST

/* Three of ResNet-34's blocks have a projection; all other normalisations depend on one another. */
START_TEST(exchanges_of_known_networks)
{
    static const struct {
        const char *name;
        size_t      exchanges, layers, channels; /* calls; the most in one */
    } known[] = {
        {"resnet-34", 33, 2, 1024}, {"resnet-20", 19, 1, 64}, {"vgg-a", 0, 0, 0}, {"mlp", 0, 0, 0}};
    tw_problem_t  problem = {.set = 0};
    tw_network_t  net;
    tw_trunk_t   *trunk;
    tw_params_t   none = {0};
    tw_backend_t *backend;
    size_t        layers, channels;

    ck_assert_int_eq(tw_network_load(&net, known[_i].name, &problem), 0);
    ck_assert_int_eq(backend_here(&backend, tw_kernels_for("scalar"), 1, &problem), 0);
    ck_assert_int_eq(tw_trunk_create(&trunk, &net, backend, &none, NULL, &problem), 0);
    ck_assert_uint_eq(tw_trunk_exchanges(trunk), known[_i].exchanges);
    tw_trunk_exchange_most(trunk, &layers, &channels);
    ck_assert_uint_eq(layers, known[_i].layers);
    ck_assert_uint_eq(channels, known[_i].channels);
    tw_trunk_destroy(trunk);
    tw_backend_destroy(backend);
    tw_network_destroy(&net);
}
END_TEST

/* -------------------------------------------------------------------------- faults */

static void spoil(rig_t *rig, const tw_network_t *net, const char *name, float value)
{
    for (size_t i = 0; i < rig->params.count; i++) {
        const tw_param_t *p = &rig->params.param[i];

        if (strcmp(net->layer[p->layer].name, name) == 0) {
            rig->params.value[p->first] = value;
        }
    }
}

START_TEST(first_nonfinite_is_named)
{
    static const char *const names[] = {NULL,         "input",      "conv1",
                                        "same.conv2", "half.norm2", "proj.conv0"};
    const tw_trunk_pass_t    pass    = {3, _i / 6, SEED, STEP, (const uint64_t[]){0, 1, 2}, 0.0f};
    const char              *want    = names[_i % 6], *got;
    tw_network_t             net;
    examples_t               e;
    rig_t                    rig;

    small_net_read(&net, small_net_text);
    e = examples_make(&net, 3, 2);
    rig_make(&rig, &net, NULL);
    if (want != NULL && strcmp(want, "input") == 0) {
        e.images[e.size + 5] = NAN;
    } else if (want != NULL) {
        spoil(&rig, &net, want, INFINITY);
    }
    forward(&rig, &e, 0, 3, pass.training);
    got = tw_trunk_first_nonfinite(rig.trunk, &pass);
    if (want == NULL) {
        ck_assert_ptr_null(got);
    } else {
        ck_assert_ptr_nonnull(got);
        ck_assert_str_eq(got, want);
    }
    rig_free(&rig);
    examples_free(&e);
    tw_network_destroy(&net);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("train/trunk on " BACKEND_HERE);
    TCase *tcase = test_case_within(suite, "all", 120);

    tcase_add_loop_test(tcase, trunk_agrees_with_the_oracle, 0, sizeof(texts) / sizeof(texts[0]));
    tcase_add_loop_test(tcase, outputs_need_not_be_kept, 0, 1 + sizeof(texts) / sizeof(texts[0]));
    tcase_add_test(tcase, numbers_of_examples_may_change);
    tcase_add_test(tcase, dense_networks_have_no_trunk);
    tcase_add_loop_test(tcase, layers_are_ready_in_falling_order, 0, 2);
    tcase_add_test(tcase, a_hook_stops_the_pass);
    tcase_add_test(tcase, parameters_may_come_late);
    tcase_add_loop_test(tcase, exchanges_of_known_networks, 0, 4);
    tcase_add_loop_test(tcase, first_nonfinite_is_named, 0, 12);
    return test_main(suite);
}
