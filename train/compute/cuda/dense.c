/* SPDX-License-Identifier: BSD-3-Clause
 * cuda/dense.c - dense layers on a GPU: products by cuBLAS, the rest by the kernels of dense.cu.
 *
 * cuBLAS is column-major: a matrix [rows][columns] here has `columns` rows in cuBLAS, so the
 * operands of each product are swapped. On one stream and with a separate workspace cuBLAS gives
 * the same bits in every run.
 */
#include "config.h"

#include <stdlib.h>

#include "train/compute/cuda/dense.h"
#include "train/base/random.h"

static tw_gpu_dense_t *of(tw_dense_t *dense)
{
    return (tw_gpu_dense_t *)dense;
}

/* ---- products ------------------------------------------------------------------------------- */

/* c (m, n) = a (m, k) b (k, n), or with add c += a b, in columns, each `ld` apart. */
typedef struct tw_gpu_matrix {
    const float      *at;
    cublasOperation_t op;
    size_t            ld;
} tw_gpu_matrix_t;

static void multiply(tw_dense_t *dense, size_t m, size_t n, size_t k, tw_gpu_matrix_t a,
                     tw_gpu_matrix_t b, float *c, size_t c_ld, int add)
{
    tw_gpu_t   *gpu = of(dense)->gpu;
    const float one = 1.0f, beta = add ? 1.0f : 0.0f;

    if (m > 0 && n > 0 && !of(dense)->failure.set) {
        (void)tw_gpu_blas(gpu,
                          gpu->lib.blas.sgemm(gpu->blas, a.op, b.op, (int)m, (int)n, (int)k, &one,
                                              a.at, (int)a.ld, b.at, (int)b.ld, &beta, c,
                                              (int)c_ld),
                          "a product", &of(dense)->failure);
    }
}

/* Inputs, [n][in] or [in][n], as `in` rows of n columns, or turned. */
static tw_gpu_matrix_t inputs(const tw_product_size_t *size, const float *x, int turned)
{
    return (tw_gpu_matrix_t){x, size->rows == !turned ? CUBLAS_OP_N : CUBLAS_OP_T,
                             size->rows ? size->in : size->n};
}

static void dense_forward(tw_dense_t *dense, const tw_product_size_t *size, float *y,
                          const float *w, const float *x)
{
    multiply(dense, size->n, size->units, size->in, inputs(size, x, 1),
             (tw_gpu_matrix_t){w, CUBLAS_OP_N, size->in}, y, size->n, 0);
}

static void dense_backward(tw_dense_t *dense, const tw_product_size_t *size, float *e,
                           const float *w, const float *d, size_t from, size_t to)
{
    const size_t          units = size->units, in = size->in, n = size->n;
    const tw_gpu_matrix_t gradients = {d, size->rows ? CUBLAS_OP_T : CUBLAS_OP_N, n};
    const tw_gpu_matrix_t weights   = {w, size->rows ? CUBLAS_OP_N : CUBLAS_OP_T, in};

    (void)from, (void)to; /* all, as `queued` says */
    if (units == 0) {
        if (!of(dense)->failure.set) {
            (void)tw_backend_zero(&of(dense)->gpu->base, e, n * in * sizeof(*e),
                                  &of(dense)->failure);
        }
    } else if (size->rows) {
        multiply(dense, in, n, units, weights, gradients, e, in, 0);
    } else {
        multiply(dense, n, in, units, gradients, weights, e, n, 0);
    }
}

static void gradient(tw_dense_t *dense, const tw_product_size_t *size, float *g, const float *d,
                     const float *x, int add)
{
    multiply(dense, size->in, size->units, size->n, inputs(size, x, 0),
             (tw_gpu_matrix_t){d, CUBLAS_OP_N, size->n}, g, size->in, add);
}

/* ---- outputs -------------------------------------------------------------------------------- */

static void set_drop(tw_task_t *task, const tw_dense_drop_t *drop)
{
    const tw_drop_t all = tw_drop_make(0, drop->rate);

    task->from[1] = drop->examples;
    task->n[3]    = drop->layer;
    task->key[0]  = tw_random_key_base(drop->seed, TW_RANDOM_DROPOUT, drop->step);
    task->flag[1] = all.threshold;
    task->real[0] = (double)all.scale;
}

