/* SPDX-License-Identifier: BSD-3-Clause
 * thinwire/hybrid.h - from data parallelism to model parallelism and back: three schemes.
 *
 * Source: S4 (Krizhevsky 2014, "One weird trick for parallelizing convolutional neural networks"),
 * section 4 and Figure 2. K ranks each hold examples of their own, as vectors of `features`
 * float32: the output of the part of a network that every rank has in full.
 * The part that follows is divided over the ranks, so each rank has to see the examples of all, and
 * what each rank finds as the gradient by an example is a part of a sum that belongs to the rank
 * that owns the example. The order of that is here; what is computed is the caller's, in a
 * callback. In passes, each on some of the examples:
 *
 *     (a)      one pass on the examples of all: largest buffers, nothing overlaps.
 *     (b)      a pass for each rank, on its examples, which it broadcasts.
 *     (c)      K passes; in each every rank gives one K-th of its examples (pass p: the p-th; the
 *              first passes take the remainder). What a rank sends in a pass, examples / K x
 *              features x (K - 1) x 4 bytes, is the same at any K, and all links are used at all
 *              times.
 *     group=g  ranks in groups of g that follow one another, the last perhaps smaller; each group
 *              of s makes s passes as in (c), in each of which its members alone give examples.
 *              g = 1 is (b), g = K is (c), bit for bit. S4 proposes it without trying it. Where the
 *              communicator knows the places of its ranks (tw_comm_place()), members of a group are
 *              near each other instead: by NVLink, below one PCIe switch, on one machine
 *              (tw_place_groups()). Then which examples share a pass depends on the places, and
 *              with it the order of additions within the callback.
 *
 * A pass for which nobody has examples is left out. With one rank there is one pass, which reads
 * the caller's examples and writes the caller's gradients where they are: nothing is sent, copied
 * or quantised.
 *
 * Order, for all but the only pass of (a):
 *
 *     post exchange 0; wait for it
 *     for each pass p:  post exchange p + 1
 *                       wait for the gradients of pass p - 2, whose buffer is needed again
 *                       compute pass p (the callback)
 *                       post the gradients of pass p
 *                       wait for exchange p + 1
 *     wait for the gradients of the last two passes
 *
 * So activations of the next pass and gradients of the one before travel while a pass is computed,
 * as far as something advances them: tw_hybrid_advance() from within the callback, any other tw_
 * call on the communicator, or THINWIRE_PROGRESS=thread.
 *
 * Results: all ranks see the same bits in a pass, decode(encode(x)), the owner too. Gradients are
 * the sum in rank order of what the ranks found, on the owner alone (with (b), an algorithm that
 * quantises twice may be taken: see tw_reduce()). The schemes give the same sums up to the order of
 * additions within the callback; with `act` or `back` lossy, up to the codecs' errors.
 *
 * Device memory: config.exec says TW_MEMORY_CUDA and a stream, which lives as long as the object,
 * on all ranks alike. x, gx and what the callback gets are then memory of that device. x has been
 * written when the work that writes it has been put on the stream; the callback puts its work
 * there, too, and does not wait for it: examples of its pass are there for that work. Exchanges
 * have a stream of their own. Each begins when an event behind the work that makes what it sends is
 * done, so the order above holds with "compute" meaning "put on the stream", and the host is at
 * most one pass ahead of the device. After tw_hybrid_run() gradients are there, and x may be
 * changed, for work that is put on the stream then.
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

/* Zero-initialise it. All but exec and trace must be equal on all ranks. Read during the call only,
 * but for the codecs and the trace, which must live as long as the object. */
typedef struct tw_hybrid_config {
    tw_scheme_t       scheme;
    int               group;    /* TW_SCHEME_GROUP: ranks in a group, 1 .. size */
    size_t            features; /* float32 per example, at least 1 */
    const size_t     *examples; /* [size]: how many each rank owns; 0 is allowed; copied */
    const tw_codec_t *act;      /* of float32, for examples on their way; NULL: fp32 */
    const tw_codec_t *back;     /* of float32, for their gradients; NULL: fp32. No error feedback:
                                   the next step has other examples */
    const tw_exec_t  *exec;     /* threads; memory, above. NULL: the host's, THINWIRE_THREADS */
    tw_trace_t       *trace;    /* NULL: none. Network: "activations" and "gradients" with the pass,
                                   from posting until seen to be complete; compute: "compute" and
                                   "wait activations", "wait gradients" */
} tw_hybrid_config_t;

