/* SPDX-License-Identifier: BSD-3-Clause
 * transport/coll/bcast/bcast.h - algorithms of bcast.
 */
#ifndef TW_TRANSPORT_COLL_BCAST_BCAST_H
#define TW_TRANSPORT_COLL_BCAST_BCAST_H

#include "runtime/transport/coll/collective.h"

#define TW_BCAST_ROW(x, name, considered) extern const tw_algorithm_row_t tw_bcast_##name;
TW_BCAST_ALGORITHMS(TW_BCAST_ROW, )

#endif /* TW_TRANSPORT_COLL_BCAST_BCAST_H */
