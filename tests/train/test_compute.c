/* SPDX-License-Identifier: BSD-3-Clause
 * tests/train/test_compute.c - kernels against plain loops and across instruction sets, dropout,
 * gradients against finite differences, the update against its formula.
 */
#include "config.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "thinwire/thinwire.h"
#include "train/compute/dense.h"
#include "train/model/net.h"
#include "train/random.h"

enum { N_MAX = 300, GUARD = 16 };

static const char *const levels[]  = {"scalar", "avx2", "avx512"};
static const size_t      lengths[] = {0, 1, 2, 7, 8, 15, 16, 17, 31, 33, 64, 127, 300};

/* The level, or NULL where this processor or build does not have it. */
static const tw_kernels_t *kernels_at(int k)
{
    static const char *const order   = "scalar avx2 avx512";
    const tw_kernels_t      *kernels = tw_kernels_for(levels[k]);
    tw_context_t            *ctx;
    const char              *best;

    ck_assert_int_eq(tw_context_create(&ctx), TW_OK);
    best = tw_cpu_level(ctx);
    tw_context_destroy(ctx);
    return strstr(order, levels[k]) > strstr(order, best) || strcmp(kernels->isa, levels[k]) != 0
               ? NULL
               : kernels;
}

static void fill(float *x, size_t n, uint64_t key, float range)
{
    for (size_t i = 0; i < n; i++) {
        x[i] = range * (2.0f * tw_random_uniform(key, i) - 1.0f);
    }
}

START_TEST(exp_is_close)
{
    for (double x = -87.0; x <= 87.0; x += 0.001) {
        const double want = exp((double)(float)x);

        ck_assert_double_le(fabs(tw_kernels_exp((float)x) - want) / want, 3e-7);
    }
    ck_assert_float_eq(tw_kernels_exp(0.0f), 1.0f);
    ck_assert(tw_kernels_exp(-1000.0f) > 0.0f && tw_kernels_exp(-1000.0f) < 1e-37f);
    ck_assert(isfinite(tw_kernels_exp(1000.0f)));
    ck_assert(isnan(tw_kernels_exp(NAN)));
}
END_TEST

/* All kernels one after another on the same input; out collects what they wrote. */
static void run_all(const tw_kernels_t *k, size_t n, const tw_drop_t *drop, float out[8][N_MAX])
{
    const tw_rmsprop_t how = {0.006f, 0.9f, 1e-8f};
    uint8_t            pixels[N_MAX];
    float              bias[N_MAX], g[N_MAX];

    for (int i = 0; i < 8; i++) {
        fill(out[i], N_MAX, (uint64_t)i, 3.0f);
    }
    fill(bias, N_MAX, 20, 1.0f);
    fill(g, N_MAX, 21, 1e-3f);
    for (size_t i = 0; i < N_MAX; i++) {
        pixels[i] = (uint8_t)tw_random_bits(22, i);
        out[7][i] = fabsf(out[7][i]);
    }
    k->pixels(out[0], pixels, n, drop);
    k->logistic(out[1], bias, n, drop);
    k->logistic_back(out[2], out[1], n, 0.5f);
    k->add(out[3], g, n);
    k->add_squares(out[4], g, n);
    k->multiply(out[5], bias, n);
    k->rmsprop(out[6], out[7], g, n, &how);
}

START_TEST(kernels_agree)
{
    const tw_kernels_t *kernels = kernels_at(_i % 3);
    const size_t        n       = lengths[_i / 3];
    const tw_drop_t     drops[] = {tw_drop_make(0, 0.0f), tw_drop_make(77, 0.5f)};
    static float        want[8][N_MAX], got[8][N_MAX];

    for (int k = 0; kernels != NULL && k < 2; k++) {
        run_all(&tw_kernels_scalar, n, &drops[k], want);
        run_all(kernels, n, &drops[k], got);
        ck_assert_mem_eq(got, want, sizeof(want)); /* what lies behind n is untouched too */
    }
}
END_TEST

