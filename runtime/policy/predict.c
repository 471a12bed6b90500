/* SPDX-License-Identifier: BSD-3-Clause
 * policy/predict.c - what collectives take on ranks that are not at hand: the functions of
 * thinwire/facts.h.
 */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <thinwire/facts.h>

#include "runtime/base/file.h"
#include "runtime/base/fpmode.h"
#include "runtime/base/dtype.h"
#include "runtime/policy/model.h"
#include "runtime/policy/policy.h"

tw_status_t tw_facts_load(const char *path, tw_facts_t *facts, char *why, size_t why_size)
{
    tw_facts_key_t key;
    char          *text = NULL;
    size_t         length;
    bool           good;

    if (path == NULL || facts == NULL || why == NULL || why_size == 0) {
        return TW_ERR_INVALID_ARG;
    }
    if (!tw_file_read(path, TW_FACTS_MAX, &text, &length)) {
        snprintf(why, why_size, "%s", strerror(errno));
        return errno == ENOMEM ? TW_ERR_NO_MEMORY : TW_ERR_IO;
    }
    good = tw_facts_read(text, length, facts, &key, why, why_size);
    free(text);
    return good ? TW_OK : TW_ERR_IO;
}

const tw_codec_facts_t *tw_facts_codec(const tw_facts_t *facts, const char *spec, tw_dtype_t dtype)
{
    for (int c = 0; c < facts->codecs; c++) {
        if (strcmp(facts->codec[c].spec, spec) == 0 && facts->codec[c].dtype == dtype) {
            return &facts->codec[c];
        }
    }
    return NULL;
}

/* Of float32, in a message as counted. */
enum { MESSAGE_VALUES = TW_CHUNK / 4 };

/* One algorithm, if it can serve. */
static void consider(int index, tw_model_query_t *query, tw_prediction_t *best)
{
    const tw_model_algorithm_t *row = tw_model_algorithm(index);
    double                      seconds;
    size_t                      own;

    query->fragment = TW_FRAGMENT;
    own             = tw_model_cost(index, query).fragment;
    query->fragment = own > 0 ? own : TW_FRAGMENT;
    seconds         = tw_model_predict(index, query);
    if (seconds < best->seconds) {
        const tw_model_cost_t cost  = tw_model_cost(index, query);
        const double          bytes = query->count * query->codec->bytes;

        *best = (tw_prediction_t){.algorithm    = row->name,
                                  .seconds      = seconds,
                                  .codec        = cost.codec,
                                  .bytes_sent   = cost.sent * query->count * query->codec->bytes,
                                  .bytes_root   = cost.root * bytes,
                                  .bytes_others = cost.others * bytes,
                                  .bytes_turns  = cost.turns * bytes,
                                  .messages     = query->facts->ranks * (1.0 + cost.messages) *
                                              ceil(cost.longest / MESSAGE_VALUES)};
        for (int i = 0; i < 2; i++) {
            best->bytes_network[i]       = cost.network[i] * bytes;
            best->bytes_network_turns[i] = cost.network_turns[i] * bytes;
        }
        best->moving = tw_model_moving(query->facts, best->bytes_sent);
    }
}

/* What a call takes that names nothing. */
static const char *usual_algorithm(tw_operation_t operation, const tw_model_query_t *query)
{
    const tw_codec_facts_t *codec = query->codec;

    return tw_policy_usual(operation, (size_t)(query->count * codec->bytes),
                           codec->max_error == 0.0 &&
                               codec->bytes == (double)tw_dtype_size(codec->dtype),
                           query->facts);
}

TW_IN_FPMODE static void predict_here(tw_operation_t operation, const char *algorithm,
                                      tw_model_query_t *query, tw_prediction_t *best)
{
    for (int i = 0; tw_model_algorithm(i) != NULL; i++) {
        const tw_model_algorithm_t *row = tw_model_algorithm(i);

        if (row->operation == operation &&
            (algorithm != NULL ? strcmp(row->name, algorithm) == 0
                               : tw_model_considered(i, query->facts))) {
            consider(i, query, best);
        }
    }
}

tw_status_t tw_model_prediction(tw_operation_t operation, const char *algorithm,
                                tw_model_query_t *query, tw_prediction_t *prediction)
{
    const tw_fpmode_t mode = tw_fpmode_enter();
    tw_prediction_t   best = {.seconds = INFINITY};

    if (algorithm != NULL && strcmp(algorithm, "usual") == 0) {
        algorithm = usual_algorithm(operation, query);
    }

    predict_here(operation, algorithm, query, &best);
    tw_fpmode_leave(mode);
    if (best.algorithm == NULL) {
        return TW_ERR_UNSUPPORTED;
    }
    *prediction = best;
    return TW_OK;
}

