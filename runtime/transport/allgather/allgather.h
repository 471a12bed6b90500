/* SPDX-License-Identifier: BSD-3-Clause
 * transport/allgather/allgather.h - allgather and allgatherv.
 */
#ifndef TW_TRANSPORT_ALLGATHER_ALLGATHER_H
#define TW_TRANSPORT_ALLGATHER_ALLGATHER_H

#include "runtime/transport/request.h"

enum { TW_GATHER_COUNT = 0, TW_GATHER_FIRST = 1 }; /* op->array */

extern const tw_algorithm_ops_t tw_allgather_grid;
extern const tw_algorithm_ops_t tw_allgather_node; /* in the memory of one node */
extern const tw_algorithm_ops_t tw_allgather_pairwise;

/* counts NULL: `each` values per rank; displacements NULL: one after another. */
typedef struct tw_gather_args {
    tw_comm_t      *comm;
    const char     *operation;
    const void     *send;
    void           *recv;
    size_t          each;
    const size_t   *counts, *displacements;
    const tw_how_t *how;
    size_t          piece; /* as tw_request_shape_t has it */
} tw_gather_args_t;

tw_status_t tw_gather(const tw_gather_args_t *args, tw_form_t form, tw_request_t **request_p);

#endif /* TW_TRANSPORT_ALLGATHER_ALLGATHER_H */
