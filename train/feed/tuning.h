/* SPDX-License-Identifier: BSD-3-Clause
 * train/feed/tuning.h - the loader's threads and transfer index, equal on all ranks: set by
 * options, taken from an earlier run, or searched while training (S2, slides 16 to 18).
 *
 * Rank 0 measures its steps, which end together with those of the other ranks, decides, and
 * broadcasts the state; so all ranks change in the same step. The result of a search is cached in a
 * file per machine and model, $XDG_CACHE_HOME/thinwire/HASH.loader, from which the next run starts.
 */
#ifndef TW_TRAIN_TUNING_H
#define TW_TRAIN_TUNING_H

#include <mpi.h>

#include "train/feed/feed.h"
#include "train/input/tuner.h"
#include "train/options.h"

typedef struct tw_tuning tw_tuning_t;

typedef struct tw_tuning_config {
    MPI_Comm                  comm;
    const tw_train_options_t *options;
    tw_feed_t                *feed; /* started                                            */
    size_t                    rows; /* of a batch, on the rank with most                  */
    const char               *isa;
    int                       on_device; /* a device computes                                 */
    uint64_t                  model;     /* hash of the model's text                          */
} tw_tuning_config_t;

/** Set the first state. Collective. @return 0, or -1 with the problem set. */
int tw_tuning_create(tw_tuning_t **tuning_p, const tw_tuning_config_t *config,
                     tw_problem_t *problem);

void tw_tuning_destroy(tw_tuning_t *tuning); /* NULL is allowed */

/** Report the time of a step of training or of the loader alone. Collective while a search runs,
 * which all ranks know. @return 0, or -1 with the problem set. */
int tw_tuning_step(tw_tuning_t *tuning, double seconds, tw_problem_t *problem);

/** Does rank 0 request a new search, since the time of steps has changed? 0 on other ranks. */
int tw_tuning_drifted(const tw_tuning_t *tuning);

/** Begin a search, on all ranks. */
void tw_tuning_search(tw_tuning_t *tuning);

typedef struct tw_tuning_facts {
    int                   automatic; /* no number was given: the tuner decides                   */
    int                   searching, kept; /* kept: the state comes from a file                 */
    tw_tuner_state_t      state;
    size_t                searches, steps; /* number of searches, and their steps               */
    const tw_tuner_row_t *rows;            /* of the last search; on rank 0, else NULL          */
    size_t                count;
} tw_tuning_facts_t;

void tw_tuning_facts(const tw_tuning_t *tuning, tw_tuning_facts_t *facts);

#endif /* TW_TRAIN_TUNING_H */
