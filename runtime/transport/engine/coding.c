/* SPDX-License-Identifier: BSD-3-Clause
 * transport/engine/coding.c - the codec calls of operations, on the host and on the device.
 */
#include "config.h"

#include <assert.h>
#include <string.h>

#include "runtime/base/clock.h"
#include "runtime/transport/engine/staging.h"
#include "runtime/transport/engine/request.h"

/* The codecs on elements of either memory: what a device answers is the caller's to look at. */
typedef tw_status_t (*tw_coding_t)(const tw_codec_t *, const tw_exec_t *, const void *, size_t,
                                   void *);

static size_t tw_size_by(const tw_codec_t *codec, size_t n)
{
    size_t            bytes  = 0;
    const tw_status_t status = tw_codec_size(codec, n, &bytes);

    assert(status == TW_OK);
    (void)status;
    return bytes;
}

size_t tw_op_size(const tw_request_t *op, size_t n)
{
    return tw_size_by(op->codec, n);
}

size_t tw_op_added_size(const tw_request_t *op, size_t n)
{
    return tw_size_by(op->added, n);
}

/* A second team of threads beside the program's only where the program has said how many. */
static const tw_exec_t *tw_op_exec(tw_request_t *op, tw_exec_t *other)
{
    if (!op->comm->by_progress_thread) {
        return &op->exec;
    }
    *other         = op->exec;
    other->threads = op->progress_threads;
    return other;
}

/* The time since `start` goes to *sum. Calls on host memory cannot fail. */
static void tw_op_timed(tw_request_t *op, uint64_t *sum, uint64_t start, tw_status_t status)
{
    assert(status == TW_OK || op->device != NULL);
    *sum += tw_clock_ns() - start;
    if (op->device != NULL) {
        op->device->worked = true;
        tw_comm_device_failed(op->comm, status, "a codec");
    }
}

static void tw_op_count(tw_request_t *op, size_t n)
{
    op->comm->stats.quantisations += op->codec->lossless ? 0 : n;
}

/* The codec of values: of the elements, or of sums. */
static void tw_op_encode_by(tw_request_t *op, const tw_codec_t *codec, const void *values, size_t n,
                            void *codes)
{
    const uint64_t    start  = tw_clock_ns();
    const tw_coding_t encode = op->device != NULL ? op->comm->device->ops->encode : tw_codec_encode;
    tw_exec_t         other;

    if (values == codes) { /* tw_lane_codes() */
        return;
    }
    if (op->device != NULL && codec->dtype == TW_BYTE) {
        tw_op_copy(op, codes, values, n);
        return;
    }
    tw_op_count(op, n);
    if (op->device != NULL) {
        tw_staging_written(op, codes, tw_op_size(op, n));
    }
    tw_op_timed(op, &op->comm->stats.encode_ns, start,
                encode(codec, tw_op_exec(op, &other), values, n, codes));
}

static void tw_op_encode_feedback_by(tw_request_t *op, const tw_codec_t *codec, const void *values,
                                     size_t n, void *residual, void *codes)
{
    const uint64_t start = tw_clock_ns();
    tw_exec_t      other;
    tw_status_t    status;

    tw_op_count(op, n);
    if (op->device != NULL) {
        tw_staging_written(op, codes, tw_op_size(op, n));
        status = op->comm->device->ops->encode_feedback(codec, tw_op_exec(op, &other), values, n,
                                                        residual, codes);
    } else {
        status =
            tw_codec_encode_feedback(codec, tw_op_exec(op, &other), values, n, residual, codes);
    }
    tw_op_timed(op, &op->comm->stats.encode_ns, start, status);
}

static void tw_op_decode_by(tw_request_t *op, const tw_codec_t *codec, const void *codes, size_t n,
                            void *values)
{
    const uint64_t    start  = tw_clock_ns();
    const tw_coding_t decode = op->device != NULL ? op->comm->device->ops->decode : tw_codec_decode;
    tw_exec_t         other;

    if (values == codes) {
        return;
    }
    if (op->device != NULL && codec->dtype == TW_BYTE) {
        tw_op_copy(op, values, codes, n);
        return;
    }
    tw_op_timed(op, &op->comm->stats.decode_ns, start,
                decode(codec, tw_op_exec(op, &other), codes, n, values));
}

void tw_op_encode(tw_request_t *op, const void *values, size_t n, void *codes)
{
    tw_op_encode_by(op, op->codec, values, n, codes);
}

void tw_op_encode_feedback(tw_request_t *op, const void *values, size_t n, void *residual,
                           void *codes)
{
    tw_op_encode_feedback_by(op, op->codec, values, n, residual, codes);
}

void tw_op_decode(tw_request_t *op, const void *codes, size_t n, void *values)
{
    tw_op_decode_by(op, op->codec, codes, n, values);
}

static void tw_op_encode_sum_by(tw_request_t *op, const tw_codec_t *codec, const void *sum,
                                size_t n, void *residual, void *codes)
{
    if (residual != NULL) {
        tw_op_encode_feedback_by(op, codec, sum, n, residual, codes);
    } else {
        tw_op_encode_by(op, codec, sum, n, codes);
    }
}

