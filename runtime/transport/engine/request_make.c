/* SPDX-License-Identifier: BSD-3-Clause
 * transport/engine/request_make.c - creating operations: check the call, choose fragments and
 * lanes, lay out memory and agree on it.
 */
#include "config.h"

#include <assert.h>
#include <string.h>

#include "runtime/base/bytes.h"
#include "runtime/base/context.h"
#include "runtime/base/fpmode.h"
#include "runtime/transport/engine/bounce.h"
#include "runtime/transport/engine/staging.h"
#include "runtime/transport/comm/progress_thread.h"
#include "runtime/transport/engine/request.h"
#include "runtime/transport/feedback/feedback.h"

#define TW_ALIGN_UP(n) (((n) + TW_POOL_ALIGN - 1) / TW_POOL_ALIGN * TW_POOL_ALIGN)

/* Sizes of the parts of an operation's buffer. */
typedef struct tw_lane_layout {
    size_t arrays, slots, sum, tile, requests, peers; /* bytes; all but the first per lane */
    size_t lane, total;
    int    capacity; /* messages per stage of a lane */
    int    lanes;
} tw_lane_layout_t;

/* Are the caller's buffers what the device works on? A host pointer that was said to be device
 * memory, and buffers of both kinds in one call, are errors of the caller's, and so is another
 * device than before. That this rank has none is found out here, and told to the others with what
 * it has of memory: *mine_p. */
static tw_status_t tw_device_check(tw_comm_t *comm, const tw_request_shape_t *shape,
                                   const tw_codec_t *codec, tw_status_t *mine_p)
{
    tw_status_t status = TW_OK;

    *mine_p = tw_comm_device_open(comm);
    if (*mine_p == TW_ERR_INVALID_ARG) {
        return *mine_p;
    }
    if (!tw_codec_has_device(codec)) {
        TW_ERROR(&comm->log, "%s: codec %s has no kernels for device memory", shape->operation,
                 tw_codec_spec(codec));
        return TW_ERR_UNSUPPORTED;
    }

    for (int i = 0; i < 2 && *mine_p == TW_OK && status == TW_OK; i++) {
        status = shape->values[i] != NULL ? comm->device->ops->check(shape->values[i]) : TW_OK;
        if (status == TW_ERR_INVALID_ARG) {
            TW_ERROR(
                &comm->log,
                "%s: a buffer is not memory of device %d; accepted: all buffers of a call in host "
                "memory, or all in memory of the current device",
                shape->operation, comm->device->number);
        }
    }
    return status;
}

static tw_status_t tw_how_check(tw_comm_t *comm, const tw_how_t *how,
                                const tw_request_shape_t *shape, tw_request_t *op,
                                tw_status_t *mine_p)
{
    static const tw_how_t nothing = {0};

    how          = how != NULL ? how : &nothing;
    op->codec    = tw_how_codec(comm, how);
    op->exec     = how->exec != NULL ? *how->exec : comm->exec;
    op->feedback = how->feedback;
    op->flags    = how->flags;
    op->said     = op->exec.memory;
    if (op->exec.memory == TW_MEMORY_HOST && tw_comm_device_owns(comm, shape->values)) {
        op->exec.memory = TW_MEMORY_CUDA;
        op->exec.stream = comm->device->stream;
    }
    op->identity = op->codec->identity;
    op->added    = shape->partial ? tw_partial_codec(comm, op->codec) : op->codec->wide;
    if (op->exec.threads == 0) {
        op->exec.threads = comm->exec.threads;
    }
    op->progress_threads =
        comm->ctx->config.threads > 0 || (how->exec != NULL && how->exec->threads > 0)
            ? op->exec.threads
            : 1;
    if (op->exec.memory != TW_MEMORY_HOST && op->exec.memory != TW_MEMORY_CUDA) {
        return TW_ERR_UNSUPPORTED;
    }
    if ((op->exec.stream != NULL && op->exec.memory == TW_MEMORY_HOST) || op->exec.threads < 0 ||
        (how->flags & ~TW_BCAST_SAME) != 0) {
        return TW_ERR_INVALID_ARG;
    }
    return op->exec.memory == TW_MEMORY_CUDA ? tw_device_check(comm, shape, op->codec, mine_p)
                                             : TW_OK;
}

