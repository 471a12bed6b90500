/* SPDX-License-Identifier: BSD-3-Clause
 * tests/scheduler/whole.c - the parts of a batch, and the whole.
 */
#include "config.h"

#include <math.h>
#include <string.h>

#include "tests/scheduler/whole.h"

const size_t channels_of[LAYERS] = {3, CHANNELS, 1, 16, 0};

batch_t *batch_make(uint64_t seed, double mean, double deviation)
{
    static batch_t batch;

    batch = (batch_t){.seed = seed, .mean = mean, .deviation = deviation};
    for (int r = 0; r < t_size; r++) {
        batch.count[r] = (uint64_t)r % 3 == seed % 3 ? 0 : 1 + t_mix(seed + (uint64_t)r) % VALUES;
    }
    return &batch;
}

double uniform(uint64_t x)
{
    return (double)(t_mix(x) >> 11) / 9007199254740992.0;
}

/* The sum of four uniform ones is roughly normal. */
double value(const batch_t *batch, int r, size_t layer, size_t c, size_t i, int dy)
{
    const uint64_t at =
        ((((uint64_t)r * LAYERS + layer) * CHANNELS + c) * VALUES + i) * 2 + (uint64_t)dy;
    double sum = -2.0;

    for (uint64_t k = 0; k < 4; k++) {
        sum += uniform(t_mix(batch->seed) + at * 4 + k);
    }
    return dy ? sum : batch->mean + (double)c / 8.0 + batch->deviation * sqrt(3.0) * sum;
}

/* As a layer does it: the mean first, then squares of what is left. */
void local_moments(const batch_t *batch, int r, moments_t *m)
{
    const size_t n = batch->count[r];

    memset(m, 0, sizeof(*m));
    for (size_t l = 0; l < LAYERS; l++) {
        m->list[l]       = m->numbers[l];
        m->numbers[l][0] = (double)n;
        for (size_t c = 0; c < channels_of[l]; c++) {
            double sum = 0.0, m2 = 0.0;

            for (size_t i = 0; i < n; i++) {
                sum += value(batch, r, l, c, i, 0);
            }
            for (size_t i = 0; i < n; i++) {
                const double d = value(batch, r, l, c, i, 0) - sum / (double)n;

                m2 += d * d;
            }
            m->numbers[l][1 + c] = n > 0 ? sum / (double)n : NAN; /* nobody looks */
            m->numbers[l][1 + channels_of[l] + c] = n > 0 ? m2 : NAN;
        }
    }
}

void local_sums(const batch_t *batch, const moments_t *m, moments_t *sums)
{
    memset(sums, 0, sizeof(*sums));
    for (size_t l = 0; l < LAYERS; l++) {
        const double *x = m->numbers[l];
        const size_t  n = channels_of[l];

        sums->list[l] = sums->numbers[l];
        for (size_t c = 0; c < n; c++) {
            const double scale = sqrt(x[1 + n + c] / x[0] + EPSILON);

            for (size_t i = 0; i < batch->count[t_rank]; i++) {
                const double dy = value(batch, t_rank, l, c, i, 1);

                sums->numbers[l][c] += dy;
                sums->numbers[l][n + c] +=
                    dy * ((value(batch, t_rank, l, c, i, 0) - x[1 + c]) / scale);
            }
        }
    }
}

whole_t whole_moments(const batch_t *batch, int first, int last, size_t layer, size_t c)
{
    whole_t w = {0, 0, 0};

    for (int r = first; r < last; r++) {
        w.count += (long double)batch->count[r];
        for (size_t i = 0; i < batch->count[r]; i++) {
            w.mean += (long double)value(batch, r, layer, c, i, 0);
        }
    }
    w.mean = w.count > 0 ? w.mean / w.count : 0;
    for (int r = first; r < last; r++) {
        for (size_t i = 0; i < batch->count[r]; i++) {
            const long double d = (long double)value(batch, r, layer, c, i, 0) - w.mean;

            w.m2 += d * d;
        }
    }
    return w;
}

void whole_sums(const batch_t *batch, size_t layer, size_t c, const whole_t *w, long double *sums)
{
    const long double scale = sqrtl(w->m2 / w->count + (long double)EPSILON);

    sums[0] = sums[1] = 0;
    for (int r = 0; r < t_size; r++) {
        for (size_t i = 0; i < batch->count[r]; i++) {
            const long double dy = (long double)value(batch, r, layer, c, i, 1);

            sums[0] += dy;
            sums[1] += dy * ((long double)value(batch, r, layer, c, i, 0) - w->mean) / scale;
        }
    }
}

int near(double got, long double want, long double scale)
{
    return fabsl((long double)got - want) <= (long double)BOUND * scale;
}

void expect_whole(const batch_t *batch, int first, int last, const moments_t *m)
{
    const long double square = (long double)batch->deviation * (long double)batch->deviation;

    for (size_t l = 0; l < LAYERS; l++) {
        const double *got = m->numbers[l];

        for (size_t c = 0; c < channels_of[l]; c++) {
            const whole_t want = whole_moments(batch, first, last, l, c);
            const double  m2   = got[1 + channels_of[l] + c];

            T_CHECK(got[0] == (double)want.count, "layer %zu: count %g, not %Lg", l, got[0],
                    want.count);
            T_CHECK(near(got[1 + c], want.mean, fabsl(want.mean) + (long double)batch->deviation),
                    "layer %zu, channel %zu: mean %.17g, not %.20Lg", l, c, got[1 + c], want.mean);
            T_CHECK(near(m2, want.m2, want.m2 + want.count * square),
                    "layer %zu, channel %zu: M2 %.17g, not %.20Lg", l, c, m2, want.m2);
        }
    }
}
