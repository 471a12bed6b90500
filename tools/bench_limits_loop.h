/* SPDX-License-Identifier: BSD-3-Clause
 * tools/bench_limits_loop.h - the loops for one vector size; included by bench_limits.c once for
 * each, with these defined:
 *   LIMITS(name)        the function's name for this size
 *   LIMITS_BYTES        of a vector
 *   LIMITS_TARGET       attribute that lets the compiler use such vectors
 *   LIMITS_STREAM(p, v) store v at p past the caches
 * The shape's numbers are constants where steps() is inlined, so its loops are short and unrolled.
 */
typedef uint64_t LIMITS(vector_t) __attribute__((vector_size(LIMITS_BYTES), aligned(1), may_alias));

#define VECTOR   LIMITS(vector_t)
#define PER_LINE (LIMITS_LINE / LIMITS_BYTES)
#define INLINE   LIMITS_TARGET static inline __attribute__((always_inline))

INLINE void LIMITS(load)(const uint8_t *p, int lines, VECTOR *seen)
{
    int j = 0;

    /* Four loads, then one operation on what has been seen: no chain through all loads. */
    for (; j + 4 <= lines * PER_LINE; j += 4) {
        const VECTOR *v = (const VECTOR *)p + j;

        *seen |= (v[0] | v[1]) | (v[2] | v[3]);
    }
    for (; j < lines * PER_LINE; j++) {
        *seen |= ((const VECTOR *)p)[j];
    }
}

INLINE void LIMITS(store)(uint8_t *p, int lines, int stream, VECTOR value)
{
    for (int j = 0; j < lines * PER_LINE; j++) {
        if (stream) {
            LIMITS_STREAM((VECTOR *)p + j, value);
        } else {
            ((VECTOR *)p)[j] = value;
        }
    }
}

INLINE void LIMITS(update)(uint8_t *p, int lines, VECTOR value)
{
    for (int j = 0; j < lines * PER_LINE; j++) {
        ((VECTOR *)p)[j] |= value;
    }
}

/* `zero` is 0, which the compiler does not know: what is written depends on what was read. */
INLINE uint64_t LIMITS(steps)(const limits_buffers_t *at, size_t count, int src, int dst, int both,
                              int stream, uint64_t zero)
{
    const uint8_t *s = at->src;
    uint8_t       *d = at->dst, *b = at->both;
    VECTOR         seen = {0};

    for (size_t i = 0; i < count; i++) {
        LIMITS(load)(s, src, &seen);
        LIMITS(store)(d, dst, stream, seen & zero);
        LIMITS(update)(b, both, seen & zero);
        s += src * LIMITS_LINE;
        d += dst * LIMITS_LINE;
        b += both * LIMITS_LINE;
    }
    return seen[0];
}

/* s, d and b lines of a shape, divided by a common divisor k: as many steps more, each that much
 * shorter. */
#define CASE(s, d, b, k)                                                                           \
    if (shape->src == (s) && shape->dst == (d) && shape->both == (b)) {                            \
        return LIMITS(steps)(at, count * (k), (s) / (k), (d) / (k), (b) / (k), 0, zero);           \
    }
#define CASE_STREAM(s, d, k)                                                                       \
    if (stream && shape->src == (s) && shape->dst == (d) && shape->both == 0) {                    \
        return LIMITS(steps)(at, count * (k), (s) / (k), (d) / (k), 0, 1, zero);                   \
    }
#define CASES(c, k)                                                                                \
    CASE_STREAM(32, c, k)                                                                          \
    CASE_STREAM(c, 32, k)                                                                          \
    CASE(32, c, 0, k)                                                                              \
    CASE(c, 32, 0, k)                                                                              \
    CASE(c, 0, 32, k)                                                                              \
    CASE(32, c, 32, k)

LIMITS_TARGET static uint64_t LIMITS(loop)(const limits_shape_t *shape, int stream,
                                           const limits_buffers_t *at, size_t count, uint64_t zero)
{
    CASES(1, 1)
    CASES(8, 8)
    CASES(16, 16)
    CASES(24, 8)
    CASES(32, 32)
    CASE(32, 0, 0, 8)
    return LIMITS(steps)(at, count, shape->src, shape->dst, shape->both, 0, zero);
}

#undef CASES
#undef CASE_STREAM
#undef CASE
#undef INLINE
#undef PER_LINE
#undef VECTOR
#undef LIMITS
#undef LIMITS_BYTES
#undef LIMITS_TARGET
#undef LIMITS_STREAM
