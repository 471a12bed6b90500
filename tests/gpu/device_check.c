/* SPDX-License-Identifier: BSD-3-Clause
 * tests/gpu/device_check.c - device memory against host memory, bit by bit.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/bytes.h"
#include "runtime/codec/cuda/cuda.h"
#include "runtime/codec/device.h"
#include "runtime/codec/levels.h"
#include "tests/gpu/device_test.h"

#define MARGIN 64 /* bytes before and behind every buffer that must not change */

static int tests, failures;

static void ok(int passed, const char *what)
{
    tests++;
    failures += !passed;
    printf("%sok %d - %s\n", passed ? "" : "not ", tests, what);
    fflush(stdout);
}

/* ---- buffers ----------------------------------------------------------------------------------
 */

typedef struct buffer {
    uint8_t *base, *data, *host;
    size_t   bytes, all;
} buffer_t;

/* `bytes` bytes on the device, `offset` behind a multiple of 256, with the contents of `from` if it
 * is not NULL; the rest is 0x5a. */
static buffer_t buffer(size_t bytes, size_t offset, const void *from)
{
    buffer_t b = {.bytes = bytes, .all = bytes + offset + 2 * MARGIN};

    b.host = malloc(b.all);
    if (b.host == NULL || cudaMalloc((void **)&b.base, b.all) != cudaSuccess) {
        die("memory");
    }
    memset(b.host, 0x5a, b.all);
    if (from != NULL) {
        memcpy(b.host + MARGIN + offset, from, bytes);
    }
    if (cudaMemcpyAsync(b.base, b.host, b.all, cudaMemcpyHostToDevice, stream) != cudaSuccess) {
        die("copy to the device");
    }
    b.data = b.base + MARGIN + offset;
    return b;
}

/* What is there now; 0 if it is not `want` or the margins changed. */
static int buffer_is(buffer_t *b, const void *want)
{
    const size_t before = (size_t)(b->data - b->base);
    int          same;

    if (cudaMemcpyAsync(b->host, b->base, b->all, cudaMemcpyDeviceToHost, stream) != cudaSuccess ||
        cudaStreamSynchronize(stream) != cudaSuccess) {
        die("copy from the device");
    }
    same = want == NULL || memcmp(b->host + before, want, b->bytes) == 0;
    for (size_t i = 0; i < b->all; i++) {
        same = same && (b->host[i] == 0x5a || (i >= before && i < before + b->bytes));
    }
    return same;
}

static void buffer_free(buffer_t *b)
{
    cudaFree(b->base);
    free(b->host);
}

/* NaN made the same: which one an addition gives is not defined. */
static void quiet(uint8_t *v, tw_dtype_t dtype, size_t n)
{
    const uint64_t one = UINT64_C(0x7ff8) << 48;

    for (size_t i = 0; i < n; i++) {
        if (dtype == TW_F64) {
            double x;

            memcpy(&x, v + 8 * i, 8);
            if (isnan(x)) {
                memcpy(v + 8 * i, &one, 8);
            }
        } else if ((tw_load_le32(v + 4 * i) & 0x7fffffffu) > 0x7f800000u) {
            tw_store_le32(v + 4 * i, 0x7fc00000u);
        }
    }
}

/* ---- one vector -------------------------------------------------------------------------------
 */