START_TEST(kernels_match_formulas)
{
    const tw_drop_t none = tw_drop_make(0, 0.0f);
    static float    out[8][N_MAX], in[8][N_MAX];
    float           bias[N_MAX], g[N_MAX];

    run_all(&tw_kernels_scalar, 0, &none, in);
    run_all(&tw_kernels_scalar, N_MAX, &none, out);
    fill(bias, N_MAX, 20, 1.0f);
    fill(g, N_MAX, 21, 1e-3f);
    for (size_t i = 0; i < N_MAX; i++) {
        const double y = 1.0 / (1.0 + exp(-((double)in[1][i] + bias[i])));
        const double m = 0.9 * in[7][i] + 0.1 * ((double)g[i] * g[i]);

        ck_assert_float_eq_tol(out[0][i], (float)(uint8_t)tw_random_bits(22, i) / 255.0f, 1e-6);
        ck_assert_double_eq_tol(out[1][i], y, 3e-7);
        ck_assert_double_eq_tol(out[2][i], in[2][i] * out[1][i] * (1.0 - 0.5 * out[1][i]), 1e-6);
        ck_assert_float_eq(out[3][i], in[3][i] + g[i]);
        ck_assert_double_eq_tol(out[4][i], in[4][i] + (double)g[i] * g[i], 1e-6);
        ck_assert_float_eq(out[5][i], in[5][i] * bias[i]);
        ck_assert_double_eq_tol(out[7][i], m, 1e-6 * m);
        ck_assert_double_eq_tol(out[6][i], in[6][i] - 0.006 * g[i] / (sqrt(m) + 1e-8), 1e-6);
    }
}
END_TEST

/* ---- dropout ------------------------------------------------------------------------------- */

START_TEST(dropout_has_its_rate)
{
    static const float rates[] = {0.2f, 0.5f, 0.8f};
    enum { ROWS = 400, UNITS = 1024 };
    static uint8_t full[UNITS];
    static float   y[UNITS];
    const float    rate = rates[_i];
    double         kept = 0.0, twice = 0.0;
    float          before = 0.0f;

    memset(full, 255, sizeof(full));
    for (uint64_t row = 0; row < ROWS; row++) {
        const tw_drop_t drop = tw_drop_make(tw_random_key(1, TW_RANDOM_DROPOUT, 3, row), rate);

        tw_kernels_scalar.pixels(y, full, UNITS, &drop);
        for (size_t i = 0; i < UNITS; i++) {
            ck_assert(y[i] == 0.0f || fabsf(y[i] - 1.0f / (1.0f - rate)) < 1e-6f);
            kept += y[i] != 0.0f;
            twice += y[i] != 0.0f && before != 0.0f; /* neighbours are independent */
            before = y[i];
        }
    }
    ck_assert_double_eq_tol(kept / (ROWS * UNITS), 1.0 - rate, 0.003);
    ck_assert_double_eq_tol(twice / (ROWS * UNITS), (1.0 - rate) * (1.0 - rate), 0.004);
}
END_TEST

/* Masks depend on step, example, layer and unit, not on how the batch is cut into ranks. */
START_TEST(dropout_ignores_the_ranks)
{
    tw_net_t     net;
    uint8_t      pixels[784];
    static float whole[8 * 784];
    tw_pass_t    pass = {.training = 1, .seed = 5, .step = 9, .rows = 8};

    memset(pixels, 255, sizeof(pixels));
    ck_assert_int_eq(tw_net_create(&net, tw_model_find("mlp"), &tw_kernels_scalar, 8, 1), 0);
    for (size_t row = 0; row < 8; row++) {
        tw_net_input(&net, &pass, row, pixels);
    }
    memcpy(whole, net.x, sizeof(whole));
    for (size_t row = 0; row < 8; row++) {
        tw_pass_t alone = pass;

        alone.first = row;
        tw_net_input(&net, &alone, 0, pixels);
        ck_assert_mem_eq(net.x, whole + row * 784, 784 * sizeof(float));
        if (row > 0) {
            ck_assert(memcmp(net.x, whole, 784 * sizeof(float)) != 0);
        }
    }
    pass.step++;
    tw_net_input(&net, &pass, 0, pixels);
    ck_assert(memcmp(net.x, whole, 784 * sizeof(float)) != 0);
    tw_net_destroy(&net);
}
END_TEST

/* ---- gradients ----------------------------------------------------------------------------- */

