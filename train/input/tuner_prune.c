/* SPDX-License-Identifier: BSD-3-Clause
 * input/tuner_prune.c - the search that leaves states out: rules 3 to 6 at the head of tuner.c.
 */
#include "config.h"

#include <math.h>
#include <string.h>

#include "train/input/tuner_state.h"

static int in_range(const tw_tuner_t *tuner, size_t row, size_t best)
{
    return tw_tuner_measured(tuner, row) &&
           tw_tuner_lowest(tuner, row) <= tw_tuner_highest(tuner, best);
}

/* ---- finalists ----------------------------------------------------------------------------- */

/* Those that may be the best; of more than fit, those with the lowest medians. */
static void choose_finalists(tw_tuner_t *tuner)
{
    tw_finalist_t *const list = tuner->finalists;

    tuner->finals = 0;
    for (size_t row = 0; row < tuner->states; row++) {
        size_t at = tuner->finals;

        if (!tw_tuner_seen(tuner, row) || !in_range(tuner, row, tuner->best)) {
            continue;
        }
        if (tuner->finals < TW_TUNER_FINALISTS) {
            tuner->finals++;
        } else if (tw_tuner_better(tuner, row, list[at - 1].row)) {
            at--;
        } else {
            continue;
        }
        for (; at > 0 && tw_tuner_better(tuner, row, list[at - 1].row); at--) {
            list[at].row = list[at - 1].row;
        }
        list[at].row = row;
    }
    for (size_t k = 0; k < tuner->finals; k++) {
        list[k].asked = list[k].count = 0;
    }
}

static void drop_finalists(tw_tuner_t *tuner)
{
    tw_finalist_t *const list = tuner->finalists;
    size_t               kept = 0;

    for (size_t k = 0; k < tuner->finals; k++) {
        if (k == 0 || tw_tuner_better(tuner, list[k].row, tuner->best)) {
            tuner->best = list[k].row;
        }
    }
    for (size_t k = 0; k < tuner->finals; k++) {
        if (in_range(tuner, list[k].row, tuner->best)) {
            if (kept < k) {
                list[kept] = list[k];
            }
            kept++;
        }
    }
    tuner->finals = kept;
}

/* Visit the next one whose range is too wide; 0: there is none. */
static int visit_finalist(tw_tuner_t *tuner)
{
    for (; tuner->turn < tuner->finals; tuner->turn++) {
        const tw_finalist_t *at  = &tuner->finalists[tuner->turn];
        const size_t         had = at->asked > 0 ? at->asked : tuner->rows[at->row].samples;

        if (had < TW_TUNER_FINAL &&
            TW_TUNER_RANGE * tw_tuner_error_of(tuner, at->row) > TW_TUNER_PROMISE / 2) {
            /* What was measured before chose it, which favours luck: that is replaced, by more. */
            const size_t more = at->asked > 0 ? had : 2 * had;
            const size_t room = TW_TUNER_FINAL - at->asked;

            tw_tuner_visit(tuner, at->row, more < room ? more : room);
            return 1;
        }
    }
    return 0;
}

static void go_on_with_finalists(tw_tuner_t *tuner)
{
    if (visit_finalist(tuner)) {
        return;
    }
    drop_finalists(tuner);
    tuner->turn = 0;
    if (tuner->finals > 1 && visit_finalist(tuner)) {
        return;
    }
    for (size_t k = 0; k < tuner->finals; k++) {
        tuner->climbs[tuner->finalists[k].row % tuner->indices].done = 0;
    }
    tuner->stage = TW_TUNER_CLIMB;
    tw_tuner_climb(tuner);
}

void tw_tuner_repeated(tw_tuner_t *tuner)
{
    tw_finalist_t  *at  = &tuner->finalists[tuner->turn++];
    tw_tuner_row_t *row = &tuner->rows[at->row];

    memcpy(at->times + at->count, tuner->times, tuner->count * sizeof(*at->times));
    at->count += tuner->count;
    at->asked += tuner->asked;
    if (at->count > 0) {
        row->samples = at->count;
        row->median =
            tw_tuner_measure(tuner->sorted, at->times, at->count, &tuner->spread[at->row]);
    }
    go_on_with_finalists(tuner);
}

