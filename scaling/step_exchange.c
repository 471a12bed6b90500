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
#include "scaling/owners.h"
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

/* Has each of them a form for it? */
static int has_every_codec(const exchange_t *x)
{
    return is_narrow(x) && tw_dtype_row(x->dtype)->sum == x->dtype;
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

/* Of owners. The first has the most. */
static tw_status_t predict_shares(const exchange_t *x, const step_case_t *how,
                                  const tw_facts_t *facts, const char *spec, step_exchange_t *found)
{
    const char *blocks = x->blocks != NULL && how->weights != NULL ? how->weights : x->blocks;
    const tw_codec_facts_t *codec = blocks != NULL ? tw_facts_codec(facts, blocks, x->dtype) : NULL;
    const size_t unit = codec != NULL && codec->block > OWNERS_UNIT ? codec->block : OWNERS_UNIT;
    const double all  = found->count;
    const tw_status_t status =
        tw_facts_predict_shares(facts, x->operation, all, unit, spec, x->dtype, &found->prediction);

    if (x->operation == TW_OPERATION_ALLGATHER) {
        found->count = owners_share(all, (double)unit, facts->ranks);
    }
    return status;
}

/* A training takes what the library takes by itself; gradients are added in one order, whatever
 * their length. */
static const char *algorithm_of(const exchange_t *x, const step_case_t *how,
                                const tw_facts_t *facts)
{
    const int last = facts->ranks - (facts->nodes - 1) * facts->local_ranks; /* of the last node */

    if (x->operation == TW_OPERATION_ALLREDUCE && how->algorithm != NULL) {
        return how->algorithm;
    }
    if (x->ordered && facts->nodes > 1 && last > 1) {
        return "hierarchical";
    }
    return x->usual ? "usual" : NULL;
}

static tw_status_t predict_as(const exchange_t *x, const step_case_t *how, const tw_facts_t *facts,
                              const char *spec, step_exchange_t *found)
{
    found->codec = tw_facts_codec(facts, spec, x->dtype);
    if (is_native(x, how->facts, facts, found)) {
        return tw_facts_predict(facts, x->operation, found->count, spec, x->dtype, "mpi",
                                &found->prediction);
    }
    if (x->shares) {
        return predict_shares(x, how, facts, spec, found);
    }
    return tw_facts_predict(facts, x->operation, found->count, spec, x->dtype,
                            algorithm_of(x, how, facts), &found->prediction);
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
    const int lossy =
        !x->plain && !is_left(x, how) &&
        (own || !how->only_gradients || strcmp(x->class, "grad") == 0) &&
        (has_every_codec(x) || tw_facts_codec(how->facts, how->spec, x->dtype) != NULL);
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
    if (status == TW_ERR_UNSUPPORTED && !has_every_codec(x)) {
        status = predict_as(x, how, &facts, tw_dtype_row(x->dtype)->lossless, found);
    }
    if (found->codec != NULL) { /* not one of what is gone */
        found->codec = tw_facts_codec(how->facts, found->codec->spec, found->codec->dtype);
    }
    if (status != TW_OK) {
        return tw_problem_set(problem, "'%.60s': nothing is known of %s%s%s%s%s on %d ranks",
                              x->name, spec, has_every_codec(x) ? "" : " for ",
                              has_every_codec(x) ? "" : tw_dtype_name(x->dtype),
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

/* Seconds in which the link of a node, or of a rank inside one, carries so many bytes. */
static double carried(const tw_facts_t *facts, double bytes)
{
    return bytes / (facts->nodes > 1 ? facts->between.shared : facts->inside.shared);
}

/* What leaves the first node, and the busiest other; where there is one node, a rank. Of part of
 * the ranks, others on the node do the same, or nothing leaves it. */
static void trip_bytes(const exchange_t *x, const tw_facts_t *all_ranks, const tw_facts_t *facts,
                       const tw_prediction_t *p, trip_t *trip)
{
    const double  alike = facts->nodes > 1 ? (double)all_ranks->local_ranks / facts->local_ranks
                          : all_ranks->nodes > 1 ? 0.0
                                                 : 1.0;
    const double *turns = p->bytes_network_turns, *all = p->bytes_network;
    const double  alone = x->turns ? p->bytes_turns : p->bytes_sent;
    const double  ranks = p->bytes_sent > 0.0 ? all[0] / p->bytes_sent : 0.0;

    trip->first = x->part * (facts->nodes < 2 ? alone : x->turns ? turns[0] : all[0]);
    trip->bytes = x->part * (facts->nodes < 2 ? alone : x->turns ? turns[1] : all[1]);
    if (x->first) { /* the root has as many ranks beside it as others */
        trip->first = p->bytes_root * (facts->nodes < 2 ? 1.0 : ranks);
        trip->bytes = p->bytes_others * (facts->nodes < 2 ? 1.0 : ranks);
    }
    trip->first *= alike;
    trip->bytes *= alike;
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
    trip->bytes = trip->first = facts->nodes > 1 ? out : most;
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
        tw_facts_t facts;

        take_part(x, how->facts, &facts);
        trip_bytes(x, how->facts, &facts, &found.prediction, trip);
    }
    if ((x->turns || x->part < 1.0) && found.ranks > 1) {
        trip->links = fmin(trip->seconds, fmax(carried(how->facts, trip->bytes), trip->busy));
    }
    return 0;
}
