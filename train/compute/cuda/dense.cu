/* SPDX-License-Identifier: BSD-3-Clause
 * cuda/dense.cu - loops over the outputs of dense layers, [unit][example], with the bits of
 * compute/units.c: values are computed one by one, and sums in its lanes.
 */
#include "train/compute/cuda/device.h"
#include "train/compute/kernels_inline.h"
#include "train/model/network.h"
#include "train/base/random.h"

#define DENSE_LANES ((unsigned)TW_TASK_LANES)
#define DENSE_SUMS  (TW_TASK_THREADS / DENSE_LANES) /* of a thread block at a time */

/* i / n; n below 2^31. */
TW_DEVICE size_t dense_divide(size_t i, size_t n)
{
    return i >> 32 == 0 ? (uint32_t)i / (uint32_t)n : i / n;
}

/* Whether a dropout layer keeps a unit of an example. key[0]: of its pass, n[3]: its number,
 * flag[1]: its threshold. */
TW_DEVICE int dense_keeps(const tw_task_t *task, uint64_t example, size_t unit)
{
    const uint64_t key =
        tw_random_key_at(task->key[0], example * TW_NETWORK_DROPOUTS_MAX + task->n[3]);

    return tw_keep_halves((uint32_t)key, (uint32_t)(key >> 32), task->flag[1], (uint32_t)unit);
}

TW_DEVICE float dense_activated(float z, int activation)
{
    if (activation == TW_LOGISTIC) {
        return 1.0f / (1.0f + tw_exp(-z));
    }
    return activation == TW_RELU && z < 0.0f ? 0.0f : z; /* NaN stays */
}

/* to[0] = y[units][n]: n[0], n[1]. flag[0] >= 0: of this activation, with from[0] = bias[units] or
 * NULL. from[1] = examples[n], unless NULL: dropped out as units n[2] .., times real[0]. */
TW_TASK(dense_outputs)
{
    float          *y        = (float *)task.to[0];
    const float    *bias     = (const float *)task.from[0];
    const uint64_t *examples = (const uint64_t *)task.from[1];
    const float     scale    = (float)task.real[0];
    const size_t    count    = task.n[0] * task.n[1];

    for (size_t i = tw_thread(); i < count; i += tw_threads()) {
        const size_t u = dense_divide(i, task.n[1]);
        float        v = y[i];

        if (task.flag[0] >= 0) {
            v = dense_activated(v + (bias != NULL ? bias[u] : 0.0f), task.flag[0]);
        }
        if (examples != NULL) {
            v = dense_keeps(&task, examples[i - u * task.n[1]], task.n[2] + u) ? scale * v : 0.0f;
        }
        y[i] = v;
    }
}

/* to[0] = rows [n][units]: n[1], n[0]; from[0]: the same, may be to[0]; from[1] = examples[n].
 * Dropped out as above. */
TW_TASK(dense_rows)
{
    float          *to       = (float *)task.to[0];
    const float    *from     = (const float *)task.from[0];
    const uint64_t *examples = (const uint64_t *)task.from[1];
    const float     scale    = (float)task.real[0];
    const size_t    count    = task.n[0] * task.n[1];

    for (size_t i = tw_thread(); i < count; i += tw_threads()) {
        const size_t j = dense_divide(i, task.n[0]);
        const float  v = scale * from[i];

        to[i] = dense_keeps(&task, examples[j], i - j * task.n[0]) ? v : 0.0f;
    }
}

/* to[0] = n[0] gradients by from[0] = y = real[0] * activation(z), or 0 where dropped, to those by
 * z; flag[0]: TW_RELU or TW_LOGISTIC. */
TW_TASK(dense_deactivate)
{
    float       *d     = (float *)task.to[0];
    const float *y     = (const float *)task.from[0];
    const float  scale = (float)task.real[0], keep = 1.0f / scale;

    for (size_t i = tw_thread(); i < task.n[0]; i += tw_threads()) {
        if (task.flag[0] == TW_RELU) {
            d[i] = y[i] > 0.0f ? scale * d[i] : 0.0f * y[i];
        } else {
            d[i] *= y[i] * (1.0f - keep * y[i]);
        }
    }
}

/* to[0][units] = sums over from[0][units][n], flag[0]: added to what is there; n[0], n[1].
 * DENSE_LANES threads a unit; the last of the examples come after their sums. */
TW_TASK(dense_sum)
{
    __shared__ float lane[TW_TASK_THREADS];
    float           *sum = (float *)task.to[0];
    const float     *d   = (const float *)task.from[0];
    const unsigned   k = threadIdx.x % DENSE_LANES, mine = threadIdx.x / DENSE_LANES;
    const size_t     whole = task.n[1] / DENSE_LANES * DENSE_LANES;

    for (size_t first = (size_t)blockIdx.x * DENSE_SUMS; first < task.n[0];
         first += (size_t)gridDim.x * DENSE_SUMS) {
        const size_t u     = first + mine;
        float        total = 0.0f;

        for (size_t j = k; u < task.n[0] && j < whole; j += DENSE_LANES) {
            total += d[u * task.n[1] + j];
        }
        __syncthreads();
        lane[threadIdx.x] = total;
        __syncthreads();
        if (k == 0 && u < task.n[0]) {
            total = 0.0f;
            for (unsigned i = 0; i < DENSE_LANES; i++) {
                total += lane[threadIdx.x + i];
            }
            for (size_t j = whole; j < task.n[1]; j++) {
                total += d[u * task.n[1] + j];
            }
            sum[u] = task.flag[0] ? sum[u] + total : total;
        }
    }
}

/* Of n[0] outputs to[1]: to[0] = theirs, or flag[0]: += theirs; flag[1]: to[1] = to[0] /
 * real[0]. */
TW_TASK(dense_view)
{
    float      *sum = (float *)task.to[0], *y = (float *)task.to[1];
    const float views = (float)task.real[0];

    for (size_t i = tw_thread(); i < task.n[0]; i += tw_threads()) {
        const float s = task.flag[0] ? sum[i] + y[i] : y[i];

        sum[i] = s;
        y[i]   = task.flag[1] ? s / views : y[i];
    }
}