/* All four verbs on n values at src, with buffers at these offsets; 0 on a difference. */
static int twins(const tw_codec_t *codec, const void *src, const void *res, size_t n, size_t at,
                 size_t codes_at)
{
    const tw_exec_t *exec = device_exec();
    const size_t     e = codec->element, bytes = n > 0 ? codec->ops->size(codec, n) : 0;
    uint8_t         *codes = malloc(bytes + 1), *fed = malloc(bytes + 1), *back = malloc(n * e + 1),
            *sum = malloc(n * e + 1), *left = malloc(n * e + 1);
    buffer_t x = buffer(n * e, at, src), c = buffer(bytes, codes_at, NULL),
             y = buffer(n * e, at, NULL), a = buffer(n * e, at, res), r = buffer(n * e, at, res),
             f = buffer(bytes, codes_at, NULL);
    int same;

    memcpy(sum, res, n * e);
    memcpy(left, res, n * e);
    same = tw_codec_encode(codec, NULL, src, n, codes) == TW_OK &&
           tw_codec_decode(codec, NULL, codes, n, back) == TW_OK &&
           tw_codec_decode_add(codec, NULL, codes, n, sum) == TW_OK &&
           tw_codec_encode_feedback(codec, NULL, src, n, left, fed) == TW_OK;
    same = same && tw_codec_encode(codec, exec, x.data, n, c.data) == TW_OK &&
           tw_codec_decode(codec, exec, c.data, n, y.data) == TW_OK &&
           tw_codec_decode_add(codec, exec, c.data, n, a.data) == TW_OK &&
           tw_codec_encode_feedback(codec, exec, x.data, n, r.data, f.data) == TW_OK;
    same = same && buffer_is(&x, src) && buffer_is(&c, codes) && buffer_is(&y, back) &&
           buffer_is(&r, left) && buffer_is(&f, fed) && buffer_is(&a, NULL);
    quiet(sum, codec->dtype, n);
    quiet(a.host + (a.data - a.base), codec->dtype, n);
    same = same && memcmp(a.host + (a.data - a.base), sum, n * e) == 0;
    buffer_free(&x);
    buffer_free(&c);
    buffer_free(&y);
    buffer_free(&a);
    buffer_free(&r);
    buffer_free(&f);
    free(codes);
    free(fed);
    free(back);
    free(sum);
    free(left);
    return same;
}

/* ---- checks -----------------------------------------------------------------------------------
 */

static int check_counts(const tw_codec_t *codec, effort_t effort)
{
    static const size_t around[]     = {127, 512, 1024, 2048, 4096, 8192};
    static const size_t offsets[][2] = {{0, 0}, {4, 4}, {3, 7}};
    const size_t        most         = 3 * 8192;
    const bool          all          = effort != FEW || getenv("TW_ALL") != NULL;
    uint8_t            *src = malloc(8 * most), *res = malloc(8 * most);
    int                 same = 1;

    fill(res, codec->dtype, most, NORMAL);
    for (size_t n = 0; n <= 300 && same; n += effort == FULL ? 1 : effort == QUICK ? 3 : 37) {
        fill(src, codec->dtype, n, (int)(n % KINDS));
        same = twins(codec, src, res, n, 0, 0) && twins(codec, src, res, n, 4, 4) &&
               twins(codec, src, res, n, 1, 0) && twins(codec, src, res, n, 0, 1) &&
               twins(codec, src, res, n, 8, 8);
    }
    for (size_t i = 0; i < sizeof(around) / sizeof(around[0]) && same; i++) {
        for (size_t n = 2 * around[i] - 1; n <= 2 * around[i] + 1 && same;
             n += effort == FEW ? 2 : 1) {
            fill(src, codec->dtype, n, NORMAL);
            for (size_t o = all ? 0 : (i + n / 2) % 3; o < 3 && same; o += all ? 1 : 3) {
                same = twins(codec, src, res, n, offsets[o][0], offsets[o][1]);
            }
        }
    }
    for (size_t d = 0; d < 3 && codec->block > 1 && codec->block <= 8192 && same; d++) {
        fill(src, codec->dtype, 2 * codec->block + d - 1, RARE);
        same = twins(codec, src, res, 2 * codec->block + d - 1, 0, 0);
    }
    free(src);
    free(res);
    return same;
}

static int check_kinds(const tw_codec_t *codec, effort_t effort)
{
    const size_t n   = effort == FULL ? 4000037 : effort == QUICK ? 300007 : 9001;
    uint8_t     *src = malloc(8 * n), *res = malloc(8 * n);
    int          same = 1;

    for (int kind = 0; kind < KINDS && same; kind++) {
        fill(src, codec->dtype, n, kind);
        fill(res, codec->dtype, n, kind == DENORMAL ? DENORMAL : NORMAL);
        same = twins(codec, src, res, n, 0, 0);
    }
    free(src);
    free(res);
    return same;
}

