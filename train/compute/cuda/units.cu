/* SPDX-License-Identifier: BSD-3-Clause
 * cuda/units.cu - kernels that take one number after another: activations and their derivatives, sums,
 * dropout. The bits are those of host/loops.c.
 */
#include "train/compute/cuda/device.h"
#include "train/compute/kernels_inline.h"

/* As tw_host_loops_t: NaN stays NaN. */
TW_DEVICE float tw_activated(float v, int how)
{
    return how == TW_TASK_RELU       ? (v < 0.0f ? 0.0f : v)
           : how == TW_TASK_LOGISTIC ? 1.0f / (1.0f + tw_exp(-v))
                                     : v;
}

/* to[0][n[0]] = activation(from[0]); flag[0]: which. In place is allowed. */
TW_TASK(activate)
{
    const float *x = (const float *)task.from[0];
    float       *y = (float *)task.to[0];

    for (size_t i = tw_thread(); i < task.n[0]; i += tw_threads()) {
        y[i] = tw_activated(x[i], task.flag[0]);
    }
}

/* to[0][n[0]] = activation(from[0] + from[1]). In place is allowed. */
TW_TASK(add)
{
    const float *a = (const float *)task.from[0], *b = (const float *)task.from[1];
    float       *y = (float *)task.to[0];

    for (size_t i = tw_thread(); i < task.n[0]; i += tw_threads()) {
        y[i] = tw_activated(a[i] + b[i], task.flag[0]);
    }
}

/* to[0][n[0]] = (from[0] + from[1], unless NULL) * derivative of the activation at from[2]. In place is
 * allowed. */
TW_TASK(settle)
{
    const float *g = (const float *)task.from[0], *more = (const float *)task.from[1];
    const float *y   = (const float *)task.from[2];
    float       *out = (float *)task.to[0];
    const int    how = task.flag[0];

    for (size_t i = tw_thread(); i < task.n[0]; i += tw_threads()) {
        const float v = more == NULL ? g[i] : g[i] + more[i];

        out[i] = how == TW_TASK_RELU       ? (y[i] > 0.0f ? v : 0.0f)
                 : how == TW_TASK_LOGISTIC ? v * (y[i] * (1.0f - y[i]))
                                           : v;
    }
}

/* to[0] = from[0] where the unit is kept, times real[0], else 0: n[0] numbers, n[1] of an example, whose
 * key is in from[1]; flag[0]: the threshold. In place is allowed. See tw_drop_t. */
TW_TASK(drop)
{
    const float    *x   = (const float *)task.from[0];
    const uint64_t *key = (const uint64_t *)task.from[1];
    float          *y   = (float *)task.to[0];
    const float     by  = (float)task.real[0];

    for (size_t i = tw_thread(); i < task.n[0]; i += tw_threads()) {
        const uint32_t row = (uint32_t)i / (uint32_t)task.n[1];
        const uint32_t u   = (uint32_t)i - row * (uint32_t)task.n[1];
        const uint64_t k   = key[row];

        y[i] = tw_keep_halves((uint32_t)k, (uint32_t)(k >> 32), task.flag[0], u) ? x[i] * by : 0.0f;
    }
}

/* to[0] = activation(from[0] + from[1][channel]): n[0] numbers, planes of n[1], n[2] channels; in place is
 * allowed. */
TW_TASK(bias)
{
    const float *x = (const float *)task.from[0], *b = (const float *)task.from[1];
    float       *y = (float *)task.to[0];

    for (size_t i = tw_thread(); i < task.n[0]; i += tw_threads()) {
        const uint32_t c = (uint32_t)i / (uint32_t)task.n[1] % (uint32_t)task.n[2];

        y[i] = tw_activated(x[i] + b[c], task.flag[0]);
    }
}
