/* SPDX-License-Identifier: BSD-3-Clause
 * tests/gpu/standin/test_cudnn.c - the stand-in for cuDNN: results beside definitions, gradients
 * beside differences, and what it refuses.
 */
#include "config.h"

#include <check.h>
#include <cudnn.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/gpu/standin/expect.h"
#include "tests/gpu/standin/standin.h"
#include "tests/suite.h"

enum { N = 2, C = 4, H = 5, W = 4, ALL = N * C * H * W, MOST = 1024 };

static cudnnHandle_t           handle;
static cudaStream_t            stream;
static cudnnTensorDescriptor_t xd, yd;
static float                  *on[6]; /* device memory of MOST elements each */
static test_random_t           r;
static const float             one = 1, zero = 0;

#define OK(call) ck_assert_int_eq((call), CUDNN_STATUS_SUCCESS)

static void set_up(void)
{
    r.state = test_seed();
    standin_seed(test_next(&r));
    OK(cudnnCreate(&handle));
    CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    OK(cudnnSetStream(handle, stream));
    OK(cudnnCreateTensorDescriptor(&xd));
    OK(cudnnCreateTensorDescriptor(&yd));
    OK(cudnnSetTensor4dDescriptor(xd, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, N, C, H, W));
    for (int i = 0; i < 6; i++) {
        CUDA(cudaMalloc((void **)&on[i], MOST * sizeof(float)));
    }
}

static void tear_down(void)
{
    for (int i = 0; i < 6; i++) {
        CUDA(cudaFree(on[i]));
    }
    OK(cudnnDestroyTensorDescriptor(xd));
    OK(cudnnDestroyTensorDescriptor(yd));
    OK(cudnnDestroy(handle));
    CUDA(cudaStreamDestroy(stream));
    ck_assert_int_eq(standin_objects(), 0);
}

static void put(int i, const float *v, size_t n)
{
    CUDA(cudaMemcpyAsync(on[i], v, n * sizeof(*v), cudaMemcpyHostToDevice, stream));
    CUDA(cudaStreamSynchronize(stream));
}

static void fetch(float *v, int i, size_t n)
{
    CUDA(cudaMemcpyAsync(v, on[i], n * sizeof(*v), cudaMemcpyDeviceToHost, stream));
    CUDA(cudaStreamSynchronize(stream));
}

/* Numbers of which no two are as near as a difference is wide. */
static void draw(float *v, int n)
{
    for (int i = 0; i < n; i++) {
        const int j = test_below(&r, i + 1);

        v[i] = v[j];
        v[j] = 0.037f * (float)(i - n / 2) + 0.011f;
    }
}

static double dot(const float *a, const float *b, int n)
{
    double sum = 0;

    for (int i = 0; i < n; i++) {
        sum += (double)a[i] * (double)b[i];
    }
    return sum;
}

/* ---- layers --------------------------------------------------------------------------------- */

/* Of on[0] = x to on[1] = y; of x, y, and on[2] = dy to on[3] = dx. */
typedef void (*pass_t)(void);

/* dx is the gradient of sum(dy * y). n: elements of y. */
static void check_gradient(pass_t forward, pass_t backward, int n)
{
    enum { STEPS = 24 };
    static float x[ALL], y[MOST], dy[MOST], dx[ALL];
    const float  h = 1.0f / 256;

    draw(x, ALL);
    draw(dy, n);
    put(0, x, ALL);
    put(2, dy, (size_t)n);
    forward();
    backward();
    fetch(dx, 3, ALL);
    for (int step = 0; step < STEPS; step++) {
        const int   i   = test_below(&r, ALL);
        const float was = x[i];
        double      up, down;

        x[i] = was + h;
        put(0, x, ALL);
        forward();
        fetch(y, 1, (size_t)n);
        up   = dot(y, dy, n);
        x[i] = was - h;
        put(0, x, ALL);
        forward();
        fetch(y, 1, (size_t)n);
        down = dot(y, dy, n);
        x[i] = was;
        ck_assert_double_eq_tol(dx[i], (up - down) / (2 * (double)h), 2e-2);
    }
}

