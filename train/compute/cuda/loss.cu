/* SPDX-License-Identifier: BSD-3-Clause
 * cuda/loss.cu - the losses of dense.h, on outputs z[units][n] of n examples. Sums have an order of
 * their own, always the same: over units in LOSS_SLICES parts, over examples in a tree.
 *
 * In all kernels n[0] = n, n[1] = units, n[2] = first, from[0] = labels.
 */
#include "train/compute/cuda/device.h"
#include "train/compute/dense.h"
#include "train/compute/kernels_inline.h"

/* A thread block has LOSS_SLICES parts of the units of LOSS_EXAMPLES examples at a time: few, so
 * that small batches have several blocks, and as many as what is read at once holds, 32 bytes. */
#define LOSS_EXAMPLES ((unsigned)TW_TASK_EXAMPLES)
#define LOSS_SLICES   (TW_TASK_THREADS / LOSS_EXAMPLES)
#define LOSS_TOPS     5
#define LOSS_FACTORS  512u /* of 1 + e^-|z| <= 2 that a product of doubles holds */

/* The row of example j's label among this rank's, or `units` where another rank has it. */
TW_DEVICE size_t loss_label_at(const tw_task_t *task, size_t j)
{
    const size_t label = ((const uint32_t *)task->from[0])[j];

    return label < task->n[2] || label - task->n[2] >= task->n[1] ? task->n[1] : label - task->n[2];
}

/* The sum of what all threads of the block have, in thread 0; all call it. A thread keeps its part:
 * a load of lane[0] under a condition is one that all threads may do, beside the store of the
 * first. */
TW_DEVICE double loss_tree(double mine, double *lane)
{
    __syncthreads();
    lane[threadIdx.x] = mine;
    for (unsigned half = TW_TASK_THREADS / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) {
            mine += lane[threadIdx.x + half];
            lane[threadIdx.x] = mine;
        }
    }
    return mine;
}

/* to[0] = label[n]: the output, in from[1] = z, of each example's label. */
TW_TASK(loss_labels)
{
    float       *label = (float *)task.to[0];
    const float *z     = (const float *)task.from[1];

    for (size_t j = tw_thread(); j < task.n[0]; j += tw_threads()) {
        const size_t u = loss_label_at(&task, j);

        label[j] = u < task.n[1] ? z[u * task.n[0] + j] : 0.0f;
    }
}

/* v among the largest: the larger stays, the other goes on. */
TW_DEVICE void loss_insert(float *top, float v)
{
    for (int k = 0; k < LOSS_TOPS; k++) {
        const float m = top[k];

        top[k] = v > m ? v : m;
        v      = v > m ? m : v;
    }
}

/* to[0] = [n[3]][n], n[3] = 1 or LOSS_TOPS: the largest of from[1] = z. */
TW_TASK(loss_tops)
{
    __shared__ float part[LOSS_TOPS][TW_TASK_THREADS];
    float           *most = (float *)task.to[0];
    const float     *z    = (const float *)task.from[1];
    const size_t     n    = task.n[0];

    for (size_t first = (size_t)blockIdx.x * LOSS_EXAMPLES; first < n;
         first += (size_t)gridDim.x * LOSS_EXAMPLES) {
        const size_t j = first + threadIdx.x % LOSS_EXAMPLES;
        float        top[LOSS_TOPS];

        for (int k = 0; k < LOSS_TOPS; k++) {
            top[k] = -INFINITY;
        }
        for (size_t u = threadIdx.x / LOSS_EXAMPLES; j < n && u < task.n[1]; u += LOSS_SLICES) {
            loss_insert(top, z[u * n + j]);
        }
        __syncthreads();
        for (int k = 0; k < LOSS_TOPS; k++) {
            part[k][threadIdx.x] = top[k];
        }
        for (unsigned half = TW_TASK_THREADS / 2; half >= LOSS_EXAMPLES; half /= 2) {
            __syncthreads();
            if (threadIdx.x < half) {
                for (int k = 0; k < LOSS_TOPS; k++) {
                    loss_insert(top, part[k][threadIdx.x + half]);
                }
                for (int k = 0; k < LOSS_TOPS; k++) {
                    part[k][threadIdx.x] = top[k];
                }
            }
        }
        for (size_t k = 0; k < LOSS_TOPS && threadIdx.x < LOSS_EXAMPLES && j < n; k++) {
            if (k < task.n[3]) {
                most[k * n + j] = top[k];
            }
        }
    }
}

