/* SPDX-License-Identifier: BSD-3-Clause
 * input/tuner_state.h - shared declarations of the tuner: its state, and comparison of states.
 * The rules are at the head of tuner.c.
 */
#ifndef TW_INPUT_TUNER_STATE_H
#define TW_INPUT_TUNER_STATE_H

#include "train/input/tuner.h"

enum {
    TW_TUNER_FEWEST    = 3,  /* samples of a state, when pruning                             */
    TW_TUNER_FIRM      = 16, /* of one in doubt                                              */
    TW_TUNER_FINAL     = 64, /* of a finalist                                                */
    TW_TUNER_FINALISTS = 32,
    TW_TUNER_DOUBTS    = 2,  /* doublings that change little before threads are not doubled  */
    TW_TUNER_WINDOW    = 64, /* steps that are compared with the reference, once settled     */
    TW_TUNER_PATIENCE  = 16  /* windows                                                      */
};

#define TW_TUNER_PROMISE 0.03 /* states within this share of each other are as good              */
#define TW_TUNER_RANGE   2.5  /* standard errors                                                 */
#define TW_TUNER_SURE    6.0  /* standard errors                                                 */
#define TW_TUNER_OUTLIER 0.75 /* with a sample below this share of it, a median may be outliers' */

/* The search of one index. */
typedef struct tw_climb {
    size_t base;     /* row: of the last doubling that made steps shorter  */
    int    doubling; /* else gaps are halved                               */
    int    doubts;   /* doublings since `base`, which changed little       */
    int    done;     /* no state of this index is left to measure          */
} tw_climb_t;

typedef struct tw_finalist {
    size_t row;
    size_t asked; /* samples, with those that were not valid */
    size_t count;
    double times[TW_TUNER_FINAL];
} tw_finalist_t;

typedef enum tw_tuner_stage {
    TW_TUNER_ALL,    /* without pruning            */
    TW_TUNER_CLIMB,  /* with it: rules 3 and 4     */
    TW_TUNER_FINALS, /* rule 5                     */
    TW_TUNER_SETTLED
} tw_tuner_stage_t;

struct tw_tuner {
    tw_tuner_config_t config;
    tw_tuner_state_t  shift; /* of the numbers in rows */
    size_t            states, indices, searches;
    tw_tuner_stage_t  stage;

    /* This visit. */
    size_t  row;
    size_t  wait;  /* steps that are not counted                  */
    size_t  left;  /* steps to come after those; 0: once settled  */
    size_t  asked; /* steps counted so far                        */
    size_t  count; /* of times                                    */
    double *times; /* [room]: valid samples; the window           */

    double         *sorted; /* [room] scratch                                    */
    tw_tuner_row_t *rows;   /* [states]                                          */
    double         *spread; /* [states] shares of the medians; negative: not seen */
    double          spreads;
    size_t          seen;
    size_t          best; /* row, of those seen; states: none */

    /* With pruning. */
    tw_climb_t    *climbs;    /* [indices]                                          */
    tw_finalist_t *finalists; /* [TW_TUNER_FINALISTS]                               */
    size_t         finals;    /* finalists left                                     */
    size_t         turn;      /* the next of them                                   */
    size_t         compared;  /* states seen when finalists were last chosen; 0: not */

    /* Once settled. */
    double reference; /* seconds; negative: the next window's median          */
    int    away;      /* windows in a row that were away from it              */
    int    patience;  /* so many begin a search                               */
    size_t tuned;     /* row before this search; states: none                 */
};

/* ---- tuner_measure.c: what happens next
 * -------------------------------------------------------------- */

void tw_tuner_visit(tw_tuner_t *tuner, size_t row, size_t samples);

/** The first visit of its state is over: its median counts. */
void tw_tuner_accept(tw_tuner_t *tuner);

/** Take the best: the search is over. */
void tw_tuner_decide(tw_tuner_t *tuner);

/** Settled in a state. @param reference  seconds; negative: of the first window. */
void tw_tuner_stay(tw_tuner_t *tuner, size_t row, double reference);

/* ---- tuner_prune.c --------------------------------------------------------------------------- */

/** Choose the next visit, or decide. */
void tw_tuner_climb(tw_tuner_t *tuner);

/** The end of a visit in that stage. */
void tw_tuner_climbed(tw_tuner_t *tuner);
void tw_tuner_repeated(tw_tuner_t *tuner);

/* ---- tuner_measure.c: medians and their noise ------------------------------------------------ */

/** The median of n > 0 times.
 * @param sorted    [n] scratch.
 * @param spread_p  the standard deviation, of normal noise, as a share of the median. */
double tw_tuner_measure(double *sorted, const double *times, size_t n, double *spread_p);

/** The standard error of a median of n samples, as a share of it. */
double tw_tuner_error(double spread, size_t n);

/** The same of a state: rule 1. */
double tw_tuner_error_of(const tw_tuner_t *tuner, size_t row);

/** The ends of a measured state's range. */
double tw_tuner_lowest(const tw_tuner_t *tuner, size_t row);
double tw_tuner_highest(const tw_tuner_t *tuner, size_t row);

/** Whether state a, which was seen, is to be taken rather than b, which was seen too. */
int tw_tuner_better(const tw_tuner_t *tuner, size_t a, size_t b);

static inline size_t tw_tuner_row(const tw_tuner_t *tuner, int threads, size_t index)
{
    return (size_t)(threads - 1) * tuner->indices + index;
}

/* Whether a visit of it is over, or this is its visit. */
static inline int tw_tuner_seen(const tw_tuner_t *tuner, size_t row)
{
    return tuner->spread[row] >= 0;
}

/* Whether it had a valid sample. */
static inline int tw_tuner_measured(const tw_tuner_t *tuner, size_t row)
{
    return tuner->rows[row].median >= 0;
}

#endif /* TW_INPUT_TUNER_STATE_H */
