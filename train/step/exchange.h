/* SPDX-License-Identifier: BSD-3-Clause
 * train/step/exchange.h - sums of the gradients of layers that all ranks of a communicator hold, or
 * of which they hold the same part: in buckets with a codec, by an MPI_Allreduce per layer, or to
 * the owners of the weights.
 *
 * Per step: tw_exchange_ready() for each layer with complete gradients, from the last to the first,
 * then tw_exchange_finish(). After it all gradients (with owners: this rank's share of them) and
 * the two numbers of tw_exchange_extra() hold the sum over the ranks, bitwise equal on each.
 */
#ifndef TW_TRAIN_EXCHANGE_H
#define TW_TRAIN_EXCHANGE_H

#include <stdint.h>
#include <stdio.h>

#include <mpi.h>

#include <thinwire/thinwire.h>

#include "command/problem.h"
#include "train/codecs.h"
#include "train/step/masters.h"
#include "train/model/network.h"
#include "train/model/params.h"

typedef struct tw_exchange tw_exchange_t;

typedef struct tw_exchange_config {
    MPI_Comm            parent;
    tw_comm_t          *comm;
    const tw_codecs_t  *codecs;
    const tw_network_t *network; /* names of layers, and codecs of single layers */
    tw_params_t        *params;
    tw_masters_t       *masters;  /* NULL: weights have no owners */
    size_t              from, to; /* of these layers of the network: from .. to - 1 */
    int                 extra;    /* and the two numbers of tw_exchange_extra() */
    size_t              bucket;   /* bytes */
    tw_exec_t           exec;
    tw_trace_t         *trace;
} tw_exchange_config_t;

/** Collective. config is copied; the objects it points to must outlive the exchange.
 * @return 0, or -1 with the problem set or logged by the library, maybe not on every rank. */
int tw_exchange_create(tw_exchange_t **exchange_p, const tw_exchange_config_t *config,
                       tw_problem_t *problem);

/** Collective; NULL is allowed. */
void tw_exchange_destroy(tw_exchange_t *exchange);

/** Two numbers that are summed with the gradients: set them before tw_exchange_finish(). */
float *tw_exchange_extra(tw_exchange_t *exchange);

/** The gradients of a layer are complete. Ignores other layers and those without parameters. Same
 * order on all ranks. */
int tw_exchange_ready(tw_exchange_t *exchange, size_t layer, tw_problem_t *problem);

/** Advance the exchange without blocking. */
void tw_exchange_advance(tw_exchange_t *exchange);

/** Wait until all sums are complete. */
int tw_exchange_finish(tw_exchange_t *exchange, tw_problem_t *problem);

/** Save and restore residuals, if the codecs have any; collective, the stream is rank 0's. */
int tw_exchange_save(tw_exchange_t *exchange, FILE *stream, tw_problem_t *problem);
int tw_exchange_restore(tw_exchange_t *exchange, FILE *stream, tw_problem_t *problem);

#endif /* TW_TRAIN_EXCHANGE_H */
