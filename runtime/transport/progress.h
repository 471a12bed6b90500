/* SPDX-License-Identifier: BSD-3-Clause
 * transport/progress.h - moving operations forward, and noticing when nothing moves.
 */
#ifndef TW_TRANSPORT_PROGRESS_H
#define TW_TRANSPORT_PROGRESS_H

#include "runtime/transport/request.h"

/* Something moved just now. */
void tw_comm_moved(tw_comm_t *comm);

/* Advance everything once; give the core away where nothing moved; die after THINWIRE_TIMEOUT. */
void tw_comm_wait_some(tw_comm_t *comm);

/* Kill the communicator, naming whom it waits for, if nothing moved for THINWIRE_TIMEOUT. */
void tw_comm_check_timeout(tw_comm_t *comm);

#endif /* TW_TRANSPORT_PROGRESS_H */
