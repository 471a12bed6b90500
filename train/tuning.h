/* SPDX-License-Identifier: BSD-3-Clause
 * train/tuning.h - the loader's threads and transfer index, the same on all ranks: set by hand,
 * taken from an earlier run, or searched while training (S2, slides 16 to 18).
 *
 * Rank 0 measures its steps, which end together with those of the others, decides, and tells all
 * ranks; so all change in the same step. What a search found is kept in a file per machine and
 * model, $XDG_CACHE_HOME/thinwire/HASH.loader, and the next run begins with it.
 */
#ifndef TW_TRAIN_TUNING_H
#define TW_TRAIN_TUNING_H

#include <mpi.h>

#include "train/feed.h"
#include "train/input/tuner.h"
#include "train/options.h"

typedef struct tw_tuning tw_tuning_t;

typedef struct tw_tuning_config {
    MPI_Comm                  comm;
    const tw_train_options_t *options;
    tw_feed_t                *feed; /* started                                            */
    size_t                    rows; /* of a batch, on the rank that has most              */
    const char               *isa;
    int                       on_device; /* what computes is not the processor                */
    uint64_t                  model;     /* hash of its text                                  */
} tw_tuning_config_t;

/** Set the first state. Collective. @return 0, or -1 with the problem set. */
int tw_tuning_create(tw_tuning_t **tuning_p, const tw_tuning_config_t *config,
                     tw_problem_t *problem);

void tw_tuning_destroy(tw_tuning_t *tuning); /* NULL is allowed */

/** After every step of training, or of the loader alone: it took so long. Collective while a search
 * is under way, which all ranks know. @return 0, or -1 with the problem set. */
int tw_tuning_step(tw_tuning_t *tuning, double seconds, tw_problem_t *problem);

/** Whether this rank asks for a new search: steps have become longer or shorter. Others say 0. */
int tw_tuning_drifted(const tw_tuning_t *tuning);

/** Begin it, on all ranks. */
void tw_tuning_search(tw_tuning_t *tuning);

typedef struct tw_tuning_facts {
    int                   automatic; /* neither number was given: the tuner decides              */
    int                   searching, kept; /* kept: the state comes from a file                 */
    tw_tuner_state_t      state;
    size_t                searches, steps; /* steps that the searches took                      */
    const tw_tuner_row_t *rows;            /* of the last search; on rank 0, else NULL          */
    size_t                count;
} tw_tuning_facts_t;

void tw_tuning_facts(const tw_tuning_t *tuning, tw_tuning_facts_t *facts);

#endif /* TW_TRAIN_TUNING_H */