TW_IN_FPMODE static void tw_values_here(size_t bytes, double each, size_t most, size_t *values_p)
{
    const double want = (double)bytes / each;

    *values_p = (double)most < want ? most : (size_t)want;
}

/* Values whose codes take so many bytes, or `most` if that is less: equal on all ranks, whatever
 * the mode of the program's threads. */
static size_t tw_values_of(size_t bytes, double each, size_t most)
{
    const tw_fpmode_t mode   = tw_fpmode_enter();
    size_t            values = 0;

    tw_values_here(bytes, each, most, &values);
    tw_fpmode_leave(mode);
    return values;
}

/* Values per fragment: as many as give the wanted bytes of codes, no more than THINWIRE_CHUNK, less
 * where many ranks would make the lanes large, at least one block, and no more than the longest
 * interval; in memory that the call says to be a device's TW_DEVICE_TIMES as many. */
static size_t tw_chunk(const tw_request_t *op, const tw_request_shape_t *shape)
{
    const tw_comm_t *comm  = op->comm;
    const size_t     lanes = (size_t)comm->config.window, block = op->codec->block;
    const size_t     times    = op->said == TW_MEMORY_CUDA ? TW_DEVICE_TIMES : 1;
    const size_t     usual    = shape->fragment > 0 ? shape->fragment : TW_FRAGMENT;
    const size_t     fragment = !shape->algorithm->values ? usual
                                : times > 1               ? comm->config.chunk
                                                          : TW_FRAGMENT;
    const size_t share = TW_LANE_BUDGET / ((size_t)(shape->slots > 0 ? shape->slots : 1) * lanes);
    const size_t bytes = comm->config.chunk < share ? comm->config.chunk : share;
    const size_t most  = times * bytes / op->element;
    size_t       chunk = tw_values_of(fragment < SIZE_MAX / times ? times * fragment : fragment,
                                op->codec->bytes_per_value, most) /
                   block * block;
    size_t whole = shape->longest / block * block + (shape->longest % block ? block : 0);

    if (shape->most > 0 && chunk > shape->most) {
        chunk = shape->most / block * block;
    }
    chunk = chunk > block ? chunk : block;
    whole = whole > block ? whole : block;
    return chunk < whole ? chunk : whole;
}

static tw_status_t tw_lane_layout(const tw_comm_t *comm, const tw_request_shape_t *shape,
                                  tw_request_t *op, tw_lane_layout_t *layout)
{
    const size_t sums = op->codec->wide->element;
    size_t       rounds, cuts, added;

    op->element    = op->codec->element;
    op->chunk      = tw_chunk(op, shape);
    op->slot_bytes = tw_op_size(op, op->chunk);
    added          = tw_op_added_size(op, op->chunk);
    op->slot_bytes = op->slot_bytes > added ? op->slot_bytes : added;
    op->slot_bytes =
        TW_ALIGN_UP(op->slot_bytes > shape->slot_bytes ? op->slot_bytes : shape->slot_bytes);
    rounds = (shape->longest / op->chunk + (shape->longest % op->chunk != 0)) *
             (size_t)(shape->turns > 0 ? shape->turns : 1);
    layout->lanes =
        rounds < (size_t)comm->config.window ? (int)(rounds > 0 ? rounds : 1) : comm->config.window;
    cuts = (op->slot_bytes + comm->config.message_limit - 1) / comm->config.message_limit;
    if (cuts > INT32_MAX / 2 / (size_t)comm->size) {
        return TW_ERR_RANGE;
    }
    layout->capacity = shape->algorithm->values ? 0 : (int)cuts * 2 * comm->size;
    layout->arrays   = TW_ALIGN_UP((size_t)shape->arrays * (size_t)comm->size * sizeof(size_t));
    layout->slots    = (size_t)shape->slots * op->slot_bytes;
    layout->tile =
        shape->algorithm->values ? 0 : TW_ALIGN_UP(tw_codec_tile(op->added, op->reduction) * sums);
    layout->sum      = shape->sum ? TW_ALIGN_UP(op->chunk * sums) : 0;
    layout->requests = TW_ALIGN_UP((size_t)layout->capacity * comm->endpoint->request_bytes);
    layout->peers    = TW_ALIGN_UP((size_t)layout->capacity * sizeof(int));
    layout->lane     = layout->slots + layout->sum + layout->tile +
                   (size_t)shape->algorithm->stages * (layout->requests + layout->peers);
    layout->total =
        TW_ALIGN_UP(sizeof(tw_request_t)) + layout->arrays + (size_t)layout->lanes * layout->lane;
    layout->total = layout->total > shape->room ? layout->total : shape->room;
    op->room      = layout->total;
    return TW_OK;
}

