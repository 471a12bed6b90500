/* SPDX-License-Identifier: BSD-3-Clause
 * model/params_init.c - the initial values of a network.
 *
 * An element's value is a function of (seed, layer, role, its index in the whole tensor), so a rank
 * draws only its own units. Normal numbers come from Marsaglia's polar method (1964): a point in
 * the square is redrawn until it lies in the circle, which needs no function but a logarithm. The
 * logarithm here uses only operations that IEEE rounds correctly; that of the C library may differ
 * in the last bit between processors, but ranks must have equal weights.
 */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "train/model/params.h"
#include "train/base/random.h"

/* ln x for x in (0, 1]: x = m 2^e with m in [1/2, 1), s = (m - c) / (m + c) with c = 1/sqrt 2, and
 * ln m = ln c + 2 (s + s^3/3 + ...); |s| < 0.172, so the terms to s^15 leave below 1e-13. */
static double logarithm(double x)
{
    const double c = 0.70710678118654752, ln2 = 0.69314718055994531;
    double       s, s2, sum = 1.0 / 15.0;
    uint64_t     bits;
    int          exponent;

    memcpy(&bits, &x, sizeof(bits));
    exponent = (int)(bits >> 52) - 1022;
    bits     = (bits & UINT64_C(0x000fffffffffffff)) | UINT64_C(0x3fe0000000000000);
    memcpy(&x, &bits, sizeof(x));
    s  = (x - c) / (x + c);
    s2 = s * s;
    for (int i = 13; i >= 1; i -= 2) {
        sum = sum * s2 + 1.0 / i;
    }
    return ((double)exponent - 0.5) * ln2 + 2.0 * s * sum;
}

/* A number uniform in (-1, 1) from 32 bits: never 0, so the logarithm below is finite. */
static double symmetric(uint32_t bits)
{
    return ((double)bits + 0.5) * 0x1p-31 - 1.0;
}

/* The index-th standard normal number of a key, with |z| <= most. Try t uses word 2^40 t + index
 * of the key: no tensor has 2^40 elements. */
static double normal(uint64_t key, uint64_t index, double most)
{
    for (uint64_t t = 0;; t++) {
        const uint64_t bits = tw_random_bits(key, (t << 40) + index);
        const double   x = symmetric((uint32_t)(bits >> 32)), y = symmetric((uint32_t)bits);
        const double   s = x * x + y * y;

        if (s < 1.0) {
            /* Not a number where a logarithm near 0 is rounded above it: drawn again. */
            const double z = x * sqrt(-2.0 * logarithm(s) / s);

            if (z <= most && z >= -most) {
                return z;
            }
        }
    }
}

/* fan_in of a layer with weights, and fan_out. */
static void fans(const tw_network_layer_t *layer, double *in_p, double *out_p)
{
    const double kernel =
        layer->kind == TW_CONV ? (double)layer->kernel[0] * (double)layer->kernel[1] : 1.0;
    const double groups = (double)layer->groups;

    *in_p =
        (layer->kind == TW_CONV ? (double)layer->in.c * kernel : (double)tw_shape_size(layer->in)) /
        groups;
    *out_p = (double)layer->out.c * kernel / groups;
}

static void fill(float *x, size_t n, float value)
{
    for (size_t i = 0; i < n; i++) {
        x[i] = value;
    }
}

static void fill_normal(float *x, size_t n, uint64_t key, uint64_t first, double deviation,
                        double most)
{
    for (size_t i = 0; i < n; i++) {
        x[i] = (float)(deviation * normal(key, first + i, most));
    }
}

/* Values that are drawn at a time. */
#define TW_DRAWN ((size_t)1 << 16)

/* The index in [unit][in] of element `at` of what this rank holds of a tensor. */
static uint64_t index_of(const tw_param_t *param, size_t at)
{
    const uint64_t index = (uint64_t)param->units_first * param->per_unit + at;

    return param->turned ? index % param->per_unit * param->units_all + index / param->per_unit
                         : index;
}

/* n elements of a tensor, from index `first` on. */
static void draw(float *x, const tw_param_t *param, const tw_network_layer_t *layer, uint64_t seed,
                 uint64_t first, size_t n)
{
    const tw_init_t *how =
        param->role == TW_WEIGHT || param->role == TW_GAMMA ? &layer->w_init : &layer->b_init;
    const uint64_t key   = tw_random_key(seed, TW_RANDOM_WEIGHTS, param->layer, param->role);
    double         value = how->value, fan_in, fan_out;

    fans(layer, &fan_in, &fan_out);
    switch (how->how) {
    case TW_INIT_ZERO:
        fill(x, n, 0.0f);
        break;
    case TW_INIT_CONSTANT:
        fill(x, n, how->value);
        break;
    case TW_INIT_GAUSSIAN:
        fill_normal(x, n, key, first, value, INFINITY);
        break;
    case TW_INIT_TRUNCATED:
        fill_normal(x, n, key, first, value, 2.0);
        break;
    case TW_INIT_GAUSSIAN_HE:
        fill_normal(x, n, key, first, value * sqrt(2.0 / fan_in), INFINITY);
        break;
    case TW_INIT_UNIFORM_GLOROT:
        value *= sqrt(6.0 / (fan_in + fan_out));
        for (size_t i = 0; i < n; i++) {
            x[i] = (float)(value * (2.0 * tw_random_uniform(key, first + i) - 1.0));
        }
        break;
    }
}

static int init(const tw_params_t *params, const tw_param_t *param, const tw_network_layer_t *layer,
                uint64_t seed, float *drawn, tw_problem_t *problem)
{
    for (size_t from = 0; from < param->count; from += TW_DRAWN) {
        const size_t left = param->count - from, n = left < TW_DRAWN ? left : TW_DRAWN;

        for (size_t k = 0; k < n && param->turned; k++) {
            draw(drawn + k, param, layer, seed, index_of(param, from + k), 1);
        }
        if (!param->turned) {
            draw(drawn, param, layer, seed, index_of(param, from), n);
        }
        if (tw_params_put(params, params->value + param->first + from, drawn, n, problem) != 0) {
            return -1;
        }
    }
    return 0;
}

int tw_params_init(tw_params_t *params, const tw_network_t *net, uint64_t seed,
                   tw_problem_t *problem)
{
    float *drawn  = malloc(TW_DRAWN * sizeof(*drawn));
    int    status = drawn != NULL ? 0 : tw_problem_machine(problem, "no memory for first values");

    for (size_t i = 0; i < params->count && status == 0; i++) {
        const tw_param_t *param = &params->param[i];

        status = init(params, param, &net->layer[param->layer], seed, drawn, problem);
    }
    free(drawn);
    return status != 0 ||
                   tw_backend_zero(params->backend, params->gradient, params->total * sizeof(float),
                                   problem) != 0 ||
                   tw_backend_zero(params->backend, params->momentum,
                                   params->moments * sizeof(float), problem) != 0
               ? -1
               : tw_params_reset_state(params, problem);
}