static cudnnActivationDescriptor_t activation;

static void activate(void)
{
    OK(cudnnActivationForward(handle, activation, &one, xd, on[0], &zero, xd, on[1]));
}

static void activate_backward(void)
{
    OK(cudnnActivationBackward(handle, activation, &one, xd, on[1], xd, on[2], xd, on[0], &zero, xd,
                               on[3]));
}

START_TEST(activations)
{
    static const struct {
        cudnnActivationMode_t mode;
        double                at_minus_2, at_half;
    } modes[]    = {{CUDNN_ACTIVATION_SIGMOID, 0.1192029220, 0.6224593312},
                    {CUDNN_ACTIVATION_RELU, 0, 0.5},
                    {CUDNN_ACTIVATION_TANH, -0.9640275801, 0.4621171573},
                    {CUDNN_ACTIVATION_CLIPPED_RELU, 0, 0.25},
                    {CUDNN_ACTIVATION_ELU, -0.2161661792, 0.5}};
    float x[ALL] = {-2, 0.5f}, y[ALL];

    OK(cudnnCreateActivationDescriptor(&activation));
    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
        OK(cudnnSetActivationDescriptor(activation, modes[i].mode, CUDNN_PROPAGATE_NAN, 0.25));
        put(0, x, ALL);
        activate();
        fetch(y, 1, ALL);
        ck_assert_double_eq_tol(y[0], modes[i].at_minus_2, 1e-6);
        ck_assert_double_eq_tol(y[1], modes[i].at_half, 1e-6);
        check_gradient(activate, activate_backward, ALL);
    }
    /* In place, and on what was there. */
    OK(cudnnSetActivationDescriptor(activation, CUDNN_ACTIVATION_RELU, CUDNN_PROPAGATE_NAN, 0));
    put(0, x, ALL);
    OK(cudnnActivationForward(handle, activation, &one, xd, on[0], &one, xd, on[0]));
    fetch(y, 0, ALL);
    ck_assert_float_eq(y[0], -2);
    ck_assert_float_eq(y[1], 1);
    OK(cudnnDestroyActivationDescriptor(activation));
}
END_TEST

static cudnnLRNDescriptor_t lrn;

static void normalise(void)
{
    OK(cudnnLRNCrossChannelForward(handle, lrn, CUDNN_LRN_CROSS_CHANNEL_DIM1, &one, xd, on[0],
                                   &zero, xd, on[1]));
}

static void normalise_backward(void)
{
    OK(cudnnLRNCrossChannelBackward(handle, lrn, CUDNN_LRN_CROSS_CHANNEL_DIM1, &one, xd, on[1], xd,
                                    on[2], xd, on[0], &zero, xd, on[3]));
}

START_TEST(lrns)
{
    static float x[ALL], y[ALL];

    OK(cudnnCreateLRNDescriptor(&lrn));
    for (unsigned n = 1; n <= 4; n++) {
        const int behind = (int)(n - 1) / 2, ahead = (int)n - behind - 1;

        OK(cudnnSetLRNDescriptor(lrn, n, 0.5, 0.75, 2.0));
        draw(x, ALL);
        put(0, x, ALL);
        normalise();
        fetch(y, 1, ALL);
        for (int i = 0; i < ALL; i++) {
            const int c   = i / (H * W) % C;
            double    sum = 0;

            for (int k = -behind; k <= ahead; k++) {
                sum += c + k >= 0 && c + k < C ? (double)x[i + k * H * W] * (double)x[i + k * H * W]
                                               : 0;
            }
            ck_assert_double_eq_tol(y[i], (double)x[i] / pow(2 + 0.5 * sum / n, 0.75), 1e-5);
        }
        check_gradient(normalise, normalise_backward, ALL);
    }
    OK(cudnnDestroyLRNDescriptor(lrn));
}
END_TEST

static cudnnSoftmaxAlgorithm_t softmax_algo;
static cudnnSoftmaxMode_t      softmax_mode;

static void softmax(void)
{
    OK(cudnnSoftmaxForward(handle, softmax_algo, softmax_mode, &one, xd, on[0], &zero, xd, on[1]));
}

