/* SPDX-License-Identifier: BSD-3-Clause
 * train/exchange.h - how gradients travel: by thinwire with a codec, or by a plain MPI_Allreduce.
 *
 * Per step and layer: tw_exchange_start() when the layer's gradient is ready, and later
 * tw_exchange_finish(), after which it holds the sum over the ranks, the same bits on each.
 * Weights go through the codec, with an error-feedback object per layer if the codec wants one;
 * biases, loss and errors go together as float32.
 */
#ifndef TW_TRAIN_EXCHANGE_H
#define TW_TRAIN_EXCHANGE_H

#include <stdint.h>
#include <stdio.h>

#include <mpi.h>

#include <thinwire/thinwire.h>

#include "train/model/net.h"
#include "train/problem.h"

typedef struct tw_exchange tw_exchange_t;

/** Collective. @param [in] spec  a codec spec, or "mpi".
 * @return 0, or -1 with the problem set or logged by the library, maybe not on every rank. */
int tw_exchange_create(tw_exchange_t **exchange_p, tw_context_t *ctx, MPI_Comm parent,
                       const char *spec, tw_net_t *net, int threads, tw_problem_t *problem);

/** Collective; NULL is allowed. */
void tw_exchange_destroy(tw_exchange_t *exchange);

/** The codec's full spec, or "mpi". */
const char *tw_exchange_spec(const tw_exchange_t *exchange);

/** Layer l's gradient is ready; l == net->layers: the bias gradients. Same order on all ranks. */
int tw_exchange_start(tw_exchange_t *exchange, size_t l, tw_problem_t *problem);

/** Wait for what was started; in the order of the starts. */
int tw_exchange_finish(tw_exchange_t *exchange, size_t l, tw_problem_t *problem);

/** Bytes that this rank has sent to others, and what they would have been as float32 by the same
 * algorithms; -1 for "mpi", where nobody counts. */
typedef struct tw_exchange_bytes {
    int64_t sent, plain;
} tw_exchange_bytes_t;

tw_exchange_bytes_t tw_exchange_counted(const tw_exchange_t *exchange);

/** Save and restore residuals; collective, the stream is rank 0's. Nothing for codecs without. */
int tw_exchange_save(tw_exchange_t *exchange, FILE *stream, tw_problem_t *problem);
int tw_exchange_restore(tw_exchange_t *exchange, FILE *stream, tw_problem_t *problem);

#endif /* TW_TRAIN_EXCHANGE_H */
