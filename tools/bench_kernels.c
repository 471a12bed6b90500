/* SPDX-License-Identifier: BSD-3-Clause
 * tools/bench_kernels.c - see bench_kernels.h. A turn is: memcpy, then for each operation its loops
 * and the kernel, on the same buffers. The loops leave zeros where they write, and so they come
 * first.
 */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tools/bench_type.h"
#include "tools/bench_kernels.h"
#include "tools/bench_limits.h"

#define BUDGET 0.4 /* seconds for the operations of one codec at one size      */
#define STREAM_LEAST                                                                               \
    ((size_t)4 << 20)         /* bytes moved from which a loop past the caches is tried    */
#define COLOUR ((size_t)1088) /* keeps the arrays off each other's places in the L1 cache */

const char *bench_operation_name(kernel_operation_t operation)
{
    static const char *const names[BENCH_OPERATIONS] = {"encode",          "decode", "decode_add",
                                                        "encode_feedback", "absmax", "square_sum"};

    return names[operation];
}

int arena_create(arena_t *arena, const job_t *job, tw_dtype_t dtype, size_t values, size_t codes)
{
    /* Of the type of sums, which has the largest elements, and room for float. */
    const size_t bytes = values * tw_dtype_size(tw_dtype_row(dtype)->sum);
    const size_t line = bytes / 64 * 64 + 64, code_line = codes / 64 * 64 + 64;
    const double all     = 3.0 * (double)line + (double)code_line + 4.0 * 4096;
    tw_problem_t problem = {.set = 0};
    uint8_t     *at;

    *arena = (arena_t){.dtype = dtype};
    if (measure_memory(all, &problem) != 0) {
        job_complain(job, "%s", problem.text);
        return -1;
    }
    if (posix_memalign(&arena->memory, 4096, 3 * line + code_line + 4 * 4096) != 0) {
        arena->memory = NULL;
        job_complain(job, "not enough memory for arrays of %zu bytes", line);
        return -1;
    }
    at              = arena->memory;
    arena->x        = at;
    arena->y        = at + line + COLOUR;
    arena->residual = at + 2 * line + 2 * COLOUR;
    arena->codes    = at + 3 * line + 3 * COLOUR;
    data_normal(arena->x, values, 1, 1.0);
    bench_convert(arena->x, values, dtype);
    memset(arena->y, 0, bytes);
    memset(arena->residual, 0, bytes);
    return 0;
}

void arena_destroy(arena_t *arena)
{
    free(arena->memory);
}

typedef struct kernel {
    const arena_t     *arena;
    const tw_codec_t  *codec;
    size_t             n;
    int                threads;
    kernel_operation_t operation;
} kernel_t;

typedef struct loop {
    const char      *isa;
    limits_shape_t   shape;
    limits_buffers_t at;
    size_t           n;
    int              threads, stream;
} loop_t;

/* Its values in units of 4 bytes, of which memcpy and the loops know. */
static size_t words(const kernel_t *k)
{
    return k->n * tw_dtype_size(k->arena->dtype) / 4;
}

static tw_status_t run_copy(const void *what)
{
    const kernel_t *k = what;

    limits_copy(k->arena->y, k->arena->x, words(k), k->threads);
    return TW_OK;
}

static tw_status_t run_loop(const void *what)
{
    const loop_t *l = what;

    limits_run(l->isa, &l->shape, l->stream, &l->at, l->n, l->threads);
    return TW_OK;
}

static tw_status_t run_kernel(const void *what)
{
    const kernel_t *k    = what;
    const arena_t  *a    = k->arena;
    const tw_exec_t exec = {TW_MEMORY_HOST, NULL, k->threads};
    float           largest;
    double          sum;

    switch (k->operation) {
    case BENCH_ENCODE:
        return tw_codec_encode(k->codec, &exec, a->x, k->n, a->codes);
    case BENCH_DECODE:
        return tw_codec_decode(k->codec, &exec, a->codes, k->n, a->y);
    case BENCH_DECODE_ADD:
        return tw_codec_decode_add(k->codec, &exec, a->codes, k->n, a->y);
    case BENCH_ENCODE_FEEDBACK:
        return tw_codec_encode_feedback(k->codec, &exec, a->x, k->n, a->residual, a->codes);
    case BENCH_ABSMAX:
        return tw_codec_absmax(k->codec, &exec, a->x, k->n, &largest);
    default:
        return tw_codec_square_sum(k->codec, &exec, a->x, k->n, &sum);
    }
}

/* The loop that moves what the kernel moves; codes: eighths of a byte per 4 bytes of values. Sums
 * and residuals of 16-bit values are larger than these. */
static loop_t loop_of(const kernel_t *k, const char *isa, int codes, int stream)
{
    const arena_t *a = k->arena;
    const int      sums =
        32 * (int)(tw_dtype_size(tw_dtype_row(a->dtype)->sum) / tw_dtype_size(a->dtype));
    loop_t loop = {.isa = isa, .n = words(k), .threads = k->threads, .stream = stream};

    switch (k->operation) {
    case BENCH_ENCODE:
        loop.shape = (limits_shape_t){32, codes, 0};
        loop.at    = (limits_buffers_t){a->x, a->codes, NULL};
        break;
    case BENCH_DECODE:
        loop.shape = (limits_shape_t){codes, 32, 0};
        loop.at    = (limits_buffers_t){a->codes, a->y, NULL};
        break;
    case BENCH_DECODE_ADD:
        loop.shape = (limits_shape_t){codes, 0, sums};
        loop.at    = (limits_buffers_t){a->codes, NULL, a->y};
        break;
    case BENCH_ENCODE_FEEDBACK:
        loop.shape = (limits_shape_t){32, codes, sums};
        loop.at    = (limits_buffers_t){a->x, a->codes, a->residual};
        break;
    default:
        loop.shape = (limits_shape_t){32, 0, 0};
        loop.at    = (limits_buffers_t){a->x, NULL, NULL};
        break;
    }
    return loop;
}

