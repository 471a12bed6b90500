/* SPDX-License-Identifier: BSD-3-Clause
 * scheduler/weights_norms.c - norms of groups from the owners' sums of squares. These are sent as
 * pairs of float32, whose bits an exchange without codec preserves.
 */
#include "config.h"

#include <math.h>
#include <string.h>

#include "runtime/base/fpmode.h"
#include "runtime/scheduler/weights.h"

static const float *tw_weights_values(const tw_weights_part_t *part, tw_weights_of_t of)
{
    return of == TW_WEIGHTS_COPIES ? part->weights + part->first : part->master;
}

static tw_status_t tw_weights_squares(tw_weights_t *w, tw_weights_of_t of)
{
    tw_status_t status = TW_OK;

    for (size_t i = 0; i < w->parts && status == TW_OK; i++) {
        double sum;

        status = tw_codec_square_sum(tw_comm_fp32(w->comm), w->how.exec,
                                     tw_weights_values(&w->part[i], of), w->part[i].own, &sum);
        memcpy(w->squares + TW_WORDS * i, &sum, sizeof(sum));
    }
    return status;
}

/* The same on the caller's stream, into pinned memory. */
static tw_status_t tw_weights_squares_device(tw_weights_t *w, tw_weights_of_t of)
{
    const tw_side_stream_t *side = &w->side;
    double                 *sum = w->device_squares, *work = sum + w->parts;
    tw_status_t             status = tw_side_zero(side, sum, w->parts * sizeof(*sum));

    for (size_t i = 0; i < w->parts && status == TW_OK; i++) {
        if (w->part[i].own > 0) {
            status = tw_side_square_sum(side, tw_weights_values(&w->part[i], of), w->part[i].own,
                                        work, sum + i);
        }
    }
    return status == TW_OK ? tw_side_copy(side, w->pinned, sum, w->parts * sizeof(*sum)) : status;
}

/* Those of this rank to all. */
static tw_status_t tw_weights_spread(tw_weights_t *w)
{
    const void          *mine = w->pinned != NULL ? w->pinned : w->squares;
    tw_collective_call_t call;

    tw_collective_begin(&call, w->comm, &tw_collective_allgather, "allgather", mine,
                        w->squares + TW_WORDS * w->parts, NULL);
    call.in.each = TW_WORDS * w->parts;
    return tw_flight_once(&w->side, &call, w->event);
}

/* In rank order; the same bits whatever the caller's floating-point mode. */
TW_IN_FPMODE static void tw_weights_add(const tw_weights_t *w, double *norms)
{
    const int size = tw_comm_size(w->comm);

    for (size_t i = 0; i < w->parts; i++) {
        double sum = 0.0;

        for (int r = 0; r < size; r++) {
            double one;

            memcpy(&one, w->squares + TW_WORDS * (w->parts * (size_t)(r + 1) + i), sizeof(one));
            sum += one;
        }
        norms[i] = sqrt(sum);
    }
}

tw_status_t tw_weights_norms(tw_weights_t *w, tw_weights_of_t of, double *norms)
{
    tw_status_t status = TW_OK;
    tw_fpmode_t mode;

    if (w == NULL || (norms == NULL && w->parts > 0) ||
        (of != TW_WEIGHTS_MASTERS && of != TW_WEIGHTS_COPIES)) {
        return TW_ERR_INVALID_ARG;
    }
    for (size_t i = 0; i < w->parts; i++) {
        if (w->part[i].wanted || w->part[i].travels) {
            return TW_ERR_BUSY;
        }
    }
    status = w->side.ops != NULL ? tw_weights_squares_device(w, of) : tw_weights_squares(w, of);
    if (status == TW_OK) {
        status = tw_weights_spread(w);
    }
    if (status == TW_OK) {
        mode = tw_fpmode_enter();
        tw_weights_add(w, norms);
        tw_fpmode_leave(mode);
    }
    return status;
}
