/* SPDX-License-Identifier: BSD-3-Clause
 * thinwire/buckets.h - all-reduce of a network's gradients in buckets, overlapped with the backward
 * pass.
 *
 * The caller lists its tensors in the order in which they become ready (gradients: from the last
 * layer to the first) and marks each tensor when it is ready. Tensors are grouped into buckets. A
 * bucket is a persistent tw_allreduce(): it starts when its last tensor is ready, and proceeds
 * while the caller computes. On all ranks buckets start in the order of their last tensors in the
 * list, whatever the order of the calls.
 *
 * Source: S4 section 4.1: each of K ranks gathers 1/K of the gradient, adds it up, and broadcasts
 * the sum (TW_ALGORITHM_TWO_PASS: 2 (K-1)/K x 4P bytes per rank for P values in fp32). Buckets as
 * in Li et al. 2020 (PyTorch Distributed).
 *
 * A plan keeps its message buffers in the communicator's pool (tw_stats_t.pool_bytes). A few large
 * buckets take about as much memory as the tensors, less with codecs that compress.
 *
 * Grouping:
 *  - lossless codecs: tensors of the same codec share a bucket, in the order of the list, up to
 *    config.bytes. If they fill one interval of memory, as a list from the end of a vector to its
 *    beginning always does, they are reduced in place; otherwise through a buffer of the bucket;
 *  - lossy codecs: each tensor has its own bucket, so that blocks do not mix tensors and each
 *    tensor has its own error-feedback object, if the codec needs one (named after the tensor);
 *  - tensors of fewer than config.small elements (biases, parameters of normalisation) use
 *    config.small_codec in separate buckets, unless the tensor specifies a codec or config.codec is
 *    lossless.
 *
 * For buckets that another framework forms, and may form differently in the next step (PyTorch's
 * DistributedDataParallel), use tw_buckets_start(): the same rules, without plans.
 *
 * Device memory: config.exec has TW_MEMORY_CUDA and a stream, on all ranks alike. The stream must
 * outlive the object. A tensor is ready once the work that writes it is enqueued on that stream.
 * Exchanges run on a separate stream. The exchange of a bucket begins when an event recorded after
 * the work for its tensors has completed; advancing the communicator detects this. Exchanges thus
 * overlap work that the caller enqueues later, and no bucket waits for another bucket or for later
 * work. After tw_buckets_wait() or tw_buckets_finish(), work enqueued on the caller's stream sees
 * the sums.
 *
 * With one rank, a lossless codec leaves the tensors unchanged, and a lossy codec quantises them as
 * tw_allreduce() does.
 */
#ifndef THINWIRE_BUCKETS_H
#define THINWIRE_BUCKETS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <thinwire/codec.h>
#include <thinwire/collective.h>
#include <thinwire/comm.h>
#include <thinwire/declare.h>
#include <thinwire/feedback.h>
#include <thinwire/status.h>
#include <thinwire/trace.h>

TW_BEGIN_DECLS

typedef struct tw_buckets tw_buckets_t;

typedef struct tw_bucket_tensor {
    const char    *name;     /* valid for tw_feedback_create(), unique among the tensors; copied */
    void          *data;     /* [count] elements of the type of config.codec, memory as in
                                config.exec; tensors must not overlap */
    size_t         count;    /* elements; may be 0 */
    const char    *codec;    /* codec spec of this tensor; NULL: as in config. Copied */
    int            axes;     /* for tw_tensor_is_small(); 0: unknown */
    tw_feedback_t *feedback; /* the caller's, of count elements; must outlive the object. Ignored
                                if the codec is lossless or the tensor is small. NULL:
                                tw_buckets_create() makes one, if the codec needs it */
} tw_bucket_tensor_t;