/* A pass, as the callback sees it. Its rows are those of rank 0, then those of rank 1, ... */
typedef struct tw_hybrid_pass {
    size_t        pass;     /* 0 .. tw_hybrid_passes() - 1 */
    size_t        examples; /* rows: the sum of count; at least 1 */
    const size_t *first;    /* [size]: rank r gives its examples first[r] .. + count[r] - 1 */
    const size_t *count;    /* [size] */
    const float  *x;        /* [examples][features]; valid during the callback; aligned
                               to 128 bytes, or as the caller's own */
    float        *gx;       /* [examples][features]: to be overwritten with this rank's part of the
                               gradients, of all rows; NULL in a run without gradients */
} tw_hybrid_pass_t;

/** Forward and backward of the divided part on one pass. It may call collectives on the same
 * communicator, the same on all ranks.
 * @return 0; anything else stops the run. */
typedef int (*tw_hybrid_compute_fn)(void *user, const tw_hybrid_pass_t *pass);

/** Make the schedule and its buffers: two of the longest pass for examples, two for gradients (one
 * each where there is one pass; none with one rank). Collective: the ranks compare what must be
 * equal and agree on the memory, that of the messages included: runs allocate nothing.
 * @param [in]  comm      must outlive the object; tw_comm_destroy() says TW_ERR_BUSY while it
 *                        exists.
 * @param [out] hybrid_p  set only on TW_OK; release with tw_hybrid_destroy().
 * @return the same on every rank: TW_OK, TW_ERR_MISMATCH, TW_ERR_NO_MEMORY, TW_ERR_MPI,
 *         TW_ERR_TIMEOUT, TW_ERR_DEAD; what is wrong on some ranks only, and logged there:
 *         TW_ERR_INVALID_ARG, TW_ERR_RANGE, TW_ERR_UNSUPPORTED (no device, a codec of another
 *         type), TW_ERR_IO (the device). Locally, before anything is sent: TW_ERR_INVALID_ARG for
 *         pointers that are NULL. */
tw_status_t tw_hybrid_create(tw_comm_t *comm, const tw_hybrid_config_t *config,
                             tw_hybrid_t **hybrid_p);

/** Release; local; NULL is allowed. Not from within the callback. */
void tw_hybrid_destroy(tw_hybrid_t *hybrid);

/** Number of passes of a run: at most 1 for (a), K otherwise. 0 for NULL. */
size_t tw_hybrid_passes(const tw_hybrid_t *hybrid);

/** Shape of a pass; x and gx are NULL. NULL if there is none of that number. Lives as long as the
 * object. */
const tw_hybrid_pass_t *tw_hybrid_pass_at(const tw_hybrid_t *hybrid, size_t pass);

/** Rows of the longest pass. 0 for NULL. */
size_t tw_hybrid_longest(const tw_hybrid_t *hybrid);

/** Exchange the examples, compute every pass, return the gradients. Collective.
 * @param [in]  x     [own examples][features], memory as config.exec says, any alignment; not
 *                    changed, and not to be during the call. May be NULL where the rank owns none.
 * @param [out] gx    [own examples][features]: the gradients of the own examples, summed over the
 *                    ranks. Must not overlap x. Whether it is NULL, a run without gradients, must
 *                    be equal on all ranks; a rank that owns no examples and wants gradients passes
 *                    any address (x for one).
 * @param [in]  user  handed to the callback.
 * @return TW_OK; as tw_wait(); TW_ERR_INVALID_ARG (local; memory of the other kind is logged);
 *         TW_ERR_BUSY (from within the callback);
 *         or what the callback said, cast to tw_status_t, on the rank where it said so and only
 *         there: what was posted by then is complete, so if the callbacks of all ranks stop in the
 *         same pass everything may be used again. Otherwise the others wait for this rank's next
 *         message until THINWIRE_TIMEOUT: either agree on it within the callback, or end the job
 *         (MPI_Abort). gx then holds garbage. */
tw_status_t tw_hybrid_run(tw_hybrid_t *hybrid, const float *x, float *gx,
                          tw_hybrid_compute_fn compute, void *user);

/** Advance what travels; to be called between layers. Does not block. An error shows in
 * tw_hybrid_run(). */
void tw_hybrid_advance(tw_hybrid_t *hybrid);

/** Bytes of its buffers of examples and gradients; what the messages need besides is in the
 * communicator's pool (tw_stats_t.pool_bytes). 0 for NULL. */
size_t tw_hybrid_memory(const tw_hybrid_t *hybrid);

TW_END_DECLS

#endif /* THINWIRE_HYBRID_H */
