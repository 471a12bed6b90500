/* SPDX-License-Identifier: BSD-3-Clause
 * scheduler/weights_norms.c - norms of groups from the owners' sums of squares. These travel as pairs of
 * float32, whose bits an exchange without codec keeps.
 */
#include "config.h"

#include <math.h>
#include <string.h>

#include "runtime/base/fpmode.h"
#include "runtime/scheduler/weights.h"

#define TW_WORDS (sizeof(double) / sizeof(float))

static tw_status_t tw_weights_square(const tw_weights_t *w, size_t i, tw_weights_of_t of,
                                     double *sum_p)
{
    const tw_weights_part_t *part = &w->part[i];

    return tw_codec_square_sum(w->comm->fp32, w->how.exec,
                               of == TW_WEIGHTS_COPIES ? part->weights + part->first : part->master,
                               part->own, sum_p);
}

/* In rank order; the same bits whatever the caller's floating-point mode. */
TW_IN_FPMODE static void tw_weights_add(const tw_weights_t *w, double *norms)
{
    for (size_t i = 0; i < w->parts; i++) {
        double sum = 0.0;

        for (int r = 0; r < w->comm->size; r++) {
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
    if (w->device) {
        return TW_ERR_UNSUPPORTED;
    }
    for (size_t i = 0; i < w->parts; i++) {
        if (w->part[i].wanted || w->part[i].travels) {
            return TW_ERR_BUSY;
        }
    }
    for (size_t i = 0; i < w->parts && status == TW_OK; i++) {
        double sum;

        status = tw_weights_square(w, i, of, &sum);
        memcpy(w->squares + TW_WORDS * i, &sum, sizeof(sum));
    }
    if (status == TW_OK) {
        status = tw_allgather(w->comm, w->squares, w->squares + TW_WORDS * w->parts,
                              TW_WORDS * w->parts, NULL);
    }
    if (status == TW_OK) {
        mode = tw_fpmode_enter();
        tw_weights_add(w, norms);
        tw_fpmode_leave(mode);
    }
    return status;
}