/* Zero-initialise it. All fields except exec and trace must be equal on all ranks. */
typedef struct tw_buckets_config {
    const tw_codec_t *codec;       /* its type is that of all tensors' elements; NULL: fp32, of
                                      float32. Must outlive the object */
    size_t            bytes;       /* most bytes of elements in a bucket of several tensors; 0:
                                      4 MiB */
    size_t            small;       /* tensors of fewer elements use small_codec; 0: those for which
                                      tw_tensor_is_small() holds; 1: none */
    const tw_codec_t *small_codec; /* of the same type; NULL: the one that leaves elements as they
                                      are (fp32, bitpack:8, bf16, fp16). Must outlive the object */
    tw_reduction_t    reduction;   /* TW_SUM if zero; "sum" below stands for any reduction */
    tw_algorithm_t    algorithm;   /* of all buckets */
    const tw_exec_t  *exec;        /* threads, and memory of the tensors (above). NULL: host */
    tw_trace_t       *trace; /* NULL: none. Network track: "bucket" with its number, from start
                                to observed completion; compute track: "wait bucket" */
} tw_buckets_config_t;

/* Of this rank. tw_stats_t has the bytes sent. */
typedef struct tw_buckets_facts {
    size_t   tensors, buckets;
    size_t   feedbacks; /* tensors with an error-feedback object made by tw_buckets_create() */
    uint64_t bytes_uncompressed; /* of all tensors' elements */
    uint64_t bytes_codes;        /* of all tensors encoded once; a two-pass all-reduce sends about
                                    2 (K-1)/K of it per rank */
    uint64_t memory;             /* bytes of buffers for tensors that are not contiguous */
} tw_buckets_facts_t;

/** Create buckets, their plans and feedback objects. Collective.
 * @param [in]  comm       must outlive the object; until then tw_comm_destroy() returns
 *                         TW_ERR_BUSY.
 * @param [in]  config     NULL: all zero.
 * @param [in]  tensors    n tensors, in the order in which they become ready; equal on all ranks
 *                         except for addresses, and in the same order in memory where a bucket
 *                         is reduced in place. Copied; data must outlive the object.
 * @param [out] buckets_p  set only on TW_OK; release with tw_buckets_destroy().
 * @return the same on every rank: TW_OK, TW_ERR_MISMATCH, TW_ERR_NO_MEMORY, TW_ERR_MPI,
 *         TW_ERR_TIMEOUT, TW_ERR_DEAD; and, even if only some ranks detect the error (each logs it
 *         with the tensor's name): TW_ERR_INVALID_ARG, TW_ERR_RANGE, TW_ERR_SPEC (a tensor's
 *         codec), TW_ERR_UNSUPPORTED (no device, codecs of two types, an algorithm that does
 *         not support a codec), TW_ERR_IO (the device). Locally, before communication:
 *         TW_ERR_INVALID_ARG if comm, tensors or buckets_p is NULL. */
tw_status_t tw_buckets_create(tw_comm_t *comm, const tw_buckets_config_t *config,
                              const tw_bucket_tensor_t *tensors, size_t n,
                              tw_buckets_t **buckets_p);

/** Start the sums of tensors in host memory that are all ready: like tw_buckets_create() and
 * tw_buckets_ready() for each tensor, but for one use, with nonblocking operations instead of
 * plans, and without comparing the ranks' arguments. Collective, nonblocking: all ranks start the
 * same buckets in the same order.
 * @param [in]  config     NULL: all zero.
 * @param [in]  tensors    must not be accessed until the sums are complete. Names may be NULL and
 *                         may repeat; tensors without a feedback object have no error feedback.
 * @param [out] buckets_p  set only on TW_OK; pass it to tw_buckets_wait_for(), or to
 *                         tw_buckets_finish() and tw_buckets_destroy().
 * @return TW_OK, TW_ERR_INVALID_ARG, TW_ERR_RANGE, TW_ERR_SPEC, TW_ERR_UNSUPPORTED (device memory,
 *         codecs of two types), TW_ERR_NO_MEMORY, or as tw_iallreduce(). On an error the call
 *         waits for the operations that it started. */
