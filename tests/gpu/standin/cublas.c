/* SPDX-License-Identifier: BSD-3-Clause
 * tests/gpu/standin/cublas.c - cuBLAS: the rules of its documents for arguments, and the plainest
 * loops.
 *
 * Sums are taken in ascending order in float; the math mode changes nothing. The beginning of a
 * workspace that was set is overwritten by every product.
 */
#include "config.h"

#include <cublas_v2.h>
#include <stdlib.h>
#include <string.h>

#include "tests/gpu/standin/core.h"

static const char handles[] = "cuBLAS handles";

struct cublasContext {
    int                 device;
    cudaStream_t        stream;
    cublasPointerMode_t pointers;
    cublasMath_t        math;
    void               *workspace;
    size_t              workspace_bytes;
};

static cublasStatus_t enter(const char *call, cublasHandle_t handle)
{
    const cublasStatus_t status =
        (cublasStatus_t)standin_enter(call, CUBLAS_STATUS_EXECUTION_FAILED);

    if (status == CUBLAS_STATUS_SUCCESS && !standin_object_is(handles, handle)) {
        return CUBLAS_STATUS_NOT_INITIALIZED;
    }
    if (status == CUBLAS_STATUS_SUCCESS && handle->device != standin_current) {
        standin_found("the handle is one of device %d, device %d is current", handle->device,
                      standin_current);
        return CUBLAS_STATUS_EXECUTION_FAILED;
    }
    return status;
}

static cublasStatus_t leave(cublasStatus_t status)
{
    return (cublasStatus_t)standin_leave((int)status);
}

/* ---- handles -------------------------------------------------------------------------------- */

cublasStatus_t cublasCreate_v2(cublasHandle_t *handle)
{
    cublasStatus_t status = (cublasStatus_t)standin_enter(__func__, CUBLAS_STATUS_NOT_INITIALIZED);

    if (status == CUBLAS_STATUS_SUCCESS) {
        status = standin_devices == 0 ? CUBLAS_STATUS_NOT_INITIALIZED
                 : handle == NULL     ? CUBLAS_STATUS_INVALID_VALUE
                                      : CUBLAS_STATUS_SUCCESS;
    }
    if (status == CUBLAS_STATUS_SUCCESS) {
        *handle           = standin_object_create(handles, sizeof(**handle));
        (*handle)->device = standin_current;
    }
    return leave(status);
}

/* As documented it waits for the device. */
cublasStatus_t cublasDestroy_v2(cublasHandle_t handle)
{
    const cublasStatus_t status = enter(__func__, handle);

    if (status == CUBLAS_STATUS_SUCCESS) {
        standin_finish_device(handle->device);
        standin_object_destroy(handles, handle);
    }
    return leave(status);
}

cublasStatus_t cublasGetVersion_v2(cublasHandle_t handle, int *version)
{
    cublasStatus_t status = enter(__func__, handle);

    if (status == CUBLAS_STATUS_SUCCESS && version == NULL) {
        status = CUBLAS_STATUS_INVALID_VALUE;
    }
    if (status == CUBLAS_STATUS_SUCCESS) {
        *version = CUBLAS_VER_MAJOR * 10000;
    }
    return leave(status);
}

/* This takes the workspace away, too. */
cublasStatus_t cublasSetStream_v2(cublasHandle_t handle, cudaStream_t streamId)
{
    cublasStatus_t            status = enter(__func__, handle);
    const struct CUstream_st *s      = NULL;

    if (status == CUBLAS_STATUS_SUCCESS) {
        s      = standin_stream(streamId);
        status = s == NULL ? CUBLAS_STATUS_INVALID_VALUE : status;
    }
    if (status == CUBLAS_STATUS_SUCCESS && s->device != handle->device) {
        standin_found("a stream of device %d for a handle of device %d", s->device, handle->device);
        status = CUBLAS_STATUS_INVALID_VALUE;
    }
    if (status == CUBLAS_STATUS_SUCCESS) {
        handle->stream          = streamId;
        handle->workspace       = NULL;
        handle->workspace_bytes = 0;
    }
    return leave(status);
}

