/* SPDX-License-Identifier: BSD-3-Clause
 * thinwire/weights.h - master weights in one place, and packed copies of them on every rank.
 *
 * Replicated training adds up gradients on all ranks, and every rank makes the same update. Here
 * each weight has one owner, which holds it in float32 (the master), with its optimizer state:
 * gradients are summed to the owner, the owner updates, and the new weights travel back in a codec
 * of few bytes. What the ranks compute with, the owner too, is the decoded copy: the same bits
 * everywhere. An error of the codec is not accumulated, since the master does not see it.
 *
 * Two arrangements:
 *  - TW_WEIGHTS_ROOT: rank 0 owns all (S0 section III, figure 1, its processor being rank 0);
 *  - TW_WEIGHTS_SHARDED: each rank owns an equal share of each group, so that no rank is a
 *    bottleneck and each holds 1/P of the masters and of the optimizer's state (Rajbhandari et al.
 *    2020, ZeRO, stage 1): reduce-scatter, update, all-gather.
 * With codecs that lose nothing both give the bits of a replicated update.
 *
 * Weights come in groups, listed in the order in which a forward pass needs them. A group is an
 * interval of memory with one codec: a layer's weights, or those of several layers that lie
 * together. What is small and matters much (biases, parameters of normalisation) is best one group
 * in fp32, the first. A step, for each group:
 *
 *     tw_weights_wait(w, i)    its weights have arrived; then compute, forward and backward
 *     tw_weights_ready(w, i)   its gradient is final: the sum starts
 *     tw_weights_sum(w, i)     wait until the own share of the sum is here; then update the master
 *     tw_weights_send(w, i)    the new weights start to travel
 *
 * Sums start from the last group to the first, weights from the first to the last, on all ranks,
 * whatever the order of the calls; nothing but wait and sum blocks.
 *
 * Device memory: config.exec says TW_MEMORY_CUDA and a stream, which lives as long as the object,
 * on all ranks alike. Weights, gradients and masters, those of the object too, are then memory of
 * that device. What tw_weights_ready() and tw_weights_send() want to be done is done when the work
 * that does it has been put on the stream; an exchange has a stream of its own, and begins when an
 * event behind that work is done, which whoever advances the communicator notices. After
 * tw_weights_sum() and tw_weights_wait() the sums and the weights are there for work that is put on
 * the stream then.
 *
 * Sent, of n weights in B bytes each (which tw_stats_t counts; P ranks; beside gradients):
 * (P-1) n B over all ranks, by rank 0 and those that forward, or a P-th by each rank.
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
    const char *name;     /* as tw_feedback_create() wants it, different for each group; copied */
    float      *weights;  /* [count] what this rank computes with: written by tw_weights_wait()  */
    float      *gradient; /* [count] read from tw_weights_ready() on, and overwritten            */
    float      *master;   /* [own share] the masters' memory, of the same kind as the others; NULL:
                             of the object                                                     */
    size_t      count;    /* elements; may be 0. Groups must not overlap                         */
    size_t      unit;     /* so many elements in a row stay with one owner (a row of a matrix, where
                             the update wants it whole); 0: the codec's block, at least 64     */
    const char *codec;    /* spec of the weights on their way; NULL: fp32. Copied              */
    const char *gradient_codec; /* NULL: as config says. Copied                                */
} tw_weights_group_t;

/* All but exec and trace must be equal on all ranks. */
typedef struct tw_weights_config {
    tw_weights_owners_t owners;
    const tw_codec_t *gradient; /* codec of gradients, of float32; NULL: fp32. Must live as long as
                                     the object; feedback, where it wants that, is by group       */
    const tw_exec_t  *exec;     /* threads and memory, above. NULL: the host's, THINWIRE_THREADS */
    tw_trace_t       *trace;    /* NULL: none. Network: "gradients" and "weights" with the group's
                                     number; compute: "wait gradients", "wait weights"            */
} tw_weights_config_t;

