/* SPDX-License-Identifier: BSD-3-Clause
 * transport/feedback.h - what stands behind tw_feedback_t.
 *
 * Both residuals are arrays over the whole vector, by position. The second is zero outside the
 * interval [second_first, second_first + second_count) that this rank owned when it was last used;
 * pages outside it were never touched and take no memory.
 */
#ifndef TW_TRANSPORT_FEEDBACK_H
#define TW_TRANSPORT_FEEDBACK_H

#include <stdint.h>

#include <thinwire/feedback.h>

#include "runtime/transport/request.h"

#define TW_FEEDBACK_NAME_MAX 64 /* with the final NUL */

struct tw_feedback {
    tw_comm_t    *comm;
    char          name[TW_FEEDBACK_NAME_MAX];
    tw_dtype_t    dtype;
    size_t        element; /* bytes */
    size_t        count;
    uint8_t      *first, *second;
    size_t        second_first, second_count;
    tw_request_t *user; /* started with it, and its caller not yet told of completion */
};

/* May an operation of this count, by this codec, use it? TW_OK, TW_ERR_INVALID_ARG, TW_ERR_BUSY. */
tw_status_t tw_feedback_check(const tw_feedback_t *fb, const tw_comm_t *comm,
                              const tw_codec_t *codec, size_t count);

/* Collective start of save, restore and norm: compare the call (THINWIRE_CHECK), agree on TW_ERR_BUSY
 * (in use), on `mine`, and on a buffer of the pool. */
tw_status_t tw_feedback_begin(tw_feedback_t *fb, const char *operation, tw_status_t mine,
                              size_t bytes, void **buffer_p);

/* The operation owns [first, first + count) of the sum (count 0: it encodes no sum): if that is new,
 * the second residual folds into the first. */
void tw_feedback_own(tw_feedback_t *fb, size_t first, size_t count);

/* Add the second residual to the first and zero it. */
void tw_feedback_fold(tw_feedback_t *fb);

#endif /* TW_TRANSPORT_FEEDBACK_H */
