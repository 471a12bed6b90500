/* SPDX-License-Identifier: BSD-3-Clause
 * tests/codec/common.c - see common.h.
 */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "runtime/codec/cpu.h"
#include "tests/codec/common.h"

#ifdef __SANITIZE_ADDRESS__
#define GUARD 0 /* the sanitizer sees every byte beyond the end, reads too */
#else
#define GUARD 128
#endif

tw_context_t *test_context(void)
{
    static tw_context_t *ctx;

    if (ctx == NULL) {
        ck_assert_int_eq(tw_context_create(&ctx), TW_OK);
    }
    return ctx;
}

tw_codec_t *test_codec(const char *spec, tw_dtype_t dtype)
{
    tw_codec_t *codec = NULL;
    char        why[512];
    tw_status_t status = tw_codec_create(test_context(), spec, dtype, &codec, why, sizeof(why));

    ck_assert_msg(status == TW_OK, "%s: %s: %s", spec, tw_status_name(status), why);
    return codec;
}

tw_codec_t *test_codec_cpu(const char *cpu, const char *spec, tw_dtype_t dtype)
{
    setenv("THINWIRE_CPU", cpu, 1);
    return test_codec(spec, dtype);
}

const char *const *test_cpus(void)
{
    static const char *names[TW_CPU_LEVELS + 1];
    tw_cpu_level_id_t  level = tw_cpu_detect();
    int                i     = 0;

    for (; level != TW_CPU_SCALAR; level = tw_cpu_below(level)) {
        names[i++] = tw_cpu_name(level);
    }
    names[i] = tw_cpu_name(TW_CPU_SCALAR);
    return names;
}

tw_codec_t *test_codec_at(int index)
{
    return test_codec(test_specs[index].spec, test_specs[index].dtype);
}

size_t test_span(const tw_codec_t *codec)
{
    return strncmp(tw_codec_spec(codec), "int4", 4) == 0 ? 32 : tw_codec_block(codec);
}

size_t test_size(const tw_codec_t *codec, size_t n)
{
    size_t bytes = 0;

    ck_assert_int_eq(tw_codec_size(codec, n, &bytes), TW_OK);
    return bytes;
}

uint8_t *test_encode(const tw_codec_t *codec, const void *src, size_t n)
{
    uint8_t *dst = malloc(test_size(codec, n) + 1);

    ck_assert_int_eq(tw_codec_encode(codec, NULL, src, n, dst), TW_OK);
    return dst;
}

void test_round_trip(const tw_codec_t *codec, const void *src, size_t n, void *back)
{
    uint8_t *codes = test_encode(codec, src, n);

    test_decode(codec, codes, n, back);
    free(codes);
}

void test_decode(const tw_codec_t *codec, const void *src, size_t n, void *dst)
{
    ck_assert_int_eq(tw_codec_decode(codec, NULL, src, n, dst), TW_OK);
}

test_buffer_t test_buffer(size_t bytes, size_t offset)
{
    test_buffer_t buffer = {.bytes = bytes};

    ck_assert_int_eq(posix_memalign((void **)&buffer.base, 64, offset + bytes + GUARD + 1), 0);
#ifdef __SANITIZE_ADDRESS__
    free(buffer.base); /* again, without the byte that keeps the size above 0 */
    ck_assert_int_eq(posix_memalign((void **)&buffer.base, 64, offset + bytes), 0);
#endif
    memset(buffer.base, 0x5a, offset + bytes + GUARD);
    buffer.data = buffer.base + offset;
    return buffer;
}

void test_buffer_free(test_buffer_t *buffer)
{
    for (int i = 0; i < GUARD; i++) {
        if (buffer->data[buffer->bytes + (size_t)i] != 0x5a) {
            ck_abort_msg("byte %d behind the end of %zu changed", i, buffer->bytes);
        }
    }
    for (uint8_t *p = buffer->base; p < buffer->data; p++) {
        if (*p != 0x5a) {
            ck_abort_msg("a byte before the start changed");
        }
    }
    free(buffer->base);
}

static size_t fenced_pages(size_t bytes, size_t page)
{
    return (bytes + page - 1) / page * page + (bytes == 0 ? page : 0);
}

