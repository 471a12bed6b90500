/* SPDX-License-Identifier: BSD-3-Clause
 * transport/alltoall/alltoall.h - alltoall and alltoallv.
 */
#ifndef TW_TRANSPORT_ALLTOALL_ALLTOALL_H
#define TW_TRANSPORT_ALLTOALL_ALLTOALL_H

#include "runtime/transport/request.h"

enum { TW_SEND_COUNT = 0, TW_SEND_FIRST = 1, TW_RECV_COUNT = 2, TW_RECV_FIRST = 3 }; /* op->array */

extern const tw_algorithm_ops_t tw_alltoall_grid;      /* equal counts only */
extern const tw_algorithm_ops_t tw_alltoall_node;      /* the same, in the memory of one node */
extern const tw_algorithm_ops_t tw_alltoall_read_node; /* one round                       */
extern const tw_algorithm_ops_t tw_alltoall_pairwise;

/* What goes to, or comes from, each rank: counts NULL: `each`; displacements NULL: one after
 * another. */
typedef struct tw_blocks {
    size_t        each;
    const size_t *counts, *displacements;
} tw_blocks_t;

typedef struct tw_alltoall_args {
    tw_comm_t      *comm;
    const char     *operation;
    const void     *send;
    void           *recv;
    tw_blocks_t     out, in;
    const tw_how_t *how;
    size_t          piece; /* as tw_request_shape_t has it */
} tw_alltoall_args_t;

tw_status_t tw_alltoall_any(const tw_alltoall_args_t *args, tw_form_t form,
                            tw_request_t **request_p);

#endif /* TW_TRANSPORT_ALLTOALL_ALLTOALL_H */