static void softmax_backward(void)
{
    OK(cudnnSoftmaxBackward(handle, softmax_algo, softmax_mode, &one, xd, on[1], xd, on[2], &zero,
                            xd, on[3]));
}

START_TEST(softmaxes)
{
    static float x[ALL], y[ALL];

    for (int i = 0; i < 6; i++) {
        softmax_algo = (cudnnSoftmaxAlgorithm_t)(i / 2);
        softmax_mode = (cudnnSoftmaxMode_t)(i % 2);
        draw(x, ALL);
        put(0, x, ALL);
        softmax();
        fetch(y, 1, ALL);
        for (int k = 0; k < ALL; k++) {
            const int image = k / (C * H * W), pixel = k % (H * W);
            double    sum = 0, want;

            for (int m = image * C * H * W; m < (image + 1) * C * H * W; m++) {
                sum += softmax_mode == CUDNN_SOFTMAX_MODE_INSTANCE || m % (H * W) == pixel
                           ? exp((double)x[m])
                           : 0;
            }
            want = exp((double)x[k]) / sum;
            ck_assert_double_eq_tol(y[k], softmax_algo == CUDNN_SOFTMAX_LOG ? log(want) : want,
                                    1e-5);
        }
        check_gradient(softmax, softmax_backward, ALL);
    }
    x[0]         = 200; /* whose exponential is no float */
    softmax_mode = CUDNN_SOFTMAX_MODE_CHANNEL;
    for (int i = 0; i < 2; i++) {
        softmax_algo = (cudnnSoftmaxAlgorithm_t)i;
        put(0, x, ALL);
        softmax();
        fetch(y, 1, ALL);
        ck_assert_int_eq(isnan(y[0]), softmax_algo == CUDNN_SOFTMAX_FAST);
    }
}
END_TEST

static cudnnPoolingDescriptor_t pooling;

static void pool(void)
{
    OK(cudnnPoolingForward(handle, pooling, &one, xd, on[0], &zero, yd, on[1]));
}

static void pool_backward(void)
{
    OK(cudnnPoolingBackward(handle, pooling, &one, yd, on[1], yd, on[2], xd, on[0], &zero, xd,
                            on[3]));
}

START_TEST(poolings)
{
    static float x[ALL], y[MOST];

    OK(cudnnCreatePoolingDescriptor(&pooling));
    for (int mode = CUDNN_POOLING_MAX; mode <= CUDNN_POOLING_MAX_DETERMINISTIC; mode++) {
        int n, c, h, w;

        OK(cudnnSetPooling2dDescriptor(pooling, (cudnnPoolingMode_t)mode, CUDNN_PROPAGATE_NAN, 3, 2,
                                       1, 1, 2, 1));
        OK(cudnnGetPooling2dForwardOutputDim(pooling, xd, &n, &c, &h, &w));
        ck_assert(n == N && c == C && h == 3 && w == 5);
        OK(cudnnSetTensor4dDescriptor(yd, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, n, c, h, w));
        draw(x, ALL);
        put(0, x, ALL);
        pool();
        fetch(y, 1, (size_t)(n * c * h * w));
        for (int i = 0; i < n * c * h * w; i++) {
            double sum = 0, most = -INFINITY;
            int    count = 0;

            for (int k = 0; k < 6; k++) {
                const int a = i / w % h * 2 - 1 + k / 2, b = i % w - 1 + k % 2;

                if (a >= 0 && a < H && b >= 0 && b < W) {
                    const double v = (double)x[i / (w * h) * H * W + a * W + b];

                    sum += v;
                    most = v > most ? v : most;
                    count++;
                }
            }
            count = mode == CUDNN_POOLING_AVERAGE_COUNT_INCLUDE_PADDING ? 6 : count;
            ck_assert_double_eq_tol(
                y[i],
                mode == CUDNN_POOLING_MAX || mode == CUDNN_POOLING_MAX_DETERMINISTIC ? most
                                                                                     : sum / count,
                1e-5);
        }
        check_gradient(pool, pool_backward, n * c * h * w);
    }
    /* y of another x */
    put(0, x, ALL);
    pool();
    draw(x, ALL);
    put(0, x, ALL);
    pool_backward();
    CUDA(cudaStreamSynchronize(stream));
    ck_assert_int_eq(standin_findings(), 1);
    OK(cudnnDestroyPoolingDescriptor(pooling));
}
END_TEST