cublasStatus_t cublasGetStream_v2(cublasHandle_t handle, cudaStream_t *streamId)
{
    cublasStatus_t status = enter(__func__, handle);

    if (status == CUBLAS_STATUS_SUCCESS && streamId == NULL) {
        status = CUBLAS_STATUS_INVALID_VALUE;
    }
    if (status == CUBLAS_STATUS_SUCCESS) {
        *streamId = handle->stream;
    }
    return leave(status);
}

cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t handle, void *workspace,
                                     size_t workspaceSizeInBytes)
{
    cublasStatus_t status = enter(__func__, handle);

    if (status == CUBLAS_STATUS_SUCCESS && workspaceSizeInBytes > 0 &&
        standin_bytes("the workspace", workspace, workspaceSizeInBytes, 256, handle->device,
                      false) == NULL) {
        status = CUBLAS_STATUS_INVALID_VALUE;
    }
    if (status == CUBLAS_STATUS_SUCCESS) {
        handle->workspace       = workspace;
        handle->workspace_bytes = workspaceSizeInBytes;
    }
    return leave(status);
}

cublasStatus_t cublasGetPointerMode_v2(cublasHandle_t handle, cublasPointerMode_t *mode)
{
    cublasStatus_t status = enter(__func__, handle);

    if (status == CUBLAS_STATUS_SUCCESS && mode == NULL) {
        status = CUBLAS_STATUS_INVALID_VALUE;
    }
    if (status == CUBLAS_STATUS_SUCCESS) {
        *mode = handle->pointers;
    }
    return leave(status);
}

cublasStatus_t cublasSetPointerMode_v2(cublasHandle_t handle, cublasPointerMode_t mode)
{
    cublasStatus_t status = enter(__func__, handle);

    if (status == CUBLAS_STATUS_SUCCESS && mode != CUBLAS_POINTER_MODE_HOST &&
        mode != CUBLAS_POINTER_MODE_DEVICE) {
        status = CUBLAS_STATUS_INVALID_VALUE;
    }
    if (status == CUBLAS_STATUS_SUCCESS) {
        handle->pointers = mode;
    }
    return leave(status);
}

cublasStatus_t cublasGetMathMode(cublasHandle_t handle, cublasMath_t *mode)
{
    cublasStatus_t status = enter(__func__, handle);

    if (status == CUBLAS_STATUS_SUCCESS && mode == NULL) {
        status = CUBLAS_STATUS_INVALID_VALUE;
    }
    if (status == CUBLAS_STATUS_SUCCESS) {
        *mode = handle->math;
    }
    return leave(status);
}

cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t mode)
{
    cublasStatus_t status = enter(__func__, handle);

    if (status == CUBLAS_STATUS_SUCCESS && mode != CUBLAS_DEFAULT_MATH &&
        mode != CUBLAS_PEDANTIC_MATH && mode != CUBLAS_TF32_TENSOR_OP_MATH) {
        status = CUBLAS_STATUS_INVALID_VALUE;
    }
    if (status == CUBLAS_STATUS_SUCCESS) {
        handle->math = mode;
    }
    return leave(status);
}

const char *cublasGetStatusName(cublasStatus_t status)
{
#define NAME(x)                                                                                    \
    case x:                                                                                        \
        return #x;
    switch (status) {
        NAME(CUBLAS_STATUS_SUCCESS)
        NAME(CUBLAS_STATUS_NOT_INITIALIZED)
        NAME(CUBLAS_STATUS_ALLOC_FAILED)
        NAME(CUBLAS_STATUS_INVALID_VALUE)
        NAME(CUBLAS_STATUS_ARCH_MISMATCH)
        NAME(CUBLAS_STATUS_MAPPING_ERROR)
        NAME(CUBLAS_STATUS_EXECUTION_FAILED)
        NAME(CUBLAS_STATUS_INTERNAL_ERROR)
        NAME(CUBLAS_STATUS_NOT_SUPPORTED)
        NAME(CUBLAS_STATUS_LICENSE_ERROR)
    default:
        return "<unknown>";
    }
}

const char *cublasGetStatusString(cublasStatus_t status)
{
    return cublasGetStatusName(status);
}

/* ---- products ------------------------------------------------------------------------------- */

/* c(m, n) = alpha a(m, k) b(k, n) + beta c, where element (i, j) of each is at i * down + j *
 * across. */
typedef struct standin_matrix {
    const float *at;
    long         down, across, first; /* first: of element (0, 0) */
    size_t       span;                /* elements from `at` to the last one */
} standin_matrix_t;