void tw_op_encode_added(tw_request_t *op, const void *sum, size_t n, void *residual, void *codes)
{
    tw_op_encode_sum_by(op, op->added, sum, n, residual, codes);
}

void tw_op_encode_sum(tw_request_t *op, const void *sum, size_t n, void *residual, void *codes)
{
    tw_op_encode_sum_by(op, op->codec->wide, sum, n, residual, codes);
}

void tw_op_decode_sum(tw_request_t *op, const void *codes, size_t n, void *sum)
{
    tw_op_decode_by(op, op->added, codes, n, sum);
}

void tw_op_decode_combine(tw_request_t *op, const tw_lane_t *lane, const void *codes, size_t n,
                          void *sum)
{
    const uint64_t start = tw_clock_ns();
    tw_exec_t      other;
    tw_status_t    status;

    if (op->device != NULL) { /* of reductions that it has a kernel for */
        status =
            op->comm->device->ops->decode_add(op->codec, tw_op_exec(op, &other), codes, n, sum);
    } else {
        status = tw_codec_decode_combine(op->added, tw_op_exec(op, &other), op->reduction, codes, n,
                                         lane->tile, sum);
    }
    tw_op_timed(op, &op->comm->stats.decode_ns, start, status);
}

void tw_op_copy(tw_request_t *op, void *codes, const void *from, size_t bytes)
{
    if (op->device == NULL) {
        op->comm->system->copy(codes, from, bytes);
    } else if (bytes > 0) {
        tw_staging_written(op, codes, bytes);
        tw_comm_device_failed(
            op->comm, op->comm->device->ops->copy(codes, from, bytes, op->exec.stream), "a copy");
        op->device->worked = true;
    }
}

/* Of sums that are elements. */
static void tw_op_combine_two(tw_request_t *op, const void *a, const void *b, size_t n, void *out)
{
    const uint64_t start  = tw_clock_ns();
    tw_status_t    status = TW_OK;

    if (op->device != NULL) {
        const tw_device_ops_t *ops = op->comm->device->ops;

        if (out != a && n > 0) {
            status = ops->copy(out, a, n * op->element, op->exec.stream);
        }
        if (status == TW_OK) {
            status = ops->add(out, b, n, op->element, op->exec.stream);
        }
    } else {
        op->comm->system->combine(op->codec->type, op->reduction, a, b, n, out);
    }
    tw_op_timed(op, &op->comm->stats.decode_ns, start, status);
}

static void tw_op_combine_wide(tw_request_t *op, const tw_terms_t *terms, size_t n, void *sum,
                               void *out)
{
    const uint64_t start = tw_clock_ns();

    tw_codec_combine_terms(op->codec, op->reduction, terms, n, sum, out);
    op->comm->stats.decode_ns += tw_clock_ns() - start;
}

void tw_op_combine(tw_request_t *op, const tw_terms_t *terms, size_t n, void *sum)
{
    const void *so_far = terms->at(terms->self, 0);

    if (tw_op_widens(op)) {
        tw_op_combine_wide(op, terms, n, sum, NULL);
        return;
    }
    if (terms->count == 1 && so_far != sum) {
        tw_op_copy(op, sum, so_far, n * op->element);
    }
    for (int t = 1; t < terms->count; t++) {
        tw_op_combine_two(op, so_far, terms->at(terms->self, t), n, sum);
        so_far = sum;
    }
}

void tw_op_combine_result(tw_request_t *op, const tw_terms_t *terms, size_t n, void *out)
{
    if (tw_op_widens(op)) {
        tw_op_combine_wide(op, terms, n, NULL, out);
    } else {
        tw_op_combine(op, terms, n, out);
        tw_op_average(op, n, out);
    }
}

void tw_op_average(tw_request_t *op, size_t n, void *sum)
{
    const uint64_t start  = tw_clock_ns();
    const int      ranks  = op->comm->size;
    tw_status_t    status = TW_OK;

    if (!op->reduction->divides) {
        return;
    }
    if (op->device != NULL) {
        status = op->comm->device->ops->divide(sum, n, op->element, ranks, op->exec.stream);
    } else {
        tw_average(op->codec->wide->type, ranks, n, sum);
    }
    tw_op_timed(op, &op->comm->stats.decode_ns, start, status);
}

void tw_op_sum_result(tw_request_t *op, void *sum, size_t n, void *out)
{
    const uint64_t start = tw_clock_ns();
    tw_status_t    status;

    tw_op_average(op, n, sum);
    if (sum != out) {
        status = tw_codec_encode(op->codec->plain, NULL, sum, n, out);
        tw_op_timed(op, &op->comm->stats.decode_ns, start, status);
    }
}

void tw_op_decode_result(tw_request_t *op, const tw_lane_t *lane, const void *codes, size_t n,
                         void *out)
{
    uint8_t *sum = op->reduction->divides ? tw_op_sum(op, lane, out) : out;

    if (sum == out) { /* decoded to elements */
        tw_op_decode(op, codes, n, out);
    } else {
        tw_op_decode_by(op, op->codec->wide, codes, n, sum);
    }
    tw_op_sum_result(op, sum, n, out);
}
