/* SPDX-License-Identifier: BSD-3-Clause
 * cuda/places.cu - kernels for which the place of a number in the image counts: shortcuts of
 * another shape, and windows of poolings that cuDNN does not have. Every result is computed by one
 * thread, which adds in order.
 */
#include "train/compute/cuda/device.h"

typedef struct tw_position {
    uint32_t plane, h, w; /* plane: n * channels + channel */
} tw_position_t;

TW_DEVICE tw_position_t tw_place_of(uint32_t i, uint32_t h, uint32_t w)
{
    tw_position_t p;

    p.w     = i % w;
    p.h     = i / w % h;
    p.plane = i / w / h;
    return p;
}

/* to[0] = activation(from[0] + every n[6]-th row and n[7]-th column of from[1]); flag[0]: rectified
 * or not. n: numbers of y, its channels, h, w; channels, h, then n[8]: w of from[1]. */
TW_TASK(shortcut)
{
    const float   *a = (const float *)task.from[0], *b = (const float *)task.from[1];
    float         *y = (float *)task.to[0];
    const uint32_t c = (uint32_t)task.n[1], c2 = (uint32_t)task.n[4], h2 = (uint32_t)task.n[5];
    const uint32_t w2 = (uint32_t)task.n[8], by_h = (uint32_t)task.n[6], by_w = (uint32_t)task.n[7];
    const tw_groups_t groups = tw_groups(task.n[0], TW_ADDRESS(a) | TW_ADDRESS(y), task.n[3]);

    TW_EACH_GROUP(g, groups)
    {
        const tw_position_t p =
            tw_place_of((uint32_t)tw_group_at(groups, g), (uint32_t)task.n[2], (uint32_t)task.n[3]);
        const uint32_t n = p.plane / c, k = p.plane - n * c;
        const float   *row = b + ((size_t)(n * c2 + k) * h2 + p.h * by_h) * w2 + p.w * by_w;
        tw_four_t      v   = tw_get(a, groups, g);

        TW_EACH_OF_FOUR(j)
        {
            if (k < c2 && (j == 0 || g < groups.fours)) {
                v.v[j] += row[(uint32_t)j * by_w];
            }
            v.v[j] = task.flag[0] == TW_TASK_RELU && v.v[j] < 0.0f ? 0.0f : v.v[j];
        }
        tw_put(y, groups, g, v);
    }
}

/* The gradient by the shortcut's input, to[0], from that by the sum, from[0]; flag[0]: it is added.
 * n as above, but n[0] numbers of to[0]. */
TW_TASK(shortcut_back)
{
    const float   *dy = (const float *)task.from[0];
    float         *dx = (float *)task.to[0];
    const uint32_t c = (uint32_t)task.n[1], h = (uint32_t)task.n[2], w = (uint32_t)task.n[3];
    const uint32_t c2 = (uint32_t)task.n[4], by_h = (uint32_t)task.n[6], by_w = (uint32_t)task.n[7];
    const tw_groups_t groups = tw_groups(task.n[0], TW_ADDRESS(dx), task.n[8]);

    TW_EACH_GROUP(g, groups)
    {
        const tw_position_t p =
            tw_place_of((uint32_t)tw_group_at(groups, g), (uint32_t)task.n[5], (uint32_t)task.n[8]);
        const uint32_t n = p.plane / c2, k = p.plane - n * c2, at = p.h / by_h;
        const float   *row = dy + ((size_t)(n * c + k) * h + at) * w;
        tw_four_t      v   = {{0.0f, 0.0f, 0.0f, 0.0f}};

        if (task.flag[0]) {
            v = tw_get(dx, groups, g);
        }
        TW_EACH_OF_FOUR(j)
        {
            const uint32_t x = p.w + (uint32_t)j, q = x / by_w;

            if (at * by_h == p.h && q * by_w == x && (j == 0 || g < groups.fours)) {
                v.v[j] += row[q];
            }
        }
        tw_put(dx, groups, g, v);
    }
}

/* A pooling: n[1], n[2]: h and w of x; n[3], n[4]: of y; n[5]: kernel h * 2^32 + w, n[6]: strides,
 * n[7]: borders likewise. flag[0]: mean; flag[1]: it counts the border. */
typedef struct tw_windows {
    uint32_t in[2], out[2], kernel[2], stride[2], pad[2];
} tw_windows_t;