typedef struct standin_product {
    int              device;
    long             m, n, k;
    standin_matrix_t a, b, c;
    float            alpha, beta;
    const float     *alpha_at, *beta_at; /* in device memory, if not NULL */
    void            *workspace;
    size_t           workspace_bytes;
} standin_product_t;

static standin_matrix_t matrix(const float *at, cublasOperation_t op, int ld, long rows, long cols)
{
    const bool plain = op == CUBLAS_OP_N; /* rows, cols: of what op gives */

    return (standin_matrix_t){.at     = at,
                              .down   = plain ? 1 : ld,
                              .across = plain ? ld : 1,
                              .span   = (size_t)ld * (size_t)((plain ? cols : rows) - 1) +
                                      (size_t)(plain ? rows : cols)};
}

static standin_matrix_t column(const float *at, int inc, long rows)
{
    const size_t span = (size_t)(rows - 1) * (size_t)abs(inc) + 1;

    return (standin_matrix_t){
        .at = at, .down = inc, .first = inc < 0 ? (long)span - 1 : 0, .span = span};
}

static float *real(const char *what, const standin_matrix_t *m, int device)
{
    return (float *)(void *)standin_bytes(what, m->at, m->span * sizeof(float), sizeof(float),
                                          device, false);
}

static float scalar(const char *what, float value, const float *at, int device, bool *wrong)
{
    const float *p = at != NULL ? (const float *)(const void *)standin_bytes(
                                      what, at, sizeof(*at), sizeof(*at), device, false)
                                : &value;

    *wrong |= p == NULL;
    return p != NULL ? *p : 0;
}

/* What is not needed is not looked at: a and b where alpha or k is 0, c where beta is 0. */
static int product_run(void *arg, bool dead)
{
    const standin_product_t *p     = arg;
    bool                     wrong = false;
    const float             *a = NULL, *b = NULL;
    float                   *c, alpha, beta;

    if (dead) {
        return 0;
    }
    alpha = scalar("alpha", p->alpha, p->alpha_at, p->device, &wrong);
    beta  = scalar("beta", p->beta, p->beta_at, p->device, &wrong);
    c     = real("C or y", &p->c, p->device);
    if (alpha != 0 && p->k > 0 && !wrong) {
        a     = real("A", &p->a, p->device);
        b     = real("B or x", &p->b, p->device);
        wrong = a == NULL || b == NULL;
    }
    if (c == NULL || wrong) {
        return cudaErrorIllegalAddress;
    }
    for (long i = 0; i < p->m; i++) {
        for (long j = 0; j < p->n; j++) {
            float *at  = &c[p->c.first + i * p->c.down + j * p->c.across];
            float  sum = 0;

            for (long l = 0; l < p->k && a != NULL; l++) {
                sum += a[p->a.first + i * p->a.down + l * p->a.across] *
                       b[p->b.first + l * p->b.down + j * p->b.across];
            }
            *at = alpha * sum + (beta != 0 ? beta * *at : 0);
        }
    }
    if (p->workspace_bytes > 0) {
        uint8_t *w =
            standin_bytes("the workspace", p->workspace, p->workspace_bytes, 256, p->device, false);

        if (w == NULL) {
            return cudaErrorIllegalAddress;
        }
        memset(w, 0xd7, p->workspace_bytes < 65536 ? p->workspace_bytes : 65536);
    }
    return 0;
}

static bool overlap(const standin_matrix_t *a, const standin_matrix_t *b)
{
    return a->at < b->at + b->span && b->at < a->at + a->span;
}

