/* SPDX-License-Identifier: BSD-3-Clause
 * policy/model.c - predicted times, and the choice of the cheapest; see model.h.
 */
#include "config.h"

#include <math.h>
#include <string.h>

#include "runtime/base/fpmode.h"
#include "runtime/policy/model.h"
#include "runtime/policy/power.h"

const char *const tw_model_operations[TW_OPERATIONS] = {"allreduce", "reduce",    "reduce_scatter",
                                                        "bcast",     "allgather", "alltoall"};

/* Fragments that are tried, the usual one first: another must be better. */
static const size_t tw_model_fragments[] = {TW_FRAGMENT, (size_t)32 << 10, (size_t)128 << 10,
                                            (size_t)256 << 10};

#define TW_MODEL_OTHER_FRAGMENT 0.97

/* ---- MPI's own collectives ------------------------------------------------------------------ */

/* The line through two points in the logarithms of both. */
static double tw_between(double b0, double t0, double b1, double t1, double bytes)
{
    const double x0 = tw_power_log2(b0), x1 = tw_power_log2(b1);
    const double y0 = tw_power_log2(t0), y1 = tw_power_log2(t1);

    return tw_power_exp2(y0 + (tw_power_log2(bytes) - x0) / (x1 - x0) * (y1 - y0));
}

double tw_model_native(const tw_facts_t *facts, tw_operation_t operation, double bytes)
{
    const tw_ladder_t *ladder = &facts->native[operation];
    const int          last   = ladder->steps - 1;
    double             slope  = 0.0; /* in doubt too short a time: MPI is taken then */

    if (last < 0) {
        return INFINITY;
    }
    if (bytes <= ladder->bytes[0]) {
        return ladder->seconds[0];
    }
    for (int i = 1; i <= last; i++) {
        if (bytes <= ladder->bytes[i]) {
            return tw_between(ladder->bytes[i - 1], ladder->seconds[i - 1], ladder->bytes[i],
                              ladder->seconds[i], bytes);
        }
    }
    if (last > 0) {
        const double step = (ladder->seconds[last] - ladder->seconds[last - 1]) /
                            (ladder->bytes[last] - ladder->bytes[last - 1]);

        slope = ladder->seconds[last] / ladder->bytes[last];
        slope = step > 0.0 ? (step < slope ? step : slope) : 0.0;
    }
    return ladder->seconds[last] + slope * (bytes - ladder->bytes[last]);
}

/* ---- algorithms of the library -------------------------------------------------------------- */

/* What the formula misses of the steps and of the links: [0] and [1] of the facts. */
static double tw_factor(const tw_facts_t *facts, int algorithm, int which)
{
    const double *factor = facts->factor[algorithm];

    return factor[0] <= 0.0 || factor[1] <= 0.0 ? 1.0 : factor[which];
}

double tw_model_processor(const tw_facts_t *facts)
{
    return facts->processor > 0.0 && facts->processor < 1.0 ? facts->processor : 1.0;
}

double tw_model_moving(const tw_facts_t *facts, double bytes_sent)
{
    return facts->nodes > 1 ? 2.0 * facts->moving * bytes_sent / tw_model_processor(facts) : 0.0;
}

/* Values per fragment, as the engine cuts. */
static double tw_fragment_values(const tw_model_query_t *q, const tw_model_cost_t *cost)
{
    const double block   = (double)q->codec->block;
    const double element = (double)tw_dtype_size(q->codec->dtype);
    const double slots   = cost->slots > 1.0 ? cost->slots : 1.0;
    const double budget  = (double)TW_LANE_BUDGET / TW_WINDOW_MAX / slots;
    const double chunk   = (double)q->chunk < budget ? (double)q->chunk : budget;
    double       values  = (double)q->fragment / q->codec->bytes;

    values = chunk / element < values ? chunk / element : values;
    values = floor(values / block) * block;
    values = values > block ? values : block;
    return cost->longest < values ? cost->longest : values;
}

tw_model_cost_t tw_model_cost(int algorithm, const tw_model_query_t *q)
{
    tw_model_cost_t cost = {0};

    tw_model_algorithm(algorithm)->cost(q, &cost);
    return cost;
}

