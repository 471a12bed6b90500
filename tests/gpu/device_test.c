/* SPDX-License-Identifier: BSD-3-Clause
 * tests/gpu/device_test.c - kernels_on_device of tests/gpu/run: through the public entry points,
 * device memory against host memory, and how long the kernels take.
 *
 *     kernels_on_device device                the device's compute capability and name
 *     kernels_on_device check [full|quick|few] [NAME]
 *                                             TAP; few: what compute-sanitizer can do in reasonable
 *                                             time; NAME: only codecs in whose names it is,
 *                                             "onebit", "double"
 *     kernels_on_device measure MB            a table; float32 of 256 MB, and of MB
 *
 * Exit status: 0 all is well, 1 something differs, 2 wrong command line, 77 there is no device.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/bytes.h"
#include "runtime/base/context.h"
#include "tests/gpu/device_test.h"

static tw_context_t ctx;
cudaStream_t        stream;
static uint64_t     state = 20260101;

void die(const char *what)
{
    printf("Bail out! %s: %s\n", what, cudaGetErrorString(cudaGetLastError()));
    exit(1);
}

uint32_t draw(void)
{
    uint64_t z = (state += UINT64_C(0x9e3779b97f4a7c15));

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (uint32_t)((z ^ (z >> 31)) >> 32);
}

static float normal(void)
{
    const double a = (draw() + 1.0) / 4294967296.0, b = draw() / 4294967296.0;

    return (float)(sqrt(-2.0 * log(a)) * cos(6.283185307179586 * b));
}

tw_codec_t *codec_create(const char *spec, tw_dtype_t dtype)
{
    tw_codec_t *codec = NULL;
    char        why[256];

    if (tw_codec_create(&ctx, spec, dtype, &codec, why, sizeof(why)) != TW_OK) {
        printf("Bail out! %s\n", why);
        exit(1);
    }
    return codec;
}

const tw_exec_t *device_exec(void)
{
    static tw_exec_t exec;

    exec = (tw_exec_t){.memory = TW_MEMORY_CUDA, .stream = stream};
    return &exec;
}

void fill(void *dst, tw_dtype_t dtype, size_t n, int kind)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t u = draw();
        float    x;
        double   d;

        switch (kind) {
        case NORMAL:
            u = tw_float_bits(normal());
            break;
        case FINITE:
            u = (u & 0x7f800000u) == 0x7f800000u ? u ^ 0x40000000u : u;
            break;
        case DENORMAL:
            u &= 0x807fffffu;
            break;
        case HUGE_ONES:
            u = (u & 0x81ffffffu) + 0x7d800000u;
            break;
        case ZEROS:
            u &= 0x80000000u;
            break;
        case RARE:
            u = u % 5000 == 0 ? u | 0x7f800000u : tw_float_bits(normal());
            break;
        default:
            break;
        }
        x = tw_bits_float(u);
        d = x;
        if (dtype == TW_F64) {
            memcpy((uint8_t *)dst + 8 * i, &d, 8);
        } else {
            memcpy((uint8_t *)dst + 4 * i, &x, 4);
        }
    }
}

/* 77, and why, where there is none. */
static int tell_device(void)
{
    struct cudaDeviceProp of;
    int                   devices = 0;
    cudaError_t           error   = cudaGetDeviceCount(&devices);

    error = error == cudaSuccess && devices == 0 ? cudaErrorNoDevice : error;
    error = error == cudaSuccess ? cudaGetDeviceProperties(&of, 0) : error;
    if (error != cudaSuccess) {
        printf("no CUDA device: %s\n", cudaGetErrorString(error));
        return 77;
    }
    printf("%d.%d %s\n", of.major, of.minor, of.name);
    return 0;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "", *how = argc > 2 ? argv[2] : "";
    int         status = 2;

    if (strcmp(what, "device") == 0) {
        return tell_device();
    }
    setenv("THINWIRE_CPU", "scalar", 1);
    if (tw_context_init(&ctx) != TW_OK ||
        cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) != cudaSuccess) {
        die("start");
    }
    if (strcmp(what, "check") == 0) {
        status = check(strcmp(how, "few") == 0     ? FEW
                       : strcmp(how, "quick") == 0 ? QUICK
                                                   : FULL,
                       argc > 3 ? argv[3] : "");
    } else if (strcmp(what, "measure") == 0 && atoi(how) > 0) {
        status = measure((size_t)atoi(how));
    } else {
        fprintf(stderr,
                "usage: kernels_on_device device | check [full|quick|few] [NAME] | measure MB\n");
    }
    cudaStreamDestroy(stream);
    return status;
}