/* ---- threads of one index ------------------------------------------------------------------ */

/* What is known of an index, as threads; 0: none. */
typedef struct known {
    int at;        /* with the shortest step */
    int low, high; /* seen next to it        */
    int top;       /* the most seen          */
} known_t;

static known_t known_of(const tw_tuner_t *tuner, size_t index)
{
    known_t known = {0, 0, 0, 0};

    for (int t = 1; t <= tuner->config.threads_most; t++) {
        const size_t row = tw_tuner_row(tuner, t, index);

        if (!tw_tuner_seen(tuner, row)) {
            continue;
        }
        if (known.at == 0 || tw_tuner_better(tuner, row, tw_tuner_row(tuner, known.at, index))) {
            known.low  = known.top;
            known.at   = t;
            known.high = 0;
        } else if (known.high == 0) {
            known.high = t;
        }
        known.top = t;
    }
    return known;
}

/* The fewest threads of first .. end - 1 that could win by B, where none of them was seen; end:
 * there are none. */
static int first_open(const tw_tuner_t *tuner, size_t index, int first, int end)
{
    const int    known = tw_tuner_measured(tuner, tuner->best);
    const double limit = known ? tw_tuner_highest(tuner, tuner->best) : 0;
    double       lost  = 0; /* up to so many threads */

    if (known && !(limit > 0)) {
        return end;
    }
    for (int t = 1; t < end; t++) {
        const size_t row = tw_tuner_row(tuner, t, index);

        if (t >= first && t > lost) {
            return t;
        }
        if (known && tw_tuner_measured(tuner, row)) {
            lost = fmax(lost, t * floor(tw_tuner_lowest(tuner, row) / limit));
        }
    }
    return end;
}

/* The middle of what could win below the fewest threads that may be as good as `at`; 0: nothing.
 * Where times rise slowly, noise hides on which side of `at` they are shorter. */
static int below_range(const tw_tuner_t *tuner, size_t index, int at)
{
    int low = 0;

    for (int t = 1; t <= at; t++) {
        const size_t row = tw_tuner_row(tuner, t, index);

        if (tw_tuner_seen(tuner, row)) {
            if (in_range(tuner, row, tw_tuner_row(tuner, at, index))) {
                const int open = first_open(tuner, index, low + 1, t);

                return open < t ? open + (t - 1 - open) / 2 : 0;
            }
            low = t;
        }
    }
    return 0;
}

/* The middle of the larger gap beside the shortest; 0: there is none. */
static int beside(const tw_tuner_t *tuner, size_t index, known_t known)
{
    const int end  = known.high > 0 ? known.high : known.at + 1;
    const int low  = first_open(tuner, index, known.low + 1, known.at);
    const int high = first_open(tuner, index, known.at + 1, end);

    if (low == known.at && high == end) {
        return 0;
    }
    return known.at - low > end - high ? low + (known.at - low) / 2 : high + (end - high - 1) / 2;
}

/* The threads to measure next; 0: the index is done. */
static int propose(tw_tuner_t *tuner, size_t index)
{
    const int     most  = tuner->config.threads_most;
    tw_climb_t   *climb = &tuner->climbs[index];
    const known_t known = known_of(tuner, index);
    int           threads;

    if (climb->doubling && known.top < most) {
        const int twice = known.top > most / 2 ? most : 2 * known.top;

        threads = first_open(tuner, index, twice, most + 1);
        if (threads <= most) {
            return threads;
        }
    }
    climb->doubling = 0;
    threads         = tuner->compared > 0 ? below_range(tuner, index, known.at) : 0;
    return threads > 0 ? threads : beside(tuner, index, known);
}

