/* SPDX-License-Identifier: BSD-3-Clause
 * scaling/step_exchange.c - the time of one exchange on other ranks and by another codec.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/dtype.h"
#include "runtime/policy/drop_in.h"
#include "scaling/step_inside.h"

/* The facts of the ranks that take part, every stride-th. Others like them do the same at the same
 * time, so that what a node has of links between nodes is shared by as many. */
static void take_part(const exchange_t *x, const tw_facts_t *all, tw_facts_t *facts)
{
    const int ranks = x->ranks < all->ranks ? x->ranks : all->ranks;
    int64_t   nodes, local;

    *facts = *all;
    if (x->ranks == 0 || ranks == all->ranks) {
        return;
    }
    nodes = x->stride < all->local_ranks ? ((int64_t)(ranks - 1) * x->stride) / all->local_ranks + 1
                                         : ranks;
    nodes = nodes < all->nodes ? nodes : all->nodes;
    local = (ranks - 1) / nodes + 1;

    facts->ranks       = ranks;
    facts->nodes       = (int)nodes;
    facts->local_ranks = (int)local;
    if (nodes > 1 && local < all->local_ranks) {
        facts->between.shared *= (double)local / all->local_ranks;
        facts->between.bandwidth = fmin(facts->between.bandwidth, facts->between.shared);
    }
}

/* Do codecs of float32 mean it without being told to (policy/drop_in.h)? */
static int is_narrow(const exchange_t *x)
{
    return tw_dtype_row(x->dtype)->in_f32;
}

/* Under the drop-in what no codec makes smaller is MPI's. Of part of the ranks, on others than were
 * measured, or more than a step of the ladder beyond it, nothing is known of that, so that it is
 * taken for the library's. */
static int is_native(const exchange_t *x, const tw_facts_t *all, const tw_facts_t *facts,
                     const step_exchange_t *found)
{
    const tw_ladder_t *ladder = &facts->native[x->operation];
    const double       value = (double)tw_dtype_size(x->dtype), bytes = found->count * value;

    return x->native && ladder->steps > 0 && bytes <= 4.0 * ladder->bytes[ladder->steps - 1] &&
           facts->ranks == all->ranks &&
           ((found->codec == NULL ? !is_narrow(x) : found->codec->bytes >= value) ||
            bytes < x->threshold);
}

static tw_status_t predict_as(const exchange_t *x, const step_case_t *how, const tw_facts_t *facts,
                              const char *spec, step_exchange_t *found)
{
    found->codec = tw_facts_codec(facts, spec, x->dtype);
    if (is_native(x, how->facts, facts, found)) {
        return tw_facts_predict(facts, x->operation, found->count, spec, x->dtype, "mpi",
                                &found->prediction);
    }
    return tw_facts_predict(facts, x->operation, found->count, spec, x->dtype,
                            x->operation == TW_OPERATION_ALLREDUCE ? how->algorithm : NULL,
                            &found->prediction);
}

/* Does `thinwire run` leave it alone? */
static int is_left(const exchange_t *x, const step_case_t *how)
{
    const double value = (double)tw_dtype_size(x->dtype);
    const double count = x->scales ? x->count * how->share : x->count;

    return x->native && (tw_drop_in_small(count * value, x->threshold) ||
                         (!is_narrow(x) &&
                          !tw_drop_in_means_doubles(
                              how->narrow, tw_facts_codec(how->facts, how->spec, TW_F32) != NULL)));
}

static int exchange_as(const exchange_t *x, const step_case_t *how, step_exchange_t *found,
                       tw_problem_t *problem)
{
    const int own =
        how->act != NULL && (strcmp(x->class, "act") == 0 || strcmp(x->class, "back") == 0);
    const int lossy = !x->plain && !is_left(x, how) &&
                      (own || !how->only_gradients || strcmp(x->class, "grad") == 0) &&
                      (is_narrow(x) || tw_facts_codec(how->facts, how->spec, x->dtype) != NULL);
    const char *weights = how->weights != NULL ? how->weights : x->codec;
    const char *spec    = own                ? how->act
                          : x->codec != NULL ? weights
                          : lossy            ? how->spec
                                             : tw_dtype_row(x->dtype)->lossless;
    tw_facts_t  facts;
    tw_status_t status;

    take_part(x, how->facts, &facts);
    *found = (step_exchange_t){.count = x->scales ? x->count * how->share : x->count,
                               .ranks = facts.ranks};
    status = facts.ranks > 1 ? predict_as(x, how, &facts, spec, found) : TW_OK;
    if (status == TW_ERR_UNSUPPORTED && !is_narrow(x)) {
        status = predict_as(x, how, &facts, tw_dtype_row(x->dtype)->lossless, found);
    }
    if (found->codec != NULL) { /* not one of what is gone */
        found->codec = tw_facts_codec(how->facts, found->codec->spec, found->codec->dtype);
    }
    if (status != TW_OK) {
        return tw_problem_set(problem, "'%.60s': nothing is known of %s%s%s%s%s on %d ranks",
                              x->name, spec, is_narrow(x) ? "" : " for ",
                              is_narrow(x) ? "" : tw_dtype_name(x->dtype),
                              how->algorithm != NULL ? " by " : "",
                              how->algorithm != NULL ? how->algorithm : "", facts.ranks);
    }
    return 0;
}