/* +-600 patterns around each threshold, in vectors whose maximum is 1 where there are blocks. */
static int check_thresholds(const tw_codec_t *codec, effort_t effort)
{
    const tw_levels_t *levels = codec->table;
    const size_t       per = 2402, n = 256 * per;
    uint32_t          *src = malloc(4 * n), *res = calloc(n, 4);
    int                same;

    for (uint32_t j = 0; j < 256; j++) {
        const uint32_t at =
            levels != NULL ? levels->threshold[j % (uint32_t)levels->count] : j << 23;

        for (uint32_t d = 0; d < per; d++) {
            src[j * per + d] = ((at + d / 2 - 600) & 0x7fffffffu) | d << 31;
        }
    }
    for (size_t i = 0; i < n && codec->block > 1; i++) {
        if (i % 64 == 0 || (src[i] & 0x7fffffffu) > 0x3f800000u) {
            src[i] = 0x3f800000u;
        }
    }
    same = twins(codec, src, res, effort == FEW ? 4 * per : n, 0, 0);
    free(src);
    free(res);
    return same;
}

static int check_bytes(const tw_codec_t *codec)
{
    const size_t n = 9001, bytes = codec->ops->size(codec, n);
    uint8_t     *codes = malloc(bytes), *back = malloc(8 * n);
    buffer_t     c, y;
    int          same;

    for (size_t i = 0; i < bytes; i++) {
        codes[i] = (uint8_t)draw();
    }
    c    = buffer(bytes, 0, codes);
    y    = buffer(n * codec->element, 0, NULL);
    same = tw_codec_decode(codec, NULL, codes, n, back) == TW_OK &&
           tw_codec_decode(codec, device_exec(), c.data, n, y.data) == TW_OK && buffer_is(&y, back);
    buffer_free(&c);
    buffer_free(&y);
    free(codes);
    free(back);
    return same;
}

static const char *only = ""; /* codecs of which names this is a part */

static void check_codec(const char *spec, tw_dtype_t dtype, effort_t effort)
{
    tw_codec_t *codec;
    char        what[160];

    snprintf(what, sizeof(what), "%s%s", spec, dtype == TW_F64 ? " (double)" : "");
    if (strstr(what, only) == NULL) {
        return;
    }
    codec = codec_create(spec, dtype);
    snprintf(what, sizeof(what), "%s%s: counts and alignments", spec,
             dtype == TW_F64 ? " (double)" : "");
    ok(check_counts(codec, effort), what);
    snprintf(what, sizeof(what), "%s%s: kinds of numbers", spec,
             dtype == TW_F64 ? " (double)" : "");
    ok(check_kinds(codec, effort), what);
    if (dtype == TW_F32) {
        snprintf(what, sizeof(what), "%s: around thresholds", spec);
        ok(check_thresholds(codec, effort), what);
    }
    snprintf(what, sizeof(what), "%s%s: arbitrary bytes", spec, dtype == TW_F64 ? " (double)" : "");
    ok(check_bytes(codec), what);
    tw_codec_destroy(codec);
}

/* Several codecs with tables in flight at once, their codecs gone before the work is done. */
static int check_together(void)
{
    static const char *const specs[] = {"tree8", "tree8:split=0.55", "static8", "mantissa8",
                                        "static8:offset=1000"};
    enum { COUNT = 5 };
    const size_t n   = 1000003;
    float       *src = malloc(4 * n);
    uint8_t     *want[COUNT];
    buffer_t     x, c[COUNT];
    int          same = 1;

    fill(src, TW_F32, n, NORMAL);
    x = buffer(4 * n, 0, src);
    for (int i = 0; i < COUNT; i++) {
        tw_codec_t  *codec = codec_create(specs[i], TW_F32);
        const size_t bytes = codec->ops->size(codec, n);

        want[i] = malloc(bytes);
        c[i]    = buffer(bytes, 0, NULL);
        same    = same && tw_codec_encode(codec, NULL, src, n, want[i]) == TW_OK &&
               tw_codec_encode(codec, device_exec(), x.data, n, c[i].data) == TW_OK;
        tw_codec_destroy(codec);
    }
    for (int i = 0; i < COUNT; i++) {
        same = buffer_is(&c[i], want[i]) && same;
        buffer_free(&c[i]);
        free(want[i]);
    }
    buffer_free(&x);
    free(src);
    return same;
}

