/* SPDX-License-Identifier: BSD-3-Clause
 * interpose/mpi/vectors.h - the vectors of an Allreduce as the transport takes them: the program's
 * own; where these are device memory that it cannot use, a copy in host memory; and where doubles
 * travel as floats, these.
 *
 * The transport works in host memory or on one device for each communicator, with kernels, and with
 * both vectors in the same memory. What it does is the same for the other ranks.
 */
#ifndef TW_INTERPOSE_VECTORS_H
#define TW_INTERPOSE_VECTORS_H

#include "interpose/call.h"
#include "interpose/mpi/device.h"

typedef struct tw_vectors {
    const void  *from; /* TW_IN_PLACE: what `to` holds                         */
    void        *to;
    const void  *input; /* the program's                                        */
    void        *result;
    tw_device_t *input_device, *result_device; /* NULL: host memory             */
    void        *copy;                         /* NULL: from and to are the program's      */
    float       *narrow;                       /* NULL: or these */
    size_t       bytes;
} tw_vectors_t;

/* For a call that is compressed by the transport. */
void tw_vectors_make(const tw_call_t *call, tw_vectors_t *v, const void *sendbuf, void *recvbuf);

/* The result to where the program wants it; or not. Both end it. */
void tw_vectors_finish(const tw_call_t *call, tw_vectors_t *v);
void tw_vectors_drop(tw_vectors_t *v);

/* Is this a status of the transport with which to try once more? From now on in host memory: on
 * this rank alone, which has not waited for others, or on all ranks, of which one has no memory on
 * its device. */
bool tw_vectors_retry(const tw_call_t *call, tw_vectors_t *v, tw_status_t status);

#endif /* TW_INTERPOSE_VECTORS_H */
