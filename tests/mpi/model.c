/* SPDX-License-Identifier: BSD-3-Clause
 * tests/mpi/model.c - the model.
 */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/half.h"
#include "tests/mpi/model.h"

static void *at(tw_dtype_t dtype, void *data, size_t i)
{
    return (char *)data + i * tw_dtype_size(dtype);
}

static const void *at_const(tw_dtype_t dtype, const void *data, size_t i)
{
    return (const char *)data + i * tw_dtype_size(dtype);
}

/* acc = acc and x by the definition of the reduction, one rounding per element. */
#define COMBINED(acc, x)                                                                           \
    (reduction == TW_MAX    ? isnan(acc) || (acc) > (x) ? (acc) : (x)                              \
        : reduction == TW_MIN ? isnan(acc) || (acc) < (x) ? (acc) : (x)                            \
        : reduction == TW_PROD ? (acc) * (x)                                                       \
                            : (acc) + (x))

static void combine(tw_reduction_t reduction, tw_dtype_t dtype, void *acc, const void *x, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (dtype == TW_F64) {
            ((double *)acc)[i] = COMBINED(((double *)acc)[i], ((const double *)x)[i]);
        } else {
            ((float *)acc)[i] = COMBINED(((float *)acc)[i], ((const float *)x)[i]);
        }
    }
}

static void divide(tw_dtype_t dtype, void *x, size_t n, int ranks)
{
    for (size_t i = 0; i < n; i++) {
        if (dtype == TW_F64) {
            ((double *)x)[i] = ((double *)x)[i] / (double)ranks;
        } else {
            ((float *)x)[i] = ((float *)x)[i] / (float)ranks;
        }
    }
}

/* out = decode(encode(x)), with the residual's part in it if there is one. */
static void transmit(const tw_codec_t *codec, tw_dtype_t dtype, const void *x, size_t n,
                     void *residual, void *out)
{
    static tw_codec_t *fp32;
    size_t             bytes = 0;
    void              *code;

    if (codec == NULL && residual == NULL) {
        memcpy(out, x, n * tw_dtype_size(dtype));
        return;
    }
    if (codec == NULL) {
        fp32  = (tw_codec_t *)(uintptr_t)t_codec("fp32", TW_F32);
        codec = fp32;
    }
    T_OK(tw_codec_size(codec, n, &bytes));
    code = t_malloc(bytes);
    if (residual != NULL) {
        T_OK(tw_codec_encode_feedback(codec, NULL, x, n, residual, code));
    } else {
        T_OK(tw_codec_encode(codec, NULL, x, n, code));
    }
    T_OK(tw_codec_decode(codec, NULL, code, n, out));
    free(code);
}

const tw_codec_t *t_model_codec(const tw_codec_t *codec)
{
    tw_codec_traits_t traits;

    if (codec == NULL) {
        return NULL;
    }
    T_OK(tw_codec_traits(codec, &traits));
    return !t_is_half(traits.dtype) ? codec
           : traits.lossless        ? NULL
                                    : t_codec(tw_codec_spec(codec), TW_F32);
}

void *t_model_widened(tw_dtype_t dtype, void *x, size_t n)
{
    float *wide;

    if (!t_is_half(dtype)) {
        return x;
    }
    wide = t_malloc(n * sizeof(*wide));
    for (size_t i = 0; i < n; i++) {
        wide[i] = (float)t_value(dtype, x, i);
    }
    free(x);
    return wide;
}

void *t_model_rounded(tw_dtype_t dtype, void *x, size_t n)
{
    uint16_t *half;

    if (!t_is_half(dtype)) {
        return x;
    }
    half = t_malloc(n * sizeof(*half));
    for (size_t i = 0; i < n; i++) {
        half[i] = t_half_bits(dtype, t_half_round(dtype, (double)((const float *)x)[i]));
    }
    free(x);
    return half;
}

void t_model_round_trip(const tw_codec_t *codec, tw_dtype_t dtype, const void *x, size_t n,
                        void *out)
{
    const tw_codec_t *wide  = t_model_codec(codec);
    const size_t      bytes = n * tw_dtype_size(dtype);
    void             *copy, *back;

    if (!t_is_half(dtype) || wide == NULL) {
        transmit(wide, dtype, x, n, NULL, out);
        return;
    }
    copy = t_malloc(bytes);
    memcpy(copy, x, bytes);
    copy = t_model_widened(dtype, copy, n);
    back = t_malloc(n * sizeof(float));
    transmit(wide, TW_F32, copy, n, NULL, back);
    back = t_model_rounded(dtype, back, n);
    memcpy(out, back, bytes);
    free(copy);
    free(back);
}

void t_model_share(const tw_codec_t *codec, size_t count, int ranks, int rank, size_t *begin_p,
                   size_t *n_p)
{
    const size_t block  = codec != NULL ? tw_codec_block(codec) : 1;
    const size_t blocks = count / block + (count % block != 0);
    const size_t p = (size_t)ranks, r = (size_t)rank;
    const size_t each = blocks / p, more = blocks % p;
    size_t       begin = (r * each + (r < more ? r : more)) * block;
    size_t       end   = begin + (each + (r < more ? 1 : 0)) * block;

    begin    = begin < count ? begin : count;
    end      = end < count ? end : count;
    *begin_p = begin;
    *n_p     = end - begin;
}