/* ---- convolutions --------------------------------------------------------------------------- */

typedef struct convolution_rig {
    cudnnConvolutionDescriptor_t d;
    cudnnFilterDescriptor_t      wd;
    int                          pad, stride, dilation, groups, k, rs, h, w;
    cudnnConvolutionMode_t       mode;
} convolution_rig_t;

static void rig_open(convolution_rig_t *t)
{
    int n, c;

    OK(cudnnCreateConvolutionDescriptor(&t->d));
    OK(cudnnCreateFilterDescriptor(&t->wd));
    t->pad      = test_below(&r, 2);
    t->stride   = 1 + test_below(&r, 2);
    t->rs       = 1 + test_below(&r, 3);
    t->dilation = t->rs == 2 ? 1 + test_below(&r, 2) : 1;
    t->groups   = 1 << test_below(&r, 3);
    t->k        = t->groups * (1 + test_below(&r, 2));
    t->mode     = (cudnnConvolutionMode_t)test_below(&r, 2);
    OK(cudnnSetFilter4dDescriptor(t->wd, CUDNN_DATA_FLOAT, CUDNN_TENSOR_NCHW, t->k, C / t->groups,
                                  t->rs, t->rs));
    OK(cudnnSetConvolution2dDescriptor(t->d, t->pad, t->pad, t->stride, t->stride, t->dilation,
                                       t->dilation, t->mode, CUDNN_DATA_FLOAT));
    OK(cudnnSetConvolutionGroupCount(t->d, t->groups));
    OK(cudnnGetConvolution2dForwardOutputDim(t->d, xd, t->wd, &n, &c, &t->h, &t->w));
    ck_assert(n == N && c == t->k);
    OK(cudnnSetTensor4dDescriptor(yd, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, n, c, t->h, t->w));
}

static void rig_close(convolution_rig_t *t)
{
    OK(cudnnDestroyConvolutionDescriptor(t->d));
    OK(cudnnDestroyFilterDescriptor(t->wd));
}

/* The element of y, by the definition. */
static double convolved(const convolution_rig_t *t, const float *x, const float *w, int i)
{
    const int q = i % t->w, p = i / t->w % t->h, m = i / (t->w * t->h) % t->k,
              n = i / (t->w * t->h * t->k), each = C / t->groups;
    double sum = 0;

    for (int j = 0; j < each * t->rs * t->rs; j++) {
        const int s = j % t->rs, u = j / t->rs % t->rs, c = j / (t->rs * t->rs);
        const int a  = p * t->stride - t->pad + u * t->dilation,
                  b  = q * t->stride - t->pad + s * t->dilation;
        const int at = t->mode == CUDNN_CONVOLUTION
                           ? c * t->rs * t->rs + t->rs * t->rs - 1 - u * t->rs - s
                           : j;

        if (a >= 0 && a < H && b >= 0 && b < W) {
            sum += (double)x[((n * C + m / (t->k / t->groups) * each + c) * H + a) * W + b] *
                   (double)w[m * each * t->rs * t->rs + at];
        }
    }
    return sum;
}

