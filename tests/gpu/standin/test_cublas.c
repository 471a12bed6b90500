/* SPDX-License-Identifier: BSD-3-Clause
 * tests/gpu/standin/test_cublas.c - the stand-in for cuBLAS: products beside sums in double, and
 * what it refuses.
 */
#include "config.h"

#include <check.h>
#include <cublas_v2.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/gpu/standin/expect.h"
#include "tests/gpu/standin/standin.h"
#include "tests/suite.h"

enum { MOST = 4000 }; /* elements of a matrix */

static cublasHandle_t handle;
static cudaStream_t   stream;
static float         *da, *db, *dc; /* on the device */
static float          a[MOST], b[MOST], c[MOST], got[MOST];
static test_random_t  r;

static void set_up(void)
{
    r.state = test_seed();
    standin_seed(test_next(&r));
    ck_assert_int_eq(cublasCreate(&handle), CUBLAS_STATUS_SUCCESS);
    ck_assert_int_eq(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
    ck_assert_int_eq(cublasSetStream(handle, stream), CUBLAS_STATUS_SUCCESS);
    ck_assert_int_eq(cudaMalloc((void **)&da, sizeof(a)), cudaSuccess);
    ck_assert_int_eq(cudaMalloc((void **)&db, sizeof(b)), cudaSuccess);
    ck_assert_int_eq(cudaMalloc((void **)&dc, sizeof(c)), cudaSuccess);
}

static void tear_down(void)
{
    ck_assert_int_eq(cublasDestroy(handle), CUBLAS_STATUS_SUCCESS);
    ck_assert_int_eq(cudaStreamDestroy(stream), cudaSuccess);
    ck_assert_int_eq(cudaFree(da), cudaSuccess);
    ck_assert_int_eq(cudaFree(db), cudaSuccess);
    ck_assert_int_eq(cudaFree(dc), cudaSuccess);
    ck_assert_int_eq(standin_objects(), 0);
}

static void draw(float *v)
{
    for (int i = 0; i < MOST; i++) {
        v[i] = (float)test_below(&r, 2001) / 1000.0f - 1.0f;
    }
}

static void put(float *to, const float *from)
{
    ck_assert_int_eq(cudaMemcpy(to, from, MOST * sizeof(float), cudaMemcpyHostToDevice),
                     cudaSuccess);
    ck_assert_int_eq(cudaDeviceSynchronize(), cudaSuccess);
}

static void fetch(void)
{
    ck_assert_int_eq(cudaMemcpyAsync(got, dc, sizeof(got), cudaMemcpyDeviceToHost, stream),
                     cudaSuccess);
    ck_assert_int_eq(cudaStreamSynchronize(stream), cudaSuccess);
}

static double element(const float *m, cublasOperation_t op, int ld, int i, int j)
{
    return op == CUBLAS_OP_N ? m[i + (long)j * ld] : m[j + (long)i * ld];
}

START_TEST(products_are_right)
{
    for (int turn = 0; turn < 60; turn++) {
        const int m = 1 + test_below(&r, 20), n = 1 + test_below(&r, 20), k = test_below(&r, 20);
        const cublasOperation_t ta = (cublasOperation_t)test_below(&r, 3),
                                tb = (cublasOperation_t)test_below(&r, 3);
        const int lda              = (ta == CUBLAS_OP_N ? m : k) + 1 + test_below(&r, 3),
                  ldb              = (tb == CUBLAS_OP_N ? k : n) + 1 + test_below(&r, 3),
                  ldc              = m + test_below(&r, 3);
        const float alpha = (float)test_below(&r, 3), beta = (float)test_below(&r, 3) / 2;

        draw(a);
        draw(b);
        draw(c);
        c[0] = beta == 0 ? NAN : c[0]; /* must not be read */
        put(da, a);
        put(db, b);
        put(dc, c);
        ck_assert_int_eq(
            cublasSgemm(handle, ta, tb, m, n, k, &alpha, da, lda, db, ldb, &beta, dc, ldc),
            CUBLAS_STATUS_SUCCESS);
        fetch();
        for (int j = 0; j < n; j++) {
            for (int i = 0; i < m; i++) {
                double sum = 0;

                for (int l = 0; l < k; l++) {
                    sum += element(a, ta, lda, i, l) * element(b, tb, ldb, l, j);
                }
                sum = alpha * sum + (beta != 0 ? beta * (double)c[i + j * ldc] : 0);
                ck_assert_double_eq_tol(got[i + j * ldc], sum, 1e-5);
                c[i + j * ldc] = got[i + j * ldc];
            }
        }
        ck_assert_msg(memcmp(got, c, sizeof(c)) == 0, "something else was written");
    }
}
END_TEST

START_TEST(products_with_vectors_are_right)
{
    for (int turn = 0; turn < 60; turn++) {
        const int               m = 1 + test_below(&r, 20), n = 1 + test_below(&r, 20);
        const cublasOperation_t t    = (cublasOperation_t)test_below(&r, 2);
        const int               rows = t == CUBLAS_OP_N ? m : n, cols = t == CUBLAS_OP_N ? n : m;
        const int lda = m + test_below(&r, 3), incx = 1 + test_below(&r, 2) - 3 * (turn % 2),
                  incy    = 1 + test_below(&r, 2) - 3 * (turn / 2 % 2);
        const float alpha = 1, beta = (float)test_below(&r, 2);

        draw(a);
        draw(b);
        draw(c);
        put(da, a);
        put(db, b);
        put(dc, c);
        ck_assert_int_eq(cublasSgemv(handle, t, m, n, &alpha, da, lda, db, incx, &beta, dc, incy),
                         CUBLAS_STATUS_SUCCESS);
        fetch();
        for (int i = 0; i < rows; i++) {
            const int y   = incy > 0 ? i * incy : (i - rows + 1) * incy;
            double    sum = beta * (double)c[y];

            for (int l = 0; l < cols; l++) {
                sum += element(a, t, lda, i, l) *
                       (double)b[incx > 0 ? l * incx : (l - cols + 1) * incx];
            }
            ck_assert_double_eq_tol(got[y], sum, 1e-5);
        }
    }
}
END_TEST

START_TEST(wrong_arguments_are_refused)
{
    const cublasOperation_t n     = CUBLAS_OP_N;
    const float             one   = 1;
    cublasHandle_t          stale = NULL;

    REFUSED_SOMEHOW(cublasSgemm(handle, n, n, 8, 8, 8, &one, da, 7, db, 8, &one, dc, 8), "lda 7");
    REFUSED_SOMEHOW(cublasSgemm(handle, n, n, 8, 8, 8, &one, da, 8, db, 8, &one, dc, 7), "ldc 7");
    REFUSED_SOMEHOW(cublasSgemm(handle, CUBLAS_OP_T, n, 8, 8, 9, &one, da, 8, db, 9, &one, dc, 8),
                    "lda 8");
    REFUSED_SOMEHOW(cublasSgemm(handle, n, n, -1, 8, 8, &one, da, 8, db, 8, &one, dc, 8), "m -1");
    REFUSED_SOMEHOW(cublasSgemm(handle, n, n, 8, 8, 8, NULL, da, 8, db, 8, &one, dc, 8), "NULL");
    REFUSED_SOMEHOW(cublasSgemm(handle, n, n, 8, 8, 8, &one, a, 8, db, 8, &one, dc, 8),
                    "pageable host");
    REFUSED_SOMEHOW(cublasSgemm(handle, n, n, 64, 64, 64, &one, da, 64, db, 64, &one, dc, 64),
                    "out of the bounds");
    REFUSED_SOMEHOW(cublasSgemm(handle, n, n, 8, 8, 8, &one, (float *)(void *)((char *)da + 2), 8,
                                db, 8, &one, dc, 8),
                    "not aligned");
    REFUSED_SOMEHOW(cublasSgemv(handle, n, 8, 8, &one, da, 8, db, 0, &one, dc, 1), "incx 0");
    REFUSED_SOMEHOW(cublasSetWorkspace(handle, (char *)da + 16, 256), "not aligned");
    ck_assert_int_eq(cublasCreate(&stale), CUBLAS_STATUS_SUCCESS);
    ck_assert_int_eq(cublasDestroy(stale), CUBLAS_STATUS_SUCCESS);
    REFUSED_SOMEHOW(cublasSetMathMode(stale, CUBLAS_DEFAULT_MATH), "none of the cuBLAS handles");
    /* The result lies over an operand: it is done, and wrong. */
    ck_assert_int_eq(cublasSgemm(handle, n, n, 8, 8, 8, &one, da, 8, db, 8, &one, da + 8, 8),
                     CUBLAS_STATUS_SUCCESS);
    ck_assert_int_eq(standin_findings(), 1);
    ck_assert_int_eq(cublasSgemm(handle, n, n, 0, 8, 8, &one, NULL, 1, NULL, 8, &one, NULL, 1),
                     CUBLAS_STATUS_SUCCESS);
    ck_assert_int_eq(standin_findings(), 0);
}
END_TEST

/* Scalars are read when the call is made if they are the host's, and late if they are the
 * device's. */
START_TEST(scalars_are_read_in_time)
{
    float  alpha = 1, beta = 0, two = 2;
    float *on_device;

    draw(a);
    draw(b);
    put(da, a);
    put(db, b);
    ck_assert_int_eq(
        cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &alpha, da, 1, db, 1, &beta, dc, 1),
        CUBLAS_STATUS_SUCCESS);
    alpha = 77;
    fetch();
    ck_assert_float_eq(got[0], a[0] * b[0]);
    ck_assert_int_eq(cudaMalloc((void **)&on_device, sizeof(float)), cudaSuccess);
    ck_assert_int_eq(cudaMemset(on_device, 0, sizeof(float)), cudaSuccess);
    ck_assert_int_eq(cudaDeviceSynchronize(), cudaSuccess);
    ck_assert_int_eq(cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_DEVICE),
                     CUBLAS_STATUS_SUCCESS);
    ck_assert_int_eq(cudaMemcpyAsync(on_device, &two, sizeof(two), cudaMemcpyHostToDevice, stream),
                     cudaSuccess);
    ck_assert_int_eq(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, on_device, da, 1, db, 1,
                                 on_device, dc, 1),
                     CUBLAS_STATUS_SUCCESS);
    fetch();
    ck_assert_float_eq(got[0], 2 * (a[0] * b[0]) + 2 * (a[0] * b[0]));
    ck_assert_int_eq(cudaFree(on_device), cudaSuccess);
}
END_TEST

