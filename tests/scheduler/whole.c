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

/* ---- how far double may be off ---------------------------------------------------------------
 *
 * u is the unit roundoff; products of errors are left out and made up for by SLACK, which also
 * covers the long double of what is compared with.
 *
 * A rank's moments, of n values with mean m, mean size a = sum |x| / n and sum of squares M:
 *   - its sum is off by at most (n - 1) u sum |x|, and the division adds u |m|, |m| <= a: the mean
 *     is off by e = n u a;
 *   - a square of (x - mean) has 3 roundings, their sum n - 1, and a mean that is off by e adds
 *     n e^2 to the sum of squares: M is off by f = (n + 2) u M + n e^2.
 * For values far from zero e is not small beside the deviation: n u 1e4 for n = 40 is 4e-11.
 *
 * Merging (n, m, M), off by (e, f), with rank b's, d = m_b - m, w = n n_b / (n + n_b):
 *   - d is off by g = e + e_b + u |d|;
 *   - the mean's error is the weighted mean of both errors, and the product d (n_b / n) has 2
 *     roundings, the sum 1: e' = (n e + n_b e_b) / (n + n_b) + 2 u |d| + u |m'|;
 *   - d d w has 4 roundings, the two sums 1 each of at most M' = M + M_b + d^2 w:
 *     f' = f + f_b + (2 |d| g + g^2) w + 4 u d^2 w + 2 u M'.
 * The term 2 |d| e w is what a fixed share of M does not cover: |d| is of the size of the
 * deviation, e of that of the mean. */

#define UNIT  0x1p-53L
#define SLACK 1.1L

/* One rank's moments. */
static whole_t whole_part(const batch_t *batch, int r, size_t layer, size_t c)
{
    const size_t n    = batch->count[r];
    whole_t      part = {.count = (long double)n};
    long double  size = 0;

    for (size_t i = 0; i < n; i++) {
        const long double x = (long double)value(batch, r, layer, c, i, 0);

        part.mean += x / part.count;
        size += fabsl(x) / part.count;
    }
    for (size_t i = 0; i < n; i++) {
        const long double d = (long double)value(batch, r, layer, c, i, 0) - part.mean;

        part.m2 += d * d;
    }
    part.mean_error = part.count * UNIT * size;
    part.m2_error =
        (part.count + 2) * UNIT * part.m2 + part.count * part.mean_error * part.mean_error;
    return part;
}

static void whole_merge(whole_t *a, const whole_t *b)
{
    const long double n = a->count + b->count, d = b->mean - a->mean, w = a->count * b->count / n;
    const long double g  = a->mean_error + b->mean_error + UNIT * fabsl(d);
    const long double m2 = a->m2 + b->m2 + d * d * w, mean = a->mean + d * b->count / n;

    a->mean_error = (a->count * a->mean_error + b->count * b->mean_error) / n +
                    2 * UNIT * fabsl(d) + UNIT * fabsl(mean);
    a->m2_error +=
        b->m2_error + (2 * fabsl(d) * g + g * g) * w + 4 * UNIT * d * d * w + 2 * UNIT * m2;
    a->count = n;
    a->mean  = mean;
    a->m2    = m2;
}

/* The bounds, from the ranks' parts in their order; then the moments without parts. */
whole_t whole_moments(const batch_t *batch, int first, int last, size_t layer, size_t c)
{
    whole_t w = {.count = 0}, merged = {.count = 0};

    for (int r = first; r < last; r++) {
        const whole_t part = whole_part(batch, r, layer, c);

        if (merged.count > 0 && part.count > 0) {
            whole_merge(&merged, &part);
        } else if (part.count > 0) {
            merged = part;
        }
    }
    w.mean_error = SLACK * merged.mean_error;
    w.m2_error   = SLACK * merged.m2_error;

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
    for (size_t l = 0; l < LAYERS; l++) {
        const double *got = m->numbers[l];

        for (size_t c = 0; c < channels_of[l]; c++) {
            const whole_t want = whole_moments(batch, first, last, l, c);
            const double  m2   = got[1 + channels_of[l] + c];

            T_CHECK(got[0] == (double)want.count, "layer %zu: count %g, not %Lg", l, got[0],
                    want.count);
            T_CHECK(fabsl((long double)got[1 + c] - want.mean) <= want.mean_error,
                    "layer %zu, channel %zu: mean %.17g, not %.20Lg", l, c, got[1 + c], want.mean);
            T_CHECK(fabsl((long double)m2 - want.m2) <= want.m2_error,
                    "layer %zu, channel %zu: M2 %.17g, not %.20Lg", l, c, m2, want.m2);
        }
    }
}
