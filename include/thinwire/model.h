/* SPDX-License-Identifier: BSD-3-Clause
 * thinwire/model.h - calibrating a communicator, and predicting the time of its collectives.
 *
 * The codec `auto` decides by facts (thinwire/facts.h). A communicator takes them from a file that
 * `thinwire calibrate` wrote for these hosts and this layout, or measures them, in less than 100
 * ms, when it first needs them. The tw_comm_ functions here except tw_comm_predict() are
 * collective, and give the same status and facts on all ranks (but NULL arguments: local errors).
 */
#ifndef THINWIRE_MODEL_H
#define THINWIRE_MODEL_H

#include <stddef.h>

#include <thinwire/codec.h>
#include <thinwire/comm.h>
#include <thinwire/declare.h>
#include <thinwire/facts.h>

TW_BEGIN_DECLS

/** Measure links, codecs and collectives for about `seconds`, with no operation outstanding. The
 * communicator uses the new facts from then on.
 * @param [in] seconds  0.02 .. 600; from 1 on a long measurement, whose predictions get smaller
 *                      safety margins.
 * @return TW_OK, TW_ERR_INVALID_ARG, TW_ERR_NO_MEMORY, TW_ERR_MPI, TW_ERR_TIMEOUT, TW_ERR_DEAD. */
tw_status_t tw_comm_calibrate(tw_comm_t *comm, double seconds);

/** The communicator's facts. If it has none, they are read or measured as for `auto`.
 * @param [out] facts  set only on TW_OK.
 * @return as tw_comm_calibrate(). */
tw_status_t tw_comm_get_facts(tw_comm_t *comm, tw_facts_t *facts);

/** Replace the communicator's facts by those of rank 0, for example by facts of another machine, to
 * see the decisions there. Discards earlier decisions, unless they are replayed
 * (THINWIRE_DECISIONS).
 * @return TW_OK, TW_ERR_INVALID_ARG (numbers out of range, or another number of ranks), ... */
tw_status_t tw_comm_set_facts(tw_comm_t *comm, const tw_facts_t *facts);

/** Write the facts to a file, from which communicators over the same hosts in the same layout read
 * them. The file is replaced as a whole.
 * @param [in]  path       NULL: THINWIRE_CALIBRATION, or if that is unset a generated name in the
 *                         cache folder ($XDG_CACHE_HOME/thinwire or ~/.cache/thinwire), which is
 *                         created.
 * @param [out] written    name of the file, on rank 0; may be NULL.
 * @return TW_OK, TW_ERR_INVALID_ARG, TW_ERR_IO (logged), ... */
tw_status_t tw_comm_calibration_save(tw_comm_t *comm, const char *path, char *written,
                                     size_t written_size);

/** Predicted time of a collective. Local; the communicator must have facts.
 * @param [in]  count      see tw_operation_t.
 * @param [in]  codec      float32 or double; NULL: fp32. Its spec must be one of the facts' codecs.
 * @param [in]  algorithm  as returned by tw_request_algorithm(); "mpi": MPI's own collective.
 * @param [out] seconds_p  set only on TW_OK.
 * @return TW_OK, TW_ERR_INVALID_ARG, TW_ERR_UNSUPPORTED (no facts, or none of that codec or
 *         algorithm). */
tw_status_t tw_comm_predict(const tw_comm_t *comm, tw_operation_t operation, size_t count,
                            const tw_codec_t *codec, const char *algorithm, double *seconds_p);

/** "allreduce", ...; NULL for any value that is not a tw_operation_t. The string is static. */
const char *tw_operation_name(tw_operation_t operation);

/** Name and operation of the index-th algorithm of the model, in the order of tw_facts_t.factor.
 * NULL outputs are skipped.
 * @return TW_OK, TW_ERR_RANGE. */
tw_status_t tw_model_describe(size_t index, tw_operation_t *operation_p, const char **name_p);

TW_END_DECLS

#endif /* THINWIRE_MODEL_H */
