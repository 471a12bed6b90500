/* SPDX-License-Identifier: BSD-3-Clause
 * tests/gpu/device_measure.c - picoseconds per value of every kernel, beside what its bytes would
 * take at the rate of the device's own copy in the same run.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/codec/cuda/cuda.h"
#include "tests/gpu/device_test.h"

typedef enum timed {
    ENCODE,
    DECODE,
    ADD,
    FEEDBACK,
    CODECS, /* verbs of codecs are before */
    COPY = CODECS,
    ABSMAX,
    NORM,
    AVERAGE,
    SUM,
    VERBS
} timed_t;

static const char *const verbs[VERBS] = {"encode",         "decode",
                                         "decode-and-add", "encode with feedback",
                                         "copy",           "maxima of blocks of 4096",
                                         "l2 norm",        "average",
                                         "sum of two"};

typedef struct run {
    const tw_codec_t *codec; /* of ENCODE to FEEDBACK */
    timed_t           verb;
    size_t            n, element; /* values of so many bytes */
    uint8_t          *elements, *codes, *residual;
} run_t;

static void run_once(const run_t *run)
{
    const tw_exec_t *exec   = device_exec();
    tw_status_t      status = TW_OK;

    switch (run->verb) {
    case ENCODE:
        status = tw_codec_encode(run->codec, exec, run->elements, run->n, run->codes);
        break;
    case DECODE:
        status = tw_codec_decode(run->codec, exec, run->codes, run->n, run->elements);
        break;
    case ADD:
        status = tw_codec_decode_add(run->codec, exec, run->codes, run->n, run->elements);
        break;
    case FEEDBACK:
        status = tw_codec_encode_feedback(run->codec, exec, run->elements, run->n, run->residual,
                                          run->codes);
        break;
    case ABSMAX:
        status =
            tw_cuda_absmax(stream, run->elements, run->n, 4096, (uint32_t *)(void *)run->codes);
        break;
    case NORM:
        status = tw_cuda_norm(stream, run->elements, run->n, (double *)(void *)run->codes,
                              (double *)(void *)(run->codes + 8 * TW_CUDA_NORM_WORK));
        break;
    case AVERAGE:
        status = tw_cuda_divide(stream, run->elements, run->n, run->element, 3);
        break;
    case SUM:
        status = tw_cuda_add(stream, run->elements, run->residual, run->n, run->element);
        break;
    default:
        if (cudaMemcpyAsync(run->residual, run->elements, run->element * run->n,
                            cudaMemcpyDeviceToDevice, stream) != cudaSuccess) {
            die("copy");
        }
        break;
    }
    if (status != TW_OK) {
        die(tw_status_name(status));
    }
}

#define TIMES 15

static int by_size(const void *a, const void *b)
{
    return (*(const float *)a > *(const float *)b) - (*(const float *)a < *(const float *)b);
}

/* Median seconds. */
static double seconds(const run_t *run)
{
    cudaEvent_t start, stop;
    float       times[TIMES];

    if (cudaEventCreate(&start) != cudaSuccess || cudaEventCreate(&stop) != cudaSuccess) {
        die("event");
    }
    for (int t = -3; t < TIMES; t++) {
        float ms = 0.0f;

        cudaEventRecord(start, stream);
        run_once(run);
        cudaEventRecord(stop, stream);
        if (cudaEventSynchronize(stop) != cudaSuccess ||
            cudaEventElapsedTime(&ms, start, stop) != cudaSuccess) {
            die("timing");
        }
        if (t >= 0) {
            times[t] = ms / 1000.0f;
        }
    }
    cudaEventDestroy(start);
    cudaEventDestroy(stop);
    qsort(times, TIMES, sizeof(times[0]), by_size);
    return times[TIMES / 2];
}

/* bytes: read and written per value. bar: the most times the floor that is asked for. */
static void row(const char *name, const run_t *run, double bytes, double bar, double copy)
{
    const double time = seconds(run) / (double)run->n * 1e12, floor = bytes / copy * 1e12;

    printf("%-16s %-24s %5zu %8.2f %8.2f %6.2f %6.2f %s  %5.1f%%\n", name, verbs[run->verb],
           run->element * run->n >> 20, time, floor, time / floor, bar,
           time <= bar * floor ? "reached" : "MISSED ", 100.0 * floor / time);
    fflush(stdout);
}

/* N(0, 1) and a residual of zeros, in place before it returns: the stream does not wait for them.
 */
static void refill(const run_t *run, const void *some, size_t chunk)
{
    const size_t all = run->element * run->n;

    for (size_t at = 0; at < all; at += chunk) {
        cudaMemcpy(run->elements + at, some, all - at < chunk ? all - at : chunk,
                   cudaMemcpyHostToDevice);
    }
    cudaMemset(run->residual, 0, all);
    if (cudaDeviceSynchronize() != cudaSuccess) {
        die("fill");
    }
}

