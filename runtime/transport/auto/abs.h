/* SPDX-License-Identifier: BSD-3-Clause
 * transport/auto/abs.h - the codec `abs:E`: collectives whose results are within E of the exact
 * ones in every call. All are without loss.
 */
#ifndef TW_TRANSPORT_AUTO_ABS_H
#define TW_TRANSPORT_AUTO_ABS_H

#include "runtime/transport/coll/collective.h"

/* Is the codec of a call `abs`? */
bool tw_abs_asked(const tw_how_t *how);

/* Such a call, checked. Where it has to be lossless, *done_p is false and *how_p the way without
 * loss: the driver goes on. Else it was executed. */
tw_status_t tw_abs_take(const tw_collective_call_t *call, tw_form_t form, tw_how_t *how_p,
                        bool *done_p);

#endif /* TW_TRANSPORT_AUTO_ABS_H */
