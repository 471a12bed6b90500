/* SPDX-License-Identifier: BSD-3-Clause
 * thinwire/weights.h - float32 master weights on one owner each, and encoded copies on every rank.
 *
 * In replicated training all ranks sum the gradients and make the same update. Here each weight has
 * one owner, which holds the float32 master and its optimizer state: gradients are summed to the
 * owner, the owner updates, and the new weights are sent back with a codec of few bytes. All ranks,
 * the owner included, compute with the decoded copy: the same bits everywhere. The codec's error
 * does not accumulate, since it does not enter the master.
 *
 * Two arrangements:
 *  - TW_WEIGHTS_ROOT: rank 0 owns all weights (S0 section III, figure 1: its processor);
 *  - TW_WEIGHTS_SHARDED: each rank owns an equal share of each group, so no rank is a bottleneck
 *    and each holds 1/P of the masters and of the optimizer state (Rajbhandari et al. 2020, ZeRO,
 *    stage 1): reduce-scatter, update, all-gather.
 * With lossless codecs both give the bits of a replicated update.
 *
 * Weights come in groups, listed in the order in which a forward pass uses them. A group is an
 * interval of memory with one codec: the weights of a layer, or of several contiguous layers. Put
 * small sensitive weights (biases, parameters of normalisation) into one fp32 group, the first. A
 * step, for each group:
 *
 *     tw_weights_wait(w, i)    its weights have arrived; then compute, forward and backward
 *     tw_weights_ready(w, i)   its gradient is final: the sum starts
 *     tw_weights_sum(w, i)     wait for this rank's share of the sum; then update the master
 *     tw_weights_send(w, i)    start to send the new weights
 *
 * On all ranks sums start from the last group to the first, and weights from the first to the last,
 * whatever the order of the calls. Only wait and sum block.
 *
 * Device memory: config.exec has TW_MEMORY_CUDA and a stream, on all ranks alike. The stream must
 * outlive the object. Weights, gradients and masters, including masters that the object allocates,
 * are memory of that device. The conditions of tw_weights_ready() and tw_weights_send() hold once
 * the work that establishes them is enqueued on the stream. Exchanges run on a separate stream. An
 * exchange begins when an event recorded after that work has completed; advancing the communicator
 * detects this. After tw_weights_sum() and tw_weights_wait(), work enqueued on the caller's stream
 * sees the sums and the weights.
 *
 * Bytes sent (tw_stats_t) for n weights of B bytes each, without gradients: (P-1) n B in total over
 * P ranks; with TW_WEIGHTS_ROOT by rank 0 and the ranks that forward, with TW_WEIGHTS_SHARDED 1/P
 * of it by each rank.
 */
#ifndef THINWIRE_WEIGHTS_H
#define THINWIRE_WEIGHTS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <thinwire/codec.h>
#include <thinwire/comm.h>
#include <thinwire/declare.h>
#include <thinwire/feedback.h>
#include <thinwire/status.h>
#include <thinwire/trace.h>

TW_BEGIN_DECLS

typedef struct tw_weights tw_weights_t;

typedef enum tw_weights_owners { TW_WEIGHTS_ROOT = 1, TW_WEIGHTS_SHARDED = 2 } tw_weights_owners_t;

typedef struct tw_weights_group {
    const char *name;     /* valid for tw_feedback_create(), unique among the groups; copied */
    float      *weights;  /* [count] what this rank computes with; written by tw_weights_wait() */
    float      *gradient; /* [count] read from tw_weights_ready() on, and overwritten */
    float      *master;   /* [own share] memory of the masters, of the same kind as the others;
                             NULL: the object allocates it */
    size_t      count;    /* elements; may be 0. Groups must not overlap */
    size_t      unit;     /* this many consecutive elements have the same owner (a matrix row, if
                             the update needs whole rows); 0: the codec's block, at least 64 */
    const char *codec;    /* codec spec of the weights sent; NULL: fp32. Copied */
    const char *gradient_codec; /* NULL: as in config. Copied */
} tw_weights_group_t;

/* All fields except exec and trace must be equal on all ranks. */
typedef struct tw_weights_config {
    tw_weights_owners_t owners;
    const tw_codec_t   *gradient; /* codec of gradients, of float32; NULL: fp32. Must outlive the
                                     object. Error feedback, if the codec needs it, is per group */
    const tw_exec_t    *exec;     /* threads and memory (above). NULL: host, THINWIRE_THREADS */
    tw_trace_t         *trace;    /* NULL: none. Network track: "gradients" and "weights" with
                                     the number of the group; compute track: "wait gradients",
                                     "wait weights" */
} tw_weights_config_t;

