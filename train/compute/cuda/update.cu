/* SPDX-License-Identifier: BSD-3-Clause
 * cuda/update.cu - the optimizers of update.h: the bits of compute/update.c. Each operation rounds
 * as its does, and sums of squares are in its lanes.
 */
#include "train/compute/cuda/device.h"

#define UPDATE_LANES ((unsigned)TW_TASK_LANES)
#define UPDATE_ROWS  (TW_TASK_THREADS / UPDATE_LANES) /* of a thread block at a time */

/* n[0] weights to[0] with momentum to[1], by the gradient from[0]. real: rate, momentum, decay,
 * scale. */
TW_TASK(update_sgd)
{
    float            *w = (float *)task.to[0], *v = (float *)task.to[1];
    const float      *g    = (const float *)task.from[0];
    const float       rate = (float)task.real[0], momentum = (float)task.real[1];
    const float       decay = (float)task.real[2], scale = (float)task.real[3];
    const tw_groups_t groups =
        tw_groups(task.n[0], TW_ADDRESS(w) | TW_ADDRESS(v) | TW_ADDRESS(g), 0);

    TW_EACH_GROUP(k, groups)
    {
        const tw_four_t slope  = tw_get(g, groups, k);
        tw_four_t       weight = tw_get(w, groups, k), step = tw_get(v, groups, k);

        TW_EACH_OF_FOUR(j)
        {
            step.v[j] = momentum * step.v[j] + rate * (scale * slope.v[j] + decay * weight.v[j]);
            weight.v[j] -= step.v[j];
        }
        tw_put(v, groups, k, step);
        tw_put(w, groups, k, weight);
    }
}

/* The same with mean squares to[1]. real: rate, rms_decay, epsilon, decay, scale. */
TW_TASK(update_rmsprop)
{
    float            *w = (float *)task.to[0], *m = (float *)task.to[1];
    const float      *g    = (const float *)task.from[0];
    const float       rate = (float)task.real[0], keep = (float)task.real[1], rest = 1.0f - keep;
    const float       epsilon = (float)task.real[2], decay = (float)task.real[3];
    const float       scale = (float)task.real[4];
    const tw_groups_t groups =
        tw_groups(task.n[0], TW_ADDRESS(w) | TW_ADDRESS(m) | TW_ADDRESS(g), 0);

    TW_EACH_GROUP(k, groups)
    {
        const tw_four_t slope  = tw_get(g, groups, k);
        tw_four_t       weight = tw_get(w, groups, k), mean = tw_get(m, groups, k);

        TW_EACH_OF_FOUR(j)
        {
            const float d = scale * slope.v[j] + decay * weight.v[j];

            mean.v[j] = keep * mean.v[j] + rest * (d * d);
            weight.v[j] -= rate * d / (sqrtf(mean.v[j]) + epsilon);
        }
        tw_put(m, groups, k, mean);
        tw_put(w, groups, k, weight);
    }
}

/* n[0] rows to[0] of n[1] weights: none is longer than real[0] afterwards. UPDATE_LANES threads a
 * row. */
TW_TASK(update_max_norm)
{
    __shared__ double lane[TW_TASK_THREADS];
    const double      most = task.real[0];
    const unsigned    k    = threadIdx.x % UPDATE_LANES;

    for (size_t first = (size_t)blockIdx.x * UPDATE_ROWS; first < task.n[0];
         first += (size_t)gridDim.x * UPDATE_ROWS) {
        const size_t row = first + threadIdx.x / UPDATE_LANES;
        const size_t n   = row < task.n[0] ? task.n[1] : 0;
        float       *w   = (float *)task.to[0] + row * task.n[1];
        double       sum = 0.0;

        for (size_t i = k; i < n; i += UPDATE_LANES) {
            sum += (double)w[i] * (double)w[i];
        }
        __syncthreads();
        lane[threadIdx.x] = sum;
        __syncthreads();
        sum = 0.0;
        for (unsigned i = 0; i < UPDATE_LANES; i++) {
            sum += lane[threadIdx.x - k + i];
        }
        if (sum > most * most) {
            const float factor = (float)(most / sqrt(sum));

            for (size_t i = k; i < n; i += UPDATE_LANES) {
                w[i] *= factor;
            }
        }
    }
}
