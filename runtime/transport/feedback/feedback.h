/* SPDX-License-Identifier: BSD-3-Clause
 * transport/feedback/feedback.h - the definition of tw_feedback_t.
 *
 * Both residuals are arrays over the whole vector. The second is zero outside the interval
 * [second_first, second_first + second_count) that this rank owned when it was last used; host
 * pages that this rank never owned are never written and use no memory. Both are in host memory, or
 * both in device memory.
 */
#ifndef TW_TRANSPORT_FEEDBACK_FEEDBACK_H
#define TW_TRANSPORT_FEEDBACK_FEEDBACK_H

#include <stdint.h>
#include <string.h>

#include <thinwire/collective.h>
#include <thinwire/feedback.h>

#include "runtime/base/dtype.h"
#include "runtime/transport/comm/comm.h"

#define TW_FEEDBACK_NAME_MAX 64 /* with the final NUL */

struct tw_feedback {
    tw_comm_t            *comm;
    char                  name[TW_FEEDBACK_NAME_MAX];
    tw_dtype_t            dtype;
    const tw_dtype_row_t *type;
    size_t                element; /* bytes */
    size_t                count;
    uint8_t      *first, *second; /* the current residuals: host[] or device[]                 */
    uint8_t      *host[2];
    void         *device[2]; /* allocated by the first operation on device memory            */
    bool          on_device;
    tw_codec_t   *adder; /* adds the second to the first on the device                  */
    size_t        second_first, second_count;
    tw_request_t *user; /* a started request, whose completion was not reported yet   */
};

/* May an operation with this count and codec use it? TW_OK, TW_ERR_INVALID_ARG, TW_ERR_BUSY. */
tw_status_t tw_feedback_check(const tw_feedback_t *fb, const tw_comm_t *comm,
                              const tw_codec_t *codec, size_t count);

/* Collective start of save, restore and norm: compare the call (THINWIRE_CHECK), agree on
 * TW_ERR_BUSY (in use), on `mine`, and on a buffer of the pool. */
tw_status_t tw_feedback_begin(tw_feedback_t *fb, const char *operation, tw_status_t mine,
                              size_t bytes, void **buffer_p);

/* An operation starts: move the residuals to the memory of its buffers, device memory (*device) or
 * host memory (NULL). The operation owns [first, first + count) of the sum (count 0: it encodes no
 * sum); if the interval has changed, the second residual is folded into the first. */
tw_status_t tw_feedback_own(tw_feedback_t *fb, const tw_exec_t *device, size_t first, size_t count);

/* feedback_device.c. A failure kills the communicator, except in tw_feedback_reserve_device(),
 * which is local: TW_ERR_NO_MEMORY (logged). */
tw_status_t tw_feedback_reserve_device(tw_feedback_t *fb);
void        tw_feedback_release_device(tw_feedback_t *fb);
tw_status_t tw_feedback_to_device(tw_feedback_t *fb); /* memory is reserved */
tw_status_t tw_feedback_to_host(tw_feedback_t *fb);
tw_status_t tw_feedback_fold_device(tw_feedback_t *fb, const tw_exec_t *exec);

/* The device was reset: residuals in device memory are lost and become zeros in host memory. */
void tw_feedback_forget_device(tw_feedback_t *fb);

#endif /* TW_TRANSPORT_FEEDBACK_FEEDBACK_H */
