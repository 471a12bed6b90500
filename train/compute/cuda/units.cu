/* SPDX-License-Identifier: BSD-3-Clause
 * cuda/units.cu - kernels that take one number after another: activations and their derivatives,
 * sums, dropout. The bits are those of host/loops.c.
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
    const float      *x      = (const float *)task.from[0];
    float            *y      = (float *)task.to[0];
    const tw_groups_t groups = tw_groups(task.n[0], TW_ADDRESS(x) | TW_ADDRESS(y), 0);

    TW_EACH_GROUP(g, groups)
    {
        tw_four_t v = tw_get(x, groups, g);

        TW_EACH_OF_FOUR(j)
        {
            v.v[j] = tw_activated(v.v[j], task.flag[0]);
        }
        tw_put(y, groups, g, v);
    }
}

/* to[0][n[0]] = activation(from[0] + from[1]). In place is allowed. */
TW_TASK(add)
{
    const float      *a = (const float *)task.from[0], *b = (const float *)task.from[1];
    float            *y = (float *)task.to[0];
    const tw_groups_t groups =
        tw_groups(task.n[0], TW_ADDRESS(a) | TW_ADDRESS(b) | TW_ADDRESS(y), 0);

    TW_EACH_GROUP(g, groups)
    {
        const tw_four_t more = tw_get(b, groups, g);
        tw_four_t       v    = tw_get(a, groups, g);

        TW_EACH_OF_FOUR(j)
        {
            v.v[j] = tw_activated(v.v[j] + more.v[j], task.flag[0]);
        }
        tw_put(y, groups, g, v);
    }
}

/* to[0][n[0]] = (from[0] + from[1], unless NULL) * derivative of the activation at from[2]. In
 * place is allowed. */
TW_TASK(settle)
{
    const float      *g = (const float *)task.from[0], *more = (const float *)task.from[1];
    const float      *y   = (const float *)task.from[2];
    float            *out = (float *)task.to[0];
    const int         how = task.flag[0];
    const tw_groups_t groups =
        tw_groups(task.n[0], TW_ADDRESS(g) | TW_ADDRESS(more) | TW_ADDRESS(y) | TW_ADDRESS(out), 0);

    TW_EACH_GROUP(k, groups)
    {
        tw_four_t       v    = tw_get(g, groups, k);
        const tw_four_t at   = how == TW_TASK_LINEAR ? v : tw_get(y, groups, k);
        const tw_four_t rest = more == NULL ? v : tw_get(more, groups, k);

        TW_EACH_OF_FOUR(j)
        {
            const float sum = more == NULL ? v.v[j] : v.v[j] + rest.v[j];

            v.v[j] = how == TW_TASK_RELU       ? (at.v[j] > 0.0f ? sum : 0.0f)
                     : how == TW_TASK_LOGISTIC ? sum * (at.v[j] * (1.0f - at.v[j]))
                                               : sum;
        }
        tw_put(out, groups, k, v);
    }
}

/* to[0] = from[0] where the unit is kept, times real[0], else 0: n[0] numbers, n[1] of an example,
 * whose key is in from[1]; flag[0]: the threshold. In place is allowed. See tw_drop_t. */
TW_TASK(drop)
{
    const float      *x      = (const float *)task.from[0];
    const uint64_t   *key    = (const uint64_t *)task.from[1];
    float            *y      = (float *)task.to[0];
    const float       by     = (float)task.real[0];
    const tw_groups_t groups = tw_groups(task.n[0], TW_ADDRESS(x) | TW_ADDRESS(y), task.n[1]);

    TW_EACH_GROUP(g, groups)
    {
        const uint32_t i = (uint32_t)tw_group_at(groups, g), row = i / (uint32_t)task.n[1];
        const uint32_t u = i - row * (uint32_t)task.n[1];
        const uint64_t k = key[row];
        tw_four_t      v = tw_get(x, groups, g);

        TW_EACH_OF_FOUR(j)
        {
            v.v[j] = tw_keep_halves((uint32_t)k, (uint32_t)(k >> 32), task.flag[0], u + (uint32_t)j)
                         ? v.v[j] * by
                         : 0.0f;
        }
        tw_put(y, groups, g, v);
    }
}

/* to[0] = activation(from[0] + from[1][channel]): n[0] numbers, planes of n[1], n[2] channels; in
 * place is allowed. */
TW_TASK(bias)
{
    const float      *x = (const float *)task.from[0], *b = (const float *)task.from[1];
    float            *y      = (float *)task.to[0];
    const tw_groups_t groups = tw_groups(task.n[0], TW_ADDRESS(x) | TW_ADDRESS(y), task.n[1]);

    TW_EACH_GROUP(g, groups)
    {
        const uint32_t i  = (uint32_t)tw_group_at(groups, g);
        const float    by = b[i / (uint32_t)task.n[1] % (uint32_t)task.n[2]];
        tw_four_t      v  = tw_get(x, groups, g);

        TW_EACH_OF_FOUR(j)
        {
            v.v[j] = tw_activated(v.v[j] + by, task.flag[0]);
        }
        tw_put(y, groups, g, v);
    }
}
