/* SPDX-License-Identifier: BSD-3-Clause
 * tests/gpu/test_emulated.c - the source of the CUDA kernels, compiled for the host and run thread
 * by thread (emulate.h), against the scalar kernels: the same bytes and the same decoded bits. It
 * finds errors of indices, barriers and arithmetic; what a device makes of the code is
 * tests/gpu/run's to say.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "runtime/codec/cuda/cuda.h"
#include "runtime/codec/cuda/work.h"
#include "tests/codec/common.h"
#include "tests/gpu/emulate.h"

#define PROCESSORS 1 /* few, so that thread blocks take several parts */

/* Blocks that no default has: teams of a warp, not a power of two, and more than a tile or two. */
static const test_spec_t more_specs[] = {
    {"tree8:block=512", TW_F32},   {"tree8:block=576", TW_F32},   {"tree8:block=8192", TW_F32},
    {"int8:block=4160", TW_F32},   {"onebit:block=4096", TW_F32}, {"onebit:block=2112", TW_F32},
    {"onebit:block=1984", TW_F32},
};

#define MORE_SPECS ((int)(sizeof(more_specs) / sizeof(more_specs[0])))

/* Those of test_specs that have kernels for device memory. */
static test_spec_t with_kernels[TEST_SPECS_MAX];
static int         with_kernels_count;

static void find_with_kernels(void)
{
    tw_context_t *ctx = NULL;

    if (tw_context_create(&ctx) != TW_OK) {
        abort();
    }
    for (int s = 0; s < test_spec_count; s++) {
        tw_codec_t *codec = NULL;

        if (tw_codec_create(ctx, test_specs[s].spec, test_specs[s].dtype, &codec, NULL, 0) !=
            TW_OK) {
            abort();
        }
        if (codec->cuda != TW_CUDA_NONE) {
            with_kernels[with_kernels_count++] = test_specs[s];
        }
        tw_codec_destroy(codec);
    }
    tw_context_destroy(ctx);
}

static test_spec_t spec_at(int index)
{
    return index < with_kernels_count ? with_kernels[index]
                                      : more_specs[index - with_kernels_count];
}

static tw_status_t run(const tw_codec_t *codec, test_verb_t verb, const void *src, size_t n,
                       void *dst, void *residual)
{
    static const tw_cuda_verb_t verbs[] = {[TEST_ENCODE]     = TW_CUDA_ENCODE,
                                           [TEST_DECODE]     = TW_CUDA_DECODE,
                                           [TEST_DECODE_ADD] = TW_CUDA_DECODE_ADD,
                                           [TEST_FEEDBACK]   = TW_CUDA_ENCODE_FEEDBACK};
    tw_cuda_work_t              work;
    tw_cuda_launch_t            launch;

    if (n == 0) {
        return TW_OK;
    }
    launch = tw_cuda_work_describe(&work, codec, verbs[verb], src, n, dst, residual, PROCESSORS);
    if (launch.kernel == NULL) {
        memcpy(dst, src, test_size(codec, n));
    } else {
        emulate_run(launch, &work);
    }
    return TW_OK;
}

/* All four verbs; offsets of the elements, the codes and the residual from a multiple of 64. */
static void check(const tw_codec_t *codec, tw_dtype_t dtype, const void *src, const void *res,
                  size_t n, size_t at, size_t codes_at, size_t residual_at)
{
    test_twin_by(run, codec, codec, dtype, src, res, n, (test_places_t){at, codes_at, residual_at});
}

static void codec_free(tw_codec_t *codec)
{
    tw_codec_destroy(codec);
    unsetenv("THINWIRE_CPU");
}

static tw_codec_t *codec_at(int index)
{
    setenv("THINWIRE_CPU", "scalar", 1);
    return test_codec(spec_at(index).spec, spec_at(index).dtype);
}

