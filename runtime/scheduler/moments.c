/* SPDX-License-Identifier: BSD-3-Clause
 * scheduler/moments.c - merging (count, mean, M2) of two sets of values, and of all ranks'.
 *
 * Chan, Golub, LeVeque, "Updating formulae and a pairwise algorithm for computing sample
 * variances", 1979:
 *     d = mean_b - mean_a,  n = n_a + n_b
 *     mean = mean_a + d n_b / n,  M2 = M2_a + M2_b + d^2 n_a n_b / n
 * Only the two means are subtracted, so there is no cancellation.
 */
#include "config.h"

#include <string.h>

#include "runtime/scheduler/statistics.h"

void tw_moments_merge(double *a, const double *b, size_t channels)
{
    const double n    = a[0] + b[0];
    double      *mean = a + 1, *m2 = mean + channels;

    if (!(a[0] > 0.0) || !(b[0] > 0.0)) {
        if (b[0] > 0.0) {
            memcpy(a, b, (1 + 2 * channels) * sizeof(*a));
        } else if (!(a[0] > 0.0)) {
            memset(a, 0, (1 + 2 * channels) * sizeof(*a));
        }
        return;
    }
    for (size_t c = 0; c < channels; c++) {
        const double d = b[1 + c] - mean[c];

        mean[c] += d * (b[0] / n);
        m2[c] += b[1 + channels + c] + d * d * (a[0] * (b[0] / n));
    }
    a[0] = n;
}

/* ---- of all ranks ---------------------------------------------------------------------------- */

static void tw_layer_merge(double *into, size_t channels, const double *all, size_t stride,
                           int ranks)
{
    into[0] = 0.0;
    for (int r = 0; r < ranks; r++) {
        tw_moments_merge(into, all + (size_t)r * stride, channels);
    }
}

static void tw_layer_add(double *into, size_t channels, const double *all, size_t stride, int ranks)
{
    const size_t n = 2 * channels;

    for (size_t i = 0; i < n; i++) {
        into[i] = all[i];
    }
    for (int r = 1; r < ranks; r++) {
        for (size_t i = 0; i < n; i++) {
            into[i] += all[(size_t)r * stride + i];
        }
    }
}

void tw_statistics_merge(const tw_statistics_t *s, double *into, size_t channels, const double *all,
                         size_t stride)
{
    (s->sums ? tw_layer_add : tw_layer_merge)(into, channels, all, stride, s->ranks);
}