size_t tw_request_values_bytes(const tw_comm_t *comm)
{
    return TW_ALIGN_UP(sizeof(tw_request_t)) +
           TW_ALIGN_UP(TW_ARRAYS_MAX * (size_t)comm->size * sizeof(size_t));
}

static void tw_request_carve(tw_request_t *op, const tw_request_shape_t *shape,
                             const tw_lane_layout_t *layout)
{
    uint8_t *at = (uint8_t *)op + TW_ALIGN_UP(sizeof(*op));

    for (int a = 0; a < shape->arrays; a++) {
        op->array[a] = (size_t *)(void *)at + (size_t)a * (size_t)op->comm->size;
    }
    at += layout->arrays;
    op->lanes = layout->lanes;
    for (int l = 0; l < op->lanes; l++) {
        tw_lane_t *lane = &op->lane[l];

        memset(lane, 0, sizeof(*lane));
        lane->codes = at;
        at += layout->slots;
        lane->sum = at;
        at += layout->sum;
        lane->tile = at;
        at += layout->tile;
        for (int s = 0; s < shape->algorithm->stages; s++) {
            lane->messages[s].requests = at;
            at += layout->requests;
            lane->messages[s].peers = (int *)(void *)at;
            at += layout->peers;
            lane->messages[s].capacity = layout->capacity;
        }
    }
    if (op->device != NULL) {
        tw_staging_carve(op, layout->slots, layout->sum);
    }
}

/* An algorithm for host memory gets the elements there. */
static tw_status_t tw_request_bounce(tw_request_t *op, const tw_request_shape_t *shape)
{
    void *stream = op->exec.stream;

    op->exec.memory = TW_MEMORY_HOST;
    op->exec.stream = NULL;
    return tw_bounce_create(op, shape, stream);
}

/* What an operation on device memory needs beside its buffer in the host. */
static tw_status_t tw_request_device(tw_request_t *op, const tw_request_shape_t *shape,
                                     const tw_lane_layout_t *layout)
{
    tw_status_t status = TW_OK;

    if (op->exec.memory == TW_MEMORY_HOST) {
        return TW_OK;
    }
    if (op->algorithm->host_only || !tw_reduction_is_fused(op->reduction) ||
        (op->algorithm->ready != NULL &&
         (op->said == TW_MEMORY_HOST || op->comm->device->slots.state != TW_NODE_THERE))) {
        return tw_request_bounce(op, shape);
    }
    if (op->feedback != NULL) {
        status = tw_feedback_reserve_device(op->feedback);
    }
    return status == TW_OK ? tw_staging_create(op, layout->lanes, layout->slots, layout->sum,
                                               op->algorithm->stages * layout->capacity)
                           : status;
}

/* The buffer of an operation: plans keep theirs, and each agrees on its own. `mine`: what this rank
 * has found out so far. */
