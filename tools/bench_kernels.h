/* SPDX-License-Identifier: BSD-3-Clause
 * tools/bench_kernels.h - one codec at one size: its kernels against memcpy and against what memory
 * allows.
 */
#ifndef TOOLS_BENCH_KERNELS_H
#define TOOLS_BENCH_KERNELS_H

#include <thinwire/codec.h>

#include "tools/bench_alternate.h"
#include "tools/job.h"

typedef enum kernel_operation {
    BENCH_ENCODE,
    BENCH_DECODE,
    BENCH_DECODE_ADD,
    BENCH_ENCODE_FEEDBACK,
    BENCH_ABSMAX, /* of the values, without a codec; so is what follows */
    BENCH_SQUARE_SUM,
    BENCH_OPERATIONS
} kernel_operation_t;

const char *bench_operation_name(kernel_operation_t operation);

/* Arrays of the largest size; x of elements of dtype, y and residual also of their sums' type. */
typedef struct arena {
    tw_dtype_t dtype;
    void      *x; /* normal random values             */
    void      *y; /* copied, decoded or added to      */
    void      *residual;
    uint8_t   *codes;
    void      *memory;
} arena_t;

/* For `values` numbers of dtype and `codes` bytes. @return 0, or -1, and rank 0 has said why: they
 * do not fit. */
int  arena_create(arena_t *arena, const job_t *job, tw_dtype_t dtype, size_t values, size_t codes);
void arena_destroy(arena_t *arena);

/* What a row says. Seconds are medians. */
typedef struct kernel_result {
    double  seconds, copy_seconds, limit_seconds;
    ratio_t to_copy, to_limit;
} kernel_result_t;

typedef struct codec_result {
    int             turns;
    kernel_result_t kernel[BENCH_OPERATIONS];
    double          bytes_per_value;
    double          max_error, rms_error; /* relative to the root mean square of the data */
} codec_result_t;

/* Measure all operations with a codec (isa: that of its kernels), or those without one. */
tw_status_t bench_kernels(const arena_t *arena, const tw_codec_t *codec, const char *isa, size_t n,
                          int threads, codec_result_t *result);
tw_status_t bench_sums(const arena_t *arena, const tw_codec_t *codec, const char *isa, size_t n,
                       int threads, codec_result_t *result);

/* y against x, into result; n values. */
void bench_errors(const arena_t *arena, size_t n, double *max_error, double *rms_error);

#endif /* TOOLS_BENCH_KERNELS_H */
