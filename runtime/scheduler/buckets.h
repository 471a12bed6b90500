/* SPDX-License-Identifier: BSD-3-Clause
 * scheduler/buckets.h - tensors, the buckets they are in, and what has become of these.
 */
#ifndef TW_SCHEDULER_BUCKETS_H
#define TW_SCHEDULER_BUCKETS_H

#include <thinwire/buckets.h>

#include "runtime/scheduler/side_stream.h"
#include "runtime/scheduler/specs.h"
#include "runtime/transport/comm/comm.h"
#include "runtime/transport/engine/request.h"

#define TW_BUCKET_BYTES ((size_t)4 << 20)
#define TW_BUCKET_NAME  64 /* bytes, with the NUL: as names of feedback objects */

typedef struct tw_bucket_part {
    char              name[TW_BUCKET_NAME];
    float            *data;
    size_t            count;
    const tw_codec_t *codec;    /* NULL: fp32                             */
    bool              alone;    /* the codec is lossy, the tensor not small */
    tw_feedback_t    *feedback; /* the caller's, or NULL                 */
    size_t            bucket;
    size_t            at;   /* elements from the beginning of the bucket */
    size_t            next; /* member of the bucket, or SIZE_MAX         */
    bool              ready;
} tw_bucket_part_t;

typedef struct tw_bucket {
    size_t             first, last; /* members, by tw_bucket_part_t.next                   */
    size_t             members, missing;
    size_t             count; /* elements                                            */
    const tw_codec_t  *codec;
    float             *base;   /* of the vector: tensors, or a buffer                  */
    bool               staged; /* it is a buffer                                       */
    bool               alone;
    bool               travels;  /* there is something to be done                      */
    tw_feedback_t     *feedback; /* of the object's own, or NULL                       */
    tw_request_t      *plan;     /* or an operation under way; or NULL                 */
    tw_device_event_t *event;    /* behind the work that makes its tensors; NULL: host memory */
    bool               started, complete;
    int64_t            span;
} tw_bucket_t;

struct tw_buckets {
    tw_comm_t        *comm;
    tw_exec_t         exec;
    tw_how_t          how; /* but for codec and feedback */
    tw_reduction_t    reduction;
    bool              once; /* operations in place of plans */
    tw_trace_t       *trace;
    size_t            parts, buckets;
    tw_bucket_part_t *part;   /* [parts]                                      */
    tw_bucket_t      *bucket; /* [buckets], in the order in which they start  */
    tw_specs_t        specs;  /* that tensors asked for                       */
    tw_side_stream_t  side;
    float            *room; /* of all buckets that are staged; or NULL      */
    uint64_t          memory;
    size_t            next;   /* bucket to start                                 */
    size_t            oldest; /* bucket that the trace has not seen complete     */
};

/* Put the parts into buckets, of `bytes` of float32 at most where they share one, and lay these
 * out. bucket has room for as many as there are parts. Pure but for the parts and buckets. */
void tw_buckets_group(tw_buckets_t *b, size_t bytes);

/* Make the operation of a bucket: a plan, or one that is under way. */
tw_status_t tw_bucket_operation(tw_buckets_t *b, tw_bucket_t *bucket);

/* Wait so many milliseconds at most; -1: without end. *done_p: it is complete, or failed. */
tw_status_t tw_bucket_await(tw_buckets_t *b, size_t number, int milliseconds, int *done_p);

/* The configuration of a caller who gives none. */
extern const tw_buckets_config_t tw_buckets_usual;

/* What is wrong with the arguments on this rank, before anything else. */
tw_status_t tw_buckets_called(const tw_comm_t *comm, const tw_bucket_tensor_t *tensors, size_t n,
                              tw_buckets_t *const *buckets_p);

/* What each rank can do by itself. *b_p is NULL, or to be destroyed whatever the status. */
tw_status_t tw_buckets_new(tw_comm_t *comm, const tw_buckets_config_t *config,
                           const tw_bucket_tensor_t *tensors, size_t n, bool once,
                           tw_buckets_t **b_p);

/* The buffers of buckets whose tensors do not lie together. Collective, but if b->once. */
tw_status_t tw_buckets_room(tw_buckets_t *b);

/* Hand it out, or destroy it where the status is a failure. Returns the status. */
tw_status_t tw_buckets_made(tw_buckets_t *b, tw_status_t status, tw_buckets_t **buckets_p);

/* Elements of all buckets that need a buffer, and where in it each lies. */
size_t tw_buckets_staged(tw_buckets_t *b, float *room);

#endif /* TW_SCHEDULER_BUCKETS_H */