START_TEST(a_workspace_is_written_and_goes_with_the_stream)
{
    const float alpha = 1, beta = 0;

    memset(a, 0, sizeof(a));
    put(da, a);
    put(db, a);
    put(dc, a);
    ck_assert_int_eq(cublasSetWorkspace(handle, db, 256), CUBLAS_STATUS_SUCCESS);
    ck_assert_int_eq(cublasSetStream(handle, stream), CUBLAS_STATUS_SUCCESS); /* and is gone */
    for (int turn = 0; turn < 2; turn++) {
        ck_assert_int_eq(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 0, &alpha, NULL, 1,
                                     NULL, 1, &beta, dc, 1),
                         CUBLAS_STATUS_SUCCESS);
        ck_assert_int_eq(cudaMemcpyAsync(got, db, sizeof(got), cudaMemcpyDeviceToHost, stream),
                         cudaSuccess);
        ck_assert_int_eq(cudaStreamSynchronize(stream), cudaSuccess);
        ck_assert_int_eq(memcmp(got, a, 256) != 0, turn);
        ck_assert_int_eq(memcmp(got + 64, a, sizeof(a) - 256), 0);
        ck_assert_int_eq(cublasSetWorkspace(handle, db, 256), CUBLAS_STATUS_SUCCESS);
    }
}
END_TEST

START_TEST(calls_fail_on_demand)
{
    const float one = 1;

    standin_fail("cublasSgemm_v2", 2, CUBLAS_STATUS_ALLOC_FAILED, STANDIN_ONCE);
    for (int i = 1; i <= 3; i++) {
        ck_assert_int_eq(
            cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &one, da, 1, db, 1, &one, dc, 1),
            i == 2 ? CUBLAS_STATUS_ALLOC_FAILED : CUBLAS_STATUS_SUCCESS);
    }
    ck_assert_int_eq(cudaStreamSynchronize(stream), cudaSuccess);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("gpu/standin/cublas");
    TCase *tcase = test_case_within(suite, "cublas", 60.0);

    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_test(tcase, products_are_right);
    tcase_add_test(tcase, products_with_vectors_are_right);
    tcase_add_test(tcase, wrong_arguments_are_refused);
    tcase_add_test(tcase, scalars_are_read_in_time);
    tcase_add_test(tcase, a_workspace_is_written_and_goes_with_the_stream);
    tcase_add_test(tcase, calls_fail_on_demand);
    return test_main(suite);
}
