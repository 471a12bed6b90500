/* SPDX-License-Identifier: BSD-3-Clause
 * train/report.h - what rank 0 tells: lines for people, one JSON object for programs.
 */
#ifndef TW_TRAIN_REPORT_H
#define TW_TRAIN_REPORT_H

#include <stdint.h>

#include <jansson.h>

#include "command/problem.h"
#include "train/training.h"

/** One line about the run that begins. */
void tw_report_begin(tw_training_t *t);

/** After every step: a line of its own with --steps, else the progress line of a terminal, where
 * there is one. @param exposed  share of its time that this rank communicated in. */
void tw_report_step(tw_training_t *t, double seconds, double exposed);

/** Take the progress line away, before something else is printed. */
static inline void tw_report_wipe(tw_training_t *t)
{
    if (t->shown > 0.0) {
        fputs("\r\033[K", stderr);
        t->shown = 0.0;
    }
}

/** One line about the last test. */
void tw_report_evaluation(tw_training_t *t);

/** One line about the epoch that was just recorded. */
void tw_report_epoch(tw_training_t *t);

/** Say that batch statistics are global from now on. */
void tw_report_switch(tw_training_t *t);

/** A line for each change of the bits of weights since the last call. */
void tw_report_changes(tw_training_t *t);

/** One line with T of AWP, or that there is none, where it was asked for; what the JSON file says
 * of it. */
void    tw_report_calibration(const tw_training_t *t);
json_t *tw_report_calibration_json(const tw_training_t *t);

/** The table of where the time of steps went, where it was asked for; what the JSON file says of
 * it. */
void    tw_report_profile(const tw_training_t *t);
json_t *tw_report_profile_json(const tw_training_t *t);

/** What the JSON file says of weights that have owners, null where they have none. */
json_t *tw_report_weights(const tw_training_t *t);

/** Bytes that this rank keeps for the optimizer. */
uint64_t tw_report_state_bytes(const tw_training_t *t);

/** The last line. */
void tw_report_end(const tw_training_t *t);

/** The JSON file, if one is wanted. @return 0, or -1 with the problem set. */
int tw_report_json(const tw_training_t *t, int argc, char **argv, tw_problem_t *problem);

/** What a search of the loader has tried (report_loader.c). */
void tw_report_tuned(tw_training_t *t);

/** Say so where a search of the loader is not over at the end. */
void tw_report_searching(const tw_training_t *t);

/** Name the broken images that were replaced, of all ranks. Collective. */
void tw_report_broken(const tw_training_t *t);

json_t *tw_report_loader_json(const tw_training_t *t);

#endif /* TW_TRAIN_REPORT_H */
