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

void tw_statistics_add(const tw_statistics_t *s, double *into, const double *from, size_t channels,
                       bool first)
{
    if (!s->sums) {
        into[0] = first ? 0.0 : into[0];
        tw_moments_merge(into, from, channels);
        return;
    }
    for (size_t i = 0; i < 2 * channels; i++) {
        into[i] = first ? from[i] : into[i] + from[i];
    }
}

void tw_statistics_merge(const tw_statistics_t *s, double *into, size_t channels, double *all,
                         size_t stride)
{
    const tw_nodes_t *nodes = tw_comm_layout(s->comm);

    for (int node = 0; node < nodes->count; node++) {
        double *sum = all + (size_t)tw_nodes_rank(nodes, node, 0) * stride;

        for (int i = 1; i < tw_nodes_ranks(nodes, node); i++) {
            tw_statistics_add(s, sum, all + (size_t)tw_nodes_rank(nodes, node, i) * stride,
                              channels, false);
        }
        tw_statistics_add(s, into, sum, channels, node == 0);
    }
}