static int check_absmax(size_t n, size_t block, size_t offset)
{
    const size_t blocks = (n - 1) / block + 1;
    float       *src    = malloc(4 * n);
    uint32_t    *want   = malloc(4 * blocks);
    buffer_t     x, most;
    int          same;

    fill(src, TW_F32, n, RARE);
    for (size_t b = 0; b < blocks; b++) {
        want[b] = tw_absmax(TW_CPU_SCALAR, src + b * block,
                            n - b * block < block ? n - b * block : block);
    }
    x    = buffer(4 * n, offset, src);
    most = buffer(4 * blocks, 0, NULL);
    same = tw_cuda_absmax(stream, x.data, n, block, (uint32_t *)(void *)most.data) == TW_OK &&
           buffer_is(&most, want);
    buffer_free(&x);
    buffer_free(&most);
    free(src);
    free(want);
    return same;
}

/* The order of cuda.h. */
static double square_sum(const float *src, size_t n)
{
    enum { L = 262144 };
    double *lane = calloc((size_t)L * 4, sizeof(*lane)), result;

    for (size_t i = 0; i < n; i++) {
        lane[i / 4 % L * 4 + i % 4] += (double)src[i] * (double)src[i];
    }
    for (size_t t = 0; t < L; t++) {
        lane[t] = (lane[4 * t] + lane[4 * t + 2]) + (lane[4 * t + 1] + lane[4 * t + 3]);
    }
    for (size_t p = 0; p < 1024; p++) {
        for (size_t h = 128; h > 0; h /= 2) {
            for (size_t t = 0; t < h; t++) {
                lane[256 * p + t] += lane[256 * p + t + h];
            }
        }
        lane[p] = lane[256 * p];
    }
    for (size_t h = 512; h > 0; h /= 2) {
        for (size_t t = 0; t < h; t++) {
            lane[t] += lane[t + h];
        }
    }
    result = lane[0];
    free(lane);
    return result;
}

/* Moments of no values. */
static int check_empty(size_t n, double count)
{
    double  *moments = malloc(8 * n);
    buffer_t there;
    int      same;

    for (size_t i = 0; i < n; i++) {
        moments[i] = i == 0 ? count : 1.5;
    }
    there = buffer(8 * n, 0, moments);
    if (!(count > 0.0)) {
        memset(moments, 0, 8 * n);
    }
    same = tw_cuda_moments_empty(stream, (double *)(void *)there.data, n) == TW_OK &&
           buffer_is(&there, moments);
    buffer_free(&there);
    free(moments);
    return same;
}

static int check_norm(size_t n, size_t offset)
{
    float   *src = malloc(4 * n);
    double   want;
    buffer_t x, work = buffer(8 * TW_CUDA_NORM_WORK, 0, NULL), out = buffer(8, 0, NULL);
    int      same;

    fill(src, TW_F32, n, NORMAL);
    want = sqrt(square_sum(src, n));
    x    = buffer(4 * n, offset, src);
    same = tw_cuda_norm(stream, x.data, n, (double *)(void *)work.data,
                        (double *)(void *)out.data) == TW_OK &&
           buffer_is(&out, &want);
    want = square_sum(src, n);
    same = tw_cuda_square_sum(stream, x.data, n, (double *)(void *)work.data,
                              (double *)(void *)out.data) == TW_OK &&
           buffer_is(&out, &want) && same;
    buffer_free(&x);
    buffer_free(&work);
    buffer_free(&out);
    free(src);
    return same;
}