/* Whether storing past the caches may be the faster way to write what this loop writes. */
static int may_stream(const loop_t *loop)
{
    const double moved = (loop->shape.src + loop->shape.dst) / 8.0 * (double)loop->n;

    return loop->shape.dst > 0 && loop->shape.both == 0 && moved >= (double)STREAM_LEAST &&
           limits_can_stream();
}

/* Where the contenders of an operation stand in the list. */
typedef struct kernel_places {
    size_t kernel, loop, stream; /* stream 0: none */
} kernel_places_t;

static void evaluate(const alternation_t *a, const kernel_places_t *at, kernel_result_t *result)
{
    size_t limit = at->loop;

    if (at->stream != 0 && alternate_seconds(a, at->stream) < alternate_seconds(a, at->loop)) {
        limit = at->stream;
    }
    result->seconds       = alternate_seconds(a, at->kernel);
    result->copy_seconds  = alternate_seconds(a, 0);
    result->limit_seconds = alternate_seconds(a, limit);
    result->to_copy       = alternate_ratio(a, at->kernel, 0);
    result->to_limit      = alternate_ratio(a, at->kernel, limit);
}

static tw_status_t measure_kernels(const kernel_t *any, const char *isa, double bytes_per_value,
                                   kernel_operation_t first, kernel_operation_t last,
                                   codec_result_t *result)
{
    static alternation_t a;
    kernel_t             kernels[BENCH_OPERATIONS];
    loop_t               loops[BENCH_OPERATIONS], streams[BENCH_OPERATIONS];
    kernel_places_t      at[BENCH_OPERATIONS] = {{0, 0, 0}};
    contender_t          list[ALTERNATE_MOST];
    const int            codes = /* never more than there is room for */
        (int)fmax(1, floor(bytes_per_value * 8 * (double)any->n / (double)words(any)));
    size_t      count = 0;
    tw_status_t status;

    list[count++] = (contender_t){run_copy, any};
    for (int o = (int)first; o <= (int)last; o++) {
        kernels[o]           = *any;
        kernels[o].operation = (kernel_operation_t)o;
        loops[o]             = loop_of(&kernels[o], isa, codes, 0);
        streams[o]           = loop_of(&kernels[o], isa, codes, 1);
        if (may_stream(&loops[o])) {
            at[o].stream  = count;
            list[count++] = (contender_t){run_loop, &streams[o]};
        }
        at[o].loop    = count;
        list[count++] = (contender_t){run_loop, &loops[o]};
        at[o].kernel  = count;
        list[count++] = (contender_t){run_kernel, &kernels[o]};
    }
    status        = alternate(list, count, BUDGET, &a);
    result->turns = a.turns;
    for (int o = (int)first; o <= (int)last && status == TW_OK; o++) {
        evaluate(&a, &at[o], &result->kernel[o]);
    }
    return status;
}

static double value(const void *values, tw_dtype_t dtype, size_t i)
{
    const tw_dtype_row_t *row = tw_dtype_row(dtype);
    double                x;

    row->to_f64((const uint8_t *)values + i * row->bytes, 1, &x);
    return x;
}

void bench_errors(const arena_t *arena, size_t n, double *max_error, double *rms_error)
{
    double squares = 0, lost = 0, most = 0;

    for (size_t i = 0; i < n; i++) {
        const double x     = value(arena->x, arena->dtype, i);
        const double error = fabs(x - value(arena->y, arena->dtype, i));

        squares += x * x;
        lost += error * error;
        most = error > most ? error : most;
    }
    *rms_error = squares > 0 ? sqrt(lost / squares) : 0;
    *max_error = squares > 0 ? most / sqrt(squares / (double)n) : 0;
}

tw_status_t bench_kernels(const arena_t *arena, const tw_codec_t *codec, const char *isa, size_t n,
                          int threads, codec_result_t *result)
{
    const kernel_t    any   = {arena, codec, n, threads, BENCH_ENCODE};
    size_t            bytes = 0;
    tw_codec_traits_t traits;
    tw_status_t       status = tw_codec_size(codec, n, &bytes);

    if (status == TW_OK) {
        status = tw_codec_traits(codec, &traits);
    }
    if (status == TW_OK) {
        status =
            measure_kernels(&any, isa, traits.bytes, BENCH_ENCODE, BENCH_ENCODE_FEEDBACK, result);
    }
    if (status == TW_OK) {
        status = tw_codec_encode(codec, NULL, arena->x, n, arena->codes);
    }
    if (status == TW_OK) {
        status = tw_codec_decode(codec, NULL, arena->codes, n, arena->y);
    }
    if (status == TW_OK) {
        result->bytes_per_value = (double)bytes / (double)n;
        bench_errors(arena, n, &result->max_error, &result->rms_error);
    }
    return status;
}

tw_status_t bench_sums(const arena_t *arena, const tw_codec_t *codec, const char *isa, size_t n,
                       int threads, codec_result_t *result)
{
    const kernel_t any = {arena, codec, n, threads, BENCH_ABSMAX};

    return measure_kernels(&any, isa, 0, BENCH_ABSMAX, BENCH_SQUARE_SUM, result);
}
