/* SPDX-License-Identifier: BSD-3-Clause
 * thinwire/buckets.h - summing the gradients of a network over the ranks while the rest is still
 * computed.
 *
 * The caller lists its tensors in the order in which they become ready (for gradients: from the
 * last layer to the first), and says of each when it is. Tensors are put together in buckets; a
 * bucket is a plan of tw_allreduce(), which starts when the last of its tensors is ready, and
 * travels on while the caller computes. Buckets start in the order of the list on all ranks,
 * whatever the order of the calls.
 *
 * Source: S4 section 4.1: each of K ranks gathers 1/K of the gradient, adds it up, and broadcasts
 * the sum (TW_ALGORITHM_TWO_PASS: 2 (K-1)/K x 4P bytes per rank for P values in fp32). Buckets as
 * in Li et al. 2020 (PyTorch Distributed).
 *
 * A plan keeps the memory of its messages, in the communicator's pool (tw_stats_t.pool_bytes): with
 * few large buckets about as much as the tensors, less with codecs that make them small.
 *
 * Which tensors share a bucket:
 *  - codecs that lose nothing: tensors of the same codec, in the order of the list, until
 *    config.bytes are reached. If they fill one interval of memory they are summed where they are,
 *    which a list from the end of a vector to its beginning always gives; else through a buffer of
 *    the bucket;
 *  - lossy codecs: a tensor alone, so that blocks do not mix tensors, and so that error feedback,
 *    where the codec wants it, has an object for each tensor (its name is the tensor's);
 *  - tensors of fewer than config.small elements (biases, parameters of normalisation) travel with
 *    config.small_codec in buckets of their own, unless their own codec is given or config.codec
 *    loses nothing.
 *
 * A caller that is handed buckets which somebody else has made, and may make others next time, such
 * as those of PyTorch's DistributedDataParallel, starts each by tw_buckets_start(): by the same
 * rules, without plans.
 *
 * Device memory: config.exec says TW_MEMORY_CUDA and a stream, which lives as long as the object,
 * on all ranks alike. A tensor is then ready when the work that writes it has been put on that
 * stream. Exchanges have a stream of their own. A bucket's begins when an event behind the work for
 * its tensors is done, which whoever advances the communicator notices: so it goes on beside what
 * the caller puts on his stream next, and no bucket waits for another, or for work that was put
 * there later. After tw_buckets_wait() or tw_buckets_finish() the sums are there for work that is
 * put on his stream then.
 *
 * With one rank and a codec that loses nothing nothing happens to the tensors; with one rank and a
 * lossy codec they are quantised, as by tw_allreduce().
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
    const char    *name;  /* as tw_feedback_create() wants it, different for each tensor; copied */
    float         *data;  /* [count], memory as config.exec says; tensors must not overlap */
    size_t         count; /* elements; may be 0 */
    const char    *codec; /* spec of its own codec; NULL: as config says. Copied */
    int            axes;  /* for tw_tensor_is_small(); 0: unknown */
    tw_feedback_t *feedback; /* the caller's, of count elements, which lives as long as the object;
                                not looked at where the codec loses nothing or the tensor is small.
                                NULL: tw_buckets_create() makes one, if the codec wants it */
} tw_bucket_tensor_t;

/* Zero-initialise it. All but exec and trace must be equal on all ranks. */
typedef struct tw_buckets_config {
    const tw_codec_t *codec; /* of float32; NULL: fp32. Must live as long as the object */
    size_t            bytes; /* of float32 in a bucket of several tensors; 0: 4 MiB */
    size_t            small; /* tensors of fewer elements travel with small_codec; 0: those that
                                    tw_tensor_is_small(); 1: none */
    const tw_codec_t *small_codec; /* of float32; NULL: fp32. As codec */
    tw_reduction_t    reduction;   /* TW_SUM if zero; "sum" below stands for any */
    tw_algorithm_t    algorithm;   /* of all buckets */
    const tw_exec_t  *exec;        /* threads; memory of the tensors, below. NULL: the host's */
    tw_trace_t       *trace;       /* NULL: none. Network: "bucket" with its number, from its start
                                    until seen to be complete; compute: "wait bucket" */
} tw_buckets_config_t;

/* Of this rank. Bytes on the wire are in tw_stats_t. */
typedef struct tw_buckets_facts {
    size_t   tensors, buckets;
    size_t   feedbacks;          /* tensors whose error feedback the object has made */
    uint64_t bytes_uncompressed; /* of all tensors in float32 */
    uint64_t bytes_codes; /* of all tensors encoded once; an all-reduce in two passes sends about
                             2 (K-1)/K of it per rank */
    uint64_t memory;      /* bytes of buffers for tensors that do not lie together */
} tw_buckets_facts_t;

/** Make buckets, their plans and feedback objects. Collective.
 * @param [in]  comm       must outlive the object; tw_comm_destroy() says TW_ERR_BUSY while it
 *                         exists.
 * @param [in]  tensors    n of them, in the order in which they become ready; equal on all ranks
 *                         but for addresses. Copied; data must live as long as the object.
 * @param [out] buckets_p  set only on TW_OK; release with tw_buckets_destroy().
 * @return the same on every rank: TW_OK, TW_ERR_MISMATCH, TW_ERR_NO_MEMORY, TW_ERR_MPI,
 *         TW_ERR_TIMEOUT, TW_ERR_DEAD; what is wrong on some ranks only, and logged there, with the
 *         tensor's name: TW_ERR_INVALID_ARG, TW_ERR_RANGE, TW_ERR_SPEC (a tensor's codec),
 *         TW_ERR_UNSUPPORTED (no device, a codec of another type, an algorithm that cannot take a
 *         codec), TW_ERR_IO (the device). Locally, before anything is sent: TW_ERR_INVALID_ARG for
 *         comm, tensors or buckets_p that are NULL. */
