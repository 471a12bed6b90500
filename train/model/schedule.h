/* SPDX-License-Identifier: BSD-3-Clause
 * train/model/schedule.h - schedules of the learning rate over the epochs.
 *
 * Pure functions: equal arguments give equal bits on all ranks of one machine type, so updates of
 * replicated weights stay equal.
 */
#ifndef TW_TRAIN_SCHEDULE_H
#define TW_TRAIN_SCHEDULE_H

#include <stddef.h>

#include "command/problem.h"

#define TW_SCHEDULE_STEPS 32 /* epochs that "steps" can list */

typedef enum tw_schedule_kind {
    TW_SCHEDULE_CONSTANT,
    TW_SCHEDULE_EXP,
    TW_SCHEDULE_STEPS_AT,
    TW_SCHEDULE_DEXP,
    TW_SCHEDULE_STAIRS
} tw_schedule_kind_t;

/* A plain value that may be copied. Zeros: constant. */
typedef struct tw_schedule {
    tw_schedule_kind_t kind;
    double             factor;       /* exp, steps, stairs: per change; dexp: in total    */
    double             later;        /* exp: per change, from epoch[0] on                 */
    size_t             steps;        /* steps, exp: epochs listed; dexp: pieces           */
    double epoch[TW_SCHEDULE_STEPS]; /* steps, exp: at which; stairs: [0], width of a stair */
} tw_schedule_t;

/** Read a schedule:
 *     "" or "constant"   the base rate throughout
 *     "exp:F"            times F after every whole epoch                            exp:0.99
 *     "exp:F:E:G"        times F after every whole epoch up to E, times G after
 *                        later ones (the published code of S1)                 exp:0.99:60:0.85
 *     "steps:E,E,...:F"  times F at each epoch listed, in rising order              steps:25,37:0.1
 *     "dexp:F:N"         N equal pieces, each times F^(-1/(N-1)), so that the last
 *                        has base/F (S4: at 25, 50 and 75 % of the epochs)          dexp:250:4
 *     "stairs:E:F"       times F every E epochs (S0)                                stairs:30:0.16
 * Factors are above 0. Epochs are above 0 and count completed epochs: "steps:25:0.1" changes the
 * rate for the 26th epoch. N is 2 .. 1000000.
 * @param [out] schedule  set only on success.
 * @return 0, or -1 with the problem set: it names the bad part and the accepted form. */
int tw_schedule_parse(const char *text, tw_schedule_t *schedule, tw_problem_t *problem);

/** The learning rate at a given time.
 * @param [in] base    the rate at the beginning.
 * @param [in] epoch   epochs completed, 0 at the beginning; fractions where the rate may change
 *                     inside an epoch (dexp over 90 epochs changes at 22.5). Below 0 counts as 0.
 * @param [in] epochs  of the whole run, for dexp: later epochs stay at base/F; 0 or less: base. */
double tw_schedule_rate(const tw_schedule_t *schedule, double base, double epoch, double epochs);

#endif /* TW_TRAIN_SCHEDULE_H */
