/* SPDX-License-Identifier: BSD-3-Clause
 * scheduler/buckets.h - tensors, their buckets, and the state of the buckets.
 */
#ifndef TW_SCHEDULER_BUCKETS_H
#define TW_SCHEDULER_BUCKETS_H

#include <thinwire/buckets.h>

#include "runtime/scheduler/exchange.h"

#define TW_BUCKET_BYTES ((size_t)4 << 20)

typedef struct tw_bucket_part {
    char              name[TW_ITEM_NAME];
    void             *data;
    size_t            count;
    const tw_codec_t *codec;    /* NULL: fp32                             */
    bool              alone;    /* the codec is lossy, the tensor not small */
    tw_feedback_t    *feedback; /* the caller's, or NULL                 */
    size_t            bucket;
    size_t            at;   /* offset in the bucket, in elements         */
    size_t            next; /* next member of the bucket, or SIZE_MAX    */
    bool              ready;
} tw_bucket_part_t;

typedef struct tw_bucket {
    size_t            first, last; /* members, by tw_bucket_part_t.next                   */
    size_t            members, missing;
    size_t            count; /* elements                                            */
    const tw_codec_t *codec;
    uint8_t          *base;   /* of the vector: the tensors, or a buffer              */
    bool              staged; /* base is a buffer                                     */
    bool              alone;
    bool              travels;  /* it has an operation                                */
    tw_feedback_t    *feedback; /* owned by tw_buckets_t, or NULL                     */
    tw_flight_t       flight;
    bool              started, complete;
} tw_bucket_t;

struct tw_buckets {
    tw_comm_t        *comm;
    tw_how_t          how;     /* without codec and feedback */
    size_t            element; /* bytes */
    const tw_codec_t *small;   /* the codec of small tensors; NULL: fp32 */
    tw_reduction_t    reduction;
    bool              once; /* operations instead of plans */
    tw_trace_t       *trace;
    size_t            parts, buckets;
    tw_bucket_part_t *part;   /* [parts]                                      */
    tw_bucket_t      *bucket; /* [buckets], in the order in which they start  */
    tw_specs_t        specs;  /* codecs of the tensors, of their type         */
    tw_side_stream_t  side;
    uint8_t          *room; /* buffer of all staged buckets, or NULL        */
    uint64_t          memory;
    size_t            next;   /* bucket to start                                 */
    size_t            oldest; /* first bucket whose span in the trace is open    */
};

/* Assign the parts to buckets and lay these out. A shared bucket has at most `bytes` bytes of
 * elements. b->bucket has room for one bucket per part. Changes only parts and buckets. */
void tw_buckets_group(tw_buckets_t *b, size_t bytes);

/* Create the plan of a bucket, or start its operation. */
tw_status_t tw_bucket_operation(tw_buckets_t *b, tw_bucket_t *bucket);

/* Wait for at most `milliseconds`; -1: without a limit. *done_p: it is complete or has failed. */
tw_status_t tw_bucket_await(tw_buckets_t *b, size_t number, int milliseconds, int *done_p);

/* The default configuration. */
extern const tw_buckets_config_t tw_buckets_usual;

/* Check the arguments on this rank, before anything else. */
tw_status_t tw_buckets_called(const tw_comm_t *comm, const tw_bucket_tensor_t *tensors, size_t n,
                              tw_buckets_t *const *buckets_p);

/* The local part of creation. *b_p is NULL, or must be destroyed even after a failure. */
tw_status_t tw_buckets_new(tw_comm_t *comm, const tw_buckets_config_t *config,
                           const tw_bucket_tensor_t *tensors, size_t n, bool once,
                           tw_buckets_t **b_p);

/* Allocate the buffers of buckets whose tensors are not contiguous. Collective, unless b->once. */
tw_status_t tw_buckets_room(tw_buckets_t *b);

/* Return b in *buckets_p, or destroy it if status is a failure. Returns the status. */
tw_status_t tw_buckets_made(tw_buckets_t *b, tw_status_t status, tw_buckets_t **buckets_p);

/* Bytes of the buffer for all staged buckets. Sets the position of each in `room`, which may be
 * NULL. */
size_t tw_buckets_staged(tw_buckets_t *b, uint8_t *room);

#endif /* TW_SCHEDULER_BUCKETS_H */
