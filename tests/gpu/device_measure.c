/* SPDX-License-Identifier: BSD-3-Clause
 * tests/gpu/device_measure.c - picoseconds per value of every kernel, beside what its bytes would
 * take at the rate of the device's own copy in the same run.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/codec/cuda/cuda.h"
#include "tests/gpu/device_test.h"

typedef struct run {
    const tw_codec_t *codec;
    int               verb; /* 0 .. 3, 4 copy, 5 absmax, 6 norm */
    size_t            n;
    uint8_t          *elements, *codes, *residual;
} run_t;

static void run_once(const run_t *run)
{
    const tw_exec_t *exec   = device_exec();
    tw_status_t      status = TW_OK;

    switch (run->verb) {
    case 0:
        status = tw_codec_encode(run->codec, exec, run->elements, run->n, run->codes);
        break;
    case 1:
        status = tw_codec_decode(run->codec, exec, run->codes, run->n, run->elements);
        break;
    case 2:
        status = tw_codec_decode_add(run->codec, exec, run->codes, run->n, run->elements);
        break;
    case 3:
        status = tw_codec_encode_feedback(run->codec, exec, run->elements, run->n, run->residual,
                                          run->codes);
        break;
    case 4:
        if (cudaMemcpyAsync(run->residual, run->elements, 4 * run->n, cudaMemcpyDeviceToDevice,
                            stream) != cudaSuccess) {
            die("copy");
        }
        break;
    case 5:
        status =
            tw_cuda_absmax(stream, run->elements, run->n, 4096, (uint32_t *)(void *)run->codes);
        break;
    default:
        status = tw_cuda_norm(stream, run->elements, run->n, (double *)(void *)run->codes,
                              (double *)(void *)(run->codes + 8 * TW_CUDA_NORM_WORK));
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

/* bytes: read and written per value. bar: the most times the floor that is asked for; 0: none. */
static void row(const char *spec, const char *verb, const run_t *run, double bytes, double bar,
                double copy)
{
    const double time = seconds(run) / (double)run->n * 1e12, floor = bytes / copy * 1e12;

    printf("%-16s %-22s %5zu %8.2f %8.2f %6.2f", spec, verb, 4 * run->n >> 20, time, floor,
           time / floor);
    if (bar > 0.0) {
        printf(" %6.2f %s", bar, time <= bar * floor ? "reached" : "MISSED");
    }
    printf("  %5.1f%%\n", 100.0 * floor / time);
    fflush(stdout);
}

/* N(0, 1) and a residual of zeros, in place before it returns: the stream does not wait for them.
 */
static void refill(const run_t *run, const float *some, size_t chunk)
{
    for (size_t i = 0; i < run->n; i += chunk) {
        cudaMemcpy(run->elements + 4 * i, some, 4 * (run->n - i < chunk ? run->n - i : chunk),
                   cudaMemcpyHostToDevice);
    }
    cudaMemset(run->residual, 0, 4 * run->n);
    if (cudaDeviceSynchronize() != cudaSuccess) {
        die("fill");
    }
}

static void measure_size(size_t megabytes)
{
    static const char *const specs[] = {
        "bitpack:1", "bitpack:2", "bitpack:3", "bitpack:4",        "bitpack:2,round",
        "bf16",      "fp16",      "tree8",     "tree8:split=0.55", "int8",
        "static8",   "mantissa8", "onebit"};
    static const char *const verbs[] = {"encode", "decode", "decode-and-add",
                                        "encode with feedback"};
    const size_t             n = (megabytes << 20) / 4, chunk = 1 << 20;
    run_t                    run  = {.n = n};
    float                   *some = malloc(4 * chunk);
    double                   copy;

    if (cudaMalloc((void **)&run.elements, 4 * n) != cudaSuccess ||
        cudaMalloc((void **)&run.codes, 4 * n + 65536) != cudaSuccess ||
        cudaMalloc((void **)&run.residual, 4 * n) != cudaSuccess) {
        printf("# SKIP %zu MB: not enough memory on the device\n", megabytes);
        exit(0);
    }
    fill(some, TW_F32, chunk, NORMAL);
    refill(&run, some, chunk);
    run.verb = 4;
    copy     = 8.0 * (double)n / seconds(&run);
    printf("# device copy of %zu MB: %.0f GB/s, read and written; the floor is the bytes at that "
           "rate\n",
           megabytes, copy / 1e9);
    for (size_t s = 0; s < sizeof(specs) / sizeof(specs[0]); s++) {
        tw_codec_t  *codec  = codec_create(specs[s], TW_F32);
        const int    blocks = codec->block > 1, onebit = strcmp(codec->ops->name, "onebit") == 0;
        const double c       = (double)codec->ops->size(codec, n) / (double)n;
        const double bytes[] = {4.0 + c, 4.0 + c, 8.0 + c, 12.0 + c};
        const double bars[]  = {blocks && !onebit ? 1.5
                                : onebit          ? 0.0
                                                  : 1.35,
                               1.35, 0.0, onebit ? 1.6 : 0.0};

        run.codec = codec;
        for (int v = codec->lossless ? 2 : 0; v < 4; v++) {
            refill(&run, some, chunk);
            run.verb = v;
            row(specs[s], verbs[v], &run, bytes[v], bars[v], copy);
        }
        tw_codec_destroy(codec);
    }
    run.verb = 5;
    row("maximum", "of blocks of 4096", &run, 4.0, 0.0, copy);
    run.verb = 6;
    row("norm", "", &run, 4.0, 0.0, copy);
    cudaFree(run.elements);
    cudaFree(run.codes);
    cudaFree(run.residual);
    free(some);
}

int measure(size_t megabytes)
{
    printf("# median of %d; ps/value, the floor's, how many times the floor, the bar, share of the "
           "copy's rate\n",
           TIMES);
    printf("%-16s %-22s %5s %8s %8s %6s %6s\n", "# codec", "kernel", "MB", "ps", "floor", "times",
           "bar");
    measure_size(256);
    if (megabytes > 256) {
        measure_size(megabytes);
    }
    return 0;
}
