/* SPDX-License-Identifier: BSD-3-Clause
 * host/loops_lanes.h - loops over rows of TW_LANES channels in registers; included by loops.c once
 * per number of lanes. V is a vector of that many floats, or a float; stride is from row to row, so
 * that a strip of wider rows can be walked too.
 *
 * Sums are in float over CHUNK rows at most, in double across chunks.
 */
#define TW_CAT_(a, b) a##_##b
#define TW_CAT(a, b)  TW_CAT_(a, b)
#define LANES(name)   TW_CAT(name, TW_LANES)
#define V             LANES(vec)
#define LOAD(p)       (*(const V *)(p))

/* v unless c is below 0 (NaN is not), v where c is above 0; else 0. */
#if TW_LANES == 1
#define UNLESS_BELOW_0(c, v) ((c) < 0.0f ? 0.0f : (v))
#define WHERE_ABOVE_0(c, v)  ((c) > 0.0f ? (v) : 0.0f)
#else
#define UNLESS_BELOW_0(c, v) ((V)(~((c) < 0.0f) & (LANES(mask))(v)))
#define WHERE_ABOVE_0(c, v)  ((V)(((c) > 0.0f) & (LANES(mask))(v)))
#endif

/* Moments by two passes over each chunk, which is in the cache for the second; chunks are merged as
 * Chan and others have it. */
static void LANES(moments)(const float *x, size_t rows, size_t stride, double *mean, double *m2)
{
    float  d[TW_LANES], q[TW_LANES], c[TW_LANES];
    size_t done = 0;

    while (done < rows) {
        const size_t m  = rows - done < CHUNK ? rows - done : CHUNK;
        const float *p  = x + done * stride;
        V            s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0}, q0 = {0}, q1 = {0}, centre;
        size_t       r = 0;
        double       old, part;

        for (; r + 4 <= m; r += 4) {
            s0 += LOAD(p + r * stride);
            s1 += LOAD(p + (r + 1) * stride);
            s2 += LOAD(p + (r + 2) * stride);
            s3 += LOAD(p + (r + 3) * stride);
        }
        for (; r < m; r++) {
            s0 += LOAD(p + r * stride);
        }
        centre = ((s0 + s1) + (s2 + s3)) * (1.0f / (float)m);
        s0 = s1 = (V){0};
        for (r = 0; r + 2 <= m; r += 2) {
            const V a = LOAD(p + r * stride) - centre, b = LOAD(p + (r + 1) * stride) - centre;

            s0 += a;
            q0 += a * a;
            s1 += b;
            q1 += b * b;
        }
        if (r < m) {
            const V a = LOAD(p + r * stride) - centre;

            s0 += a;
            q0 += a * a;
        }
        s0 += s1;
        q0 += q1;
        memcpy(c, &centre, sizeof(c));
        memcpy(d, &s0, sizeof(d));
        memcpy(q, &q0, sizeof(q));
        old  = (double)done / (double)(done + m);
        part = (double)m / (double)(done + m);
        for (int k = 0; k < TW_LANES; k++) {
            const double shift = (double)d[k] / (double)m;
            const double here  = (double)c[k] + shift - (done == 0 ? 0.0 : mean[k]);

            mean[k] = (done == 0 ? 0.0 : mean[k]) + here * part;
            m2[k]   = (done == 0 ? 0.0 : m2[k]) + ((double)q[k] - shift * (double)d[k]) +
                    here * here * old * (double)m;
        }
        done += m;
    }
}

static inline __attribute__((always_inline)) void
LANES(normalise_rows)(float *y, const float *x, size_t rows, size_t stride, const float *mean,
                      const float *scale, const float *beta, const int relu)
{
    const V m = LOAD(mean), s = LOAD(scale), b = LOAD(beta);

    for (size_t r = 0; r < rows; r++) {
        const V v = (LOAD(x + r * stride) - m) * s + b;

        *(V *)(y + r * stride) = relu ? UNLESS_BELOW_0(v, v) : v;
    }
}