/* Every algorithm that serves, with the workspace that it asks for (in on[5]). */
START_TEST(convolutions)
{
    static float x[ALL], w[MOST], dy[MOST], y[MOST], dx[ALL], dw[MOST];

    for (int turn = 0; turn < 30; turn++) {
        convolution_rig_t                   t;
        cudnnConvolutionFwdAlgoPerf_t       f[8];
        cudnnConvolutionBwdDataAlgoPerf_t   d[8];
        cudnnConvolutionBwdFilterAlgoPerf_t b[8];
        int                                 nf, nd, nb, ny, nw;
        size_t                              bytes;

        rig_open(&t);
        ny = N * t.k * t.h * t.w;
        nw = t.k * C / t.groups * t.rs * t.rs;
        OK(cudnnGetConvolutionForwardAlgorithm_v7(handle, xd, t.wd, t.d, yd, 8, &nf, f));
        OK(cudnnGetConvolutionBackwardDataAlgorithm_v7(handle, t.wd, yd, t.d, xd, 8, &nd, d));
        OK(cudnnGetConvolutionBackwardFilterAlgorithm_v7(handle, xd, yd, t.d, t.wd, 8, &nb, b));
        ck_assert(nf == 8 && nd == 6 && nb == 7);
        draw(x, ALL);
        draw(w, nw);
        draw(dy, ny);
        put(0, x, ALL);
        put(1, w, (size_t)nw);
        put(2, dy, (size_t)ny);
        for (int i = 0; i < nf && f[i].status == CUDNN_STATUS_SUCCESS; i++) {
            OK(cudnnGetConvolutionForwardWorkspaceSize(handle, xd, t.wd, t.d, yd, f[i].algo,
                                                       &bytes));
            ck_assert(bytes == f[i].memory && bytes <= MOST * sizeof(float));
            OK(cudnnConvolutionForward(handle, &one, xd, on[0], t.wd, on[1], t.d, f[i].algo, on[5],
                                       bytes, &zero, yd, on[3]));
            fetch(y, 3, (size_t)ny);
            for (int k = 0; k < ny; k++) {
                ck_assert_double_eq_tol(y[k], convolved(&t, x, w, k), 1e-4);
            }
        }
        for (int i = 0; i < nd && d[i].status == CUDNN_STATUS_SUCCESS; i++) {
            OK(cudnnGetConvolutionBackwardDataWorkspaceSize(handle, t.wd, yd, t.d, xd, d[i].algo,
                                                            &bytes));
            OK(cudnnConvolutionBackwardData(handle, &one, t.wd, on[1], yd, on[2], t.d, d[i].algo,
                                            on[5], bytes, &zero, xd, on[4]));
            fetch(dx, 4, ALL);
            ck_assert_double_eq_tol(dot(dx, x, ALL), dot(dy, y, ny), 1e-2);
        }
        for (int i = 0; i < nb && b[i].status == CUDNN_STATUS_SUCCESS; i++) {
            OK(cudnnGetConvolutionBackwardFilterWorkspaceSize(handle, xd, yd, t.d, t.wd, b[i].algo,
                                                              &bytes));
            OK(cudnnConvolutionBackwardFilter(handle, &one, xd, on[0], yd, on[2], t.d, b[i].algo,
                                              on[5], bytes, &zero, t.wd, on[4]));
            fetch(dw, 4, (size_t)nw);
            ck_assert_double_eq_tol(dot(dw, w, nw), dot(dy, y, ny), 1e-2);
        }
        rig_close(&t);
    }
}
END_TEST

START_TEST(bias_and_its_gradient)
{
    static float x[ALL], y[ALL], b[C] = {1, 2, 3, 4}, db[C];

    OK(cudnnSetTensor4dDescriptor(yd, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, 1, C, 1, 1));
    draw(x, ALL);
    put(0, x, ALL);
    put(1, b, C);
    OK(cudnnAddTensor(handle, &one, yd, on[1], &one, xd, on[0]));
    OK(cudnnConvolutionBackwardBias(handle, &one, xd, on[0], &zero, yd, on[2]));
    fetch(y, 0, ALL);
    fetch(db, 2, C);
    for (int c = 0; c < C; c++) {
        double sum = 0;

        for (int i = 0; i < ALL; i++) {
            if (i / (H * W) % C == c) {
                ck_assert_float_eq(y[i], x[i] + b[c]);
                sum += (double)y[i];
            }
        }
        ck_assert_double_eq_tol(db[c], sum, 1e-4);
    }
}
END_TEST

/* ---- what is refused ------------------------------------------------------------------------ */

