/* SPDX-License-Identifier: BSD-3-Clause
 * thinwire/model.h - measuring a communicator, and predicting what its collectives take.
 *
 * The codec `auto` decides by facts (thinwire/facts.h) that every communicator which is asked for
 * it has: from a file that `thinwire calibrate` wrote for these hosts and this layout, or from a
 * measurement of less than 100 ms when it is first needed. All functions here but tw_comm_predict()
 * are collective, and give the same status and the same facts on all ranks.
 */
#ifndef THINWIRE_MODEL_H
#define THINWIRE_MODEL_H

#include <stddef.h>

#include <thinwire/codec.h>
#include <thinwire/comm.h>
#include <thinwire/declare.h>
#include <thinwire/facts.h>

TW_BEGIN_DECLS

/** Measure links, codecs and collectives for about `seconds`, with nothing else outstanding, and
 * let the communicator decide by that from now on.
 * @param [in] seconds  0.02 .. 600; from 1 on it is the long form, whose predictions are trusted
 *                      more.
 * @return TW_OK, TW_ERR_INVALID_ARG, TW_ERR_NO_MEMORY, TW_ERR_MPI, TW_ERR_TIMEOUT, TW_ERR_DEAD. */
tw_status_t tw_comm_calibrate(tw_comm_t *comm, double seconds);

/** The facts that the communicator has; where it has none, they are read or measured as `auto`
 * would.
 * @param [out] facts  set only on TW_OK.
 * @return as tw_comm_calibrate(). */
tw_status_t tw_comm_get_facts(tw_comm_t *comm, tw_facts_t *facts);

/** Give facts to the communicator, those of rank 0 to all ranks: of another machine, to see what
 * would be decided there. Decisions that were made are made again, unless they are replayed.
 * @return TW_OK, TW_ERR_INVALID_ARG (numbers out of range, or of another number of ranks), ... */
tw_status_t tw_comm_set_facts(tw_comm_t *comm, const tw_facts_t *facts);

/** Write the facts to a file, from which communicators over the same hosts in the same layout take
 * them. The file is replaced as a whole.
 * @param [in]  path       NULL: THINWIRE_CALIBRATION, or else a name of its own in the cache folder
 *                         ($XDG_CACHE_HOME/thinwire or ~/.cache/thinwire), which is made.
 * @param [out] written    name of the file, on rank 0; may be NULL.
 * @return TW_OK, TW_ERR_INVALID_ARG, TW_ERR_IO (logged), ... */
tw_status_t tw_comm_calibration_save(tw_comm_t *comm, const char *path, char *written,
                                     size_t written_size);

/** What a collective is predicted to take. Local; the communicator must have facts.
 * @param [in]  count      as tw_operation_t says.
 * @param [in]  codec      float32 or double; NULL: fp32. Of those that the facts know (their
 *                         specs).
 * @param [in]  algorithm  as tw_request_algorithm() names it; "mpi": MPI's own collective.
 * @param [out] seconds_p  set only on TW_OK.
 * @return TW_OK, TW_ERR_INVALID_ARG, TW_ERR_UNSUPPORTED (no facts, or none of that codec or
 *         algorithm). */
tw_status_t tw_comm_predict(const tw_comm_t *comm, tw_operation_t operation, size_t count,
                            const tw_codec_t *codec, const char *algorithm, double *seconds_p);

/** "allreduce", ...; NULL for a value that is no tw_operation_t. */
const char *tw_operation_name(tw_operation_t operation);

/** Name of the index-th algorithm of the model and its operation, in the order of
 * tw_facts_t.factor.
 * @return TW_OK, TW_ERR_RANGE. */
tw_status_t tw_model_describe(size_t index, tw_operation_t *operation_p, const char **name_p);

TW_END_DECLS

#endif /* THINWIRE_MODEL_H */