/* Where nodes take turns for which others wait: those that follow each other. */
static double tw_turns(const tw_model_cost_t *cost, double rounds)
{
    return cost->waits ? ceil(rounds * cost->cycle / TW_WINDOW_MAX) : 0.0;
}

/* The formula of an algorithm, with its factor. */
static double tw_formula(int algorithm, const tw_model_query_t *q)
{
    const tw_facts_t *facts            = q->facts;
    const tw_link_facts_t *const class = tw_model_link(facts);
    const double          overlap      = facts->nodes > 1 ? 1.0 : 0.0;
    const tw_model_cost_t cost         = tw_model_cost(algorithm, q);
    double rounds, link, posts, core, longer, shorter, early, steps, cycle, through, in_turn;

    if (isinf(cost.latencies)) { /* not for these ranks, or not with this codec */
        return INFINITY;
    }
    if (q->count <= 0.0 || cost.longest <= 0.0) {
        return facts->engine;
    }
    rounds  = ceil(cost.longest / tw_fragment_values(q, &cost));
    link    = tw_factor(facts, algorithm, 1) * cost.transfer / rounds;
    posts   = facts->ranks > 1 && cost.messages > 0.0 ? cost.messages * class->message : 0.0;
    core    = cost.codec / rounds + cost.calls * q->codec->call + posts;
    longer  = link > core ? link : core;
    shorter = link > core ? core : link;
    early   = cost.early / rounds + 0.5 * posts;
    early   = early < shorter ? early : shorter;
    steps =
        facts->ranks > 1 ? tw_factor(facts, algorithm, 0) * cost.latencies * class->latency : 0.0;
    cycle   = cost.cycle > 1.0 && !cost.replies ? cost.cycle : 1.0;
    through = steps + rounds * (longer + (1.0 - overlap) * shorter) +
              overlap * (shorter - early) / cycle + cost.drain * link;
    in_turn = tw_turns(&cost, rounds) *
              (steps + (cost.replies ? link : 0.0) + 0.5 * posts + cost.turn / rounds);
    return facts->engine + (through > in_turn ? through : in_turn);
}

/* Whatever is shorter than the shortest vector that was measured takes as long as that one. */
double tw_model_predict(int algorithm, const tw_model_query_t *q)
{
    const double    *factor   = q->facts->factor[algorithm];
    const double     shortest = q->facts->factor_bytes[algorithm][0] / q->codec->bytes;
    tw_model_query_t longer   = *q;

    if (factor[0] > 0.0 && factor[1] > 0.0 && q->count > 0.0 && q->count < shortest) {
        longer.count = shortest;
    }
    return tw_formula(algorithm, &longer);
}

/* ---- decisions ------------------------------------------------------------------------------ */

static bool tw_allowed(const tw_codec_facts_t *codec, const tw_model_wish_t *wish)
{
    return codec->dtype == wish->dtype && codec->max_error <= wish->max_error &&
           (!codec->feedback || wish->feedback);
}

/* The best fragment of a codec and an algorithm. */
static tw_model_candidate_t tw_best_fragment(const tw_facts_t *facts, const tw_model_wish_t *wish,
                                             int codec, int algorithm)
{
    tw_model_query_t query = {
        .facts = facts, .codec = &facts->codec[codec], .count = wish->count, .chunk = wish->chunk};
    tw_model_candidate_t best = {codec, algorithm, 0, INFINITY};

    for (size_t p = 0; p < sizeof(tw_model_fragments) / sizeof(tw_model_fragments[0]); p++) {
        double seconds;

        query.fragment = tw_model_fragments[p];
        seconds        = tw_model_predict(algorithm, &query);
        if (best.fragment == 0 || seconds < TW_MODEL_OTHER_FRAGMENT * best.seconds) {
            best.seconds  = seconds;
            best.fragment = query.fragment;
        }
    }
    return best;
}

double tw_model_margin(const tw_facts_t *facts)
{
    return facts->long_form ? TW_MODEL_MARGIN : TW_MODEL_MARGIN_QUICK;
}