TW_DEVICE tw_windows_t tw_windows_of(const tw_task_t *task)
{
    tw_windows_t s;

    for (int i = 0; i < 2; i++) {
        const int shift = i == 0 ? 32 : 0;

        s.in[i]     = (uint32_t)task->n[1 + i];
        s.out[i]    = (uint32_t)task->n[3 + i];
        s.kernel[i] = (uint32_t)((uint64_t)task->n[5] >> shift);
        s.stride[i] = (uint32_t)((uint64_t)task->n[6] >> shift);
        s.pad[i]    = (uint32_t)((uint64_t)task->n[7] >> shift);
    }
    return s;
}

/* The window's part in the image, [first, end), along one side. */
TW_DEVICE void tw_window(const tw_windows_t *s, int side, uint32_t at, uint32_t *first,
                         uint32_t *end)
{
    const uint32_t from = at * s->stride[side], pad = s->pad[side];
    const uint32_t to = from + s->kernel[side];

    *first = from > pad ? from - pad : 0;
    *end   = to <= pad ? 0 : to - pad < s->in[side] ? to - pad : s->in[side];
}

/* to[0] = the pooling of from[0], n[0] numbers; to[1], unless a mean: where in its plane of from[0]
 * each is, the first of the largest, or of NaN. */
TW_TASK(pool)
{
    const float       *x  = (const float *)task.from[0];
    float             *y  = (float *)task.to[0];
    uint32_t          *at = (uint32_t *)task.to[1];
    const tw_windows_t s  = tw_windows_of(&task);

    for (size_t i = tw_thread(); i < task.n[0]; i += tw_threads()) {
        const tw_position_t p     = tw_place_of((uint32_t)i, s.out[0], s.out[1]);
        const float        *plane = x + (size_t)p.plane * s.in[0] * s.in[1];
        uint32_t            h0, h1, w0, w1, best;
        float               sum = 0.0f;

        tw_window(&s, 0, p.h, &h0, &h1);
        tw_window(&s, 1, p.w, &w0, &w1);
        best = h0 * s.in[1] + w0;
        for (uint32_t h = h0; h < h1; h++) {
            for (uint32_t w = w0; w < w1; w++) {
                const uint32_t k = h * s.in[1] + w;

                sum += plane[k];
                if (plane[k] > plane[best] ||
                    (plane[k] != plane[k] && plane[best] == plane[best])) {
                    best = k;
                }
            }
        }
        if (task.flag[0]) {
            y[i] = sum / (float)(task.flag[1] ? s.kernel[0] * s.kernel[1] : (h1 - h0) * (w1 - w0));
        } else {
            y[i]  = plane[best];
            at[i] = best;
        }
    }
}

/* The first window that has this position, and the end of those that do, along one side. */
TW_DEVICE void tw_windows_with(const tw_windows_t *s, int side, uint32_t at, uint32_t *first,
                               uint32_t *end)
{
    const uint32_t place = at + s->pad[side], last = place / s->stride[side] + 1;

    *first = place < s->kernel[side] ? 0 : (place - s->kernel[side]) / s->stride[side] + 1;
    *end   = last < s->out[side] ? last : s->out[side];
}

/* to[0], n[0] numbers: the gradient by x from that by y, from[0]; from[1]: the places of a
 * maximum. */
TW_TASK(pool_back)
{
    const float       *dy = (const float *)task.from[0];
    const uint32_t    *at = (const uint32_t *)task.from[1];
    float             *dx = (float *)task.to[0];
    const tw_windows_t s  = tw_windows_of(&task);

    for (size_t i = tw_thread(); i < task.n[0]; i += tw_threads()) {
        const tw_position_t p    = tw_place_of((uint32_t)i, s.in[0], s.in[1]);
        const size_t        base = (size_t)p.plane * s.out[0] * s.out[1];
        const uint32_t      here = p.h * s.in[1] + p.w;
        uint32_t            h0, h1, w0, w1;
        float               sum = 0.0f;

        tw_windows_with(&s, 0, p.h, &h0, &h1);
        tw_windows_with(&s, 1, p.w, &w0, &w1);
        for (uint32_t h = h0; h < h1; h++) {
            for (uint32_t w = w0; w < w1; w++) {
                const size_t k = base + h * s.out[1] + w;
                uint32_t     a0, a1, b0, b1;

                if (!task.flag[0]) {
                    sum += at[k] == here ? dy[k] : 0.0f;
                    continue;
                }
                tw_window(&s, 0, h, &a0, &a1);
                tw_window(&s, 1, w, &b0, &b1);
                sum += dy[k] /
                       (float)(task.flag[1] ? s.kernel[0] * s.kernel[1] : (a1 - a0) * (b1 - b0));
            }
        }
        dx[i] = sum;
    }
}