static tw_status_t tw_request_buffer(tw_request_t *op, const tw_request_shape_t *shape,
                                     const tw_lane_layout_t *layout, tw_status_t mine,
                                     void **buffer_p)
{
    tw_comm_t  *comm = op->comm;
    tw_status_t status;

    assert(!shape->algorithm->values || shape->room > 0 ||
           layout->total <= tw_request_values_bytes(comm));
    mine = mine == TW_OK ? tw_request_device(op, shape, layout) : mine;
    if (op->plan) {
        status = tw_comm_agreed_get_if(comm, mine, layout->total, buffer_p);
    } else {
        status = tw_comm_reserve(comm, op->said, mine, layout->total);
    }
    if (status == TW_OK && !op->plan) {
        status = tw_pool_get(&comm->pool, layout->total, buffer_p);
        if (status != TW_OK) { /* another operation runs in the reserved buffer, and others go on */
            TW_ERROR(&comm->log, "no %zu bytes for a further %s; the communicator is dead",
                     layout->total, op->operation);
            comm->status = status;
        }
    }
    if (status != TW_OK) {
        tw_staging_release(op);
        tw_bounce_release(op);
    }
    return status;
}

bool tw_how_on_device(const tw_how_t *how)
{
    return how != NULL && how->exec != NULL && how->exec->memory == TW_MEMORY_CUDA;
}

tw_status_t tw_movement_check(const tw_comm_t *comm, const tw_how_t *how)
{
    if (how != NULL && how->feedback != NULL) {
        TW_ERROR(&comm->log, "feedback '%s' was given to a movement; accepted: reductions",
                 how->feedback->name);
        return TW_ERR_INVALID_ARG;
    }
    return TW_OK;
}

tw_status_t tw_numbers_check(const tw_comm_t *comm, const tw_how_t *how)
{
    if (tw_how_codec(comm, how)->dtype == TW_BYTE) {
        TW_ERROR(&comm->log, "codec bytes was given to a reduction; accepted: codecs of numbers");
        return TW_ERR_UNSUPPORTED;
    }
    return TW_OK;
}

tw_status_t tw_request_compare(const tw_request_t *op, const char *what)
{
    const tw_call_facts_t facts = {.what      = what,
                                   .operation = op->operation,
                                   .algorithm = op->algorithm->name,
                                   .codec     = tw_codec_spec(op->codec),
                                   .element   = op->element,
                                   .count     = op->count,
                                   .root      = op->root,
                                   .reduction = op->reduction->name,
                                   .memory    = (int)op->said,
                                   .flags     = op->flags};

    return tw_comm_compare_call(op->comm, &facts);
}

static tw_status_t tw_request_make(tw_comm_t *comm, const tw_how_t *how,
                                   const tw_request_shape_t *shape, bool plan, tw_request_t **op_p)
{
    tw_request_t     draft = {.comm      = comm,
                              .plan      = plan,
                              .algorithm = shape->algorithm,
                              .operation = shape->operation,
                              .count     = shape->count,
                              .root      = shape->root,
                              .reduction = tw_reduction_row((int)shape->reduction)};
    tw_lane_layout_t layout;
    tw_status_t      status, mine = TW_OK;
    void            *buffer;

    status = tw_how_check(comm, how, shape, &draft, &mine);
    if (status != TW_OK) {
        return status;
    }
    status = tw_interval_check(0, shape->longest > shape->count ? shape->longest : shape->count);
    if (status == TW_OK) {
        status = tw_lane_layout(comm, shape, &draft, &layout);
    }
    if (status == TW_OK && !comm->asynchronous) { /* the comparison waits for all ranks */
        status = tw_request_compare(&draft, plan ? "plan" : "call");
    }
    if (status == TW_OK) {
        status = tw_request_buffer(&draft, shape, &layout, mine, &buffer);
    }
    if (status != TW_OK) {
        return status;
    }
    *op_p  = buffer;
    **op_p = draft;
    tw_request_carve(*op_p, shape, &layout);
    comm->requests++;
    return TW_OK;
}

tw_status_t tw_request_create(tw_comm_t *comm, const tw_how_t *how, const tw_request_shape_t *shape,
                              bool plan, tw_request_t **op_p)
{
    tw_status_t status;

    tw_comm_enter(comm);
    status = tw_request_make(comm, how, shape, plan, op_p);
    tw_comm_leave(comm);
    return status;
}