/* What a rank owns of a group. Pointers live as long as the object. */
typedef struct tw_weights_share {
    float       *master;       /* [count] */
    const float *gradient;     /* [count] sum over the ranks, valid from tw_weights_sum() until the
                                  caller writes the next gradient */
    size_t       first, count; /* elements of the group */
    size_t       at; /* elements in this rank's shares of all earlier groups: offset of this
                        group in an optimizer state that is one vector */
} tw_weights_share_t;

/* Of this rank. */
typedef struct tw_weights_facts {
    size_t   groups;
    size_t   elements;    /* of all groups */
    size_t   own;         /* elements that this rank owns */
    size_t   feedbacks;   /* groups whose gradient has error feedback */
    uint64_t bytes_codes; /* of all groups, in their current codecs: most that a rank receives */
    uint64_t changes;     /* calls of tw_weights_set_codec() that changed a codec */
} tw_weights_facts_t;

/** Number of elements of a group of `count` that a rank owns. Pure. With u = ceil(count / unit) =
 * q ranks + r, the first r ranks own q + 1 units and the others q; the last unit may be short.
 * TW_WEIGHTS_ROOT: rank 0 owns all.
 * @param [in]  unit     1 or more.
 * @param [out] first_p  the first of these elements; may be NULL. */
size_t tw_weights_owned(tw_weights_owners_t owners, size_t count, size_t unit, int rank, int ranks,
                        size_t *first_p);

/** Create plans, feedback objects, and memory for masters (0 until the caller fills it).
 * Collective.
 * @param [in]  comm       must outlive the object; until then tw_comm_destroy() returns
 *                         TW_ERR_BUSY.
 * @param [in]  groups     n groups, in the order of a forward pass; equal on all ranks except for
 *                         addresses. Copied; weights, gradient and master must outlive the object.
 * @param [out] weights_p  set only on TW_OK; release with tw_weights_destroy().
 * @return the same on every rank: TW_OK, TW_ERR_MISMATCH, TW_ERR_NO_MEMORY, TW_ERR_MPI,
 *         TW_ERR_TIMEOUT, TW_ERR_DEAD; and, even if only some ranks detect the error (each logs it
 *         with the group's name): TW_ERR_INVALID_ARG, TW_ERR_RANGE, TW_ERR_SPEC (a group's codec),
 *         TW_ERR_UNSUPPORTED (no device, a codec of another type), TW_ERR_IO (the device). Locally,
 *         before communication: TW_ERR_INVALID_ARG for NULL pointers. */
tw_status_t tw_weights_create(tw_comm_t *comm, const tw_weights_config_t *config,
                              const tw_weights_group_t *groups, size_t n, tw_weights_t **weights_p);

/** Wait for outstanding operations and release the object; NULL is allowed. All ranks should call
 * it at the same point. */
void tw_weights_destroy(tw_weights_t *weights);

/** This rank's share of group i. Local.
 * @return TW_OK, TW_ERR_INVALID_ARG, TW_ERR_RANGE (no such group). */
tw_status_t tw_weights_share(const tw_weights_t *weights, size_t i, tw_weights_share_t *share);

/* ---- a step -------------------------------------------------------------------------------- */

/** Mark the gradient of group i as final on this rank. The caller must not access it until
 * tw_weights_sum(). Starts its sum once the sums of all later groups have started, and then those
 * of earlier groups that waited for it. Does not block.
 * @return TW_OK, TW_ERR_INVALID_ARG, TW_ERR_RANGE, TW_ERR_BUSY (already ready, or its weights are
 *         still being sent), or as tw_start(). */
tw_status_t tw_weights_ready(tw_weights_t *weights, size_t i);

/** Wait until this rank's share of group i holds the gradient summed over the ranks, in rank order.
 * Call it for every group, also on ranks that own nothing of it.
 * @return TW_OK, TW_ERR_INVALID_ARG, TW_ERR_RANGE, TW_ERR_BUSY (local: this or a later group is not
 *         ready), or as tw_wait(). */
tw_status_t tw_weights_sum(tw_weights_t *weights, size_t i);