/* to[0] = z = e^(z - from[1][n]), to[1][n] = their sums. */
TW_TASK(loss_exponentials)
{
    __shared__ float part[TW_TASK_THREADS];
    float           *z = (float *)task.to[0], *sums = (float *)task.to[1];
    const float     *most = (const float *)task.from[1];
    const size_t     n    = task.n[0];

    for (size_t first = (size_t)blockIdx.x * LOSS_EXAMPLES; first < n;
         first += (size_t)gridDim.x * LOSS_EXAMPLES) {
        const size_t j   = first + threadIdx.x % LOSS_EXAMPLES;
        float        sum = 0.0f;

        for (size_t u = threadIdx.x / LOSS_EXAMPLES; j < n && u < task.n[1]; u += LOSS_SLICES) {
            const float e = tw_exp(z[u * n + j] - most[j]);

            z[u * n + j] = e;
            sum += e;
        }
        __syncthreads();
        part[threadIdx.x] = sum;
        __syncthreads();
        if (threadIdx.x < LOSS_EXAMPLES && j < n) {
            for (unsigned s = 1; s < LOSS_SLICES; s++) {
                sum += part[s * LOSS_EXAMPLES + threadIdx.x];
            }
            sums[j] = sum;
        }
    }
}

/* One thread block. from[1] = what n[4] ranks gave, [n[4]][n[5]]: n[3] rows of [n] largest, one of
 * sums; from[2] = label[n], from[3] = this rank's largest [n]. to[0][n] = the factors from its
 * exponentials to gradients, times real[0]; the loss of its labels is added to to[1],
 * tw_dense_sums_t. */
TW_TASK(loss_softmax)
{
    __shared__ double lane[TW_TASK_THREADS];
    const float      *all = (const float *)task.from[1], *label = (const float *)task.from[2];
    const float      *mine   = (const float *)task.from[3];
    float            *factor = (float *)task.to[0];
    tw_dense_sums_t  *sums   = (tw_dense_sums_t *)task.to[1];
    const float       scale  = (float)task.real[0];
    double            total  = 0.0;

    for (size_t j = threadIdx.x; j < task.n[0]; j += TW_TASK_THREADS) {
        float top = -INFINITY, sum = 0.0f;

        for (size_t r = 0; r < task.n[4]; r++) {
            const float m = all[r * task.n[5] + j];

            top = m > top ? m : top;
        }
        for (size_t r = 0; r < task.n[4]; r++) {
            const float *given = all + r * task.n[5];

            sum += given[task.n[3] * task.n[0] + j] * tw_exp(given[j] - top);
        }
        if (loss_label_at(&task, j) < task.n[1]) {
            total += (double)top - (double)label[j] + log((double)sum);
        }
        factor[j] = scale * tw_exp(mine[j] - top) / sum;
    }
    total = loss_tree(total, lane);
    if (threadIdx.x == 0) {
        sums->loss += total;
    }
}

/* to[0] = z = z * from[1][n], less real[0] where the label is. */
TW_TASK(loss_gradients)
{
    float       *z      = (float *)task.to[0];
    const float *factor = (const float *)task.from[1];
    const float  scale  = (float)task.real[0];
    const size_t n = task.n[0], count = n * task.n[1];

    for (size_t i = tw_thread(); i < count; i += tw_threads()) {
        const size_t u = i >> 32 == 0 ? (uint32_t)i / (uint32_t)n : i / n, j = i - u * n;
        const float  g = z[i] * factor[j];

        z[i] = u == loss_label_at(&task, j) ? g - scale : g;
    }
}

/* log(1 + e^z) = max(z, 0) + log(1 + e^-|z|), with the logarithm of the product of many factors at
 * once. to[0] = z = real[0] * logistic(z), less real[0] where the label is; to[1][n] = the loss of
 * each example; from[1] = label[n]. */
