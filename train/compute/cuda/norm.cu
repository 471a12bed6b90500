/* SPDX-License-Identifier: BSD-3-Clause
 * cuda/norm.cu - kernels of batch normalisation.
 *
 * Sums over a channel are taken by thread blocks, `parts` of them for each channel, in double; then
 * by a warp for each channel, which adds the parts in a tree. How many parts there are, at most two
 * for each thread of a warp, follows from the numbers of a channel alone, and whether four are read
 * at a time from those of a plane, so bits are the same on any device and in every run.
 *
 * In all of them n[0] is the number of channels, n[1] that of numbers in a plane, n[2] that of
 * examples.
 */
#include "train/compute/cuda/device.h"

/* ---- sums of two kinds ---- */

/* The place of number e of a channel's: example after example. */
TW_DEVICE size_t tw_channel_at(const tw_task_t *task, uint32_t channel, uint32_t e)
{
    const uint32_t rows = (uint32_t)task->n[1], example = e / rows;

    return ((size_t)example * task->n[0] + channel) * rows + (e - example * rows);
}

/* The threads' sums a and b of a block become to[0], to[1]. */
TW_DEVICE void tw_block_sums(double a, double b, double *to)
{
    __shared__ double sum[2][TW_TASK_THREADS];
    const unsigned    t = threadIdx.x;

    sum[0][t] = a;
    sum[1][t] = b;
    for (unsigned half = TW_TASK_THREADS / 2; half > 0; half /= 2) {
        __syncthreads();
        if (t < half) {
            sum[0][t] += sum[0][t + half];
            sum[1][t] += sum[1][t + half];
        }
    }
    if (t == 0) {
        to[0] = sum[0][0];
        to[1] = sum[1][0];
    }
}

/* Numbers that a thread takes at a time from planes at p and q: these begin at multiples of 16
 * bytes then. */
TW_DEVICE uint32_t tw_plane_width(const tw_task_t *task, const float *p, const float *q)
{
    return task->n[1] % 4 == 0 && (TW_ADDRESS(p) | TW_ADDRESS(q)) % 16 == 0 ? 4 : 1;
}

TW_DEVICE tw_four_t tw_plane_get(const float *p, size_t at, uint32_t width)
{
    tw_four_t four;

    if (width == 4) {
        return *(const tw_four_t *)(const void *)(p + at);
    }
    four.v[0] = p[at];
    four.v[1] = four.v[2] = four.v[3] = 0.0f;
    return four;
}

/* The sums of a channel's parts, [parts][2], in the first thread of each warp of a block; all call
 * it. */
TW_DEVICE void tw_warp_sums(const double *part, size_t parts, double *a, double *b)
{
    __shared__ double sum[2][TW_TASK_THREADS];
    const unsigned    t = threadIdx.x, lane = t % TW_TASK_WARP;

    sum[0][t] = lane < parts ? part[2 * lane] : 0.0;
    sum[1][t] = lane < parts ? part[2 * lane + 1] : 0.0;
    if (lane + TW_TASK_WARP < parts) {
        sum[0][t] += part[2 * (lane + TW_TASK_WARP)];
        sum[1][t] += part[2 * (lane + TW_TASK_WARP) + 1];
    }
    for (unsigned half = TW_TASK_WARP / 2; half > 0; half /= 2) {
        __syncwarp(0xffffffffu);
        if (lane < half) {
            sum[0][t] += sum[0][t + half];
            sum[1][t] += sum[1][t + half];
        }
    }
    *a = sum[0][t];
    *b = sum[1][t];
}

/* to[0] [channels][parts][2]: sums of x - centre and of its square, the centre being the channel's
 * first number: so none of large squares. x: from[0]; n[3]: parts; a block for each. */
TW_TASK(moments)
{
    const float   *x     = (const float *)task.from[0];
    const uint32_t parts = (uint32_t)task.n[3], channel = blockIdx.x / parts;
    const uint32_t count  = (uint32_t)(task.n[1] * task.n[2]);
    const uint32_t width  = tw_plane_width(&task, x, x);
    const double   centre = (double)x[(size_t)channel * task.n[1]];
    double         sum = 0.0, squares = 0.0;

    for (uint32_t e = width * (blockIdx.x % parts * TW_TASK_THREADS + threadIdx.x); e < count;
         e += width * parts * TW_TASK_THREADS) {
        const tw_four_t v = tw_plane_get(x, tw_channel_at(&task, channel, e), width);

        TW_EACH_OF_FOUR(j)
        {
            if ((uint32_t)j < width) {
                const double d = (double)v.v[j] - centre;

                sum += d;
                squares += d * d;
            }
        }
    }
    tw_block_sums(sum, squares, (double *)task.to[0] + 2 * (size_t)blockIdx.x);
}

