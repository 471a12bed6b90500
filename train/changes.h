/* SPDX-License-Identifier: BSD-3-Clause
 * train/changes.h - what may differ between a checkpoint and the run that goes on from it
 * (--allow-change).
 */
#ifndef TW_TRAIN_CHANGES_H
#define TW_TRAIN_CHANGES_H

#include <stddef.h>

#include "command/problem.h"

typedef enum tw_change {
    TW_CHANGE_RATE,   /* learning rate, its scaling, schedules, momentum, decay   */
    TW_CHANGE_CODEC,  /* of any class                                             */
    TW_CHANGE_SCHEME, /* of dense layers                                          */
    TW_CHANGE_PERIOD, /* of their update                                          */
    TW_CHANGE_BATCH,
    TW_CHANGE_BN,   /* batch statistics */
    TW_CHANGE_DATA, /* images, and what is done to them */
    TW_CHANGE_SEED,
    TW_CHANGES
} tw_change_t;

/* A set of them has bit 1 << change. */
#define TW_CHANGES_ALL ((1u << TW_CHANGES) - 1)

/** Read names with commas between them. @return 0, or -1 with the problem set. */
int tw_changes_parse(const char *text, unsigned *set_p, tw_problem_t *problem);

/** The names of a set in that form, truncated at size - 1 characters. */
void tw_changes_text(unsigned set, char *text, size_t size);

#endif /* TW_TRAIN_CHANGES_H */
