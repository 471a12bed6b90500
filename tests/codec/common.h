/* SPDX-License-Identifier: BSD-3-Clause
 * tests/codec/common.h - what the codec tests share: codecs by spec, buffers of any alignment with
 * guards, random numbers with a printed seed, vectors of every kind of number.
 */
#ifndef TW_TESTS_CODEC_COMMON_H
#define TW_TESTS_CODEC_COMMON_H

#include <stdint.h>
#include <string.h>

#include <thinwire/codec.h>

#include "runtime/base/bytes.h"
#include "tests/codec/specs.h"
#include "tests/suite.h"

/* A context, made in the first call of a process and kept. */
tw_context_t *test_context(void);

/* The codec, or a failed test. */
tw_codec_t *test_codec(const char *spec, tw_dtype_t dtype);

/* The same with kernels up to an instruction set, THINWIRE_CPU. */
tw_codec_t *test_codec_cpu(const char *cpu, const char *spec, tw_dtype_t dtype);

/* Names of the instruction sets of this processor, scalar last; NULL behind it. */
const char *const *test_cpus(void);

/* All four verbs of a codec on any n elements and residuals, in memory of its own; what it gives
 * must be, bit by bit, what `want` gives. */
typedef struct test_places { /* how far the buffers are from multiples of 64 */
    size_t values, codes, residual;
} test_places_t;

void test_twin(const tw_codec_t *want, const tw_codec_t *twin, tw_dtype_t dtype, const void *src,
               const void *residual, size_t n, test_places_t at);

/* The same, where the twin's verbs are run in another way. */
typedef enum test_verb { TEST_ENCODE, TEST_DECODE, TEST_DECODE_ADD, TEST_FEEDBACK } test_verb_t;

typedef tw_status_t test_run_t(const tw_codec_t *codec, test_verb_t verb, const void *src, size_t n,
                               void *dst, void *residual);

void test_twin_by(test_run_t *run, const tw_codec_t *want, const tw_codec_t *twin, tw_dtype_t dtype,
                  const void *src, const void *residual, size_t n, test_places_t at);

tw_codec_t *test_codec_at(int index);

/* Values that share a scale, and what becomes of Inf and NaN; 1 without blocks. */
size_t test_span(const tw_codec_t *codec);

size_t test_size(const tw_codec_t *codec, size_t n);

/* With failed tests for failures; encoding into malloc'ed memory. */
uint8_t *test_encode(const tw_codec_t *codec, const void *src, size_t n);
void     test_decode(const tw_codec_t *codec, const void *src, size_t n, void *dst);
void     test_round_trip(const tw_codec_t *codec, const void *src, size_t n, void *back);

/* A buffer at a multiple of 64 plus offset, filled with 0x5a and guarded behind its end (by the
 * address sanitizer where it is built in). test_buffer_free() fails if the guard changed. */
typedef struct test_buffer {
    uint8_t *data, *base;
    size_t   bytes;
} test_buffer_t;

test_buffer_t test_buffer(size_t bytes, size_t offset);
void          test_buffer_free(test_buffer_t *buffer);

/* bytes bytes that end where memory ends (or, at_start, begin where it begins): a step further,
 * even to read, is a crash. */
uint8_t *test_fenced(size_t bytes, int at_start);
void     test_fenced_free(uint8_t *data, size_t bytes, int at_start);

/* Random numbers of this run's seed. */
test_random_t test_random(uint64_t salt);
uint32_t      test_bits(test_random_t *random);
double        test_uniform(test_random_t *random); /* [0, 1) */
double        test_normal(test_random_t *random);

/* Kinds of vectors. Those from TEST_FIRST_NONFINITE on hold Inf and NaN. */
typedef enum test_kind {
    TEST_NORMAL,     /* N(0, 1)                                                    */
    TEST_WIDE,       /* any finite bits                                            */
    TEST_ZERO,       /* +0                                                         */
    TEST_MINUS_ZERO, /* -0                                                         */
    TEST_DENORMAL,   /* subnormal numbers only                                     */
    TEST_HUGE,       /* within a factor 16 of the largest number                   */
    TEST_EQUAL,      /* all the same                                               */
    TEST_SMALL,      /* tiny negatives, now and then a 1: they round to zero       */
    TEST_EDGE,       /* near the limits where blocks become zero blocks            */
    TEST_BITS,       /* any bits at all                                            */
    TEST_RARE_INF,   /* N(0, 1), one Inf or NaN in about 5000                      */
    TEST_KINDS,
    TEST_FIRST_NONFINITE = TEST_BITS
} test_kind_t;

/* n elements of dtype at dst, any alignment. */
void test_fill(void *dst, tw_dtype_t dtype, size_t n, test_kind_t kind, test_random_t *random);

/* Fail with the first place where two vectors differ. NaN equals NaN if any_nan. */
void test_same(const void *got, const void *want, tw_dtype_t dtype, size_t n, int any_nan,
               const char *what);

static inline float test_float_at(const void *v, size_t i)
{
    float x;

    memcpy(&x, (const uint8_t *)v + 4 * i, 4);
    return x;
}

static inline int test_is_finite(float x)
{
    return (tw_float_bits(x) & 0x7f800000u) != 0x7f800000u;
}
static inline int test_is_nan(float x)
{
    return (tw_float_bits(x) & 0x7fffffffu) > 0x7f800000u;
}

#endif /* TW_TESTS_CODEC_COMMON_H */
