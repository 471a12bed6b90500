/* SPDX-License-Identifier: BSD-3-Clause
 * transport/engine/coding.c - the codec calls of operations, on the host and on the device.
 */
#include "config.h"

#include <assert.h>
#include <string.h>

#include "runtime/base/clock.h"
#include "runtime/base/fpmode.h"
#include "runtime/codec/combine.h"
#include "runtime/transport/engine/staging.h"
#include "runtime/transport/engine/request.h"

/* The codecs on elements of either memory: what a device answers is the caller's to look at. */
typedef tw_status_t (*tw_coding_t)(const tw_codec_t *, const tw_exec_t *, const void *, size_t,
                                   void *);

size_t tw_op_size(const tw_request_t *op, size_t n)
{
    size_t            bytes  = 0;
    const tw_status_t status = tw_codec_size(op->codec, n, &bytes);

    assert(status == TW_OK);
    (void)status;
    return bytes;
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

void tw_op_encode(tw_request_t *op, const void *values, size_t n, void *codes)
{
    const uint64_t    start  = tw_clock_ns();
    const tw_coding_t encode = op->device != NULL ? op->comm->device->ops->encode : tw_codec_encode;
    tw_exec_t         other;

    if (values == codes) { /* tw_lane_codes() */
        return;
    }
    tw_op_count(op, n);
    if (op->device != NULL) {
        tw_staging_written(op, codes, tw_op_size(op, n));
    }
    tw_op_timed(op, &op->comm->stats.encode_ns, start,
                encode(op->codec, tw_op_exec(op, &other), values, n, codes));
}

void tw_op_encode_feedback(tw_request_t *op, const void *values, size_t n, void *residual,
                           void *codes)
{
    const uint64_t start = tw_clock_ns();
    tw_exec_t      other;
    tw_status_t    status;

    tw_op_count(op, n);
    if (op->device != NULL) {
        tw_staging_written(op, codes, tw_op_size(op, n));
        status = op->comm->device->ops->encode_feedback(op->codec, tw_op_exec(op, &other), values,
                                                        n, residual, codes);
    } else {
        status =
            tw_codec_encode_feedback(op->codec, tw_op_exec(op, &other), values, n, residual, codes);
    }
    tw_op_timed(op, &op->comm->stats.encode_ns, start, status);
}

void tw_op_decode(tw_request_t *op, const void *codes, size_t n, void *values)
{
    const uint64_t    start  = tw_clock_ns();
    const tw_coding_t decode = op->device != NULL ? op->comm->device->ops->decode : tw_codec_decode;
    tw_exec_t         other;

    if (values == codes) {
        return;
    }
    tw_op_timed(op, &op->comm->stats.decode_ns, start,
                decode(op->codec, tw_op_exec(op, &other), codes, n, values));
}

void tw_op_decode_combine(tw_request_t *op, const tw_lane_t *lane, const void *codes, size_t n,
                          void *values)
{
    const uint64_t start = tw_clock_ns();
    tw_exec_t      other;
    tw_status_t    status;

    if (op->device != NULL) { /* of reductions that it has a kernel for */
        status =
            op->comm->device->ops->decode_add(op->codec, tw_op_exec(op, &other), codes, n, values);
    } else {
        status = tw_codec_decode_combine(op->codec, tw_op_exec(op, &other), op->reduction, codes, n,
                                         lane->tile, values);
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

void tw_op_combine(tw_request_t *op, const void *a, const void *b, size_t n, void *out)
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

void tw_average(const tw_dtype_row_t *type, int ranks, size_t n, void *values)
{
    const tw_fpmode_t mode = tw_fpmode_enter();

    type->divide(values, n, ranks);
    tw_fpmode_leave(mode);
}

void tw_op_average(tw_request_t *op, size_t n, void *values)
{
    const uint64_t start  = tw_clock_ns();
    const int      ranks  = op->comm->size;
    tw_status_t    status = TW_OK;

    if (!op->reduction->divides) {
        return;
    }
    if (op->device != NULL) {
        status = op->comm->device->ops->divide(values, n, op->element, ranks, op->exec.stream);
    } else {
        tw_average(op->codec->type, ranks, n, values);
    }
    tw_op_timed(op, &op->comm->stats.decode_ns, start, status);
}