/* to[0]: {count, means, sums of squared differences from them}, of the parts in from[1] and x in
 * from[0]. A warp for a channel. */
TW_TASK(moments_end)
{
    const float  *x    = (const float *)task.from[0];
    const double *part = (const double *)task.from[1];
    double       *to   = (double *)task.to[0];
    const size_t  c = task.n[0], i = tw_thread() / TW_TASK_WARP;
    const double  count = (double)(task.n[1] * task.n[2]);
    double        sum, squares;

    if (i >= c) {
        return;
    }
    tw_warp_sums(part + 2 * i * task.n[3], task.n[3], &sum, &squares);
    if (threadIdx.x % TW_TASK_WARP == 0) {
        squares -= sum * (sum / count);
        to[1 + i]     = (double)x[i * task.n[1]] + sum / count;
        to[1 + c + i] = squares > 0.0 || squares != squares ? squares : 0.0;
        if (i == 0) {
            to[0] = count;
        }
    }
}

/* ---- coefficients: one thread for a channel ---- */

/* What a channel is normalised by: to[0] [3][channels] mean, scale, beta; to[1] 1 / sqrt(var +
 * epsilon). gamma and beta: from[2], from[3]; real[0]: epsilon. */
TW_DEVICE void tw_norm_channel(const tw_task_t *task, size_t i, double mean, double var)
{
    float       *norm    = (float *)task->to[0];
    double      *inverse = (double *)task->to[1];
    const size_t c       = task->n[0];

    inverse[i]      = 1.0 / sqrt(var + task->real[0]);
    norm[i]         = (float)mean;
    norm[c + i]     = (float)((double)((const float *)task->from[2])[i] * inverse[i]);
    norm[2 * c + i] = ((const float *)task->from[3])[i];
}

/* From moments, from[0]. */
TW_TASK(norm_set)
{
    const double *moments = (const double *)task.from[0];

    for (size_t i = tw_thread(); i < task.n[0]; i += tw_threads()) {
        tw_norm_channel(&task, i, moments[1 + i], moments[1 + task.n[0] + i] / moments[0]);
    }
}

/* From means and variances, from[0] and from[1]. */
TW_TASK(norm_fixed)
{
    for (size_t i = tw_thread(); i < task.n[0]; i += tw_threads()) {
        tw_norm_channel(&task, i, (double)((const float *)task.from[0])[i],
                        (double)((const float *)task.from[1])[i]);
    }
}

/* Running means and variances, to[0] and to[1], from moments, from[0]; real[0]: the momentum. */
TW_TASK(norm_running)
{
    const double *moments = (const double *)task.from[0], old = task.real[0];
    float        *mean = (float *)task.to[0], *var = (float *)task.to[1];
    const size_t  c = task.n[0];

    for (size_t i = tw_thread(); i < c && moments[0] > 0.0; i += tw_threads()) {
        const double freedom = moments[0] > 1.0 ? moments[0] - 1.0 : 1.0;

        mean[i] = (float)(old * (double)mean[i] + (1.0 - old) * moments[1 + i]);
        var[i]  = (float)(old * (double)var[i] + (1.0 - old) * moments[1 + c + i] / freedom);
    }
}

/* ---- forward ---- */

TW_DEVICE uint32_t tw_channel_of(const tw_task_t *task, size_t i)
{
    return (uint32_t)i / (uint32_t)task->n[1] % (uint32_t)task->n[0];
}

/* to[0], n[3] numbers: from[0] normalised by from[1]; flag[0]: the activation, rectified or
 * linear. */
TW_TASK(normalise)
{
    const float *x = (const float *)task.from[0], *norm = (const float *)task.from[1];
    float       *y = (float *)task.to[0];
    const size_t c = task.n[0];

    const tw_groups_t groups = tw_groups(task.n[3], TW_ADDRESS(x) | TW_ADDRESS(y), task.n[1]);

    TW_EACH_GROUP(g, groups)
    {
        const uint32_t k    = tw_channel_of(&task, tw_group_at(groups, g));
        const float    mean = norm[k], scale = norm[c + k], beta = norm[2 * c + k];
        tw_four_t      v = tw_get(x, groups, g);

        TW_EACH_OF_FOUR(j)
        {
            v.v[j] = (v.v[j] - mean) * scale + beta;
            v.v[j] = task.flag[0] == TW_TASK_RELU && v.v[j] < 0.0f ? 0.0f : v.v[j];
        }
        tw_put(y, groups, g, v);
    }
}

/* ---- backward ---- */

/* The gradient where the activation let it through: d = x - mean. */
TW_DEVICE float tw_norm_let(float d, float scale, float beta, float dy, int relu)
{
    return !relu || d * scale + beta > 0.0f ? dy : 0.0f;
}

/* to[0] [channels][parts][2]: sums of dy and of dy * (x - mean). dy, x, norm: from[0 .. 2]; n[3],
 * flag[0] as above. */