uint8_t *test_fenced(size_t bytes, int at_start)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), body = fenced_pages(bytes, page);
    uint8_t     *base = mmap(NULL, body + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    ck_assert(base != MAP_FAILED);
    ck_assert_int_eq(mprotect(base + page, body, PROT_READ | PROT_WRITE), 0);
    return base + page + (at_start ? 0 : body - bytes);
}

void test_fenced_free(uint8_t *data, size_t bytes, int at_start)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), body = fenced_pages(bytes, page);

    munmap(data - (at_start ? 0 : body - bytes) - page, body + 2 * page);
}

test_random_t test_random(uint64_t salt)
{
    test_random_t random = {test_seed() * UINT64_C(0x2545f4914f6cdd1d) + salt};

    test_next(&random);
    return random;
}

uint32_t test_bits(test_random_t *random)
{
    return (uint32_t)(test_next(random) >> 32);
}

double test_uniform(test_random_t *random)
{
    return (double)(test_next(random) >> 11) * 0x1p-53;
}

double test_normal(test_random_t *random)
{
    const double a = 1.0 - test_uniform(random), b = test_uniform(random);

    return sqrt(-2.0 * log(a)) * cos(6.283185307179586 * b);
}

static uint32_t finite_bits(test_random_t *random)
{
    uint32_t u = test_bits(random);

    return (u & 0x7f800000u) == 0x7f800000u ? u ^ 0x40000000u : u;
}

static float edge(test_random_t *random)
{
    static const float limit[] = {0x1p-126f, 0x1p-119f, 0x1p-149f, 0x1p-125f, 0x1p-118f};
    const float        x       = limit[test_bits(random) % 5];
    const uint32_t     u       = tw_float_bits(x) + test_bits(random) % 5 - 2;

    return tw_bits_float((u & 0x7fffffffu) | (test_bits(random) & 0x80000000u));
}

static float draw(test_kind_t kind, test_random_t *random)
{
    const uint32_t bits = test_bits(random);

    switch (kind) {
    case TEST_WIDE:
        return tw_bits_float(finite_bits(random));
    case TEST_ZERO:
        return 0.0f;
    case TEST_MINUS_ZERO:
        return -0.0f;
    case TEST_DENORMAL:
        return tw_bits_float(bits & 0x807fffffu);
    case TEST_HUGE:
        return tw_bits_float((bits & 0x81ffffffu) + 0x7d800000u);
    case TEST_SMALL:
        return bits % 61 == 0 ? 1.0f : -1e-30f * (float)test_uniform(random);
    case TEST_EDGE:
        return edge(random);
    case TEST_BITS:
        return tw_bits_float(bits);
    case TEST_RARE_INF:
        if (bits % 5000 == 0) {
            return tw_bits_float(test_bits(random) | 0x7f800000u);
        }
        return (float)test_normal(random);
    default:
        return (float)test_normal(random);
    }
}

/* A double of the same kind: the float's, and low bits that are not all zero. */
static double widen(float x, test_kind_t kind, test_random_t *random)
{
    double   d = x;
    uint64_t u = tw_double_bits(d);

    if (kind == TEST_WIDE || kind == TEST_BITS) {
        u = test_next(random);
        if (kind == TEST_WIDE && (u >> 52 & 0x7ff) == 0x7ff) {
            u ^= UINT64_C(1) << 62;
        }
    } else if (kind == TEST_HUGE) {
        u = (u & (UINT64_C(1) << 63)) | (UINT64_C(0x7fe) << 52) | (test_next(random) >> 12);
    } else if (kind == TEST_DENORMAL) {
        u = (u & (UINT64_C(1) << 63)) | (test_next(random) >> 12);
    } else if (kind == TEST_NORMAL || kind == TEST_SMALL) {
        u |= test_next(random) & 0x1fffffff;
    }
    return tw_bits_double(u);
}

void test_fill(void *dst, tw_dtype_t dtype, size_t n, test_kind_t kind, test_random_t *random)
{
    const float same = (float)test_normal(random);

    for (size_t i = 0; i < n; i++) {
        const float x = kind == TEST_EQUAL ? same : draw(kind, random);

        if (dtype == TW_F64) {
            const double d = widen(x, kind, random);

            memcpy((uint8_t *)dst + 8 * i, &d, 8);
        } else {
            memcpy((uint8_t *)dst + 4 * i, &x, 4);
        }
    }
}