static void LANES(normalise)(float *y, const float *x, size_t rows, size_t stride,
                             const float *norm, size_t width, int relu)
{
    if (relu) {
        LANES(normalise_rows)(y, x, rows, stride, norm, norm + width, norm + 2 * width, 1);
    } else {
        LANES(normalise_rows)(y, x, rows, stride, norm, norm + width, norm + 2 * width, 0);
    }
}

static inline __attribute__((always_inline)) void
LANES(sums_rows)(const float *dy, const float *x, size_t rows, size_t stride, const float *norm,
                 size_t width, double *sum, double *product, const int relu)
{
    const V m = LOAD(norm), s = LOAD(norm + width), b = LOAD(norm + 2 * width);

    for (int k = 0; k < TW_LANES; k++) {
        sum[k] = product[k] = 0.0;
    }
    for (size_t done = 0; done < rows; done += CHUNK) {
        const size_t end = rows - done < CHUNK ? rows : done + CHUNK;
        V            s0 = {0}, s1 = {0}, p0 = {0}, p1 = {0};
        float        total[TW_LANES], with[TW_LANES];
        size_t       r = done;

        for (; r + 2 <= end; r += 2) {
            const V c0 = LOAD(x + r * stride) - m, c1 = LOAD(x + (r + 1) * stride) - m;
            V       g0 = LOAD(dy + r * stride), g1 = LOAD(dy + (r + 1) * stride);

            if (relu) {
                g0 = WHERE_ABOVE_0(c0 * s + b, g0);
                g1 = WHERE_ABOVE_0(c1 * s + b, g1);
            }
            s0 += g0;
            p0 += g0 * c0;
            s1 += g1;
            p1 += g1 * c1;
        }
        if (r < end) {
            const V c0 = LOAD(x + r * stride) - m;
            V       g0 = LOAD(dy + r * stride);

            if (relu) {
                g0 = WHERE_ABOVE_0(c0 * s + b, g0);
            }
            s0 += g0;
            p0 += g0 * c0;
        }
        s0 += s1;
        p0 += p1;
        memcpy(total, &s0, sizeof(total));
        memcpy(with, &p0, sizeof(with));
        for (int k = 0; k < TW_LANES; k++) {
            sum[k] += (double)total[k];
            product[k] += (double)with[k];
        }
    }
}

static void LANES(norm_sums)(const float *dy, const float *x, size_t rows, size_t stride,
                             const float *norm, size_t width, int relu, double *sum,
                             double *product)
{
    if (relu) {
        LANES(sums_rows)(dy, x, rows, stride, norm, width, sum, product, 1);
    } else {
        LANES(sums_rows)(dy, x, rows, stride, norm, width, sum, product, 0);
    }
}

static inline __attribute__((always_inline)) void
LANES(back_rows)(float *dx, const float *dy, const float *x, size_t rows, size_t stride,
                 const float *norm, const float *back, size_t width, const int relu)
{
    const V m = LOAD(norm), s = LOAD(norm + width), b = LOAD(norm + 2 * width);
    const V shift = LOAD(back), slope = LOAD(back + width), factor = LOAD(back + 2 * width);

    for (size_t r = 0; r < rows; r++) {
        const V c = LOAD(x + r * stride) - m;
        V       g = LOAD(dy + r * stride);

        if (relu) {
            g = WHERE_ABOVE_0(c * s + b, g);
        }
        *(V *)(dx + r * stride) = (g - shift - c * slope) * factor;
    }
}

static void LANES(norm_back)(float *dx, const float *dy, const float *x, size_t rows, size_t stride,
                             const float *norm, const float *back, size_t width, int relu)
{
    if (relu) {
        LANES(back_rows)(dx, dy, x, rows, stride, norm, back, width, 1);
    } else {
        LANES(back_rows)(dx, dy, x, rows, stride, norm, back, width, 0);
    }
}

#undef V
#undef LOAD
#undef LANES
#undef UNLESS_BELOW_0
#undef WHERE_ABOVE_0
#undef TW_LANES