static const tw_model_t small = {.name          = "small",
                                 .inputs        = 12,
                                 .input_dropout = 0.2f,
                                 .init          = 2.0f,
                                 .layers        = 3,
                                 .layer         = {{9, 0.5f}, {7, 0.3f}, {4, 0.0f}}};

enum { ROWS = 6 };

static void load_small(tw_net_t *net, const tw_pass_t *pass, uint8_t *labels)
{
    uint8_t pixels[12];

    for (size_t row = 0; row < pass->rows; row++) {
        for (size_t i = 0; i < sizeof(pixels); i++) {
            pixels[i] = (uint8_t)tw_random_bits(pass->first + row, i);
        }
        tw_net_input(net, pass, row, pixels);
        labels[row] = (uint8_t)((pass->first + row) % 4);
    }
}

/* Mean loss over the rows, with the masks of the pass. */
static double small_loss(tw_net_t *net, const tw_pass_t *pass, const uint8_t *labels)
{
    double loss;

    tw_net_forward(net, pass);
    tw_net_loss(net, pass, labels, 1.0f / (float)pass->rows, &loss, NULL);
    return loss / (double)pass->rows;
}

static void check_slope(tw_net_t *net, const tw_pass_t *pass, const uint8_t *labels, float *weight,
                        float gradient)
{
    const float step = 0.02f, kept = *weight;
    double      above, below;

    *weight = kept + step;
    above   = small_loss(net, pass, labels);
    *weight = kept - step;
    below   = small_loss(net, pass, labels);
    *weight = kept;
    ck_assert_double_eq_tol((above - below) / (2.0 * step), gradient,
                            2e-4 + 1e-3 * fabsf(gradient));
}

START_TEST(gradients_match_differences)
{
    const tw_pass_t pass = {.training = _i, .seed = 3, .step = 4, .first = 2, .rows = ROWS};
    static float    gradients[256];
    uint8_t         labels[ROWS];
    double          largest = 0.0;
    tw_net_t        net;

    ck_assert_int_eq(tw_net_create(&net, &small, &tw_kernels_scalar, ROWS, 1), 0);
    tw_net_init(&net, 11);
    fill(net.b, net.biases, 12, 0.5f);
    load_small(&net, &pass, labels);
    small_loss(&net, &pass, labels);
    for (size_t l = net.layers; l-- > 0;) {
        tw_net_backward(&net, &pass, l);
        if (l > 0) {
            tw_net_backward_input(&net, &pass, l);
        }
    }
    for (size_t l = 0; l < net.layers; l++) {
        const tw_layer_t *layer = &net.layer[l];
        const size_t      n     = layer->in * layer->units;

        memcpy(gradients, layer->g, n * sizeof(float));
        for (size_t i = 0; i < n; i++) {
            check_slope(&net, &pass, labels, &layer->w[i], gradients[i]);
            largest = fmax(largest, fabsf(gradients[i]));
        }
    }
    memcpy(gradients, net.bg, net.biases * sizeof(float));
    for (size_t i = 0; i < net.biases; i++) {
        check_slope(&net, &pass, labels, &net.b[i], gradients[i]);
    }
    ck_assert_double_gt(largest, 0.02); /* there was something to compare */
    tw_net_destroy(&net);
}
END_TEST

START_TEST(no_rows_give_no_gradient)
{
    const tw_pass_t pass = {.training = 1, .rows = 0};
    tw_net_t        net;

    ck_assert_int_eq(tw_net_create(&net, &small, &tw_kernels_scalar, ROWS, 1), 0);
    tw_net_init(&net, 1);
    for (size_t l = 0; l < net.layers; l++) {
        net.layer[l].g[0] = net.bg[net.layer[l].bias] = 5.0f;
    }
    tw_net_forward(&net, &pass);
    for (size_t l = net.layers; l-- > 0;) {
        tw_net_backward(&net, &pass, l);
        if (l > 0) {
            tw_net_backward_input(&net, &pass, l);
        }
        ck_assert_float_eq(net.layer[l].g[0], 0.0f);
        ck_assert_float_eq(net.bg[net.layer[l].bias], 0.0f);
    }
    tw_net_destroy(&net);
}
END_TEST