/* alpha and beta are looked at now if they are the host's. */
static cublasStatus_t product(cublasHandle_t handle, standin_product_t *p, const float *alpha,
                              const float *beta)
{
    struct CUstream_st *on   = standin_stream(handle->stream);
    const bool          host = handle->pointers == CUBLAS_POINTER_MODE_HOST;
    const void         *uses[6];

    if (on == NULL) {
        return CUBLAS_STATUS_EXECUTION_FAILED;
    }
    if (host &&
        (standin_memory_of(alpha) != NULL && standin_memory_of(alpha)->kind == STANDIN_DEVICE)) {
        standin_found("alpha is device memory in the mode of host pointers");
        return CUBLAS_STATUS_INVALID_VALUE;
    }
    p->device          = handle->device;
    p->alpha           = host ? *alpha : 0;
    p->beta            = host ? *beta : 0;
    p->alpha_at        = host ? NULL : alpha;
    p->beta_at         = host ? NULL : beta;
    p->workspace       = handle->workspace;
    p->workspace_bytes = handle->workspace_bytes;
    if (real("C or y", &p->c, p->device) == NULL ||
        (p->k > 0 && !(host && *alpha == 0) &&
         (real("A", &p->a, p->device) == NULL || real("B or x", &p->b, p->device) == NULL))) {
        return CUBLAS_STATUS_EXECUTION_FAILED;
    }
    memcpy(uses, (const void *[]){p->a.at, p->b.at, p->c.at, p->workspace, p->alpha_at, p->beta_at},
           sizeof(uses));
    if (overlap(&p->c, &p->a) || overlap(&p->c, &p->b)) {
        standin_found("the result overlaps an operand");
    }
    standin_put(on, product_run, p, sizeof(*p), uses, sizeof(uses) / sizeof(uses[0]), false);
    return CUBLAS_STATUS_SUCCESS;
}

static bool is_operation(cublasOperation_t op)
{
    return op == CUBLAS_OP_N || op == CUBLAS_OP_T || op == CUBLAS_OP_C;
}

static int at_least_one(int n)
{
    return n > 1 ? n : 1;
}

cublasStatus_t cublasSgemm_v2(cublasHandle_t handle, cublasOperation_t transa,
                              cublasOperation_t transb, int m, int n, int k, const float *alpha,
                              const float *A, int lda, const float *B, int ldb, const float *beta,
                              float *C, int ldc)
{
    cublasStatus_t status = enter(__func__, handle);

    if (status == CUBLAS_STATUS_SUCCESS &&
        (m < 0 || n < 0 || k < 0 || !is_operation(transa) || !is_operation(transb) ||
         lda < at_least_one(transa == CUBLAS_OP_N ? m : k) ||
         ldb < at_least_one(transb == CUBLAS_OP_N ? k : n) || ldc < at_least_one(m) ||
         alpha == NULL || beta == NULL)) {
        standin_found("m %d, n %d, k %d, lda %d, ldb %d, ldc %d, operations %d and %d%s", m, n, k,
                      lda, ldb, ldc, (int)transa, (int)transb,
                      alpha == NULL || beta == NULL ? ", alpha or beta NULL" : "");
        status = CUBLAS_STATUS_INVALID_VALUE;
    }
    if (status == CUBLAS_STATUS_SUCCESS && m > 0 && n > 0) {
        standin_product_t p = {.m = m, .n = n, .k = k, .c = matrix(C, CUBLAS_OP_N, ldc, m, n)};

        if (k > 0) {
            p.a = matrix(A, transa, lda, m, k);
            p.b = matrix(B, transb, ldb, k, n);
        }
        status = product(handle, &p, alpha, beta);
    }
    return leave(status);
}

cublasStatus_t cublasSgemv_v2(cublasHandle_t handle, cublasOperation_t trans, int m, int n,
                              const float *alpha, const float *A, int lda, const float *x, int incx,
                              const float *beta, float *y, int incy)
{
    cublasStatus_t status = enter(__func__, handle);
    const bool     plain  = trans == CUBLAS_OP_N;

    if (status == CUBLAS_STATUS_SUCCESS &&
        (m < 0 || n < 0 || !is_operation(trans) || lda < at_least_one(m) || incx == 0 ||
         incy == 0 || alpha == NULL || beta == NULL)) {
        standin_found("m %d, n %d, lda %d, incx %d, incy %d, operation %d%s", m, n, lda, incx, incy,
                      (int)trans, alpha == NULL || beta == NULL ? ", alpha or beta NULL" : "");
        status = CUBLAS_STATUS_INVALID_VALUE;
    }
    if (status == CUBLAS_STATUS_SUCCESS && m > 0 && n > 0) {
        const long        rows = plain ? m : n, cols = plain ? n : m;
        standin_product_t p = {.m = rows,
                               .n = 1,
                               .k = cols,
                               .a = matrix(A, trans, lda, rows, cols),
                               .b = column(x, incx, cols),
                               .c = column(y, incy, rows)};

        status = product(handle, &p, alpha, beta);
    }
    return leave(status);
}