tw_status_t tw_buckets_start(tw_comm_t *comm, const tw_buckets_config_t *config,
                             const tw_bucket_tensor_t *tensors, size_t n, tw_buckets_t **buckets_p);

/** Wait for the sums of tw_buckets_start() for at most `milliseconds` (0: only advance). If the
 * communicator has a progress thread, other threads may start more while one thread waits here.
 * @param [out] done_p  1: all tensors hold their sums, or the operation failed; *buckets_p is
 *                      released and set to NULL. 0: not complete.
 * @return TW_OK, TW_ERR_INVALID_ARG, or as tw_wait(). */
tw_status_t tw_buckets_wait_for(tw_buckets_t **buckets_p, int milliseconds, int *done_p);

/** Wait for outstanding operations and release the object; NULL is allowed. All ranks should call
 * it at the same point. */
void tw_buckets_destroy(tw_buckets_t *buckets);

/** Mark tensor i as ready: it holds this rank's gradient, and must not be accessed until
 * tw_buckets_wait() for it or tw_buckets_finish(). Starts its bucket if this was the last missing
 * tensor, and later complete buckets that waited for this one. Does not block.
 * @return TW_OK, TW_ERR_INVALID_ARG, TW_ERR_RANGE (no such tensor), TW_ERR_BUSY (already ready), or
 *         as tw_start(). */
tw_status_t tw_buckets_ready(tw_buckets_t *buckets, size_t i);

/** Advance outstanding operations; call it between layers. Does not block.
 * @return TW_OK, or the error of an outstanding operation. */
tw_status_t tw_buckets_advance(tw_buckets_t *buckets);

/** Wait until tensor i holds the sum. All tensors of its bucket are then complete.
 * @return TW_OK, TW_ERR_INVALID_ARG, TW_ERR_RANGE, TW_ERR_BUSY (local: its bucket has not started,
 *         because a tensor in it or before it is not ready), or as tw_wait(). */
tw_status_t tw_buckets_wait(tw_buckets_t *buckets, size_t i);

/** Wait until all tensors hold their sums. They may then be marked ready again.
 * @return TW_OK, TW_ERR_BUSY (local: a tensor is not ready; the log names it, and the call waited
 *         for nothing), or as tw_wait(). */
tw_status_t tw_buckets_finish(tw_buckets_t *buckets);

/** Write the residuals of the feedback objects made by tw_buckets_create(), one after another as
 * tw_feedback_save() does. Collective, between tw_buckets_finish() and the next tw_buckets_ready().
 * @param [in] stream  binary, open for writing, on rank 0; ignored elsewhere.
 * @return as tw_feedback_save(). */
tw_status_t tw_buckets_save(tw_buckets_t *buckets, FILE *stream);

/** Restore what tw_buckets_save() wrote for the same tensors, on any number of ranks. Collective.
 * After an error all residuals are zero.
 * @return as tw_feedback_restore(). */
tw_status_t tw_buckets_restore(tw_buckets_t *buckets, FILE *stream, tw_feedback_use_t use);

/** Set all residuals to zero. Local; call it on all ranks.
 * @return TW_OK, TW_ERR_INVALID_ARG, TW_ERR_BUSY. */
tw_status_t tw_buckets_clear(tw_buckets_t *buckets);

/** The bucket of tensor i, and its codec; NULL outputs are skipped.
 * @param [out] spec_p  full spec; for `auto`, the chosen codec. Lives as long as the object.
 * @return TW_OK, TW_ERR_INVALID_ARG, TW_ERR_RANGE. */
tw_status_t tw_buckets_describe(const tw_buckets_t *buckets, size_t i, size_t *bucket_p,
                                const char **spec_p);

/** Local. @return TW_OK, TW_ERR_INVALID_ARG. */
tw_status_t tw_buckets_facts(const tw_buckets_t *buckets, tw_buckets_facts_t *facts);

TW_END_DECLS

#endif /* THINWIRE_BUCKETS_H */