TW_TASK(loss_logistic)
{
    __shared__ double part[TW_TASK_THREADS];
    float            *z     = (float *)task.to[0];
    double           *loss  = (double *)task.to[1];
    const float      *label = (const float *)task.from[1];
    const float       scale = (float)task.real[0];
    const size_t      n     = task.n[0];

    for (size_t first = (size_t)blockIdx.x * LOSS_EXAMPLES; first < n;
         first += (size_t)gridDim.x * LOSS_EXAMPLES) {
        const size_t j   = first + threadIdx.x % LOSS_EXAMPLES;
        const size_t at  = j < n ? loss_label_at(&task, j) : 0;
        double       sum = 0.0, product = 1.0;
        unsigned     factors = 0;

        for (size_t u = threadIdx.x / LOSS_EXAMPLES; j < n && u < task.n[1]; u += LOSS_SLICES) {
            const float v = z[u * n + j], e = tw_exp(v < 0.0f ? v : -v);
            const float g = scale * ((v < 0.0f ? e : 1.0f) / (1.0f + e));

            sum += v < 0.0f ? 0.0 : (double)v;
            product *= 1.0 + (double)e;
            if (++factors == LOSS_FACTORS) {
                sum += log(product);
                product = 1.0;
                factors = 0;
            }
            z[u * n + j] = u == at ? g - scale : g;
        }
        sum += log(product);
        __syncthreads();
        part[threadIdx.x] = sum;
        __syncthreads();
        if (threadIdx.x < LOSS_EXAMPLES && j < n) {
            for (unsigned s = 1; s < LOSS_SLICES; s++) {
                sum += part[s * LOSS_EXAMPLES + threadIdx.x];
            }
            loss[j] = sum - (double)label[j]; /* 0 of others' labels */
        }
    }
}

/* One thread block. to[0] = tw_dense_sums_t: adds the loss of n[0] examples, from[1]. */
TW_TASK(loss_total)
{
    __shared__ double lane[TW_TASK_THREADS];
    const double     *loss  = (const double *)task.from[1];
    double            total = 0.0;

    for (size_t j = threadIdx.x; j < task.n[0]; j += TW_TASK_THREADS) {
        total += loss[j];
    }
    total = loss_tree(total, lane);
    if (threadIdx.x == 0) {
        ((tw_dense_sums_t *)task.to[0])->loss += total;
    }
}

/* One thread block. from[1], n[3] .. n[5] as for loss_softmax, from[2] = label[n]. to[0] =
 * tw_dense_sums_t: adds the examples with this rank's labels of which an output is greater, and
 * with flag[0] those of which LOSS_TOPS are. Sums of ones in double are exact. */
TW_TASK(loss_count)
{
    __shared__ double lane[TW_TASK_THREADS];
    const float      *all = (const float *)task.from[1], *label = (const float *)task.from[2];
    tw_dense_sums_t  *sums = (tw_dense_sums_t *)task.to[0];
    double            one = 0.0, five = 0.0;

    for (size_t j = threadIdx.x; j < task.n[0]; j += TW_TASK_THREADS) {
        size_t greater = 0;

        for (size_t r = 0; r < task.n[4]; r++) {
            for (size_t k = 0; k < task.n[3]; k++) {
                greater += all[r * task.n[5] + k * task.n[0] + j] > label[j];
            }
        }
        if (loss_label_at(&task, j) < task.n[1]) {
            const int none = label[j] != label[j];

            one += none || greater > 0 ? 1.0 : 0.0;
            five += task.flag[0] && (none || greater >= LOSS_TOPS) ? 1.0 : 0.0;
        }
    }
    one  = loss_tree(one, lane);
    five = loss_tree(five, lane);
    if (threadIdx.x == 0) {
        sums->one += (uint64_t)one;
        sums->five += (uint64_t)five;
    }
}

/* One thread block. to[0][2] = {loss, wrong ones} of to[1] = tw_dense_sums_t, which begin anew. */
TW_TASK(loss_give)
{
    float           *to   = (float *)task.to[0];
    tw_dense_sums_t *sums = (tw_dense_sums_t *)task.to[1];

    if (threadIdx.x == 0) {
        to[0]      = (float)sums->loss;
        to[1]      = (float)sums->one;
        sums->loss = 0.0;
        sums->one = sums->five = 0;
    }
}