START_TEST(counts_and_alignments)
{
    static const size_t counts[] = {0,   1,   3,   4,    5,    64,   65,   127,  128, 131,
                                    257, 511, 513, 2047, 2049, 4095, 4097, 8197, 9001};
    const tw_dtype_t    dtype    = spec_at(_i).dtype;
    tw_codec_t         *codec    = codec_at(_i);
    test_random_t       random   = test_random((uint64_t)_i);
    double             *src = malloc(8 * 9001), *res = malloc(8 * 9001);

    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        const size_t n = counts[i];

        test_fill(src, dtype, n, (test_kind_t)(i % TEST_KINDS), &random);
        test_fill(res, dtype, n, TEST_NORMAL, &random);
        check(codec, dtype, src, res, n, 0, 0, 0);
        if (n == 5 || n == 131 || n == 4097) { /* by an element, by a byte, and only one of them */
            test_fill(src, dtype, n, TEST_NORMAL, &random);
            check(codec, dtype, src, res, n, 4, 4, 4);
            check(codec, dtype, src, res, n, 1, 0, 0);
            check(codec, dtype, src, res, n, 0, 1, 0);
            check(codec, dtype, src, res, n, 16, 8, 2);
            check(codec, dtype, src, res, n, 8, 12, 8);
        }
    }
    free(src);
    free(res);
    codec_free(codec);
}
END_TEST

START_TEST(every_kind_of_number)
{
    const size_t     n      = 4999;
    const tw_dtype_t dtype  = spec_at(_i).dtype;
    tw_codec_t      *codec  = codec_at(_i);
    test_random_t    random = test_random((uint64_t)_i);
    double          *src = malloc(8 * n), *res = malloc(8 * n);

    for (int kind = 0; kind < TEST_KINDS; kind++) {
        test_fill(src, dtype, n, (test_kind_t)kind, &random);
        test_fill(res, dtype, n, kind == TEST_DENORMAL ? TEST_DENORMAL : TEST_NORMAL, &random);
        check(codec, dtype, src, res, n, 0, 0, 0);
    }
    free(src);
    free(res);
    codec_free(codec);
}
END_TEST

START_TEST(arbitrary_bytes_decode_alike)
{
    const size_t     n      = 4500;
    const tw_dtype_t dtype  = spec_at(_i).dtype;
    tw_codec_t      *codec  = codec_at(_i);
    const size_t     bytes  = test_size(codec, n);
    test_random_t    random = test_random((uint64_t)_i);
    test_buffer_t    codes = test_buffer(bytes, 0), back = test_buffer(8 * n, 0);
    uint8_t         *want = malloc(8 * n);

    for (int round = 0; round < 2; round++) {
        for (size_t i = 0; i < bytes; i++) {
            codes.data[i] = (uint8_t)test_bits(&random);
        }
        test_decode(codec, codes.data, n, want);
        run(codec, TEST_DECODE, codes.data, n, back.data, NULL);
        test_same(back.data, want, dtype, n, 0, "decoded");
    }
    test_buffer_free(&codes);
    test_buffer_free(&back);
    free(want);
    codec_free(codec);
}
END_TEST

static void check_absmax(const float *src, size_t n, size_t block)
{
    const size_t   blocks = (n - 1) / block + 1;
    uint32_t      *most   = calloc(blocks, sizeof(*most));
    tw_cuda_work_t work   = {
          .src = (const uint8_t *)src, .dst = (uint8_t *)most, .n = n, .block = block};
    tw_cuda_launch_t launch = tw_cuda_absmax_launch(&work, PROCESSORS);

    emulate_run(launch, &work);
    for (size_t b = 0; b < blocks; b++) {
        const size_t m = n - b * block < block ? n - b * block : block;

        ck_assert_uint_eq(most[b], tw_absmax(TW_CPU_SCALAR, src + b * block, m));
    }
    free(most);
}

START_TEST(largest_magnitudes_of_blocks)
{
    const size_t  n      = 20011;
    test_random_t random = test_random(1);
    float        *src    = aligned_alloc(64, 4 * 20016);

    for (int kind = 0; kind < TEST_KINDS; kind++) {
        test_fill(src, TW_F32, n, (test_kind_t)kind, &random);
        check_absmax(src, n, n);
        check_absmax(src, n, 4096);
        check_absmax(src + 1, n - 1, 8192);
        check_absmax(src, 500, 7);
        check_absmax(src, 1, 1);
    }
    free(src);
}
END_TEST

/* The order that cuda.h describes, straightforwardly. */
static double norm(const float *src, size_t n)
{
    enum { L = 262144 };
    double *lane = calloc((size_t)L * 4, sizeof(*lane)), *part = malloc(1024 * sizeof(*part)),
           result;

    for (size_t i = 0; i < n; i++) {
        lane[i / 4 % L * 4 + i % 4] += (double)src[i] * (double)src[i];
    }
    for (size_t p = 0; p < 1024; p++) {
        double sum[256];

        for (size_t t = 0; t < 256; t++) {
            const double *four = lane + 4 * (256 * p + t);

            sum[t] = (four[0] + four[2]) + (four[1] + four[3]);
        }
        for (size_t h = 128; h > 0; h /= 2) {
            for (size_t t = 0; t < h; t++) {
                sum[t] += sum[t + h];
            }
        }
        part[p] = sum[0];
    }
    for (size_t h = 512; h > 0; h /= 2) {
        for (size_t t = 0; t < h; t++) {
            part[t] += part[t + h];
        }
    }
    result = sqrt(part[0]);
    free(lane);
    free(part);
    return result;
}