/* What tw_average() of the transport does. */
static void divide(uint8_t *values, tw_dtype_t dtype, size_t n, int divisor)
{
    for (size_t i = 0; i < n; i++) {
        double d;
        float  f;

        if (dtype == TW_F64) {
            memcpy(&d, values + 8 * i, 8);
            d /= (double)divisor;
            memcpy(values + 8 * i, &d, 8);
        } else {
            memcpy(&f, values + 4 * i, 4);
            f /= (float)divisor;
            memcpy(values + 4 * i, &f, 4);
        }
    }
}

static int divides(tw_dtype_t dtype, size_t n, int kind, int divisor, size_t offset)
{
    const size_t bytes = n * tw_dtype_size(dtype);
    uint8_t     *want  = malloc(bytes + 1);
    buffer_t     x;
    int          same;

    fill(want, dtype, n, kind);
    x = buffer(bytes, offset, want);
    divide(want, dtype, n, divisor);
    same = tw_device_cuda.divide(x.data, n, tw_dtype_size(dtype), divisor, stream) == TW_OK &&
           buffer_is(&x, NULL);
    quiet(want, dtype, n);
    quiet(x.host + (x.data - x.base), dtype, n);
    same = same && memcmp(x.host + (x.data - x.base), want, bytes) == 0;
    buffer_free(&x);
    free(want);
    return same;
}

/* Sums become averages. */
static int check_divide(tw_dtype_t dtype, effort_t effort)
{
    static const int    divisors[] = {1, 2, 3, 7, 64, 1000, 16777217};
    static const size_t counts[]   = {0, 1, 5, 255, 1025, 100003, 4000037};
    const size_t        most       = effort == FULL ? 7 : effort == QUICK ? 6 : 5;
    int                 same       = 1;

    for (size_t i = 0; i < most * 7 && same; i++) {
        same = divides(dtype, counts[i / 7], (int)i % KINDS, divisors[i % 7], 0) &&
               divides(dtype, counts[i / 7], NORMAL, divisors[i % 7], i % 13) &&
               divides(dtype, counts[i / 7], DENORMAL, divisors[i % 7], 4);
    }
    return same;
}

static void add(uint8_t *values, const uint8_t *from, tw_dtype_t dtype, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        double d, e;
        float  f, g;

        if (dtype == TW_F64) {
            memcpy(&d, values + 8 * i, 8);
            memcpy(&e, from + 8 * i, 8);
            d += e;
            memcpy(values + 8 * i, &d, 8);
        } else {
            memcpy(&f, values + 4 * i, 4);
            memcpy(&g, from + 4 * i, 4);
            f += g;
            memcpy(values + 4 * i, &f, 4);
        }
    }
}

static int adds(tw_dtype_t dtype, size_t n, int kind, size_t offset, size_t from_offset)
{
    const size_t bytes = n * tw_dtype_size(dtype);
    uint8_t     *want = malloc(bytes + 1), *more = malloc(bytes + 1);
    buffer_t     x, y;
    int          same;

    fill(want, dtype, n, kind);
    fill(more, dtype, n, kind);
    x = buffer(bytes, offset, want);
    y = buffer(bytes, from_offset, more);
    add(want, more, dtype, n);
    same = tw_device_cuda.add(x.data, y.data, n, tw_dtype_size(dtype), stream) == TW_OK &&
           buffer_is(&x, NULL) && buffer_is(&y, more);
    quiet(want, dtype, n);
    quiet(x.host + (x.data - x.base), dtype, n);
    same = same && memcmp(x.host + (x.data - x.base), want, bytes) == 0;
    buffer_free(&x);
    buffer_free(&y);
    free(want);
    free(more);
    return same;
}

/* Values as they are: what ranks of a node do. */
static int check_add(tw_dtype_t dtype, effort_t effort)
{
    static const size_t counts[] = {0, 1, 5, 255, 1025, 100003, 4000037};
    const size_t        most     = effort == FULL ? 7 : effort == QUICK ? 6 : 5;
    int                 same     = 1;

    for (size_t i = 0; i < most * KINDS && same; i++) {
        same = adds(dtype, counts[i / KINDS], (int)(i % KINDS), 0, 0) &&
               adds(dtype, counts[i / KINDS], (int)(i % KINDS), i % 13, i % 5);
    }
    return same;
}

