/* SPDX-License-Identifier: BSD-3-Clause
 * input/tuner.c - the search for the state with the shortest steps, see tuner.h.
 *
 * A visit of a state is `settle` steps that are not counted, then its samples. Seconds that are
 * negative or not finite count as steps, not as samples; a state without any is as slow as can be.
 * The lowest median wins. Ties: fewer threads, which leaves cores to the rest; then the higher
 * index, which leaves the device to the network.
 *
 * Without `prune`, S2's search: every state once, by threads and then by index, `samples` each.
 *
 * With `prune`, two assumptions about the seconds f(t) of one index with t threads. None about
 * indices: to move an operation may help or harm, by its own cost and by the bytes to be copied.
 *   A. f falls up to some t and does not fall after it: work is divided until the network, the
 *      device or contention limits it. While it falls it halves, nearly, when t doubles.
 *   B. n times as many threads are at most n times as fast: f(u) >= f(t) / n for all u <= n t.
 *      This holds with whole images per thread, too, where f has steps.
 * The rules, with the numbers of tuner_state.h:
 * 1. Noise: the spread of a state is the median distance of its samples from their median, as a
 *    share of it, or the mean over all states where that is more: a few samples can be near each
 *    other by chance. It gives the standard error of the median; a range is RANGE of them to both
 *    sides. Without noise, ranges are empty and every comparison is exact.
 * 2. A state takes `samples`, at least FEWEST, and up to FIRM when its range is wider than PROMISE
 *    and reaches into that of the shortest of its index (of all, with one thread), or when one of
 *    its samples is far below the median, which may be that of outliers.
 * 3. Every index is measured with one thread. Then the index with the shortest step so far goes on,
 *    until none has anything left to measure. A state is left out where, by B, it is not shorter
 *    than the shortest so far: the low end of the one range against the high end of the other.
 * 4. An index doubles its threads, or takes the fewest that rule 3 leaves if those are more, until
 *    that makes it longer, or in DOUBTS doublings not shorter by more than the standard errors.
 *    Then, by A, the best lies between the neighbours of the shortest measured: the larger gap
 *    beside it is halved until there is none.
 * 5. Finalists: the states whose ranges reach into that of the shortest, at most FINALISTS. They
 *    are measured again, in turns, so that slow changes of the machine meet all of them, and each
 *    turn doubles the samples, up to FINAL. Those out of range leave. It ends with one left, or
 *    when all ranges are below half of PROMISE: those left are as good as each other within
 *    PROMISE. These steps are not lost: they run in states near the best.
 * 6. Where noise led rule 4 to the wrong side, there is a gap now beside a finalist that is left,
 *    or below the fewest threads of its index that may be as good. Those gaps are halved, and if
 *    that measured a state, rule 5 follows.
 *
 * Settled: the median of the first WINDOW steps is the reference (after tw_tuner_adopt, its seconds
 * are), so that a search whose medians differ from the steps that follow does not begin again and
 * again. It never moves, so a slow drift adds up. Steps have drifted where the median of a later
 * window is more than `drift` away from it, and more than SURE standard errors, in `patience`
 * windows in a row: one, but each search that finds the state it came from doubles that, up to
 * PATIENCE, so that a machine whose speed comes and goes is not searched all the time.
 */
#include "config.h"

#include <math.h>
#include <stdlib.h>

#include "train/input/tuner_state.h"

/* ---- visits -------------------------------------------------------------------------------- */

/* What the first visit of a state has measured so far. */
static void note(tw_tuner_t *tuner)
{
    tw_tuner_row_t *row = &tuner->rows[tuner->row];

    tuner->spread[tuner->row] = 0;
    row->samples              = tuner->count;
    if (tuner->count > 0) {
        row->median =
            tw_tuner_measure(tuner->sorted, tuner->times, tuner->count, &tuner->spread[tuner->row]);
    }
}

static void end_visit(tw_tuner_t *tuner)
{
    switch (tuner->stage) {
    case TW_TUNER_ALL:
        note(tuner);
        tw_tuner_accept(tuner);
        if (tuner->seen < tuner->states) {
            tw_tuner_visit(tuner, tuner->seen, tuner->config.samples);
        } else {
            tw_tuner_decide(tuner);
        }
        break;
    case TW_TUNER_CLIMB:
        note(tuner);
        tw_tuner_climbed(tuner);
        break;
    case TW_TUNER_FINALS:
        tw_tuner_repeated(tuner);
        break;
    case TW_TUNER_SETTLED:
        break;
    }
}

/* ---- searches ------------------------------------------------------------------------------ */

static void forget(tw_tuner_t *tuner)
{
    for (size_t row = 0; row < tuner->states; row++) {
        tuner->rows[row].median  = -1;
        tuner->rows[row].samples = 0;
        tuner->spread[row]       = -1;
    }
    for (size_t i = 0; i < tuner->indices; i++) {
        tuner->climbs[i] = (tw_climb_t){.base = i, .doubling = 1};
    }
    tuner->spreads  = 0;
    tuner->seen     = 0;
    tuner->best     = tuner->states;
    tuner->compared = 0;
}

static void search(tw_tuner_t *tuner, size_t tuned)
{
    forget(tuner);
    tuner->tuned = tuned;
    tuner->searches++;
    if (tuner->config.prune) {
        tuner->stage = TW_TUNER_CLIMB;
        tw_tuner_climb(tuner);
    } else {
        tuner->stage = TW_TUNER_ALL;
        tw_tuner_visit(tuner, 0, tuner->config.samples);
    }
}