START_TEST(norms_add_in_their_order)
{
    static const size_t counts[] = {5, 1048579, 1000};
    test_random_t       random   = test_random(2);
    float              *src      = aligned_alloc(64, 4 * 1100032);
    double             *work     = malloc(TW_CUDA_NORM_WORK * sizeof(*work)), got;

    test_fill(src, TW_F32, 1100004, TEST_NORMAL, &random);
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        const size_t   offset = i / 2; /* the last one misaligned */
        tw_cuda_work_t of     = {.src      = (const uint8_t *)(src + offset),
                                 .dst      = (uint8_t *)&got,
                                 .residual = (uint8_t *)work,
                                 .n        = counts[i]};

        for (int step = 0; step < 2; step++) {
            emulate_run(tw_cuda_norm_launch(&of, step), &of);
        }
        ck_assert(got == norm(src + offset, counts[i]));
        emulate_run(tw_cuda_norm_launch(&of, 2), &of); /* of the sums that are there */
        ck_assert(sqrt(got) == norm(src + offset, counts[i]));
    }
    free(src);
    free(work);
}
END_TEST

START_TEST(sums_become_averages)
{
    const size_t  n      = 4099;
    test_random_t random = test_random(3);
    uint8_t      *values = malloc(8 * n + 16), *want = malloc(8 * n);

    for (int kind = 0; kind < TEST_KINDS; kind++) {
        for (int divisor = 1; divisor < 9; divisor += 2) {
            for (size_t element = 4; element <= 8; element += 4) {
                uint8_t       *at = values + divisor; /* misaligned */
                tw_cuda_work_t of = {.dst = at, .n = n, .divisor = divisor};

                test_fill(want, element == 8 ? TW_F64 : TW_F32, n, (test_kind_t)kind, &random);
                memcpy(at, want, n * element);
                for (size_t i = 0; i < n; i++) {
                    if (element == 8) {
                        ((double *)(void *)want)[i] /= divisor;
                    } else {
                        ((float *)(void *)want)[i] /= (float)divisor;
                    }
                }
                at[n * element] = 0x77;
                emulate_run(tw_cuda_divide_launch(&of, element), &of);
                ck_assert(at[n * element] == 0x77);
                test_same(at, want, element == 8 ? TW_F64 : TW_F32, n, 1, "averages");
            }
        }
    }
    free(values);
    free(want);
}
END_TEST

START_TEST(moments_of_no_values_become_zeros)
{
    double moments[600];

    for (int i = 0; i < 4; i++) {
        const double   counts[] = {3.0, 0.0, (double)NAN, -1.0};
        const size_t   n        = i % 2 == 0 ? 599 : 3;
        tw_cuda_work_t of       = {.dst = (uint8_t *)moments, .n = n};

        for (size_t k = 0; k < 600; k++) {
            moments[k] = k == 0 ? counts[i] : 1.5;
        }
        emulate_run(tw_cuda_moments_empty_launch(), &of);
        for (size_t k = 0; k < 600; k++) {
            ck_assert(moments[k] == (k < n && i > 0 ? 0.0 : k == 0 ? counts[i] : 1.5));
        }
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cuda");
    TCase *tcase = test_case(suite, "emulated");
    int    specs;

    find_with_kernels();
    specs = with_kernels_count + MORE_SPECS;
    tcase_set_timeout(tcase, 600.0);
    tcase_add_loop_test(tcase, counts_and_alignments, 0, specs);
    tcase_add_loop_test(tcase, every_kind_of_number, 0, specs);
    tcase_add_loop_test(tcase, arbitrary_bytes_decode_alike, 0, specs);
    tcase_add_test(tcase, largest_magnitudes_of_blocks);
    tcase_add_test(tcase, norms_add_in_their_order);
    tcase_add_test(tcase, sums_become_averages);
    tcase_add_test(tcase, moments_of_no_values_become_zeros);
    return test_main(suite);
}