TW_TASK(norm_sums)
{
    const float   *dy = (const float *)task.from[0], *x = (const float *)task.from[1];
    const float   *norm  = (const float *)task.from[2];
    const uint32_t parts = (uint32_t)task.n[3], k = blockIdx.x / parts;
    const uint32_t count = (uint32_t)(task.n[1] * task.n[2]);
    const uint32_t width = tw_plane_width(&task, x, dy);
    const int      relu  = task.flag[0] == TW_TASK_RELU;
    const float    mean = norm[k], scale = norm[task.n[0] + k], beta = norm[2 * task.n[0] + k];
    double         sum = 0.0, product = 0.0;

    for (uint32_t e = width * (blockIdx.x % parts * TW_TASK_THREADS + threadIdx.x); e < count;
         e += width * parts * TW_TASK_THREADS) {
        const size_t    at = tw_channel_at(&task, k, e);
        const tw_four_t v = tw_plane_get(x, at, width), slope = tw_plane_get(dy, at, width);

        TW_EACH_OF_FOUR(j)
        {
            if ((uint32_t)j < width) {
                const float d = v.v[j] - mean;
                const float g = tw_norm_let(d, scale, beta, slope.v[j], relu);

                sum += (double)g;
                product += (double)g * (double)d;
            }
        }
    }
    tw_block_sums(sum, product, (double *)task.to[0] + 2 * (size_t)blockIdx.x);
}

/* to[0] and to[1] [2][channels]: the sums, from the parts in from[0], the second times from[1], 1 /
 * deviation. A warp for a channel. */
TW_TASK(norm_sums_end)
{
    const double *part = (const double *)task.from[0], *inverse = (const double *)task.from[1];
    double       *to = (double *)task.to[0], *own = (double *)task.to[1];
    const size_t  c = task.n[0], i = tw_thread() / TW_TASK_WARP;
    double        sum, product;

    if (i >= c) {
        return;
    }
    tw_warp_sums(part + 2 * i * task.n[3], task.n[3], &sum, &product);
    if (threadIdx.x % TW_TASK_WARP == 0) {
        to[i] = own[i] = sum;
        to[c + i] = own[c + i] = product * inverse[i];
    }
}

/* What norm_back() wants: to[0] [3][channels] shift, slope, factor. Sums, moments (the count), 1 /
 * deviation, gamma: from[0 .. 3]. */
TW_TASK(norm_set_sums)
{
    const double *sums = (const double *)task.from[0], *inverse = (const double *)task.from[2];
    const double  count = *(const double *)task.from[1];
    const float  *gamma = (const float *)task.from[3];
    float        *back  = (float *)task.to[0];
    const size_t  c     = task.n[0];

    for (size_t i = tw_thread(); i < c; i += tw_threads()) {
        back[i]         = (float)(sums[i] / count);
        back[c + i]     = (float)(sums[c + i] / count * inverse[i]);
        back[2 * c + i] = (float)((double)gamma[i] * inverse[i]);
    }
}

/* Gradients of gamma and beta, to[0] and to[1], from own sums, from[0]. */
TW_TASK(norm_params)
{
    const double *own = (const double *)task.from[0];

    for (size_t i = tw_thread(); i < task.n[0]; i += tw_threads()) {
        ((float *)task.to[0])[i] = (float)own[task.n[0] + i];
        ((float *)task.to[1])[i] = (float)own[i];
    }
}

/* to[0], n[3] numbers: the gradient by x. dy, x, norm, back: from[0 .. 3]; flag[0] as above. dy may
 * be to[0]. */
TW_TASK(norm_back)
{
    const float *dy = (const float *)task.from[0], *x = (const float *)task.from[1];
    const float *norm = (const float *)task.from[2], *back = (const float *)task.from[3];
    float       *dx = (float *)task.to[0];
    const size_t c  = task.n[0];

    const int         relu = task.flag[0] == TW_TASK_RELU;
    const tw_groups_t groups =
        tw_groups(task.n[3], TW_ADDRESS(dy) | TW_ADDRESS(x) | TW_ADDRESS(dx), task.n[1]);

    TW_EACH_GROUP(g, groups)
    {
        const uint32_t  k    = tw_channel_of(&task, tw_group_at(groups, g));
        const float     mean = norm[k], scale = norm[c + k], beta = norm[2 * c + k];
        const float     shift = back[k], slope = back[c + k], factor = back[2 * c + k];
        const tw_four_t v = tw_get(x, groups, g), given = tw_get(dy, groups, g);
        tw_four_t       out;

        TW_EACH_OF_FOUR(j)
        {
            const float d = v.v[j] - mean;

            out.v[j] = (tw_norm_let(d, scale, beta, given.v[j], relu) - shift - d * slope) * factor;
        }
        tw_put(dx, groups, g, out);
    }
}
