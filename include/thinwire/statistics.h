/* SPDX-License-Identifier: BSD-3-Clause
 * thinwire/statistics.h - batch statistics of normalisation layers across ranks.
 *
 * A layer's statistics over a batch are kept as moments, in double:
 *     moments[1 + 2 c] = count, mean of each of c channels, M2 of each channel
 * count is the number of values per channel (examples x height x width), M2 the sum of (x -
 * mean)^2; the variance is M2 / count. Moments of several ranks are merged exactly (Chan, Golub,
 * LeVeque 1979), with uneven counts and with ranks that have no examples; mean and mean of squares,
 * as S3 writes, would cancel (trap: mean 1e4, variance 1). Nothing here is ever quantised.
 *
 * Ranks share statistics in groups of g consecutive ranks: 1 is local ("relaxed"), all is global
 * ("strict"). Merging and summing go in rank order, so all ranks of a group get the same bits, and
 * every run does.
 *
 * Device memory: config.exec says TW_MEMORY_CUDA and a stream, which lives as long as the object,
 * on all ranks alike. Moments, sums and running statistics are then memory of that device (the
 * lists of pointers and channels are not), written when the work that writes them has been put on
 * the stream. They are merged on the host: the stream copies them to pinned memory, the exchange
 * begins when an event says that this is done, and after tw_statistics_wait() the stream copies the
 * result back, before what is put on it then. Bits are those of host memory. tw_statistics_wait()
 * waits for the work before its start, and meanwhile advances everything on the communicator; in a
 * group of one rank nothing waits. Source: adaptive global batch normalisation (S3).
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

/** Merge moments b into a. Pure. Where b has count 0 nothing changes, whatever its other numbers
 * are; where a has, it becomes b. Two empty ones give zeros.
 * @param [in,out] a  1 + 2 channels numbers.
 * @param [in]     b  the same; must not overlap a. */
void tw_moments_merge(double *a, const double *b, size_t channels);

/* ---- exchange ------------------------------------------------------------------------------- */

typedef struct tw_statistics tw_statistics_t;

/* Zero-initialise it. Equal on all ranks, but for trace and the stream. */
typedef struct tw_statistics_config {
    int group; /* consecutive ranks that share statistics, the last group may be smaller; 1: local;
                        0, or the size or more: all ranks                                       */
    size_t layers;   /* of one exchange at most; 0: 1                                           */
    size_t channels; /* of one exchange at most, those of all its layers together               */
    size_t states;   /* numbers of tw_statistics_running() at most                              */
    tw_trace_t
        *trace; /* exchanges are spans on its network track; or NULL. Must outlive the object */
    const tw_exec_t *exec; /* memory of moments, sums and running statistics, below; read during the
                              call only. NULL: the host's */
} tw_statistics_config_t;

/** Make what one set of groups needs: their communicators, and memory for the largest exchange, so
 * that none is asked for later. Collective over comm, which must outlive the object. Several may
 * exist, say one for local and one for global.
 * @param [out] statistics_p  set only on TW_OK; release it with tw_statistics_destroy().
 * @return the same on all ranks: TW_OK, TW_ERR_MISMATCH, TW_ERR_NO_MEMORY, TW_ERR_MPI,
 *         TW_ERR_TIMEOUT, TW_ERR_DEAD, ...; what is wrong on some ranks only: TW_ERR_INVALID_ARG,
 *         TW_ERR_RANGE (sizes beyond memory), TW_ERR_UNSUPPORTED (no device), TW_ERR_IO (the
 *         device). Locally, before anything is sent: TW_ERR_INVALID_ARG for pointers that are
 *         NULL. */
tw_status_t tw_statistics_create(tw_comm_t *comm, const tw_statistics_config_t *config,
                                 tw_statistics_t **statistics_p);

/** Collective; NULL is allowed. No exchange may be under way: it is TW_ERR_BUSY, and nothing is
 * released. */
tw_status_t tw_statistics_destroy(tw_statistics_t *statistics);

/** Ranks in the caller's group; 0 for NULL. 1: nothing is ever sent for moments and sums. */
int tw_statistics_ranks(const tw_statistics_t *statistics);

/** The communicator that moments and sums travel on, for its counters: the one given where all
 * ranks are one group, one of the group otherwise, NULL in a group of one rank. */
const tw_comm_t *tw_statistics_comm(const tw_statistics_t *statistics);

