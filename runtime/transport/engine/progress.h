/* SPDX-License-Identifier: BSD-3-Clause
 * transport/engine/progress.h - moving operations forward, and noticing when nothing moves.
 */
#ifndef TW_TRANSPORT_ENGINE_PROGRESS_H
#define TW_TRANSPORT_ENGINE_PROGRESS_H

#include "runtime/transport/device/bounce.h"
#include "runtime/transport/device/staging.h"
#include "runtime/transport/engine/request.h"

/* Something moved just now, or a wait begins. */
void tw_comm_moved(tw_comm_t *comm);

/* A look has found nothing that moved: has that gone on for THINWIRE_TIMEOUT, as far as this
 * process looked? The one clock of all waits of the transport. */
bool tw_comm_timed_out(tw_comm_t *comm);

/* Does an operation wait for a device before it calls MPI's own collective? Whoever calls another
 * one of the communicator's does so after that, as on ranks whose device was faster. */
bool tw_comm_owes_mpi(const tw_comm_t *comm);

/* Advance everything once; give the core away where nothing moved; die after THINWIRE_TIMEOUT. */
void tw_comm_wait_some(tw_comm_t *comm);

/* Kill the communicator, naming whom it waits for, if nothing moved for THINWIRE_TIMEOUT. */
void tw_comm_check_timeout(tw_comm_t *comm);

/* The tag of the messages of a stage. */
int tw_lane_tag(const tw_request_t *op, const tw_lane_t *lane, int stage);

/* Post a message that tw_lane_send() has counted. */
tw_status_t tw_lane_post(tw_request_t *op, tw_lane_t *lane, const tw_held_t *message);

#endif /* TW_TRANSPORT_ENGINE_PROGRESS_H */
