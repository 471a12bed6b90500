/* SPDX-License-Identifier: BSD-3-Clause
 * thinwire/statistics.h - batch statistics of normalisation layers across ranks.
 *
 * A layer's statistics over a batch are moments, in double:
 *     moments[1 + 2 c] = count, mean of each of c channels, M2 of each channel
 * count is the number of values per channel (examples x height x width), M2 the sum of (x -
 * mean)^2; the variance is M2 / count. Moments of several ranks are merged exactly (Chan, Golub,
 * LeVeque 1979), with uneven counts, and with ranks that have no examples. Mean and mean of
 * squares, as in S3, would cancel (for example mean 1e4, variance 1). Nothing here is quantised.
 *
 * Groups of g consecutive ranks share statistics: g = 1 is local ("relaxed"), g = all ranks is
 * global ("strict"). Merging and summing go through the ranks of each node in rank order, then
 * through the nodes (tw_comm_node()), so the bits are the same on all ranks of a group and in every
 * run with the same ranks on each node.
 *
 * Device memory: config.exec has TW_MEMORY_CUDA and a stream, on all ranks alike. The stream must
 * outlive the object. Moments, sums and running statistics are memory of that device (the lists of
 * pointers and channels are not), and are ready once the work that writes them is enqueued on the
 * stream. The host merges them: the stream copies them to pinned memory, the exchange begins when
 * an event after that copy has completed, and in tw_statistics_wait() the stream copies the result
 * back, before work enqueued later. The bits are those of host memory. tw_statistics_wait() waits
 * for the work enqueued before the start, and advances everything on the communicator meanwhile; in
 * a group of one rank nothing waits. Source: adaptive global batch normalisation (S3).
 */
#ifndef THINWIRE_STATISTICS_H
#define THINWIRE_STATISTICS_H

#include <stddef.h>
#include <stdint.h>

#include <thinwire/codec.h>
#include <thinwire/comm.h>
#include <thinwire/declare.h>
#include <thinwire/status.h>
#include <thinwire/trace.h>

TW_BEGIN_DECLS

/** Merge moments b into a. Pure. If b has count 0, nothing changes, whatever its other numbers; if
 * a has count 0, it becomes b. If both have count 0, a becomes zeros.
 * @param [in,out] a  1 + 2 channels numbers.
 * @param [in]     b  the same; must not overlap a. */
void tw_moments_merge(double *a, const double *b, size_t channels);

/* ---- exchange ------------------------------------------------------------------------------- */

typedef struct tw_statistics tw_statistics_t;

/* Zero-initialise it. All fields except trace and the stream must be equal on all ranks. */
typedef struct tw_statistics_config {
    int group; /* consecutive ranks that share statistics, the last group may be smaller; 1: local;
                  0, or the size or more: all ranks */
    size_t layers;   /* most in one exchange; 0: 1 */
    size_t channels; /* most in one exchange, over all its layers */
    size_t states;   /* most numbers of tw_statistics_running() */
    tw_trace_t
        *trace; /* exchanges are spans on its network track; or NULL. Must outlive the object */
    const tw_exec_t *exec; /* memory of moments, sums and running statistics (above);
                              read only during the call. NULL: host */
} tw_statistics_config_t;

/** Create the communicators of the groups, and memory for the largest exchange: exchanges need no
 * further memory. Collective over comm, which must outlive the object. Several objects may exist,
 * for example one for local and one for global statistics.
 * @param [out] statistics_p  set only on TW_OK; release it with tw_statistics_destroy().
 * @return the same on all ranks: TW_OK, TW_ERR_MISMATCH, TW_ERR_NO_MEMORY, TW_ERR_MPI,
 *         TW_ERR_TIMEOUT, TW_ERR_DEAD, ...; and, even if only some ranks detect the error:
 *         TW_ERR_INVALID_ARG, TW_ERR_RANGE (sizes beyond memory), TW_ERR_UNSUPPORTED (no device),
 *         TW_ERR_IO (the device). Locally, before communication: TW_ERR_INVALID_ARG for NULL
 *         pointers. */
tw_status_t tw_statistics_create(tw_comm_t *comm, const tw_statistics_config_t *config,
                                 tw_statistics_t **statistics_p);

/** Release. Collective; NULL is allowed.
 * @return TW_OK, TW_ERR_BUSY (an exchange is outstanding; nothing is released), or as
 *         tw_comm_destroy(). */
tw_status_t tw_statistics_destroy(tw_statistics_t *statistics);

/** Ranks in the caller's group; 0 for NULL. 1: moments and sums are never sent. */
int tw_statistics_ranks(const tw_statistics_t *statistics);

/** The communicator of moments and sums, for its counters: the one given if all ranks are one
 * group, otherwise that of the group; NULL in a group of one rank. */
const tw_comm_t *tw_statistics_comm(const tw_statistics_t *statistics);

/** Forward: merge the moments of some layers over the group, in place. One exchange for all layers,
 * of all numbers to all ranks; where nodes have several ranks, or are many, and it takes less time,
 * inside nodes and then through ranks that each merge a share of the channels, with the same bits:
 * a node of N then sends each number 2 (N-1) / N times. None in a group of one rank. A rank without
 * examples
 * has count 0 (the rest is ignored); if the whole group has none, all moments become 0. Collective
 * over the group, with equal channels.
 * @param [in,out] moments   per layer 1 + 2 channels[layer] numbers.
 * @param [in]     channels  per layer.
 * @return TW_OK; local: TW_ERR_INVALID_ARG (memory of the other kind is logged), TW_ERR_RANGE (more
 *         than in the config), TW_ERR_BUSY (an exchange is outstanding); TW_ERR_MPI,
 *         TW_ERR_TIMEOUT, TW_ERR_IO (the device), TW_ERR_DEAD. */
