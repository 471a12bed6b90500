/* SPDX-License-Identifier: BSD-3-Clause
 * compute/dense.c - see dense.h. The only file that includes cblas.h.
 */
#include "config.h"

#include <cblas.h>
#include <math.h>
#include <string.h>

#include "train/compute/dense.h"
#include "train/compute/kernels.h"

void tw_dense_threads(int threads)
{
    openblas_set_num_threads(threads);
}

void tw_dense_forward(const float *x, const float *w, float *y, size_t rows, size_t in, size_t out)
{
    if (rows == 0) {
        return;
    }
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (blasint)rows, (blasint)out, (blasint)in,
                1.0f, x, (blasint)in, w, (blasint)out, 0.0f, y, (blasint)out);
}

void tw_dense_gradient(const float *x, const float *d, float *g, size_t rows, size_t in, size_t out)
{
    if (rows == 0) {
        memset(g, 0, in * out * sizeof(*g));
        return;
    }
    cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, (blasint)in, (blasint)out, (blasint)rows,
                1.0f, x, (blasint)in, d, (blasint)out, 0.0f, g, (blasint)out);
}

void tw_dense_backward(const float *d, const float *w, float *e, size_t rows, size_t in, size_t out)
{
    if (rows == 0) {
        return;
    }
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (blasint)rows, (blasint)in, (blasint)out,
                1.0f, d, (blasint)out, w, (blasint)out, 0.0f, e, (blasint)in);
}

float tw_softmax_loss(float *z, const float *bias, size_t n, size_t label, float scale,
                      int *wrong_p)
{
    float  top = -INFINITY, sum = 0.0f, loss;
    size_t best = 0;

    for (size_t j = 0; j < n; j++) {
        z[j] += bias[j];
        if (z[j] > top) {
            top  = z[j];
            best = j;
        }
    }
    loss = top - z[label];
    for (size_t j = 0; j < n; j++) {
        z[j] = tw_kernels_exp(z[j] - top);
        sum += z[j];
    }
    for (size_t j = 0; j < n; j++) {
        z[j] = scale * (z[j] / sum - (j == label ? 1.0f : 0.0f));
    }
    *wrong_p = best != label;
    return loss + logf(sum);
}