static void check_errors(void)
{
    static const char *const specs[] = {"tree8", "fp32"};
    static float             host[4096];
    buffer_t x = buffer(sizeof(host), 0, host), y = buffer(2 * sizeof(host), 0, NULL);
    int      devices = 0;

    for (int s = 0; s < 2; s++) {
        tw_codec_t *codec = codec_create(specs[s], TW_F32);
        void       *pinned;

        ok(tw_codec_encode(codec, device_exec(), host, 4096, y.data) == TW_ERR_INVALID_ARG,
           "host memory as source");
        ok(tw_codec_encode(codec, device_exec(), x.data, 4096, host) == TW_ERR_INVALID_ARG,
           "host memory as destination");
        if (cudaMallocHost(&pinned, 1 << 20) != cudaSuccess) {
            die("pinned memory");
        }
        ok(tw_codec_encode(codec, device_exec(), pinned, 4096, y.data) == TW_ERR_INVALID_ARG,
           "pinned host memory");
        cudaFreeHost(pinned);
        ok(cudaGetLastError() == cudaSuccess, "no error is left behind");
        if (cudaGetDeviceCount(&devices) == cudaSuccess && devices > 1) {
            cudaSetDevice(1);
            ok(tw_codec_encode(codec, device_exec(), x.data, 4096, y.data) == TW_ERR_INVALID_ARG,
               "a stream of another device");
            cudaSetDevice(0);
        } else {
            printf("ok %d - a stream of another device # SKIP one device only\n", ++tests);
        }
        tw_codec_destroy(codec);
    }
    buffer_free(&x);
    buffer_free(&y);
}

int check(effort_t effort, const char *part)
{
    static const char *const specs[] = {
        "fp32",
        "bitpack:1",
        "bitpack:2",
        "bitpack:3",
        "bitpack:4",
        "bitpack:1,round",
        "bitpack:2,round",
        "bitpack:3,round",
        "bf16",
        "fp16",
        "tree8",
        "tree8:split=0.55",
        "tree8:block=64",
        "tree8:block=576",
        "tree8:block=1048576",
        "int8",
        "int8:block=192",
        "int8:block=8192",
        "static8",
        "static8:offset=10000",
        "mantissa8",
        "mantissa8:offset=1",
        "onebit",
        "onebit:block=64",
        "onebit:block=448",
        "onebit:block=4160",
        "onebit:block=1048576",
    };

    only = part;
    for (size_t s = 0; s < sizeof(specs) / sizeof(specs[0]); s++) {
        check_codec(specs[s], TW_F32, effort);
    }
    for (int k = 1; k <= 8; k++) {
        for (int round = 0; round <= (k < 8); round++) {
            char spec[32];

            snprintf(spec, sizeof(spec), "bitpack:%d%s", k, round ? ",round" : "");
            check_codec(spec, TW_F64, effort == FULL ? QUICK : effort);
        }
    }
    if (part[0] != '\0') {
        printf("1..%d\n", tests);
        return failures > 0;
    }
    ok(check_together(), "several codecs at once");
    ok(check_absmax(1000003, 4096, 0) && check_absmax(1000003, 1000003, 0) &&
           check_absmax(10007, 7, 4) && check_absmax(10007, 4096, 1) && check_absmax(1, 1, 0),
       "largest magnitudes of blocks");
    ok(check_norm(1, 0) && check_norm(1000, 4) && check_norm(1048579, 0) && check_norm(3000001, 1),
       "norms");
    ok(check_empty(1, 0.0) && check_empty(1025, 3.0) && check_empty(1025, 0.0) &&
           check_empty(129, -1.0),
       "moments");
    ok(check_add(TW_F32, effort), "sums");
    ok(check_add(TW_F64, effort), "sums (double)");
    ok(check_divide(TW_F32, effort), "averages");
    ok(check_divide(TW_F64, effort), "averages (double)");
    check_errors();
    printf("1..%d\n", tests);
    return failures > 0;
}