/* What a rank owns of a group. Pointers live as long as the object. */
typedef struct tw_weights_share {
    float       *master;   /* [count]                                                          */
    const float *gradient; /* [count] the sum over the ranks, from tw_weights_sum() until the caller
                              writes the next gradient                                         */
    size_t first, count;   /* elements of the group                                            */
    size_t at; /* elements of all shares of this rank before it: where optimizer state of
                              this group begins, if that is one vector                        */
} tw_weights_share_t;

/* Of this rank. */
typedef struct tw_weights_facts {
    size_t   groups;
    size_t   elements;    /* of all groups                                                       */
    size_t   own;         /* elements that this rank owns                                        */
    size_t   feedbacks;   /* groups whose gradient has error feedback                            */
    uint64_t bytes_codes; /* of all groups, in their codecs of now: what a rank receives at most  */
    uint64_t changes;     /* tw_weights_set_codec() that changed something                      */
} tw_weights_facts_t;

/** Elements of a group of `count` that a rank owns: with u = ceil(count / unit) = q ranks + r, the
 * first r ranks own q + 1 units, the others q, and the last unit may be short; TW_WEIGHTS_ROOT:
 * rank 0 owns all. Pure.
 * @param [in]  unit     1 or more.
 * @param [out] first_p  the first of them; may be NULL. */
size_t tw_weights_owned(tw_weights_owners_t owners, size_t count, size_t unit, int rank, int ranks,
                        size_t *first_p);

/** Make it: plans, feedback objects, and memory for masters (which are 0 until the caller fills
 * them). Collective.
 * @param [in]  comm       must outlive the object; tw_comm_destroy() says TW_ERR_BUSY while it
 *                         exists.
 * @param [in]  groups     n of them, in the order of a forward pass; equal on all ranks but for
 *                         addresses. Copied; weights, gradient and master must live as long as the
 *                         object.
 * @param [out] weights_p  set only on TW_OK; release with tw_weights_destroy().
 * @return the same on every rank: TW_OK, TW_ERR_MISMATCH, TW_ERR_NO_MEMORY, TW_ERR_MPI,
 *         TW_ERR_TIMEOUT, TW_ERR_DEAD; what is wrong on some ranks only, and logged there, with the
 *         group's name: TW_ERR_INVALID_ARG, TW_ERR_RANGE, TW_ERR_SPEC (a group's codec),
 *         TW_ERR_UNSUPPORTED (no device, a codec of another type), TW_ERR_IO (the device). Locally,
 *         before anything is sent: TW_ERR_INVALID_ARG for pointers that are NULL. */
tw_status_t tw_weights_create(tw_comm_t *comm, const tw_weights_config_t *config,
                              const tw_weights_group_t *groups, size_t n, tw_weights_t **weights_p);

/** Release; NULL is allowed. What is outstanding is waited for. All ranks should do so at the same
 * point. */
void tw_weights_destroy(tw_weights_t *weights);

/** What this rank owns of group i. Local.
 * @return TW_OK, TW_ERR_INVALID_ARG, TW_ERR_RANGE (no such group). */
tw_status_t tw_weights_share(const tw_weights_t *weights, size_t i, tw_weights_share_t *share);

/* ---- a step -------------------------------------------------------------------------------- */

/** The gradient of group i is final on this rank; it is not touched until tw_weights_sum(). Starts
 * its sum where those of all later groups have started, and earlier ones that waited for that. Does
 * not block.
 * @return TW_OK, TW_ERR_RANGE, TW_ERR_BUSY (it was ready already, or its weights are still on their
 *         way), or as tw_start(). */
tw_status_t tw_weights_ready(tw_weights_t *weights, size_t i);

/** Wait until this rank's share of group i has the gradient summed over the ranks, in rank order.
 * Every group must be waited for, on ranks that own nothing of it too.
 * @return TW_OK, TW_ERR_RANGE, TW_ERR_BUSY (local: it, or a later group, is not ready), or as
 *         tw_wait(). */
tw_status_t tw_weights_sum(tw_weights_t *weights, size_t i);

/** The masters of group i that this rank owns hold the weights to be used from now on (the first
 * ones, too); neither they nor group.weights are touched until tw_weights_wait(). Starts when all
 * earlier groups have been sent. Does not block.
 * @return TW_OK, TW_ERR_RANGE, TW_ERR_BUSY (it is on its way, or its sum has not been waited for),
 *         or as tw_start(). */