START_TEST(wrong_arguments_are_refused)
{
    static float      host[MOST];
    convolution_rig_t t;
    size_t            bytes;

    rig_open(&t);
    OK(cudnnSetFilter4dDescriptor(t.wd, CUDNN_DATA_FLOAT, CUDNN_TENSOR_NCHW, 3, C, 3, 3));
    OK(cudnnSetConvolution2dDescriptor(t.d, 1, 1, 1, 1, 1, 1, CUDNN_CROSS_CORRELATION,
                                       CUDNN_DATA_FLOAT));
    OK(cudnnSetTensor4dDescriptor(yd, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, N, 3, H, W));
#define FORWARD(x, algo, bytes, y)                                                                 \
    cudnnConvolutionForward(handle, &one, xd, (x), t.wd, on[1], t.d,                               \
                            CUDNN_CONVOLUTION_FWD_ALGO_##algo, on[5], (bytes), &zero, yd, (y))
    OK(cudnnGetConvolutionForwardWorkspaceSize(handle, xd, t.wd, t.d, yd,
                                               CUDNN_CONVOLUTION_FWD_ALGO_GEMM, &bytes));
    REFUSED_SOMEHOW(FORWARD(on[0], GEMM, bytes - 1, on[2]), "are needed");
    REFUSED_SOMEHOW(FORWARD(host, IMPLICIT_GEMM, 0, on[2]), "pageable host memory");
    REFUSED_SOMEHOW(FORWARD(on[0] + MOST - ALL + 1, IMPLICIT_GEMM, 0, on[2]), "out of the bounds");
    ck_assert_int_eq(FORWARD(on[0], DIRECT, 0, on[2]), CUDNN_STATUS_NOT_SUPPORTED);
    OK(FORWARD(on[0], IMPLICIT_GEMM, 0, on[0] + 1)); /* done, and wrong */
    ck_assert_int_eq(standin_findings(), 1);
    OK(cudnnSetTensor4dDescriptor(yd, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, N, 3, H, W - 1));
    REFUSED_SOMEHOW(FORWARD(on[0], IMPLICIT_GEMM, 0, on[2]),
                    "2 x 3 x 5 x 3, and has 2 x 3 x 5 x 4");
    OK(cudnnSetFilter4dDescriptor(t.wd, CUDNN_DATA_FLOAT, CUDNN_TENSOR_NCHW, 3, C - 1, 3, 3));
    REFUSED_SOMEHOW(FORWARD(on[0], IMPLICIT_GEMM, 0, on[2]), "4 channels, filters of 3");
    rig_close(&t);
    REFUSED_SOMEHOW(FORWARD(on[0], IMPLICIT_GEMM, 0, on[2]), "none of the filter descriptors");
    REFUSED_SOMEHOW(cudnnSetTensor4dDescriptor(yd, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, 0, 1, 1, 1),
                    "below 1");
    OK(cudnnCreatePoolingDescriptor(&pooling));
    REFUSED_SOMEHOW(cudnnPoolingForward(handle, pooling, &one, xd, on[0], &zero, yd, on[1]),
                    "never set");
    OK(cudnnDestroyPoolingDescriptor(pooling));
    OK(cudnnCreateLRNDescriptor(&lrn));
    REFUSED_SOMEHOW(cudnnSetLRNDescriptor(lrn, 17, 1, 1, 1), "n outside 1 .. 16");
    OK(cudnnSetLRNDescriptor(lrn, 5, 1, 1, 1));
    OK(cudnnSetTensor4dDescriptor(xd, CUDNN_TENSOR_NHWC, CUDNN_DATA_FLOAT, N, C, H, W));
    REFUSED_SOMEHOW(cudnnLRNCrossChannelForward(handle, lrn, CUDNN_LRN_CROSS_CHANNEL_DIM1, &one, xd,
                                                on[0], &zero, xd, on[1]),
                    "not dense NCHW");
    OK(cudnnDestroyLRNDescriptor(lrn));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("gpu/standin/cudnn");
    TCase *tcase = test_case_within(suite, "cudnn", 60.0);

    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_test(tcase, activations);
    tcase_add_test(tcase, lrns);
    tcase_add_test(tcase, softmaxes);
    tcase_add_test(tcase, poolings);
    tcase_add_test(tcase, convolutions);
    tcase_add_test(tcase, bias_and_its_gradient);
    tcase_add_test(tcase, wrong_arguments_are_refused);
    return test_main(suite);
}