/* Bars of encode, decode, decode-and-add and encode with feedback; 0: a copy. */
static const struct {
    const char *spec;
    double      bars[CODECS];
} floats[]  = {{"bitpack:1", {1.10, 1.10, 1.15, 1.25}},
               {"bitpack:2", {1.10, 1.10, 1.15, 1.25}},
               {"bitpack:3", {1.10, 1.10, 1.15, 1.25}},
               {"bitpack:4", {0.0, 0.0, 1.15, 1.25}},
               {"bitpack:2,round", {1.10, 1.10, 1.15, 1.25}},
               {"bf16", {1.10, 1.10, 1.15, 1.25}},
               {"fp16", {1.10, 1.10, 1.15, 1.25}},
               {"tree8", {1.20, 1.10, 1.15, 1.25}},
               {"tree8:split=0.55", {1.20, 1.10, 1.15, 1.25}},
               {"int8", {1.20, 1.10, 1.15, 1.25}},
               {"static8", {1.20, 1.20, 1.15, 1.25}},
               {"mantissa8", {1.20, 1.20, 1.15, 1.25}},
               {"onebit", {1.25, 1.25, 1.25, 1.25}}},
  doubles[] = {{"bitpack:1", {1.3, 1.3, 1.3, 1.3}},       {"bitpack:2", {1.3, 1.3, 1.3, 1.3}},
               {"bitpack:2,round", {1.3, 1.3, 1.3, 1.3}}, {"bitpack:3", {1.3, 1.3, 1.3, 1.3}},
               {"bitpack:5", {1.3, 1.3, 1.3, 1.3}},       {"bitpack:7", {1.3, 1.3, 1.3, 1.3}},
               {"bitpack:8", {0.0, 0.0, 1.3, 1.3}}};

static void measure_codec(run_t *run, const char *spec, tw_dtype_t dtype, const double *bars,
                          const void *some, size_t chunk, double copy)
{
    tw_codec_t  *codec         = codec_create(spec, dtype);
    const double e             = (double)run->element;
    const double c             = (double)codec->ops->size(codec, run->n) / (double)run->n;
    const double bytes[CODECS] = {e + c, e + c, 2.0 * e + c, 3.0 * e + c};
    char         name[32];

    snprintf(name, sizeof(name), "%s%s", spec, dtype == TW_F64 ? " f64" : "");
    run->codec = codec;
    for (int v = 0; v < CODECS; v++) {
        if (bars[v] > 0.0) {
            refill(run, some, chunk);
            run->verb = (timed_t)v;
            row(name, run, bytes[v], bars[v], copy);
        }
    }
    tw_codec_destroy(codec);
}

/* Vectors of so many bytes: all codecs, and what goes over elements as they are. */
static void measure_type(run_t *run, tw_dtype_t dtype, size_t bytes)
{
    const size_t chunk = (size_t)8 << 20;
    void        *some  = malloc(chunk);
    double       copy;

    run->element = tw_dtype_size(dtype);
    run->n       = bytes / run->element;
    fill(some, dtype, chunk / run->element, NORMAL);
    refill(run, some, chunk);
    run->verb = COPY;
    copy      = 2.0 * (double)bytes / seconds(run);
    printf("# device copy of %zu MB: %.0f GB/s, read and written; the floor is the bytes at that "
           "rate\n",
           bytes >> 20, copy / 1e9);
    for (size_t s = 0; dtype == TW_F32 && s < sizeof(floats) / sizeof(floats[0]); s++) {
        measure_codec(run, floats[s].spec, dtype, floats[s].bars, some, chunk, copy);
    }
    for (size_t s = 0; dtype == TW_F64 && s < sizeof(doubles) / sizeof(doubles[0]); s++) {
        measure_codec(run, doubles[s].spec, dtype, doubles[s].bars, some, chunk, copy);
    }
    refill(run, some, chunk);
    for (run->verb = dtype == TW_F32 ? ABSMAX : AVERAGE; run->verb < VERBS; run->verb++) {
        const double passes = run->verb == AVERAGE ? 2.0 : run->verb == SUM ? 3.0 : 1.0;

        row(dtype == TW_F64 ? "float64" : "float32", run, passes * (double)run->element, 1.15,
            copy);
    }
    free(some);
}

static void measure_size(size_t megabytes)
{
    const size_t bytes = megabytes << 20;
    run_t        run   = {.n = 0};

    if (cudaMalloc((void **)&run.elements, bytes) != cudaSuccess ||
        cudaMalloc((void **)&run.codes, bytes + 65536) != cudaSuccess ||
        cudaMalloc((void **)&run.residual, bytes) != cudaSuccess) {
        printf("# SKIP %zu MB: not enough memory on the device\n", megabytes);
        exit(0);
    }
    measure_type(&run, TW_F32, bytes);
    measure_type(&run, TW_F64, bytes);
    cudaFree(run.elements);
    cudaFree(run.codes);
    cudaFree(run.residual);
}

/* What tree8 loses of N(0, 1): as blockwise.py has it of bitsandbytes. */
static void tell_error(void)
{
    const size_t n     = (size_t)1 << 20;
    tw_codec_t  *codec = codec_create("tree8", TW_F32);
    float       *x = malloc(n * sizeof(float)), *back = malloc(n * sizeof(float));
    uint8_t     *codes = malloc(codec->ops->size(codec, n));
    double       sum   = 0.0;

    fill(x, TW_F32, n, NORMAL);
    if (tw_codec_encode(codec, NULL, x, n, codes) != TW_OK ||
        tw_codec_decode(codec, NULL, codes, n, back) != TW_OK) {
        die("tree8");
    }
    for (size_t i = 0; i < n; i++) {
        sum += fabs((double)back[i] - (double)x[i]);
    }
    printf("# tree8: mean absolute error %.5f of N(0, 1)\n", sum / (double)n);
    free(x);
    free(back);
    free(codes);
    tw_codec_destroy(codec);
}

int measure(size_t megabytes)
{
    printf("# median of %d; ps/value, the floor's, how many times the floor, the bar, share of the "
           "copy's rate\n",
           TIMES);
    printf("%-16s %-24s %5s %8s %8s %6s %6s\n", "# codec", "kernel", "MB", "ps", "floor", "times",
           "bar");
    tell_error();
    measure_size(256);
    if (megabytes > 256) {
        measure_size(megabytes);
    }
    return 0;
}
