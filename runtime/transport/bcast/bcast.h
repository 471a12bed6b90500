/* SPDX-License-Identifier: BSD-3-Clause
 * transport/bcast/bcast.h - algorithms of bcast.
 */
#ifndef TW_TRANSPORT_BCAST_BCAST_H
#define TW_TRANSPORT_BCAST_BCAST_H

#include "runtime/transport/request.h"

extern const tw_algorithm_ops_t tw_bcast_tree, tw_bcast_chain, tw_bcast_node, tw_bcast_read;
extern const tw_algorithm_ops_t tw_bcast_hierarchical_tree, tw_bcast_hierarchical_chain;

#endif /* TW_TRANSPORT_BCAST_BCAST_H */