tw_status_t tw_statistics_moments(tw_statistics_t *statistics, double *const *moments,
                                  const size_t *channels, size_t layers);

/** Backward: per layer 2 channels[layer] numbers (sum of dy, sum of dy xhat) become their sums over
 * the group. Otherwise as tw_statistics_moments(); a rank without examples has
 * zeros. */
tw_status_t tw_statistics_sums(tw_statistics_t *statistics, double *const *sums,
                               const size_t *channels, size_t layers);

/** The same, nonblocking, always in one exchange: the call reads the numbers, and
 * tw_statistics_wait() replaces them. In between the caller may compute, and use the communicator.
 * The list of pointers and channels is copied. */
tw_status_t tw_statistics_moments_start(tw_statistics_t *statistics, double *const *moments,
                                        const size_t *channels, size_t layers);
tw_status_t tw_statistics_sums_start(tw_statistics_t *statistics, double *const *sums,
                                     const size_t *channels, size_t layers);

/** Complete the outstanding exchange; TW_OK if there is none. */
tw_status_t tw_statistics_wait(tw_statistics_t *statistics);

/** Make running statistics equal on all ranks of the communicator (not only of the group). After
 * local training each rank has its own; as moments of equal weight these become
 *     mean = mean of the ranks' means,   variance = mean of their variances + variance of their
 *     means
 * in double, in rank order, rounded once. If all ranks hold the same already, no bit changes. Call
 * it before an evaluation, a checkpoint, and a switch from local to global statistics; in between
 * ranks may differ. One exchange; collective over all ranks, with equal channels.
 * @param [in,out] state  per layer channels[layer] means, then as many variances; layers one after
 *                        another.
 * @return as tw_statistics_moments(). */
tw_status_t tw_statistics_running(tw_statistics_t *statistics, float *state, const size_t *channels,
                                  size_t layers);

/* ---- when to share -------------------------------------------------------------------------- */

typedef enum tw_statistics_mode {
    TW_STATISTICS_LOCAL    = 0,
    TW_STATISTICS_GLOBAL   = 1,
    TW_STATISTICS_ADAPTIVE = 2 /* local until the training accuracy has converged, then global */
} tw_statistics_mode_t;

#define TW_ADAPTIVE_TOLERANCE 0.01 /* usual default */
#define TW_ADAPTIVE_PATIENCE  2

/* Rule of TW_STATISTICS_ADAPTIVE (S3 leaves the criterion open): an epoch improves if its training
 * accuracy is above (1 + tolerance) x that of the last epoch that improved; the first epoch always
 * improves. After `patience` epochs in a row without improvement the accuracy has converged,
 * permanently: statistics are global from the next step on. With a batch of batch_max or more they
 * are never global, in any mode. */
typedef struct tw_adaptive {
    tw_statistics_mode_t mode;
    double               tolerance; /* 0 .. 1 */
    int                  patience;  /* epochs, 1 or more */
    uint64_t             batch;     /* examples per step, of all ranks together */
    uint64_t             batch_max; /* 0: no limit */
    /* State; zeros at first. */
    double   best;     /* accuracy of the last epoch that improved */
    uint64_t observed; /* epochs */
    int      quiet;    /* epochs since the last improvement */
    int      converged;
} tw_adaptive_t;

/** Check the fields that the caller has set (mode to batch_max), and reset the state. Pure, as are
 * the next four.
 * @return TW_OK, TW_ERR_INVALID_ARG (NULL, or a number out of range). */
tw_status_t tw_adaptive_init(tw_adaptive_t *adaptive);

/** Observe the training accuracy of one more epoch. It must be equal on all ranks, bit for bit, so
 * that all switch at the same observation: compute it from sums over all ranks.
 * @param [in]  accuracy    0 .. 1, correct examples over all examples.
 * @param [out] switched_p  1 if this observation makes statistics global, otherwise 0; may be
 *                          NULL.
 * @return TW_OK, TW_ERR_INVALID_ARG (nothing is changed). */
tw_status_t tw_adaptive_observe(tw_adaptive_t *adaptive, double accuracy, int *switched_p);

/** Are statistics global now? 0 for NULL. */
int tw_adaptive_global(const tw_adaptive_t *adaptive);

#define TW_ADAPTIVE_NUMBERS 4

/** Save the state as numbers, for a checkpoint. */
void tw_adaptive_save(const tw_adaptive_t *adaptive, double numbers[TW_ADAPTIVE_NUMBERS]);

/** Restore the state, after tw_adaptive_init() with the same or other settings.
 * @return TW_OK, TW_ERR_INVALID_ARG (NULL), TW_ERR_FORMAT (not a state that observations can give;
 *         nothing is changed). */
tw_status_t tw_adaptive_restore(tw_adaptive_t *adaptive, const double numbers[TW_ADAPTIVE_NUMBERS]);

TW_END_DECLS

#endif /* THINWIRE_STATISTICS_H */