double tw_model_doubt(const tw_facts_t *facts, const tw_codec_facts_t *codec)
{
    return facts->nodes == 1 && codec->max_error > 0.0 ? TW_MODEL_DOUBT : 1.0;
}

/* The predicted time as it counts in a comparison. */
static double tw_weighed(const tw_facts_t *facts, const tw_model_candidate_t *a)
{
    return a->codec < 0 ? a->seconds : tw_model_doubt(facts, &facts->codec[a->codec]) * a->seconds;
}

/* Is `a` to be taken before `b`, which is at least as exact as far as it was found before? */
static bool tw_better(const tw_facts_t *facts, const tw_model_candidate_t *a,
                      const tw_model_candidate_t *b)
{
    const double ea = facts->codec[a->codec].max_error;
    const double eb = b->codec >= 0 ? facts->codec[b->codec].max_error : 0.0;
    const double ta = tw_weighed(facts, a), tb = tw_weighed(facts, b);

    if (b->codec < 0) {
        return ta < tb;
    }
    if (ea > eb) {
        return ta < TW_MODEL_LESS_EXACT * tb;
    }
    return ea < eb ? TW_MODEL_LESS_EXACT * ta <= tb : ta < tb;
}

static bool tw_model_may(int algorithm, const tw_facts_t *facts, const tw_model_wish_t *wish)
{
    const tw_model_algorithm_t *row = tw_model_algorithm(algorithm);

    return row->operation == wish->operation &&
           (wish->algorithm != NULL ? strcmp(row->name, wish->algorithm) == 0
                                    : tw_model_considered(algorithm, facts));
}

TW_IN_FPMODE static void tw_model_decide_here(const tw_facts_t *facts, const tw_model_wish_t *wish,
                                              tw_model_candidate_t *list, int *count_p,
                                              tw_model_candidate_t *chosen)
{
    const double         margin = tw_model_margin(facts);
    tw_model_candidate_t native = {-1, -1, 0, INFINITY};
    tw_model_candidate_t best   = native;
    int                  count  = 0;

    if (wish->native) {
        native.seconds = tw_model_native(facts, wish->operation,
                                         wish->count * (double)tw_dtype_size(wish->dtype));
        if (list != NULL) {
            list[count] = native;
        }
        count++;
    }
    for (int a = 0; tw_model_algorithm(a) != NULL; a++) {
        if (!tw_model_may(a, facts, wish)) {
            continue;
        }
        for (int c = 0; c < facts->codecs && count < TW_MODEL_CANDIDATES; c++) {
            tw_model_candidate_t one;

            if (!tw_allowed(&facts->codec[c], wish)) {
                continue;
            }
            one = tw_best_fragment(facts, wish, c, a);
            if (isinf(one.seconds)) {
                continue;
            }
            if (list != NULL) {
                list[count] = one;
            }
            count++;
            best = tw_better(facts, &one, &best) ? one : best;
        }
    }
    if (count_p != NULL) {
        *count_p = count;
    }
    *chosen =
        wish->native && (best.codec < 0 || tw_weighed(facts, &best) >= margin * native.seconds)
            ? native
            : best;
}

tw_model_candidate_t tw_model_decide(const tw_facts_t *facts, const tw_model_wish_t *wish,
                                     tw_model_candidate_t *list, int *count_p)
{
    const tw_fpmode_t    mode = tw_fpmode_enter();
    tw_model_candidate_t chosen;

    tw_model_decide_here(facts, wish, list, count_p, &chosen);
    tw_fpmode_leave(mode);
    return chosen;
}

/* ---- classes of counts ---------------------------------------------------------------------- */

int tw_model_class(size_t count)
{
    int power = 0;

    if (count < 8) {
        return (int)count;
    }
    while (count >> power >= 8) { /* leaves 4 .. 7 */
        power++;
    }
    return 4 + 4 * power + (int)(count >> power) - 4;
}

size_t tw_model_class_count(int class_index)
{
    return class_index < 8 ? (size_t)class_index
                           : (size_t)(4 + class_index % 4) << (class_index / 4 - 1);
}