/* ---- feedback ------------------------------------------------------------------------------- */

void t_model_feedback_open(t_model_feedback_t *fb, tw_dtype_t dtype, int ranks, size_t count)
{
    memset(fb, 0, sizeof(*fb));
    dtype     = t_is_half(dtype) ? TW_F32 : dtype;
    fb->dtype = dtype;
    fb->ranks = ranks;
    fb->count = count;
    for (int r = 0; r < ranks; r++) {
        fb->first[r] = t_malloc(count * tw_dtype_size(dtype));
    }
    fb->second = t_malloc(count * tw_dtype_size(dtype));
    t_model_feedback_clear(fb);
}

void t_model_feedback_close(t_model_feedback_t *fb)
{
    for (int r = 0; r < fb->ranks; r++) {
        free(fb->first[r]);
    }
    free(fb->second);
}

void t_model_feedback_clear(t_model_feedback_t *fb)
{
    for (int r = 0; r < fb->ranks; r++) {
        memset(fb->first[r], 0, fb->count * tw_dtype_size(fb->dtype));
        fb->begin[r] = fb->owned[r] = 0;
    }
    memset(fb->second, 0, fb->count * tw_dtype_size(fb->dtype));
}

void t_model_feedback_read(const t_model_feedback_t *fb, int rank, void *out)
{
    const size_t begin = fb->begin[rank];

    memcpy(out, fb->first[rank], fb->count * tw_dtype_size(fb->dtype));
    combine(TW_SUM, fb->dtype, at(fb->dtype, out, begin), at_const(fb->dtype, fb->second, begin),
            fb->owned[rank]);
}

/* New owners; where a rank's interval differs from its old one, what it holds folds into its first
 * residual. */
static void set_owners(t_model_feedback_t *fb, const size_t *begin, const size_t *owned)
{
    for (int r = 0; r < fb->ranks; r++) {
        void *second = at(fb->dtype, fb->second, fb->begin[r]);

        if (begin[r] != fb->begin[r] || owned[r] != fb->owned[r]) {
            combine(TW_SUM, fb->dtype, at(fb->dtype, fb->first[r], fb->begin[r]), second,
                    fb->owned[r]);
            memset(second, 0, fb->owned[r] * tw_dtype_size(fb->dtype));
        }
    }
    memcpy(fb->begin, begin, (size_t)fb->ranks * sizeof(*begin));
    memcpy(fb->owned, owned, (size_t)fb->ranks * sizeof(*owned));
}

/* ---- sums ----------------------------------------------------------------------------------- */

/* out = sum of decode(encode(in[rank] + residual)) over elements begin .. begin + n - 1. */
static void add_up(const t_model_sum_t *sum, const void *const *in, size_t begin, size_t n,
                   void *out)
{
    void *decoded = t_malloc(n * tw_dtype_size(sum->dtype));

    for (int r = 0; r < sum->ranks; r++) {
        void *residual = sum->fb != NULL ? at(sum->dtype, sum->fb->first[r], begin) : NULL;

        transmit(sum->codec, sum->dtype, at_const(sum->dtype, in[r], begin), n, residual,
                 r == 0 ? out : decoded);
        if (r > 0) {
            combine(sum->reduction, sum->dtype, out, decoded, n);
        }
    }
    free(decoded);
}

void t_model_allreduce(const t_model_sum_t *sum, const void *const *in, size_t count, int two_pass,
                       void *out)
{
    size_t begin[T_RANKS_MAX] = {0}, owned[T_RANKS_MAX] = {0};

    for (int r = 0; two_pass && r < sum->ranks; r++) {
        t_model_share(sum->codec, count, sum->ranks, r, &begin[r], &owned[r]);
    }
    if (sum->fb != NULL) {
        set_owners(sum->fb, begin, owned);
    }
    add_up(sum, in, 0, count, out);
    for (int r = 0; two_pass && r < sum->ranks; r++) {
        void *total = t_malloc(owned[r] * tw_dtype_size(sum->dtype));

        memcpy(total, at(sum->dtype, out, begin[r]), owned[r] * tw_dtype_size(sum->dtype));
        transmit(sum->codec, sum->dtype, total, owned[r],
                 sum->fb != NULL ? at(sum->dtype, sum->fb->second, begin[r]) : NULL,
                 at(sum->dtype, out, begin[r]));
        free(total);
    }
    if (sum->reduction == TW_AVERAGE) {
        divide(sum->dtype, out, count, sum->ranks);
    }
}

/* node's sum of elements, as it leaves the node: interval by interval, each with its carrier's
 * residual. */