/* ---- the update ---------------------------------------------------------------------------- */

/* Whatever threads and instruction set: the same bits; and units above the bound are scaled back.
 */
START_TEST(update_is_the_same_everywhere)
{
    const tw_rmsprop_t  how  = {0.006f, 0.9f, 1e-8f};
    tw_model_t          wide = {.name     = "wide",
                                .inputs   = 40,
                                .init     = 1.0f,
                                .max_norm = 0.8f,
                                .layers   = 1,
                                .layer    = {{100, 0.0f}}};
    tw_net_t            want, got;
    const tw_kernels_t *kernels = kernels_at(_i % 3);
    int                 bounded = 0;

    if (kernels == NULL) {
        return;
    }
    ck_assert_int_eq(tw_net_create(&want, &wide, &tw_kernels_scalar, 1, 1), 0);
    ck_assert_int_eq(tw_net_create(&got, &wide, kernels, 1, 1 + _i / 3), 0);
    tw_net_init(&want, 1);
    tw_net_init(&got, 1);
    for (uint64_t step = 0; step < 5; step++) {
        fill(want.layer[0].g, 4000, step, 1e-2f);
        memcpy(got.layer[0].g, want.layer[0].g, 4000 * sizeof(float));
        tw_net_update(&want, 0, &how);
        tw_net_update(&got, 0, &how);
    }
    ck_assert_mem_eq(got.layer[0].w, want.layer[0].w, 4000 * sizeof(float));
    ck_assert_mem_eq(got.layer[0].m, want.layer[0].m, 4000 * sizeof(float));
    for (size_t j = 0; j < 100; j++) {
        double square = 0.0;

        for (size_t i = 0; i < 40; i++) {
            square += (double)want.layer[0].w[i * 100 + j] * want.layer[0].w[i * 100 + j];
        }
        ck_assert_double_le(sqrt(square), 0.8 * (1.0 + 1e-6));
        bounded += sqrt(square) > 0.8 * (1.0 - 1e-6);
    }
    ck_assert_int_gt(bounded, 0);
    ck_assert_int_lt(bounded, 100);
    tw_net_destroy(&want);
    tw_net_destroy(&got);
}
END_TEST

START_TEST(hashes_see_every_bit)
{
    tw_net_t net;
    uint64_t before[3];
    int      finite;

    ck_assert_int_eq(tw_net_create(&net, &small, &tw_kernels_scalar, ROWS, 1), 0);
    tw_net_init(&net, 1);
    for (size_t l = 0; l < 3; l++) {
        before[l] = tw_net_hash(&net, l, &finite);
        ck_assert_int_eq(finite, 1);
    }
    net.b[net.layer[1].bias + 2] += 1e-7f;
    ck_assert(tw_net_hash(&net, 0, &finite) == before[0]);
    ck_assert(tw_net_hash(&net, 1, &finite) != before[1]);
    net.layer[2].w[27] = -net.layer[2].w[27];
    ck_assert(tw_net_hash(&net, 2, &finite) != before[2]);
    net.layer[0].w[107] = INFINITY;
    tw_net_hash(&net, 0, &finite);
    ck_assert_int_eq(finite, 0);
    tw_net_destroy(&net);
}
END_TEST

int main(void)
{
    Suite   *suite  = suite_create("train/compute");
    TCase   *tcase  = tcase_create("all");
    SRunner *runner = srunner_create(suite);
    int      failed;

    tcase_add_test(tcase, exp_is_close);
    tcase_add_loop_test(tcase, kernels_agree, 0, 3 * sizeof(lengths) / sizeof(lengths[0]));
    tcase_add_test(tcase, kernels_match_formulas);
    tcase_add_loop_test(tcase, dropout_has_its_rate, 0, 3);
    tcase_add_test(tcase, dropout_ignores_the_ranks);
    tcase_add_loop_test(tcase, gradients_match_differences, 0, 2);
    tcase_add_test(tcase, no_rows_give_no_gradient);
    tcase_add_loop_test(tcase, update_is_the_same_everywhere, 0, 9);
    tcase_add_test(tcase, hashes_see_every_bit);
    suite_add_tcase(suite, tcase);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