/** Send the masters of group i that this rank owns: they hold the weights to use from now on. Call
 * it for the initial weights too. The caller must not access the masters and group.weights until
 * tw_weights_wait(). Starts when all earlier groups have been sent. Does not block.
 * @return TW_OK, TW_ERR_INVALID_ARG, TW_ERR_RANGE, TW_ERR_BUSY (already being sent, or
 *         tw_weights_sum() was not called after tw_weights_ready()), or as tw_start(). */
tw_status_t tw_weights_send(tw_weights_t *weights, size_t i);

/** Wait until the weights of group i have arrived; returns at once if nothing was sent.
 * @return TW_OK, TW_ERR_INVALID_ARG, TW_ERR_RANGE, TW_ERR_BUSY (local: an earlier group has not
 *         been sent), or as tw_wait(). */
tw_status_t tw_weights_wait(tw_weights_t *weights, size_t i);

/** Advance outstanding operations; call it between layers. Does not block.
 * @return TW_OK, or the error of an outstanding operation. */
tw_status_t tw_weights_advance(tw_weights_t *weights);

/* ---- precision ----------------------------------------------------------------------------- */

/** Set the codec of group i's weights, from its next tw_weights_send() on. Collective, with equal
 * arguments, while the group is not being sent. Sends one small message if the codec changes, two
 * if no group has used this spec yet. tw_weights_create() reserved up to 4 bytes per element, so
 * fp32 and bitpack need no further memory. After an error, a call with the same spec retries.
 * @return the same on every rank: TW_OK, TW_ERR_NO_MEMORY, TW_ERR_MPI, TW_ERR_TIMEOUT, TW_ERR_DEAD;
 *         and locally: TW_ERR_INVALID_ARG, TW_ERR_RANGE, TW_ERR_BUSY, TW_ERR_SPEC. */
tw_status_t tw_weights_set_codec(tw_weights_t *weights, size_t i, const char *spec);

/** Full spec of the codec of group i's weights; for `auto`, the chosen codec. Lives as long as the
 * object; NULL: no such group. */
const char *tw_weights_codec(const tw_weights_t *weights, size_t i);

typedef enum tw_weights_of { TW_WEIGHTS_MASTERS = 0, TW_WEIGHTS_COPIES = 1 } tw_weights_of_t;

/** Euclidean norms of all groups: of the masters, or of the copies that the ranks compute with
 * (S0 section II; its code uses the copies). Squares are summed in double, first over each owner's
 * share, then over the owners in rank order: the same bits on all ranks. In device memory the
 * device sums an owner's squares, after the work on the stream and in another order than the host:
 * the last bits may differ from those in host memory.
 * Collective, one message with 8 bytes per group, while no weights are being sent.
 * @param [out] norms  [groups], host memory.
 * @return TW_OK, TW_ERR_INVALID_ARG, TW_ERR_BUSY, or as tw_allgather(). */
tw_status_t tw_weights_norms(tw_weights_t *weights, tw_weights_of_t of, double *norms);

/* ---- checkpoints --------------------------------------------------------------------------- */

/** Gather on every rank a vector of which each owner holds its share: masters, or a part of the
 * optimizer state. Collective, in float32; memory as in config.exec, on a device after the work on
 * the stream.
 * @param [in]  share  [own share of group i].
 * @param [out] whole  [count of group i], must not overlap share.
 * @return TW_OK, TW_ERR_INVALID_ARG, TW_ERR_RANGE, or as tw_allgatherv(). */
tw_status_t tw_weights_collect(tw_weights_t *weights, size_t i, const float *share, float *whole);

/** Save, restore or clear the residuals of the gradients' error feedback, as tw_buckets_save(),
 * tw_buckets_restore() and tw_buckets_clear() do, from the last group to the first (buckets with
 * the same names and counts can restore them). Call them between the last tw_weights_sum() of a
 * step and the next tw_weights_ready(). */
tw_status_t tw_weights_save(tw_weights_t *weights, FILE *stream);
tw_status_t tw_weights_restore(tw_weights_t *weights, FILE *stream, tw_feedback_use_t use);
tw_status_t tw_weights_clear(tw_weights_t *weights);

/** Local. @return TW_OK, TW_ERR_INVALID_ARG. */
tw_status_t tw_weights_facts(const tw_weights_t *weights, tw_weights_facts_t *facts);

TW_END_DECLS

#endif /* THINWIRE_WEIGHTS_H */