/* Whether the doubling that led to a state is the last. */
static void judge(tw_tuner_t *tuner, size_t row)
{
    tw_climb_t  *climb = &tuner->climbs[row % tuner->indices];
    const size_t base  = climb->base;
    double       noise, ratio;

    if (base == row || !tw_tuner_measured(tuner, base)) {
        climb->base = row;
        return;
    }
    noise = tw_tuner_error_of(tuner, row) + tw_tuner_error_of(tuner, base);
    ratio = tuner->rows[row].median / tuner->rows[base].median;
    if (!tw_tuner_measured(tuner, row) || !(ratio < 1 + noise)) { /* or both are 0 */
        climb->doubling = 0;
    } else if (ratio < 1 - noise) {
        climb->base   = row;
        climb->doubts = 0;
    } else if (++climb->doubts == TW_TUNER_DOUBTS) {
        climb->doubling = 0;
    }
}

/* ---- visits -------------------------------------------------------------------------------- */

/* The index with the shortest step of those that are not done; indices: there is none. */
static size_t most_promising(const tw_tuner_t *tuner)
{
    size_t index = tuner->indices, best = 0;

    for (size_t i = 0; i < tuner->indices; i++) {
        if (!tuner->climbs[i].done) {
            const size_t row = tw_tuner_row(tuner, known_of(tuner, i).at, i);

            if (index == tuner->indices || tw_tuner_better(tuner, row, best)) {
                index = i;
                best  = row;
            }
        }
    }
    return index;
}

static void visit_first(tw_tuner_t *tuner, size_t row)
{
    const size_t samples = tuner->config.samples;

    tw_tuner_visit(tuner, row, samples > TW_TUNER_FEWEST ? samples : TW_TUNER_FEWEST);
}

void tw_tuner_climb(tw_tuner_t *tuner)
{
    size_t index;

    if (tuner->seen < tuner->indices) {
        visit_first(tuner, tuner->seen); /* with one thread, the first rows */
        return;
    }
    while ((index = most_promising(tuner)) < tuner->indices) {
        const int threads = propose(tuner, index);

        if (threads > 0) {
            visit_first(tuner, tw_tuner_row(tuner, threads, index));
            return;
        }
        tuner->climbs[index].done = 1;
    }
    if (tuner->compared == tuner->seen) {
        tw_tuner_decide(tuner);
        return;
    }
    tuner->compared = tuner->seen;
    tuner->stage    = TW_TUNER_FINALS;
    choose_finalists(tuner);
    tuner->turn = tuner->finals; /* none is visited before all are compared */
    go_on_with_finalists(tuner);
}

/* Whether this visit needs more samples. */
static int is_in_doubt(const tw_tuner_t *tuner)
{
    const size_t row = tuner->row, index = row % tuner->indices;
    size_t       best = row;

    for (size_t i = 0; i < tuner->count; i++) {
        if (tuner->times[i] < TW_TUNER_OUTLIER * tuner->rows[row].median) {
            return 1;
        }
    }
    if (!(TW_TUNER_RANGE * tw_tuner_error_of(tuner, row) > TW_TUNER_PROMISE)) {
        return 0;
    }
    for (int t = 1; t <= tuner->config.threads_most; t++) {
        const size_t other = tw_tuner_row(tuner, t, index);

        if (other != row && tw_tuner_seen(tuner, other) &&
            (best == row || tw_tuner_better(tuner, other, best))) {
            best = other;
        }
    }
    if (best == row) { /* the first of its index */
        best = tuner->best;
    }
    return best == tuner->states || in_range(tuner, row, best);
}

void tw_tuner_climbed(tw_tuner_t *tuner)
{
    if (tuner->asked < TW_TUNER_FIRM && is_in_doubt(tuner)) {
        tuner->left = 1;
        return;
    }
    tw_tuner_accept(tuner);
    if (tuner->climbs[tuner->row % tuner->indices].doubling) {
        judge(tuner, tuner->row);
    }
    tw_tuner_climb(tuner);
}
