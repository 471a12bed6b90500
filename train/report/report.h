/* SPDX-License-Identifier: BSD-3-Clause
 * train/report/report.h - output of rank 0: lines of text, and a JSON file.
 */
#ifndef TW_TRAIN_REPORT_H
#define TW_TRAIN_REPORT_H

#include <stdint.h>

#include <jansson.h>

#include "command/problem.h"
#include "train/training.h"

/** One line about the run that begins. */
void tw_report_begin(tw_training_t *t);

/** After every step: with --steps a line, else the progress line if there is a terminal.
 * @param exposed  fraction of the time that this rank spent in communication. */
void tw_report_step(tw_training_t *t, double seconds, double exposed);

/** Erase the progress line, before other output. */
static inline void tw_report_wipe(tw_training_t *t)
{
    if (t->shown > 0.0) {
        fputs("\r\033[K", stderr);
        t->shown = 0.0;
    }
}

/** One line about the last test. */
void tw_report_evaluation(tw_training_t *t);

/** One line about the last recorded epoch. */
void tw_report_epoch(tw_training_t *t);

/** Report that batch statistics are global from now on. */
void tw_report_switch(tw_training_t *t);

/** A line for each change of the bits of weights since the last call. */
void tw_report_changes(tw_training_t *t);

/** If requested: one line with T of AWP, or that there is none; and the same for the JSON file. */
void    tw_report_calibration(const tw_training_t *t);
json_t *tw_report_calibration_json(const tw_training_t *t);

/** If requested: the table of the time of steps; and the same for the JSON file. */
void    tw_report_profile(const tw_training_t *t);
json_t *tw_report_profile_json(const tw_training_t *t);

/** The JSON value for weights with owners; null without owners. */
json_t *tw_report_weights(const tw_training_t *t);

/** Bytes of optimizer state on this rank. */
uint64_t tw_report_state_bytes(const tw_training_t *t);

/** The last line. */
void tw_report_end(const tw_training_t *t);

/** Print the top-5 error, if there are enough classes for one. */
void tw_report_top5(const tw_training_t *t, double error);

/** The JSON keys of what is run: model, data, ranks and so on. */
json_t *tw_report_settings(const tw_training_t *t);

/** Write the JSON file if requested. @return 0, or -1 with the problem set. */
int tw_report_json(const tw_training_t *t, int argc, char **argv, tw_problem_t *problem);

/** The states that a search of the loader has tried (report_loader.c). */
void tw_report_tuned(tw_training_t *t);

/** Report that a search of the loader has not finished at the end of the run. */
void tw_report_searching(const tw_training_t *t);

/** List the broken images that all ranks have replaced. Collective. */
void tw_report_broken(const tw_training_t *t);

json_t *tw_report_loader_json(const tw_training_t *t);

#endif /* TW_TRAIN_REPORT_H */