/* The window is full. */
static void look_back(tw_tuner_t *tuner)
{
    double       spread;
    const double now   = tw_tuner_measure(tuner->sorted, tuner->times, TW_TUNER_WINDOW, &spread);
    const double moved = fabs(now - tuner->reference), most = fmax(now, tuner->reference);

    tuner->count = 0;
    if (tuner->reference < 0) {
        tuner->reference = now;
    } else if (moved > tuner->config.drift * tuner->reference &&
               moved > most * TW_TUNER_SURE * tw_tuner_error(spread, TW_TUNER_WINDOW)) {
        if (++tuner->away >= tuner->patience) {
            search(tuner, tuner->row);
        }
    } else {
        tuner->away = 0;
    }
}

/* ---- the whole ----------------------------------------------------------------------------- */

static int is_in_reach(const tw_tuner_config_t *config)
{
    return config->threads_most >= 1 && config->operations >= 0 && config->samples >= 1 &&
           config->samples <= TW_TUNER_MOST &&
           (size_t)config->threads_most <= TW_TUNER_MOST / ((size_t)config->operations + 1);
}

tw_tuner_t *tw_tuner_create(const tw_tuner_config_t *config)
{
    tw_tuner_t *tuner = is_in_reach(config) ? calloc(1, sizeof(*tuner)) : NULL;
    size_t      room;

    if (tuner == NULL) {
        return NULL;
    }
    room = TW_TUNER_FINAL > TW_TUNER_WINDOW ? TW_TUNER_FINAL : TW_TUNER_WINDOW;
    if (config->samples > room) {
        room = config->samples;
    }
    tuner->config    = *config;
    tuner->indices   = (size_t)config->operations + 1;
    tuner->states    = (size_t)config->threads_most * tuner->indices;
    tuner->times     = calloc(room, sizeof(*tuner->times));
    tuner->sorted    = calloc(room, sizeof(*tuner->sorted));
    tuner->rows      = calloc(tuner->states, sizeof(*tuner->rows));
    tuner->spread    = calloc(tuner->states, sizeof(*tuner->spread));
    tuner->climbs    = calloc(tuner->indices, sizeof(*tuner->climbs));
    tuner->finalists = calloc(TW_TUNER_FINALISTS, sizeof(*tuner->finalists));
    if (tuner->times == NULL || tuner->sorted == NULL || tuner->rows == NULL ||
        tuner->spread == NULL || tuner->climbs == NULL || tuner->finalists == NULL) {
        tw_tuner_destroy(tuner);
        return NULL;
    }
    for (size_t row = 0; row < tuner->states; row++) {
        tuner->rows[row].state.threads = (int)(row / tuner->indices) + 1;
        tuner->rows[row].state.index   = (int)(row % tuner->indices);
    }
    search(tuner, tuner->states);
    return tuner;
}

void tw_tuner_shift(tw_tuner_t *tuner, tw_tuner_state_t by)
{
    tuner->shift = by;
    for (size_t row = 0; row < tuner->states; row++) {
        tuner->rows[row].state.threads += by.threads;
        tuner->rows[row].state.index += by.index;
    }
}

void tw_tuner_destroy(tw_tuner_t *tuner)
{
    if (tuner != NULL) {
        free(tuner->times);
        free(tuner->sorted);
        free(tuner->rows);
        free(tuner->spread);
        free(tuner->climbs);
        free(tuner->finalists);
        free(tuner);
    }
}

void tw_tuner_observe(tw_tuner_t *tuner, double seconds)
{
    if (tuner->wait > 0) {
        tuner->wait--;
        return;
    }
    if (isfinite(seconds) && seconds >= 0) {
        tuner->times[tuner->count++] = seconds;
    }
    if (tuner->stage != TW_TUNER_SETTLED) {
        tuner->asked++;
        if (--tuner->left == 0) {
            end_visit(tuner);
        }
    } else if (tuner->count == TW_TUNER_WINDOW) {
        if (tuner->config.drift > 0) {
            look_back(tuner);
        }
        tuner->count = 0;
    }
}

int tw_tuner_adopt(tw_tuner_t *tuner, tw_tuner_state_t state, double seconds)
{
    state.threads -= tuner->shift.threads;
    state.index -= tuner->shift.index;
    if (state.threads < 1 || state.threads > tuner->config.threads_most || state.index < 0 ||
        state.index > tuner->config.operations) {
        return -1;
    }
    forget(tuner);
    tuner->patience = 1;
    tw_tuner_stay(tuner, tw_tuner_row(tuner, state.threads, (size_t)state.index),
                  isfinite(seconds) && seconds > 0 ? seconds : -1);
    return 0;
}

tw_tuner_state_t tw_tuner_next(const tw_tuner_t *tuner)
{
    return tuner->rows[tuner->row].state;
}

int tw_tuner_settled(const tw_tuner_t *tuner)
{
    return tuner->stage == TW_TUNER_SETTLED;
}

size_t tw_tuner_searches(const tw_tuner_t *tuner)
{
    return tuner->searches;
}

const tw_tuner_row_t *tw_tuner_rows(const tw_tuner_t *tuner, size_t *count_p)
{
    *count_p = tuner->states;
    return tuner->rows;
}
