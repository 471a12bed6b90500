/* SPDX-License-Identifier: BSD-3-Clause
 * tests/gpu/device_test.h - what the two halves of device_test share.
 */
#ifndef TW_TESTS_GPU_DEVICE_TEST_H
#define TW_TESTS_GPU_DEVICE_TEST_H

#include <cuda_runtime_api.h>

#include "runtime/codec/ops.h"

extern cudaStream_t stream; /* all work goes here */

/* Give up, with the last CUDA error. */
void die(const char *what);

uint32_t draw(void);

/* The codec, or an end. */
tw_codec_t *codec_create(const char *spec, tw_dtype_t dtype);

/* Device memory on `stream`. */
const tw_exec_t *device_exec(void);

/* Kinds of vectors. */
enum { NORMAL, BITS, FINITE, DENORMAL, HUGE_ONES, ZEROS, RARE, KINDS };

void fill(void *dst, tw_dtype_t dtype, size_t n, int kind);

typedef enum effort { FEW, QUICK, FULL } effort_t;

/* The commands; the program's status. */
int check(effort_t effort, const char *part);
int measure(size_t megabytes);

#endif /* TW_TESTS_GPU_DEVICE_TEST_H */