/* MPI's own collective. What it sends nobody counts: as little as an algorithm of the library
 * would. */
static tw_status_t predict_native(const tw_facts_t *facts, tw_operation_t operation, double count,
                                  tw_dtype_t dtype, tw_prediction_t *prediction)
{
    const double           value = (double)tw_dtype_size(dtype);
    const tw_codec_facts_t plain = {.dtype = dtype, .bytes = value, .block = 1};
    const tw_model_query_t query = {.facts    = facts,
                                    .codec    = &plain,
                                    .count    = count,
                                    .chunk    = TW_CHUNK,
                                    .fragment = TW_FRAGMENT};
    const tw_fpmode_t      mode  = tw_fpmode_enter();
    tw_prediction_t        found = {.algorithm  = "mpi",
                                    .seconds    = tw_model_native(facts, operation, count * value),
                                    .bytes_sent = INFINITY};

    for (int i = 0; tw_model_algorithm(i) != NULL; i++) {
        if (tw_model_algorithm(i)->operation == operation) {
            const tw_model_cost_t cost = tw_model_cost(i, &query);

            if (isfinite(cost.latencies) && cost.sent * count * value < found.bytes_sent) {
                found.bytes_sent = cost.sent * count * value;
                for (int k = 0; k < 2; k++) {
                    found.bytes_network[k] = found.bytes_network_turns[k] =
                        cost.network[k] * count * value;
                }
            }
        }
    }
    found.bytes_root = found.bytes_others = found.bytes_turns = found.bytes_sent;
    found.moving = tw_model_moving(facts, found.bytes_sent);
    tw_fpmode_leave(mode);
    if (isinf(found.seconds)) {
        return TW_ERR_UNSUPPORTED;
    }
    *prediction = found;
    return TW_OK;
}

static bool may_predict(const tw_facts_t *facts, tw_operation_t operation, double count,
                        const char *spec, tw_dtype_t dtype, const tw_prediction_t *prediction)
{
    return facts != NULL && spec != NULL && prediction != NULL && operation >= 0 &&
           operation < TW_OPERATIONS && tw_dtype_row(dtype) != NULL && count >= 0.0 &&
           !isinf(count) && tw_facts_valid(facts);
}

tw_status_t tw_facts_predict(const tw_facts_t *facts, tw_operation_t operation, double count,
                             const char *spec, tw_dtype_t dtype, const char *algorithm,
                             tw_prediction_t *prediction)
{
    tw_model_query_t query = {.facts = facts, .count = count, .chunk = TW_CHUNK};

    if (!may_predict(facts, operation, count, spec, dtype, prediction)) {
        return TW_ERR_INVALID_ARG;
    }
    if (algorithm != NULL && strcmp(algorithm, "mpi") == 0) {
        return predict_native(facts, operation, count, dtype, prediction);
    }
    query.codec = tw_facts_codec(facts, spec, dtype);
    return query.codec != NULL ? tw_model_prediction(operation, algorithm, &query, prediction)
                               : TW_ERR_UNSUPPORTED;
}

tw_status_t tw_facts_predict_shares(const tw_facts_t *facts, tw_operation_t operation, double count,
                                    size_t unit, const char *spec, tw_dtype_t dtype,
                                    tw_prediction_t *prediction)
{
    const double     whole = unit > 1 ? (double)unit : 1.0;
    tw_model_query_t query = {.facts = facts, .count = count, .chunk = TW_CHUNK, .unit = whole};

    if (!may_predict(facts, operation, count, spec, dtype, prediction) ||
        (operation != TW_OPERATION_REDUCE_SCATTER && operation != TW_OPERATION_ALLGATHER)) {
        return TW_ERR_INVALID_ARG;
    }
    if (operation == TW_OPERATION_ALLGATHER) {
        const double share = ceil(ceil(count / whole) / facts->ranks) * whole;

        query.whole = count;
        query.count = share < count ? share : count;
    }
    query.codec = tw_facts_codec(facts, spec, dtype);
    return query.codec != NULL ? tw_model_prediction(operation, "usual", &query, prediction)
                               : TW_ERR_UNSUPPORTED;
}
