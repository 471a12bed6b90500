/* SPDX-License-Identifier: BSD-3-Clause
 * thinwire/hybrid.h - data parallelism to model parallelism and back: three schemes.
 *
 * Source: S4 (Krizhevsky 2014, "One weird trick for parallelizing convolutional neural networks"),
 * section 4 and Figure 2. Each of K ranks owns examples, vectors of `features` float32: the output
 * of the part of a network that every rank has in full. The following part of the network is
 * divided over the ranks. So each rank needs the examples of all ranks, and computes a partial
 * gradient of each example; the owner of the example gets the sum of these. The library schedules
 * the exchanges; a callback of the caller computes. A run consists of passes, each on some of the
 * examples:
 *
 *     (a)      one pass on the examples of all ranks: largest buffers, no overlap.
 *     (b)      one pass per rank, on its examples, which it broadcasts.
 *     (c)      K passes; to each pass every rank contributes one K-th of its examples (pass p: the
 *              p-th; the first passes take the remainder). A rank sends examples / K x features x
 *              (K - 1) x 4 bytes in a pass, nearly the same for any K, and all links are always in
 *              use.
 *     group=g  groups of g consecutive ranks, the last perhaps smaller; a group of s ranks makes s
 *              passes as in (c), to which only its members contribute. g = 1 is (b), g = K is (c),
 *              bit for bit. S4 proposes it without trying it. If the communicator knows the places
 *              of its ranks (tw_comm_place()), a group consists of ranks near each other instead:
 *              by NVLink, below one PCIe switch, on one machine (tw_place_groups()). The examples
 *              that share a pass, and thus the order of additions in the callback, then depend on
 *              the places.
 *
 * Passes without examples are omitted. With one rank there is one pass, which reads the caller's
 * examples and writes the caller's gradients in place: nothing is sent, copied or quantised.
 *
 * Order; nothing is posted beyond the last pass:
 *
 *     post exchange 0; wait for it
 *     for each pass p:  post exchange p + 1
 *                       wait for the gradients of pass p - 2, whose buffer is reused
 *                       compute pass p (the callback)
 *                       post the gradients of pass p
 *                       wait for exchange p + 1
 *     wait for the gradients of the last two passes
 *
 * So the examples of the next pass and the gradients of the previous one are exchanged while a pass
 * is computed, as far as something advances them: tw_hybrid_advance() in the callback, any other
 * tw_ call on the communicator, or THINWIRE_PROGRESS=thread.
 *
 * Results: in a pass all ranks, the owner included, see the same bits, decode(encode(x)). The owner
 * alone gets the gradients, summed over the ranks in rank order (in (b) by an algorithm that may
 * quantise twice: see tw_reduce()). The schemes give the same sums up to the order of additions in
 * the callback; with a lossy `act` or `back`, up to the codecs' errors.
 *
 * Device memory: config.exec has TW_MEMORY_CUDA and a stream, on all ranks alike. The stream must
 * outlive the object. x, gx and the callback's buffers are memory of that device. x is ready once
 * the work that writes it is enqueued on the stream. The callback enqueues its work there too, and
 * does not wait: that work sees the examples of its pass. Exchanges run on a separate stream. An
 * exchange begins when an event recorded after the work that produces its data has completed. So
 * the order above holds with "compute" meaning "enqueue", and the host is at most one pass ahead of
 * the device. After tw_hybrid_run(), work enqueued on the stream sees the gradients and may
 * overwrite x.
 */
#ifndef THINWIRE_HYBRID_H
#define THINWIRE_HYBRID_H

#include <stddef.h>

#include <thinwire/codec.h>
#include <thinwire/comm.h>
#include <thinwire/declare.h>
#include <thinwire/status.h>
#include <thinwire/trace.h>

TW_BEGIN_DECLS

typedef struct tw_hybrid tw_hybrid_t;

typedef enum tw_scheme {
    TW_SCHEME_A     = 0,
    TW_SCHEME_B     = 1,
    TW_SCHEME_C     = 2,
    TW_SCHEME_GROUP = 3
} tw_scheme_t;

/* Zero-initialise it. All fields except exec and trace must be equal on all ranks. Read only during
 * the call; codecs and trace must outlive the object. */
typedef struct tw_hybrid_config {
    tw_scheme_t       scheme;
    int               group;    /* TW_SCHEME_GROUP: ranks in a group, 1 .. size */
    size_t            features; /* float32 per example, at least 1 */
    const size_t     *examples; /* [size]: how many each rank owns; may be 0; copied */
    const tw_codec_t *act;      /* of float32, for examples sent; NULL: fp32 */
    const tw_codec_t *back;     /* of float32, for gradients sent; NULL: fp32. No error feedback:
                                   the next step has other examples */
    const tw_exec_t  *exec;     /* threads and memory (above). NULL: host, THINWIRE_THREADS */
    tw_trace_t       *trace;    /* NULL: none. Network track: "activations" and "gradients" with the
                                   pass, from posting to observed completion; compute track:
                                   "compute", "wait activations", "wait gradients" */
} tw_hybrid_config_t;

