/* SPDX-License-Identifier: BSD-3-Clause
 * train/step/masters.h - weights with owners (tw_weights_t): one rank holds all masters and the
 * optimizer's state, or every rank holds a share; every rank computes with copies that were sent in
 * a codec.
 *
 * Groups: first all biases and parameters of normalisation, in fp32; then the weights of each
 * layer, or of each block of layers, in the order of the network. Split layers are in no group.
 *
 * Per step: tw_masters_need() before a layer is used, tw_masters_ready() when its gradient is
 * final, tw_masters_sum(), then the update by tw_masters_each(), tw_masters_adapt(), and
 * tw_masters_send().
 */
#ifndef TW_TRAIN_MASTERS_H
#define TW_TRAIN_MASTERS_H

#include <stdint.h>
#include <stdio.h>

#include <mpi.h>

#include <thinwire/thinwire.h>

#include "command/problem.h"
#include "train/codecs.h"
#include "train/model/network.h"
#include "train/model/params.h"

typedef struct tw_masters tw_masters_t;

typedef struct tw_masters_config {
    MPI_Comm            parent;
    tw_comm_t          *comm;
    tw_weights_owners_t owners;
    const tw_codecs_t  *codecs;
    const tw_network_t *network;
    tw_params_t        *params;     /* laid out with TW_PARAMS_APART; masters are in their memory */
    int                 whole_rows; /* a dense unit's weights stay with one owner        */
    tw_exec_t           exec;
    tw_trace_t         *trace;
} tw_masters_config_t;

/** Collective. config is copied; the objects it points to must outlive the masters.
 * @return 0, or -1 with the problem set or logged by the library, maybe not on every rank. */
int tw_masters_create(tw_masters_t **masters_p, const tw_masters_config_t *config,
                      tw_problem_t *problem);

/** Collective; NULL is allowed. */
void tw_masters_destroy(tw_masters_t *masters);

/** Set the masters from params->value on their owners, and start to send copies. Collective. */
int tw_masters_begin(tw_masters_t *masters, tw_problem_t *problem);

/** Wait for the weights of a layer, or of all layers. */
int tw_masters_need(tw_masters_t *masters, size_t layer, tw_problem_t *problem);
int tw_masters_arrive(tw_masters_t *masters, tw_problem_t *problem);

/** The gradients of a layer are final; from the last layer to the first. */
int tw_masters_ready(tw_masters_t *masters, size_t layer, tw_problem_t *problem);

/** Advance the exchanges without blocking. */
void tw_masters_advance(tw_masters_t *masters);

/** Norms of the masters of groups 1, 2, ..., while no weights are in flight. Collective.
 * @param [out] norms  [groups - 1]; set only on TW_OK. */
tw_status_t tw_masters_norms(tw_masters_t *masters, double *norms);

/** Wait until the owners have the sums of all gradients. */
int tw_masters_sum(tw_masters_t *masters, tw_problem_t *problem);

/* A part of a tensor that this rank owns: elements first .. first + n - 1 of it. */
typedef struct tw_master_piece {
    const tw_param_t *param;
    size_t            first, n;
    float            *value, *state; /* master, and optimizer state          */
    const float      *gradient;      /* the sum over the ranks               */
} tw_master_piece_t;

/* NULL, for weights without owners, is allowed in tw_masters_each(), _arrived(), _facts(),
 * _codec(), _observes(), _take_state(), _numbers() and _write_rule(): they do nothing, return true
 * for arrived, and zeros. */

/** Visit every part of every tensor that this rank owns, until visit() does not return 0.
 * @return the last result of visit(). */
int tw_masters_each(tw_masters_t *masters, int (*visit)(void *user, const tw_master_piece_t *piece),
                    void         *user);

/** AWP observes the masters after the update of step number `step`, from 1 on. Collective. */
int tw_masters_adapt(tw_masters_t *masters, uint64_t step, tw_problem_t *problem);

/** Start to send copies, after tw_masters_adapt(). Collective. */
int tw_masters_send(tw_masters_t *masters, tw_problem_t *problem);

/** Has this rank waited for all copies? */
int tw_masters_arrived(const tw_masters_t *masters);

/** A change of bits. */
typedef struct tw_masters_change {
    uint64_t step;  /* after this step     */
    size_t   group; /* from 1 on           */
    int      bits;
} tw_masters_change_t;

/* Facts of the groups. */
typedef struct tw_masters_facts {
    size_t   groups;   /* including the first                          */
    size_t   own;      /* elements that this rank owns                 */
    size_t   elements; /* of all groups                               */
    uint64_t bytes;    /* of an encoded copy of all weights, in the current codecs  */
    const tw_masters_change_t *change; /* [changes]                                    */
    size_t                     changes;
} tw_masters_facts_t;

void tw_masters_facts(const tw_masters_t *masters, tw_masters_facts_t *facts);

/** Name, elements, spec, and bits (0 without AWP) of a group. */
const char *tw_masters_group(const tw_masters_t *masters, size_t group, size_t *elements_p,
                             const char **spec_p, int *bits_p);

/** The current codec of a layer's weights; NULL: they have no owners. */
const char *tw_masters_codec(const tw_masters_t *masters, size_t layer);

/** Will AWP observe norms in the next step? */
int tw_masters_observes(const tw_masters_t *masters);

/* ---- checkpoints --------------------------------------------------------------------------- */

/** Gather the values (which = 0) or optimizer state (1) of a whole tensor from its owners into the
 * memory of its gradient, on every rank. Collective. */
int tw_masters_collect(tw_masters_t *masters, const tw_param_t *param, int which,
                       tw_problem_t *problem);

/** Take this rank's share of the optimizer state, which is stored whole in the memory of the
 * gradients; as tw_masters_begin() for values. Local. @return 0, or -1 with the problem set. */
int tw_masters_take_state(tw_masters_t *masters, tw_problem_t *problem);

/** The state of AWP: the number of doubles (0 without AWP), saving and restoring. Restoring is
 * collective, with equal numbers on all ranks: -1 with the problem set if they are invalid. Without
 * counts only the bits are restored, and steps that count begin anew: a step is another one. */
size_t tw_masters_numbers(const tw_masters_t *masters);
void   tw_masters_write_rule(const tw_masters_t *masters, FILE *stream);
int    tw_masters_restore_rule(tw_masters_t *masters, const double *numbers, int counts,
                               tw_problem_t *problem);

/** Residuals of the gradients, as tw_exchange_save(). Collective. */
int tw_masters_save(tw_masters_t *masters, FILE *stream, tw_problem_t *problem);
int tw_masters_restore(tw_masters_t *masters, FILE *stream, tw_problem_t *problem);

#endif /* TW_TRAIN_MASTERS_H */