/** Forward: merge the moments of some layers over the group, in place. One exchange for all layers;
 * none in a group of one rank. A rank without examples has count 0 (the rest is ignored); where the
 * whole group has none, all becomes 0. Collective over the group, with equal channels.
 * @param [in,out] moments   per layer 1 + 2 channels[layer] numbers.
 * @param [in]     channels  per layer.
 * @return TW_OK; local: TW_ERR_INVALID_ARG (memory of the other kind is logged), TW_ERR_RANGE (more
 *         than the config said), TW_ERR_BUSY (an exchange is under way); TW_ERR_MPI,
 *         TW_ERR_TIMEOUT, TW_ERR_IO (the device), TW_ERR_DEAD. */
tw_status_t tw_statistics_moments(tw_statistics_t *statistics, double *const *moments,
                                  const size_t *channels, size_t layers);

/** Backward: per layer 2 channels[layer] numbers (sum of dy, sum of dy xhat) become their sums over
 * the group, added in rank order. As tw_statistics_moments() otherwise; a rank without examples has
 * zeros. */
tw_status_t tw_statistics_sums(tw_statistics_t *statistics, double *const *sums,
                               const size_t *channels, size_t layers);

/** The same, started: the numbers are read now and replaced by tw_statistics_wait(), meanwhile the
 * caller may compute, and do other things on the communicator. The list of pointers and channels is
 * copied. */
tw_status_t tw_statistics_moments_start(tw_statistics_t *statistics, double *const *moments,
                                        const size_t *channels, size_t layers);
tw_status_t tw_statistics_sums_start(tw_statistics_t *statistics, double *const *sums,
                                     const size_t *channels, size_t layers);

/** Complete what was started; with nothing under way TW_OK. */
tw_status_t tw_statistics_wait(tw_statistics_t *statistics);

/** Make running statistics the same on all ranks of the communicator (not only of the group). After
 * local training each rank has its own; treated as moments of equal weight,
 *     mean = mean of the ranks' means,   variance = mean of their variances + variance of their
 *     means
 * in double, in rank order, rounded once. Where all ranks hold the same already, no bit changes. To
 * be called before an evaluation, a checkpoint, and a switch from local to global statistics; in
 * between ranks may differ. One exchange; collective over all ranks, with equal channels.
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

#define TW_ADAPTIVE_TOLERANCE 0.01 /* what callers take by default */
#define TW_ADAPTIVE_PATIENCE  2

/* The rule of TW_STATISTICS_ADAPTIVE (S3 leaves the criterion open): an epoch has improved if its
 * training accuracy is above (1 + tolerance) x the last one that had improved, the first always
 * has. After `patience` epochs in a row that have not, the accuracy has converged, for good:
 * statistics are global from the next step on. With a batch of batch_max or more they are never
 * global, in any mode. */
typedef struct tw_adaptive {
    tw_statistics_mode_t mode;
    double               tolerance; /* 0 .. 1                                                   */
    int                  patience;  /* epochs, 1 or more                                        */
    uint64_t             batch;     /* examples of a step, of all ranks together                */
    uint64_t             batch_max; /* 0: no limit                                              */
    /* What has been observed; zeros at first. */
    double   best;     /* accuracy of the last epoch that had improved             */
    uint64_t observed; /* epochs                                                   */
    int      quiet;    /* epochs since the last that had improved                  */
    int      converged;
} tw_adaptive_t;

/** Check what the caller has filled in (mode to batch_max), and forget what was observed. Pure, as
 * are the next four.
 * @return TW_OK, TW_ERR_INVALID_ARG (NULL, or a number out of range). */
tw_status_t tw_adaptive_init(tw_adaptive_t *adaptive);

/** The training accuracy of one more epoch. It must be equal on all ranks, to the bit: computed
 * from sums over all ranks; then all switch at the same observation.
 * @param [in]  accuracy    0 .. 1, right examples over all examples.
 * @param [out] switched_p  1 where statistics become global by this observation, else 0; may be
 *                          NULL.
 * @return TW_OK, TW_ERR_INVALID_ARG (nothing is changed). */
tw_status_t tw_adaptive_observe(tw_adaptive_t *adaptive, double accuracy, int *switched_p);

/** Are statistics global now? 0 for NULL. */
int tw_adaptive_global(const tw_adaptive_t *adaptive);

#define TW_ADAPTIVE_NUMBERS 4

/** What was observed, as plain numbers for a checkpoint. */
void tw_adaptive_save(const tw_adaptive_t *adaptive, double numbers[TW_ADAPTIVE_NUMBERS]);

/** Take it back, after tw_adaptive_init() with the same or other settings.
 * @return TW_OK, TW_ERR_INVALID_ARG (NULL), TW_ERR_FORMAT (numbers that no observations give;
 *         nothing is changed). */
tw_status_t tw_adaptive_restore(tw_adaptive_t *adaptive, const double numbers[TW_ADAPTIVE_NUMBERS]);

TW_END_DECLS

#endif /* THINWIRE_STATISTICS_H */
