/* SPDX-License-Identifier: BSD-3-Clause
 * train/exchange.h - how gradients of what every rank has are added up: in buckets with a codec, by
 * an MPI_Allreduce per layer, or to the owners of the weights.
 *
 * Per step: tw_exchange_ready() for each layer whose gradients are there, from the last to the
 * first, and at the end tw_exchange_finish(), after which all of them (where weights have owners:
 * what this rank owns of them), and the two numbers of tw_exchange_extra(), hold the sum over the
 * ranks, the same bits on each.
 */
#ifndef TW_TRAIN_EXCHANGE_H
#define TW_TRAIN_EXCHANGE_H

#include <stdint.h>
#include <stdio.h>

#include <mpi.h>

#include <thinwire/thinwire.h>

#include "command/problem.h"
#include "train/codecs.h"
#include "train/masters.h"
#include "train/model/network.h"
#include "train/model/params.h"

typedef struct tw_exchange tw_exchange_t;

typedef struct tw_exchange_config {
    MPI_Comm            parent;
    tw_comm_t          *comm;
    const tw_codecs_t  *codecs;
    const tw_network_t *network; /* names the layers, and the codecs of their own that some have */
    tw_params_t        *params;
    tw_masters_t       *masters; /* NULL: weights have no owners */
    int         split;  /* dense layers are: nothing of them travels, and a rank that is alone
                                   and holds all of them treats them no other way */
    size_t      bucket; /* bytes */
    tw_exec_t   exec;
    tw_trace_t *trace;
} tw_exchange_config_t;

/** Collective. config is copied, what it points to must live as long.
 * @return 0, or -1 with the problem set or logged by the library, maybe not on every rank. */
int tw_exchange_create(tw_exchange_t **exchange_p, const tw_exchange_config_t *config,
                       tw_problem_t *problem);

/** Collective; NULL is allowed. */
void tw_exchange_destroy(tw_exchange_t *exchange);

/** Two numbers that are added up with the gradients: set them before tw_exchange_finish(). */
float *tw_exchange_extra(tw_exchange_t *exchange);

/** The gradients of a layer are there. Layers that are split, or have no parameters, are passed
 * over. Same order on all ranks. */
int tw_exchange_ready(tw_exchange_t *exchange, size_t layer, tw_problem_t *problem);

/** Advance what travels, without waiting. */
void tw_exchange_advance(tw_exchange_t *exchange);

/** Wait until all sums are there. */
int tw_exchange_finish(tw_exchange_t *exchange, tw_problem_t *problem);

/** Save and restore residuals; collective, the stream is rank 0's. Nothing for codecs without. */
int tw_exchange_save(tw_exchange_t *exchange, FILE *stream, tw_problem_t *problem);
int tw_exchange_restore(tw_exchange_t *exchange, FILE *stream, tw_problem_t *problem);

#endif /* TW_TRAIN_EXCHANGE_H */
