/* SPDX-License-Identifier: BSD-3-Clause
 * transport/auto/model.c - the calls of thinwire/model.h.
 */
#include "config.h"

#include <math.h>
#include <string.h>

#include <thinwire/model.h>

#include "runtime/codec/auto.h"
#include "runtime/transport/auto/auto.h"
#include "runtime/transport/auto/calibrate.h"

tw_status_t tw_comm_calibrate(tw_comm_t *comm, double seconds)
{
    tw_facts_t  facts;
    tw_status_t status = tw_comm_check(comm);

    if (status != TW_OK) {
        return status;
    }
    if (!(seconds >= 0.02 && seconds <= 600.0)) {
        return TW_ERR_INVALID_ARG;
    }
    status = tw_calibrate(comm, seconds, &facts);
    return status == TW_OK ? tw_auto_learn(comm, &facts) : status;
}

tw_status_t tw_comm_get_facts(tw_comm_t *comm, tw_facts_t *facts)
{
    tw_status_t status = tw_comm_check(comm);

    if (status == TW_OK && facts == NULL) {
        status = TW_ERR_INVALID_ARG;
    }
    if (status == TW_OK) {
        status = tw_auto_know(comm);
    }
    if (status == TW_OK) {
        *facts = comm->autos->facts;
    }
    return status;
}

tw_status_t tw_comm_set_facts(tw_comm_t *comm, const tw_facts_t *facts)
{
    tw_facts_t  shared;
    tw_status_t status = tw_comm_check(comm);

    if (status != TW_OK) {
        return status;
    }
    if (facts == NULL) {
        return TW_ERR_INVALID_ARG;
    }
    shared = *facts;
    status = tw_calibration_share(comm, &shared);
    if (status == TW_OK && (!tw_facts_valid(&shared) || shared.ranks != comm->size)) {
        status = TW_ERR_INVALID_ARG;
    }
    return status == TW_OK ? tw_auto_learn(comm, &shared) : status;
}

tw_status_t tw_comm_calibration_save(tw_comm_t *comm, const char *path, char *written,
                                     size_t written_size)
{
    tw_status_t status = tw_comm_check(comm);

    if (status == TW_OK) {
        status = tw_auto_know(comm);
    }
    return status == TW_OK
               ? tw_calibration_save(comm, &comm->autos->facts, path, written, written_size)
               : status;
}

tw_status_t tw_comm_predict(const tw_comm_t *comm, tw_operation_t operation, size_t count,
                            const tw_codec_t *codec, const char *algorithm, double *seconds_p)
{
    tw_model_query_t query = {0};
    tw_prediction_t  prediction;
    tw_status_t      status;
    double           wish;

    if (comm == NULL || algorithm == NULL || seconds_p == NULL || operation < 0 ||
        operation >= TW_OPERATIONS) {
        return TW_ERR_INVALID_ARG;
    }
    codec = codec != NULL ? codec : comm->fp32;
    if (!comm->autos->known || (tw_codec_auto(codec, &wish) && strcmp(algorithm, "mpi") != 0)) {
        return TW_ERR_UNSUPPORTED;
    }
    if (strcmp(algorithm, "mpi") == 0) {
        *seconds_p =
            tw_model_native(&comm->autos->facts, operation, (double)count * (double)codec->element);
        return isfinite(*seconds_p) ? TW_OK : TW_ERR_UNSUPPORTED;
    }
    query.codec = tw_facts_codec(&comm->autos->facts, tw_codec_spec(codec), codec->dtype);
    if (query.codec == NULL) {
        return TW_ERR_UNSUPPORTED;
    }
    query.facts = &comm->autos->facts;
    query.count = (double)count;
    query.chunk = comm->config.chunk;
    status      = tw_model_prediction(operation, algorithm, &query, &prediction);
    if (status == TW_OK) {
        *seconds_p = prediction.seconds;
    }
    return status;
}

const char *tw_operation_name(tw_operation_t operation)
{
    return operation >= 0 && operation < TW_OPERATIONS ? tw_model_operations[operation] : NULL;
}

tw_status_t tw_model_describe(size_t index, tw_operation_t *operation_p, const char **name_p)
{
    const tw_model_algorithm_t *row =
        index < TW_FACTS_FACTORS ? tw_model_algorithm((int)index) : NULL;

    if (row == NULL) {
        return TW_ERR_RANGE;
    }
    if (operation_p != NULL) {
        *operation_p = row->operation;
    }
    if (name_p != NULL) {
        *name_p = row->name;
    }
    return TW_OK;
}