/* Doubles for which the codec has no form stay as they are, or become floats where that is asked
 * for. */
int step_exchange(const exchange_t *x, const step_case_t *how, step_exchange_t *found,
                  tw_problem_t *problem)
{
    exchange_t narrow = *x;

    if (!is_narrow(x) && x->native && how->narrow && !is_left(x, how) &&
        tw_facts_codec(how->facts, how->spec, x->dtype) == NULL &&
        tw_facts_codec(how->facts, how->spec, TW_F32) != NULL) {
        narrow.dtype = TW_F32;
    }
    return exchange_as(&narrow, how, found, problem);
}

/* Seconds in which the links carry so many bytes of every rank. */
static double carried(const tw_facts_t *facts, double bytes)
{
    return facts->nodes > 1 ? bytes * facts->local_ranks / facts->between.shared
                            : bytes / facts->inside.shared;
}

/* Messages of all ranks to their neighbours at once, each a latency and its turn on the link: those
 * that leave a node share what it has of links, the others go through its memory. Nothing is
 * compressed. */
static void messages_time(const exchange_t *x, const step_case_t *how, trip_t *trip)
{
    const tw_facts_t *facts = how->facts;
    const double      bytes = x->count * (double)tw_dtype_size(x->dtype);
    double most = 0.0, out = 0.0, inside = 0.0; /* of one rank, a node, and one in a node */
    double between_s = 0.0, inside_s = 0.0;
    const tw_link_facts_t *link;

    *trip = (trip_t){.seconds = 0.0};
    if (facts->ranks < 2) {
        return;
    }
    for (int i = 0; i < x->neighbours; i++) {
        const double part = x->to[i].part * bytes;
        const int    far =
            abs(x->to[i].offset) < facts->local_ranks ? abs(x->to[i].offset) : facts->local_ranks;

        if (facts->nodes > 1) {
            most += part;
            out += part * far;
            inside += far < facts->local_ranks ? part : 0.0;
        } else {
            inside += part;
        }
    }
    link = out > 0.0 ? &facts->between : &facts->inside;
    if (out > 0.0) {
        between_s = fmax(most / facts->between.bandwidth, out / facts->between.shared);
    }
    if (inside > 0.0 && facts->inside.bandwidth > 0.0) {
        inside_s = inside / fmin(facts->inside.bandwidth, facts->inside.shared);
    }
    trip->seconds = link->latency + (x->messages - 1) * link->message + fmax(between_s, inside_s);
    trip->links   = trip->seconds;
    trip->bytes = trip->first = most;
}

int step_trip(const exchange_t *x, const step_case_t *how, trip_t *trip, tw_problem_t *problem)
{
    step_exchange_t found;

    if (x->messages > 0) {
        messages_time(x, how, trip);
        return 0;
    }
    if (step_exchange(x, how, &found, problem) != 0) {
        return -1;
    }
    *trip = (trip_t){.seconds = found.prediction.seconds,
                     .links   = found.prediction.seconds,
                     .codec   = found.prediction.codec,
                     .busy    = found.prediction.codec + found.prediction.moving};
    if (found.ranks > 1) {
        const tw_prediction_t *prediction = &found.prediction;

        trip->bytes = trip->first =
            x->turns ? prediction->bytes_turns : x->part * prediction->bytes_sent;
        if (x->first) {
            trip->bytes = prediction->bytes_others;
            trip->first = prediction->bytes_root;
        }
    }
    if ((x->turns || x->part < 1.0) && found.ranks > 1) {
        trip->links = fmin(trip->seconds, fmax(carried(how->facts, trip->bytes), trip->busy));
    }
    return 0;
}
