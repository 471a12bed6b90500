/* SPDX-License-Identifier: BSD-3-Clause
 * tools/bench_limits.c - see bench_limits.h.
 */
#include "config.h"

#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "tools/bench_limits.h"

#define LIMITS(name) narrow_##name
#define LIMITS_BYTES 16
#define LIMITS_TARGET
#if defined(__x86_64__)
#define LIMITS_STREAM(p, v) _mm_stream_si128((__m128i *)(p), (__m128i)(v))
#else
#define LIMITS_STREAM(p, v) (*(p) = (v))
#endif
#include "tools/bench_limits_loop.h"

#if defined(__x86_64__)

#define LIMITS(name)        avx2_##name
#define LIMITS_BYTES        32
#define LIMITS_TARGET       __attribute__((target("avx2")))
#define LIMITS_STREAM(p, v) _mm256_stream_si256((__m256i *)(p), (__m256i)(v))
#include "tools/bench_limits_loop.h"

#define LIMITS(name)        avx512_##name
#define LIMITS_BYTES        64
#define LIMITS_TARGET       __attribute__((target("avx512f")))
#define LIMITS_STREAM(p, v) _mm512_stream_si512((__m512i *)(p), (__m512i)(v))
#include "tools/bench_limits_loop.h"

#endif

int limits_can_stream(void)
{
#if defined(__x86_64__)
    return 1;
#else
    return 0;
#endif
}

extern volatile uint64_t limits_seen; /* what was read counts as used */
volatile uint64_t        limits_seen;

static uint64_t whole_steps(const char *isa, const limits_shape_t *shape, int stream,
                            const limits_buffers_t *at, size_t count)
{
    static volatile uint64_t zero;

#if defined(__x86_64__)
    if (strcmp(isa, "avx512") == 0) {
        return avx512_loop(shape, stream, at, count, zero);
    }
    if (strcmp(isa, "avx2") == 0) {
        return avx2_loop(shape, stream, at, count, zero);
    }
#else
    (void)isa;
#endif
    return narrow_loop(shape, stream, at, count, zero);
}

/* Bytes of n values at so many eighths of a byte each. */
static size_t bytes_of(size_t n, int eighths)
{
    return n / 8 * (size_t)eighths + (n % 8 * (size_t)eighths + 7) / 8;
}

/* Fewer values than a step. */
static uint64_t rest(const limits_shape_t *shape, const limits_buffers_t *at, size_t n)
{
    const size_t src = bytes_of(n, shape->src), both = bytes_of(n, shape->both);
    uint64_t     seen = 0;

    for (size_t i = 0; i < src; i++) {
        seen |= at->src[i];
    }
    if (shape->dst > 0) {
        memset(at->dst, 0, bytes_of(n, shape->dst));
    }
    for (size_t i = 0; i < both; i++) {
        seen |= at->both[i];
    }
    return seen;
}

static limits_buffers_t buffers_at(const limits_buffers_t *b, const limits_shape_t *shape,
                                   size_t step)
{
    return (limits_buffers_t){
        b->src + step * (size_t)shape->src * LIMITS_LINE,
        shape->dst > 0 ? b->dst + step * (size_t)shape->dst * LIMITS_LINE : NULL,
        shape->both > 0 ? b->both + step * (size_t)shape->both * LIMITS_LINE : NULL};
}

static uint64_t steps_by(int threads, const char *isa, const limits_shape_t *shape, int stream,
                         const limits_buffers_t *buffers, size_t steps)
{
    const size_t part = (steps + (size_t)threads - 1) / (size_t)threads;
    uint64_t     seen = 0;

#ifdef _OPENMP
#pragma omp parallel for num_threads(threads) schedule(static, 1) reduction(| : seen)
#endif
    for (int t = 0; t < threads; t++) {
        const size_t first = (size_t)t * part;

        if (first < steps) {
            const limits_buffers_t at = buffers_at(buffers, shape, first);

            seen |=
                whole_steps(isa, shape, stream, &at, steps - first < part ? steps - first : part);
        }
    }
    return seen;
}

void limits_run(const char *isa, const limits_shape_t *shape, int stream,
                const limits_buffers_t *buffers, size_t n, int threads)
{
    const size_t steps = n / LIMITS_STEP;
    uint64_t     seen  = threads == 1 ? whole_steps(isa, shape, stream, buffers, steps)
                                      : steps_by(threads, isa, shape, stream, buffers, steps);

    if (n % LIMITS_STEP != 0) {
        const limits_buffers_t at = buffers_at(buffers, shape, steps);

        seen |= rest(shape, &at, n % LIMITS_STEP);
    }
#if defined(__x86_64__)
    if (stream) {
        _mm_sfence();
    }
#endif
    limits_seen = seen;
}

void limits_copy(float *to, const float *from, size_t n, int threads)
{
    const size_t part = (n + (size_t)threads - 1) / (size_t)threads;

    if (threads == 1) {
        memcpy(to, from, n * sizeof(*to));
        return;
    }
#ifdef _OPENMP
#pragma omp parallel for num_threads(threads) schedule(static, 1)
#endif
    for (int t = 0; t < threads; t++) {
        const size_t first = (size_t)t * part;

        if (first < n) {
            memcpy(to + first, from + first, (n - first < part ? n - first : part) * sizeof(*to));
        }
    }
}