static void node_sum(const t_model_sum_t *sum, const void *const *in, size_t count, int first_rank,
                     int ranks, int carriers, int nodes, void *out)
{
    void *total = t_malloc(count * tw_dtype_size(sum->dtype));

    for (int r = first_rank; r < first_rank + ranks; r++) {
        if (r == first_rank) {
            memcpy(total, in[r], count * tw_dtype_size(sum->dtype));
        } else {
            combine(sum->reduction, sum->dtype, total, in[r], count);
        }
    }
    for (int s = 0; s < carriers * nodes; s++) {
        size_t begin, n;

        t_model_share(sum->codec, count, carriers * nodes, s, &begin, &n);
        transmit(sum->codec, sum->dtype, at(sum->dtype, total, begin), n,
                 sum->fb != NULL ? at(sum->dtype, sum->fb->first[first_rank + s / nodes], begin)
                                 : NULL,
                 at(sum->dtype, out, begin));
    }
    free(total);
}

/* As many as there are ranks, but each share has 4 KiB of codes. */
static int carriers_of(const t_model_sum_t *sum, size_t count, int nodes, int ranks)
{
    size_t bytes = count * tw_dtype_size(sum->dtype);
    int    most;

    if (sum->codec != NULL) {
        T_OK(tw_codec_size(sum->codec, count, &bytes));
    }
    most = (int)(bytes / (4096 * (size_t)nodes));
    return most < 1 ? 1 : most < ranks ? most : ranks;
}

void t_model_hierarchical(const t_model_sum_t *sum, const void *const *in, size_t count,
                          int node_ranks, void *out)
{
    const int m        = node_ranks > 0 && node_ranks < sum->ranks ? node_ranks : sum->ranks;
    const int nodes    = (sum->ranks + m - 1) / m;
    const int last     = sum->ranks - (nodes - 1) * m; /* ranks of the last node, the smallest */
    const int carriers = carriers_of(sum, count, nodes, last);
    size_t    begin[T_RANKS_MAX] = {0}, owned[T_RANKS_MAX] = {0};
    void     *decoded = t_malloc(count * tw_dtype_size(sum->dtype));

    for (int j = 0; j < nodes; j++) {
        for (int k = 0; k < carriers; k++) {
            t_model_share(sum->codec, count, carriers * nodes, k * nodes + j, &begin[j * m + k],
                          &owned[j * m + k]);
        }
    }
    if (sum->fb != NULL) {
        set_owners(sum->fb, begin, owned);
    }
    for (int j = 0; j < nodes; j++) {
        node_sum(sum, in, count, j * m, j + 1 < nodes ? m : last, carriers, nodes,
                 j == 0 ? out : decoded);
        if (j > 0) {
            combine(sum->reduction, sum->dtype, out, decoded, count);
        }
    }
    memcpy(decoded, out, count * tw_dtype_size(sum->dtype));
    for (int r = 0; r < sum->ranks; r++) {
        transmit(sum->codec, sum->dtype, at(sum->dtype, decoded, begin[r]), owned[r],
                 sum->fb != NULL ? at(sum->dtype, sum->fb->second, begin[r]) : NULL,
                 at(sum->dtype, out, begin[r]));
    }
    free(decoded);
    if (sum->reduction == TW_AVERAGE) {
        divide(sum->dtype, out, count, sum->ranks);
    }
}

void t_model_reduce_scatter(const t_model_sum_t *sum, const void *const *in, size_t begin, size_t n,
                            void *out)
{
    static const size_t nobody[T_RANKS_MAX];

    if (sum->fb != NULL) {
        set_owners(sum->fb, nobody, nobody);
    }
    add_up(sum, in, begin, n, out);
    if (sum->reduction == TW_AVERAGE) {
        divide(sum->dtype, out, n, sum->ranks);
    }
}

void t_model_scatter_hierarchical(const t_model_sum_t *sum, const void *const *in, int owner,
                                  size_t begin, size_t n, int node_ranks, void *out)
{
    static const size_t nobody[T_RANKS_MAX];
    const int           m     = node_ranks > 0 && node_ranks < sum->ranks ? node_ranks : sum->ranks;
    void               *total = t_malloc(n * tw_dtype_size(sum->dtype));
    void               *decoded = t_malloc(n * tw_dtype_size(sum->dtype));

    if (sum->fb != NULL) {
        set_owners(sum->fb, nobody, nobody);
    }
    for (int lowest = 0; lowest < sum->ranks; lowest += m) {
        const int ranks   = sum->ranks - lowest < m ? sum->ranks - lowest : m;
        const int carrier = lowest + owner % m % ranks;

        memcpy(total, at_const(sum->dtype, in[lowest], begin), n * tw_dtype_size(sum->dtype));
        for (int r = lowest + 1; r < lowest + ranks; r++) {
            combine(sum->reduction, sum->dtype, total, at_const(sum->dtype, in[r], begin), n);
        }
        transmit(sum->codec, sum->dtype, total, n,
                 sum->fb != NULL ? at(sum->dtype, sum->fb->first[carrier], begin) : NULL,
                 lowest == 0 ? out : decoded);
        if (lowest > 0) {
            combine(sum->reduction, sum->dtype, out, decoded, n);
        }
    }
    if (sum->reduction == TW_AVERAGE) {
        divide(sum->dtype, out, n, sum->ranks);
    }
    free(total);
    free(decoded);
}