void test_same(const void *got, const void *want, tw_dtype_t dtype, size_t n, int any_nan,
               const char *what)
{
    const size_t element = tw_dtype_size(dtype);

    if (memcmp(got, want, n * element) == 0) {
        return;
    }
    for (size_t i = 0; i < n; i++) {
        const uint8_t *a = (const uint8_t *)got + i * element;
        const uint8_t *b = (const uint8_t *)want + i * element;
        double         x, y;

        if (memcmp(a, b, element) == 0) {
            continue;
        }
        if (dtype == TW_F64) {
            memcpy(&x, a, 8);
            memcpy(&y, b, 8);
        } else {
            x = test_float_at(a, 0);
            y = test_float_at(b, 0);
        }
        if (any_nan && isnan(x) && isnan(y)) {
            continue;
        }
        ck_abort_msg("%s: value %zu of %zu is %a, should be %a", what, i, n, x, y);
    }
}

static tw_status_t run_here(const tw_codec_t *codec, test_verb_t verb, const void *src, size_t n,
                            void *dst, void *residual)
{
    switch (verb) {
    case TEST_ENCODE:
        return tw_codec_encode(codec, NULL, src, n, dst);
    case TEST_DECODE:
        return tw_codec_decode(codec, NULL, src, n, dst);
    case TEST_DECODE_ADD:
        return tw_codec_decode_add(codec, NULL, src, n, dst);
    default:
        return tw_codec_encode_feedback(codec, NULL, src, n, residual, dst);
    }
}

void test_twin_by(test_run_t *run, const tw_codec_t *want, const tw_codec_t *twin, tw_dtype_t dtype,
                  const void *src, const void *residual, size_t n, test_places_t at)
{
    const size_t  bytes = test_size(want, n), e = tw_dtype_size(dtype);
    test_buffer_t x = test_buffer(n * e, at.values), r = test_buffer(n * e, at.residual),
                  c = test_buffer(bytes, at.codes), y = test_buffer(n * e, at.values);
    uint8_t *codes = test_encode(want, src, n), *left = malloc(n * e + 1),
            *back = malloc(n * e + 1);

    memcpy(x.data, src, n * e);
    ck_assert_int_eq(run(twin, TEST_ENCODE, x.data, n, c.data, NULL), TW_OK);
    ck_assert_msg(memcmp(c.data, codes, bytes) == 0, "codes of %zu at %zu", n, at.values);
    test_decode(want, codes, n, back);
    ck_assert_int_eq(run(twin, TEST_DECODE, c.data, n, y.data, NULL), TW_OK);
    test_same(y.data, back, dtype, n, 0, "decoded");

    memcpy(y.data, residual, n * e);
    memcpy(back, residual, n * e);
    ck_assert_int_eq(run(twin, TEST_DECODE_ADD, c.data, n, y.data, NULL), TW_OK);
    ck_assert_int_eq(tw_codec_decode_add(want, NULL, codes, n, back), TW_OK);
    test_same(y.data, back, dtype, n, want != twin || run != run_here, "added");

    memcpy(r.data, residual, n * e);
    memcpy(left, residual, n * e);
    memset(c.data, 0x33, bytes);
    ck_assert_int_eq(run(twin, TEST_FEEDBACK, x.data, n, c.data, r.data), TW_OK);
    ck_assert_int_eq(tw_codec_encode_feedback(want, NULL, src, n, left, codes), TW_OK);
    ck_assert_msg(memcmp(c.data, codes, bytes) == 0, "codes with feedback of %zu at %zu", n,
                  at.values);
    test_same(r.data, left, dtype, n, 0, "residual");
    ck_assert(memcmp(x.data, src, n * e) == 0);
    test_buffer_free(&x);
    test_buffer_free(&r);
    test_buffer_free(&c);
    test_buffer_free(&y);
    free(codes);
    free(left);
    free(back);
}

void test_twin(const tw_codec_t *want, const tw_codec_t *twin, tw_dtype_t dtype, const void *src,
               const void *residual, size_t n, test_places_t at)
{
    test_twin_by(run_here, want, twin, dtype, src, residual, n, at);
}