/* A pass, as passed to the callback. Its rows are those of rank 0, then those of rank 1, ... */
typedef struct tw_hybrid_pass {
    size_t        pass;     /* 0 .. tw_hybrid_passes() - 1 */
    size_t        examples; /* rows: the sum of count; at least 1 */
    const size_t *first;    /* [size]: rank r contributes its examples first[r] .. + count[r] - 1 */
    const size_t *count;    /* [size] */
    const float  *x;        /* [examples][features]; valid during the callback; aligned to 128
                               bytes, or as the caller's x */
    float        *gx;       /* [examples][features]: the callback writes this rank's partial
                               gradients of all rows; NULL in a run without gradients */
} tw_hybrid_pass_t;

/** Forward and backward pass of the divided part, on one pass. It may call collectives on the same
 * communicator, the same on all ranks.
 * @return 0; any other value stops the run. */
typedef int (*tw_hybrid_compute_fn)(void *user, const tw_hybrid_pass_t *pass);

/** Create the schedule and its buffers: two of the longest pass for examples, two for gradients
 * (one each if there is one pass; none with one rank). Collective: the ranks compare the fields
 * that must be equal, and agree on the memory, including that of messages: runs allocate nothing.
 * @param [in]  comm      must outlive the object; until then tw_comm_destroy() returns TW_ERR_BUSY.
 * @param [out] hybrid_p  set only on TW_OK; release with tw_hybrid_destroy().
 * @return the same on every rank: TW_OK, TW_ERR_MISMATCH, TW_ERR_NO_MEMORY, TW_ERR_MPI,
 *         TW_ERR_TIMEOUT, TW_ERR_DEAD; and, even if only some ranks detect the error (each logs
 *         it): TW_ERR_INVALID_ARG, TW_ERR_RANGE, TW_ERR_UNSUPPORTED (no device, a codec of another
 *         type), TW_ERR_IO (the device). Locally, before communication: TW_ERR_INVALID_ARG for NULL
 *         pointers. */
tw_status_t tw_hybrid_create(tw_comm_t *comm, const tw_hybrid_config_t *config,
                             tw_hybrid_t **hybrid_p);

/** Release; local; NULL is allowed. Not allowed in the callback. */
void tw_hybrid_destroy(tw_hybrid_t *hybrid);

/** Number of passes of a run: at most 1 for (a), at most K otherwise. 0 for NULL. */
size_t tw_hybrid_passes(const tw_hybrid_t *hybrid);

/** Shape of a pass; x and gx are NULL. NULL if there is no such pass. Lives as long as the
 * object. */
const tw_hybrid_pass_t *tw_hybrid_pass_at(const tw_hybrid_t *hybrid, size_t pass);

/** Rows of the longest pass. 0 for NULL. */
size_t tw_hybrid_longest(const tw_hybrid_t *hybrid);

/** Exchange the examples, compute every pass, return the gradients. Collective.
 * @param [in]  x     [own examples][features], memory as in config.exec, any alignment. The call
 *                    does not change it; the caller must not either. May be NULL if the rank owns
 *                    no examples.
 * @param [out] gx    [own examples][features]: gradients of the own examples, summed over the
 *                    ranks. Must not overlap x. NULL, a run without gradients, must be NULL on all
 *                    ranks; otherwise a rank that owns no examples passes any address (x for one).
 * @param [in]  user  passed to the callback.
 * @return TW_OK; as tw_wait(); TW_ERR_INVALID_ARG (local; memory of the other kind is logged);
 *         TW_ERR_BUSY (called in the callback);
 *         or the callback's return value, cast to tw_status_t, only on the rank where it stopped.
 *         All exchanges posted before are then complete: if the callbacks of all ranks stop in the
 *         same pass, the object remains usable. Otherwise the other ranks wait for this rank's next
 *         message until THINWIRE_TIMEOUT: agree within the callback, or end the job (MPI_Abort).
 *         After an error gx is undefined. */
tw_status_t tw_hybrid_run(tw_hybrid_t *hybrid, const float *x, float *gx,
                          tw_hybrid_compute_fn compute, void *user);

/** Advance the exchanges; call it between layers. Does not block. tw_hybrid_run() returns their
 * errors. */
void tw_hybrid_advance(tw_hybrid_t *hybrid);

/** Bytes of the buffers for examples and gradients. Message buffers are in the communicator's pool
 * (tw_stats_t.pool_bytes). 0 for NULL. */
size_t tw_hybrid_memory(const tw_hybrid_t *hybrid);

TW_END_DECLS

#endif /* THINWIRE_HYBRID_H */
