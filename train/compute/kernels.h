/* SPDX-License-Identifier: BSD-3-Clause
 * compute/kernels.h - the loops over single values that surround the matrix products.
 *
 * One source, compiled once per instruction set. All of it is element by element, in IEEE
 * operations that are correctly rounded and never contracted, and sums run over rows in order:
 * every instruction set gives the same bits, so ranks on unlike machines keep identical weights.
 */
#ifndef TW_COMPUTE_KERNELS_H
#define TW_COMPUTE_KERNELS_H

#include <stddef.h>
#include <stdint.h>

/* Dropout of one row of units: unit i is kept if a hash of (key, i) is not below threshold / 2^31,
 * and then multiplied by scale = 1 / keep (inverted dropout). */
typedef struct tw_drop {
    uint64_t key;
    int32_t  threshold; /* rate * 2^31; 0 keeps all */
    float    scale;
} tw_drop_t;

/* RMSProp: m = decay m + (1 - decay) g^2; w = w - rate g / (sqrt(m) + epsilon). */
typedef struct tw_rmsprop {
    float rate, decay, epsilon;
} tw_rmsprop_t;

typedef struct tw_kernels {
    const char *isa;

    /* y[i] = src[i] / 255, dropped out. */
    void (*pixels)(float *y, const uint8_t *src, size_t n, const tw_drop_t *drop);

    /* y[i] = logistic(y[i] + bias[i]), dropped out. */
    void (*logistic)(float *y, const float *bias, size_t n, const tw_drop_t *drop);

    /* From the gradient by y, the output of logistic() above, to the gradient by its input:
     * d[i] = d[i] y (1 - keep y). A dropped unit has y = 0, so the mask need not be kept. */
    void (*logistic_back)(float *d, const float *y, size_t n, float keep);

    /* sum[i] += x[i]; sum[i] += x[i]^2; x[i] *= factor[i]. */
    void (*add)(float *sum, const float *x, size_t n);
    void (*add_squares)(float *sum, const float *x, size_t n);
    void (*multiply)(float *x, const float *factor, size_t n);

    void (*rmsprop)(float *w, float *m, const float *g, size_t n, const tw_rmsprop_t *how);
} tw_kernels_t;

extern const tw_kernels_t tw_kernels_scalar, tw_kernels_avx2, tw_kernels_avx512;

/* The kernels for a level that tw_cpu_level() names; what was not built falls to the next below. */
const tw_kernels_t *tw_kernels_for(const char *level);

/* e^x as the kernels compute it: relative error below 3e-7 for |x| <= 87, clamped beyond. */
float tw_kernels_exp(float x);

/* Dropout with a rate in [0, 1). */
tw_drop_t tw_drop_make(uint64_t key, float rate);

#endif /* TW_COMPUTE_KERNELS_H */