tw_status_t tw_weights_send(tw_weights_t *weights, size_t i);

/** Wait until group i's weights have arrived; at once where nothing was sent.
 * @return TW_OK, TW_ERR_RANGE, TW_ERR_BUSY (local: it waits for an earlier group to be sent), or as
 *         tw_wait(). */
tw_status_t tw_weights_wait(tw_weights_t *weights, size_t i);

/** Advance what travels; to be called between layers. Does not block.
 * @return TW_OK, or the error of what travels. */
tw_status_t tw_weights_advance(tw_weights_t *weights);

/* ---- precision ----------------------------------------------------------------------------- */

/** From its next tw_weights_send() on the weights of group i travel in this codec. Collective, with
 * equal arguments, while the group is not on its way. One small message where it changes something,
 * two where no group has had a codec of this spec; memory was set aside for up to 4 bytes an
 * element, so for fp32 and bitpack none is asked for. After an error a call with the same spec
 * tries again.
 * @return the same on every rank: TW_OK, TW_ERR_NO_MEMORY, TW_ERR_MPI, TW_ERR_TIMEOUT, TW_ERR_DEAD;
 *         and locally: TW_ERR_INVALID_ARG, TW_ERR_RANGE, TW_ERR_BUSY, TW_ERR_SPEC. */
tw_status_t tw_weights_set_codec(tw_weights_t *weights, size_t i, const char *spec);

/** The full spec in which group i travels; of `auto`, what was chosen. Lives as long as the object;
 * NULL: no such group. */
const char *tw_weights_codec(const tw_weights_t *weights, size_t i);

typedef enum tw_weights_of { TW_WEIGHTS_MASTERS = 0, TW_WEIGHTS_COPIES = 1 } tw_weights_of_t;

/** Euclidean norms of all groups: of the masters, or of the copies that the ranks compute with
 * (S0 section II; its code takes that of the copies). Squares are summed in double, each owner's
 * share by itself, then over the owners in rank order: the same bits on all ranks. In device memory
 * an owner's squares are added on the device, behind the work on the stream, in an order that is
 * not the host's: the last bits may differ from those in host memory.
 * Collective, one message of 8 bytes a group, while no weights are on their way.
 * @param [out] norms  [groups], host memory.
 * @return TW_OK, TW_ERR_INVALID_ARG, TW_ERR_BUSY, or as tw_allgather(). */
tw_status_t tw_weights_norms(tw_weights_t *weights, tw_weights_of_t of, double *norms);

/* ---- checkpoints --------------------------------------------------------------------------- */

/** Put together on every rank a vector of which each owns its share: masters, or a part of the
 * optimizer's state. Collective, in float32; memory as config.exec says, on a device behind the
 * work on the stream.
 * @param [in]  share  [own share of group i].
 * @param [out] whole  [count of group i], not overlapping share.
 * @return TW_OK, TW_ERR_INVALID_ARG, TW_ERR_RANGE, or as tw_allgatherv(). */
tw_status_t tw_weights_collect(tw_weights_t *weights, size_t i, const float *share, float *whole);

/** Write, read back, or forget the residuals of the gradients' error feedback, as
 * tw_buckets_save(), tw_buckets_restore() and tw_buckets_clear(), from the last group to the first
 * (so a list of buckets with the same names and counts takes them up); between the last
 * tw_weights_sum() of a step and the next tw_weights_ready(). */
tw_status_t tw_weights_save(tw_weights_t *weights, FILE *stream);
tw_status_t tw_weights_restore(tw_weights_t *weights, FILE *stream, tw_feedback_use_t use);
tw_status_t tw_weights_clear(tw_weights_t *weights);

/** Local. @return TW_OK, TW_ERR_INVALID_ARG. */
tw_status_t tw_weights_facts(const tw_weights_t *weights, tw_weights_facts_t *facts);

TW_END_DECLS

#endif /* THINWIRE_WEIGHTS_H */