static void dense_activate(tw_dense_t *dense, float *y, const float *bias, size_t units, size_t n,
                           tw_activation_t activation, const tw_dense_drop_t *drop, size_t first)
{
    tw_task_t task = {.from = {bias}, .to = {y}, .n = {units, n, first}, .flag = {(int)activation}};

    if (drop != NULL) {
        set_drop(&task, drop);
    }
    tw_gpu_dense_start(dense, tw_task_dense_outputs(), &task, units * n);
}

static void mask(tw_dense_t *dense, float *y, size_t units, size_t n, const tw_dense_drop_t *drop,
                 size_t first)
{
    tw_task_t task = {.to = {y}, .n = {units, n, first}, .flag = {-1}};

    set_drop(&task, drop);
    tw_gpu_dense_start(dense, tw_task_dense_outputs(), &task, units * n);
}

static void deactivate(tw_dense_t *dense, float *d, const float *y, size_t units, size_t n,
                       tw_activation_t activation, float scale)
{
    const tw_task_t task = {.from = {y},
                            .to   = {d},
                            .n    = {units * n},
                            .real = {(double)scale},
                            .flag = {(int)activation}};

    if (activation != TW_LINEAR) {
        tw_gpu_dense_start(dense, tw_task_dense_deactivate(), &task, units * n);
    }
}

static void sum_examples(tw_dense_t *dense, float *sum, const float *d, size_t units, size_t n,
                         int add)
{
    const tw_task_t task = {.from = {d}, .to = {sum}, .n = {units, n}, .flag = {add}};

    tw_gpu_dense_start(dense, tw_task_dense_sum(), &task, units * TW_TASK_LANES);
}

static void drop_rows(tw_dense_t *dense, float *to, const float *from, size_t n, size_t units,
                      const tw_dense_drop_t *drop, size_t drops)
{
    tw_task_t task = {.from = {from}, .to = {to}, .n = {units, n}};

    for (size_t k = 0; k < drops; k++) {
        set_drop(&task, &drop[k]);
        tw_gpu_dense_start(dense, tw_task_dense_rows(), &task, units * n);
        task.from[0] = to;
    }
}

static void view_outputs(tw_dense_t *dense, float *sum, float *y, size_t count, size_t view,
                         size_t views)
{
    const tw_task_t task = {.to   = {sum, y},
                            .n    = {count},
                            .real = {(double)views},
                            .flag = {view > 0, view + 1 == views}};

    tw_gpu_dense_start(dense, tw_task_dense_view(), &task, count);
}

/* ---- the object ----------------------------------------------------------------------------- */

static int dense_check(tw_dense_t *dense, tw_problem_t *problem)
{
    tw_gpu_dense_t *d = of(dense);

    if (!d->failure.set) {
        return 0;
    }
    (void)tw_problem_machine(problem, "%s", d->failure.text);
    d->failure = (tw_problem_t){.set = 0};
    return -1;
}

static void dense_destroy(tw_dense_t *dense)
{
    free(dense);
}

static const tw_dense_ops_t ops = {
    .queued       = 1,
    .destroy      = dense_destroy,
    .check        = dense_check,
    .forward      = dense_forward,
    .backward     = dense_backward,
    .gradient     = gradient,
    .activate     = dense_activate,
    .mask         = mask,
    .deactivate   = deactivate,
    .sum          = sum_examples,
    .drop         = drop_rows,
    .view         = view_outputs,
    .keep_labels  = tw_gpu_keep_labels,
    .find_tops    = tw_gpu_find_tops,
    .exponentials = tw_gpu_exponentials,
    .softmax      = tw_gpu_softmax,
    .logistic     = tw_gpu_logistic,
    .count        = tw_gpu_count,
    .give         = tw_gpu_give,
};

int tw_gpu_dense(tw_backend_t *backend, size_t rows_max, tw_dense_t **dense_p,
                 tw_problem_t *problem)
{
    tw_gpu_dense_t *dense = calloc(1, sizeof(*dense));

    (void)rows_max;
    if (dense == NULL) {
        return tw_problem_machine(problem, "out of memory");
    }
    dense->base.ops = &ops;
    dense->gpu      = (tw_gpu_t *)backend;
    *dense_p        = &dense->base;
    return 0;
}
