/* SPDX-License-Identifier: BSD-3-Clause
 * thinwire/feedback.h - error feedback: the quantisation error is added to the next input.
 *
 * Source: Seide et al. 2014; S1 section 4.5. One object per tensor, identified by a name, not by a
 * buffer address. It holds two residuals, both in units of the sum (an average divides after
 * decoding): the first of the rank's own contribution, over the whole vector; the second of the sum
 * that the rank re-encodes, over the interval that the rank owns in the algorithm last used. When
 * algorithm, owners or ranks change, the second is added to the first at the same positions.
 *
 * Residuals follow the operations' buffers. An operation on device memory copies them to the device
 * (both: 2 x count elements of device memory, kept until tw_feedback_destroy()). An operation on
 * host memory, and every function below that reads or changes them, copies them back. Both copies
 * wait.
 */
#ifndef THINWIRE_FEEDBACK_H
#define THINWIRE_FEEDBACK_H

#include <stddef.h>
#include <stdio.h>

#include <thinwire/codec.h>
#include <thinwire/comm.h>
#include <thinwire/declare.h>

TW_BEGIN_DECLS

typedef struct tw_feedback tw_feedback_t;

/** Create a feedback object for vectors of count elements, with zero residuals. Collective: the
 * ranks agree that all have the memory, at most 2 x count elements each.
 * @param [in]  name    1 to 63 printable characters without blanks, copied; used in files and
 *                      logs.
 * @param [in]  dtype   the dtype of the codec. Residuals have it, too; of 16-bit elements they are
 *                      TW_F32, and so is the object.
 * @param [out] fb_p    set only on TW_OK; release with tw_feedback_destroy().
 * @return TW_OK, TW_ERR_INVALID_ARG, TW_ERR_NO_MEMORY, TW_ERR_MISMATCH, TW_ERR_MPI, TW_ERR_TIMEOUT,
 *         TW_ERR_DEAD. */
tw_status_t tw_feedback_create(tw_comm_t *comm, const char *name, tw_dtype_t dtype, size_t count,
                               tw_feedback_t **fb_p);

/** Release; local; NULL is allowed. No outstanding operation may use the object. */
void tw_feedback_destroy(tw_feedback_t *fb);

/** Set both residuals to zero. Local; call it on all ranks.
 * @return TW_OK, TW_ERR_INVALID_ARG, TW_ERR_BUSY (an operation with it is not completed); of
 *         residuals in device memory TW_ERR_IO (the device failed; the communicator is dead). */
tw_status_t tw_feedback_clear(tw_feedback_t *fb);

/** Euclidean norm of the ranks' total residual: of the vector
 * sum over ranks (first + second). Collective; the same bits on every rank.
 * @return as tw_feedback_save(), without stream errors. */
tw_status_t tw_feedback_norm(tw_feedback_t *fb, double *norm_p);

/** Copy this rank's residual, first + second, into out[count] (of the dtype of residuals).
 * Local.
 * @return TW_OK, TW_ERR_INVALID_ARG, TW_ERR_BUSY (an operation with it is not completed); of
 *         residuals in device memory TW_ERR_IO (the device failed; the communicator is dead). */
tw_status_t tw_feedback_read(const tw_feedback_t *fb, void *out);

/** Write the residuals of all ranks. Collective; only rank 0 uses the stream.
 * @param [in] stream  binary, open for writing, on rank 0; ignored elsewhere.
 * @return the same on every rank: TW_OK, TW_ERR_INVALID_ARG (no stream), TW_ERR_BUSY (in use),
 *         TW_ERR_IO, TW_ERR_NO_MEMORY, TW_ERR_MPI, TW_ERR_TIMEOUT, TW_ERR_DEAD. */
tw_status_t tw_feedback_save(tw_feedback_t *fb, FILE *stream);

/** How tw_feedback_restore() converts a file written by another number of ranks. */
typedef enum tw_feedback_use {
    TW_FEEDBACK_SUM = 0, /* keep the sum of the residuals over the ranks */
    TW_FEEDBACK_AVERAGE =
        1 /* scale by ranks now / ranks then: keep the pending average as it was */
} tw_feedback_use_t;

/** Restore what tw_feedback_save() wrote, from the stream's position, on any number of ranks.
 * Same number of ranks: bit-identical, second residual included. Otherwise second residuals are
 * added to the first, and the old ranks' vectors are added up by (old rank mod ranks now).
 * Nothing changes unless TW_OK is returned. Collective; only rank 0 uses the stream.
 * @return the same on every rank: TW_OK, TW_ERR_IO, TW_ERR_FORMAT (not such a file, another name,
 *         type or count, or damaged), and as tw_feedback_save(). */
tw_status_t tw_feedback_restore(tw_feedback_t *fb, FILE *stream, tw_feedback_use_t use);

TW_END_DECLS

#endif /* THINWIRE_FEEDBACK_H */
