/* SPDX-License-Identifier: BSD-3-Clause
 * transport/engine/progress.h - progress of operations, and detection of stalls.
 */
#ifndef TW_TRANSPORT_ENGINE_PROGRESS_H
#define TW_TRANSPORT_ENGINE_PROGRESS_H

#include "runtime/transport/engine/bounce.h"
#include "runtime/transport/engine/staging.h"
#include "runtime/transport/engine/request.h"

extern const tw_engine_ops_t tw_engine;

/* tw_engine_ops_t.progress and .wait_some. */
void tw_engine_progress(tw_comm_t *comm, bool *moved_p);
void tw_engine_wait_some(tw_comm_t *comm);
void tw_engine_wait_briefly(tw_comm_t *comm); /* at most about 1 ms */

/* tw_engine_ops_t.pending, .computes and .descriptor: stalled.c. */
int  tw_engine_pending(const tw_comm_t *comm);
bool tw_engine_computes(const tw_comm_t *comm);
int  tw_engine_descriptor(tw_comm_t *comm);

/* Kill the communicator after THINWIRE_TIMEOUT without progress; log the ranks it waits for. */
void tw_engine_check_timeout(tw_comm_t *comm);

/* The tag of the messages of a stage. */
int tw_lane_tag(const tw_request_t *op, const tw_lane_t *lane, int stage);

/* Post a message whose bytes tw_lane_send() has counted. */
tw_status_t tw_lane_post(tw_request_t *op, tw_lane_t *lane, const tw_held_t *message);

#endif /* TW_TRANSPORT_ENGINE_PROGRESS_H */