tw_status_t tw_buckets_create(tw_comm_t *comm, const tw_buckets_config_t *config,
                              const tw_bucket_tensor_t *tensors, size_t n,
                              tw_buckets_t **buckets_p);

/** Start the sums of tensors that are all ready, in host memory: tw_buckets_create() and
 * tw_buckets_ready() for each, but once, with nonblocking operations in place of plans, and without
 * comparing what the ranks have. Collective, nonblocking: all ranks start the same buckets in the
 * same order.
 * @param [in]  tensors    not to be touched until the sums are there. Names may be NULL and equal;
 *                         tensors without a feedback have none.
 * @param [out] buckets_p  set only on TW_OK; for tw_buckets_wait_for(), or tw_buckets_finish() and
 *                         tw_buckets_destroy().
 * @return TW_OK, TW_ERR_INVALID_ARG, TW_ERR_RANGE, TW_ERR_SPEC, TW_ERR_UNSUPPORTED (device memory,
 *         a codec of another type), TW_ERR_NO_MEMORY, or as tw_iallreduce(). What had been started
 *         is then waited for. */
tw_status_t tw_buckets_start(tw_comm_t *comm, const tw_buckets_config_t *config,
                             const tw_bucket_tensor_t *tensors, size_t n, tw_buckets_t **buckets_p);

/** Wait for what tw_buckets_start() began, not longer than so many milliseconds (0: only advance).
 * While one thread waits here and the communicator has a progress thread, others may start more.
 * @param [out] done_p  1: all tensors hold their sums, or it failed; *buckets_p is released, and
 *                      NULL. Else 0.
 * @return TW_OK, TW_ERR_INVALID_ARG, or as tw_wait(). */
tw_status_t tw_buckets_wait_for(tw_buckets_t **buckets_p, int milliseconds, int *done_p);

/** Release; NULL is allowed. What is outstanding is waited for. All ranks should do so at the same
 * point. */
void tw_buckets_destroy(tw_buckets_t *buckets);

/** Tensor i holds this rank's gradient and is not touched until tw_buckets_wait() for it or
 * tw_buckets_finish(). Starts its bucket where it was the last one missing, and later ones that
 * waited for that. Does not block.
 * @return TW_OK, TW_ERR_RANGE (no such tensor), TW_ERR_BUSY (it was ready already), or as
 *         tw_start(). */
tw_status_t tw_buckets_ready(tw_buckets_t *buckets, size_t i);

/** Advance what travels; to be called between layers. Does not block.
 * @return TW_OK, or the error of what travels. */
tw_status_t tw_buckets_advance(tw_buckets_t *buckets);

/** Wait until tensor i holds the sum. Its bucket may hold others, which are then complete as well.
 * @return TW_OK, TW_ERR_RANGE, TW_ERR_BUSY (local: its bucket has not started, as tensors of it or
 *         before it are not ready), or as tw_wait(). */
tw_status_t tw_buckets_wait(tw_buckets_t *buckets, size_t i);

/** Wait until all tensors hold their sums; then they may be made ready again.
 * @return TW_OK, TW_ERR_BUSY (local: a tensor is not ready, which the log names; nothing was waited
 *         for), or as tw_wait(). */
tw_status_t tw_buckets_finish(tw_buckets_t *buckets);

/** Write the residuals of all tensors that have error feedback, but for the caller's objects, one
 * after another as tw_feedback_save(). Collective, between tw_buckets_finish() and the next
 * tw_buckets_ready().
 * @param [in] stream  open for writing in binary, on rank 0; ignored elsewhere.
 * @return as tw_feedback_save(). */
tw_status_t tw_buckets_save(tw_buckets_t *buckets, FILE *stream);

/** Read back what tw_buckets_save() wrote for the same tensors, on any number of ranks. Collective.
 * After an error all residuals are zero.
 * @return as tw_feedback_restore(). */
tw_status_t tw_buckets_restore(tw_buckets_t *buckets, FILE *stream, tw_feedback_use_t use);

/** Set all residuals to zero. Local, but only useful on all ranks.
 * @return TW_OK, TW_ERR_INVALID_ARG, TW_ERR_BUSY. */
tw_status_t tw_buckets_clear(tw_buckets_t *buckets);

/** The bucket that tensor i is in, and what became of its codec; NULL outputs are skipped.
 * @param [out] spec_p  the full spec; of `auto`, what was chosen. Lives as long as the object.
 * @return TW_OK, TW_ERR_INVALID_ARG, TW_ERR_RANGE. */
tw_status_t tw_buckets_describe(const tw_buckets_t *buckets, size_t i, size_t *bucket_p,
                                const char **spec_p);

/** Local. @return TW_OK, TW_ERR_INVALID_ARG. */
tw_status_t tw_buckets_facts(const tw_buckets_t *buckets, tw_buckets_facts_t *facts);

TW_END_DECLS

#endif /* THINWIRE_BUCKETS_H */
