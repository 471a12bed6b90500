/* SPDX-License-Identifier: BSD-3-Clause
 * transport/engine/request.h - the engine under every collective.
 *
 * An operation is cut into rounds: round c handles the c-th fragment (`chunk` values, a multiple of
 * the codec's block) of every interval that travels. A few rounds are in flight together, each in a
 * lane with buffers and messages of its own, and goes through the stages of its algorithm:
 *
 *     step(stage 0): encode, post receives and sends    -> all of stage 0's messages complete
 *     step(stage 1): decode, encode, post               -> all of stage 1's messages complete
 *     ...
 *     step(stage `stages`): last local work; the round is complete
 *
 * Algorithms that use the memory of a node (shm/segment.h) also wait for flags: a stage is
 * complete when its messages are, and `ready` says so. Each of their rounds has a ticket.
 *
 * Nothing blocks: the engine tests a lane's messages and calls the next step. Rounds start in order
 * and then run independently: operation, round and stage make up a message's tag. Tags repeat after
 * TW_TAG_ROUNDS rounds and tag_cycle operations; nothing starts before what had its tags is
 * complete.
 *
 * Everything an operation needs (this struct, arrays, lanes) lies in one buffer of the pool, whose
 * size follows from what all ranks know to be equal.
 */
#ifndef TW_TRANSPORT_ENGINE_REQUEST_H
#define TW_TRANSPORT_ENGINE_REQUEST_H

#include <stdbool.h>

#include <thinwire/collective.h>

#include "runtime/base/reduction.h"
#include "runtime/codec/ops.h"
#include "runtime/policy/model.h"
#include "runtime/transport/comm/comm.h"
#include "runtime/transport/comm/endpoint.h"
#include "runtime/transport/device/device.h"
#include "runtime/transport/shm/layout.h"

#define TW_STAGES_MAX 5 /* stages with messages or flags */
#define TW_WINDOW_MAX 8

/* Bytes of elements and codes that the lanes of an operation may take together per direction; with
 * many ranks fragments become smaller than THINWIRE_CHUNK. */
#define TW_LANE_BUDGET ((size_t)32 << 20)

/* Fragments in device memory are so many times as long as in the host's: what launches, copies and
 * events of one cost does not depend on its length, 70 us between two ranks that share an H100,
 * where fragments of 256 KiB of codes took 0.4 of the time of those of 64 KiB. */
#define TW_DEVICE_TIMES ((size_t)4)

struct tw_collective_call;

typedef struct tw_lane {
    size_t                 round;
    int                    stage;   /* whose messages are under way */
    int                    awaited; /* the rank that `ready` named last; -1: none       */
    bool                   busy;
    uint8_t               *codes;  /* slots of op->slot_bytes each  */
    uint8_t               *sum;    /* chunk elements, if the algorithm combines them */
    uint8_t               *tile;   /* tw_codec_tile() elements */
    struct tw_lane_device *device; /* codes and sum are device memory (staging.h); or NULL */
    tw_messages_t          messages[TW_STAGES_MAX];
} tw_lane_t;

typedef struct tw_algorithm_ops {
    const char *name;
    int  stages; /* 1 .. TW_STAGES_MAX, whatever the ranks; one that waits for nothing passes */
    bool values; /* values travel as they are, in memory: there are no messages to size */
    /* Local work between stages; posts the messages of lane->stage, if that is below stages. */
    tw_status_t (*step)(tw_request_t *op, tw_lane_t *lane);
    /* Optional: is what lane->stage waits for, apart from messages, there? Else *peer_p is a rank
     * that it waits for. An algorithm that has it uses the memory of its node, by tw_lane_room()
     * and its like: as many rounds on all ranks. */
    bool (*ready)(tw_request_t *op, tw_lane_t *lane, int *peer_p);
    /* Its steps touch elements or codes themselves, not only by tw_op_ and tw_lane_. */
    bool host_only;
    /* op->rounds, arrays, and own_first and own_count where it encodes sums: the interval of the
     * second residual, this rank's share where tw_reduction_encode_sum() is used. send and recv are
     * set, in place to the same: a round may write only what it or an earlier one has read in stage
     * 0, or what no other round reads. What is sent from where it lies is read until that stage is
     * complete. */
    void (*fill)(tw_request_t *op, const struct tw_collective_call *call);
} tw_algorithm_ops_t;

/* What an operation looks like: equal on all ranks, since memory and THINWIRE_CHECK go by it. */
typedef struct tw_request_shape {
    const tw_algorithm_ops_t *algorithm;
    const char               *operation; /* "allreduce"                                 */
    size_t                    count;     /* of the call; 0 where it may differ          */
    int                       root;      /* -1: none                                    */
    tw_reduction_t            reduction;
    size_t                    longest;    /* values of the longest interval that travels */
    size_t                    fragment;   /* wanted bytes of codes in a message; 0: TW_FRAGMENT */
    size_t                    most;       /* values that a fragment may have; 0: no limit   */
    int                       slots;      /* code buffers per lane                       */
    size_t                    slot_bytes; /* of a code buffer, at least               */
    bool                      sum;        /* lanes need room to add                      */
    int                       arrays;     /* size_t arrays of comm->size entries         */
    size_t                    room;      /* bytes that its buffer has at least, so that the next one
                                           of that size needs no other                      */
    const void               *values[2]; /* of this rank: where what it sends begins, and where it
                                            receives; NULL: nothing, or in place       */
    size_t                    extent[2]; /* elements from there                        */
} tw_request_shape_t;

#define TW_ARRAYS_MAX 4

struct tw_request {
    tw_comm_t                *comm;
    const tw_algorithm_ops_t *algorithm;
    const char               *operation;
    const tw_codec_t         *codec;
    tw_exec_t                 exec;
    int                  progress_threads; /* exec.threads for the communicator's progress thread */
    tw_memory_t          said;             /* by how.exec: exec.memory is what the buffers are  */
    struct tw_op_device *device;           /* buffers are device memory (staging.h); or NULL */
    struct tw_bounce    *bounce;           /* the caller's are, ours are not (bounce.h); or NULL */
    struct tw_device_event *after; /* behind work of the caller's on the device, without which no
                                      round begins; or NULL. Set before a start */
    tw_feedback_t          *feedback;
    unsigned                flags;
    bool                    plan;
    bool                    identity; /* codes are the elements themselves */
    bool        started; /* by the caller, who has not yet been told that it is complete */
    bool        running; /* in comm->running                                            */
    bool        held;    /* `after` has not been seen to be done                        */
    tw_status_t status;

    const uint8_t *send; /* elements; NULL where the operation has none         */
    uint8_t       *recv;
    size_t         count; /* of the shape: allgather: all blocks together, not the call's        */
    int            root;  /* -1: none                                            */
    const tw_reduction_row_t *reduction;
    size_t                   *array[TW_ARRAYS_MAX]; /* counts and displacements, in elements */
    size_t                    own_first, own_count; /* values of the sum that this rank encodes */

    tw_traffic_t traffic; /* of a start */

    size_t   element;    /* bytes                                           */
    size_t   chunk;      /* values per fragment, a multiple of the block       */
    size_t   slot_bytes; /* room for chunk encoded values                   */
    size_t   room;       /* bytes of the buffer that it all lies in         */
    size_t   rounds;     /* of this rank                                    */
    size_t   next_round; /* not yet started                                 */
    size_t   done_rounds;
    uint64_t sequence;
    int      carriers; /* ranks of a node that exchange with other nodes, if it is hierarchical */
    uint64_t ticket;   /* of the first round, if the algorithm has `ready`  */
    void    *copy;     /* of what is sent in place, while that is under way; or NULL */
    /* NULL, or: is what the lane waits for, besides its messages, complete? MPI's own collectives.
     */
    bool (*poll)(tw_request_t *op, tw_lane_t *lane, tw_status_t *status_p);
    int           lanes;
    tw_lane_t     lane[TW_WINDOW_MAX];
    tw_request_t *next; /* in comm->running */
};

/* Make an operation: checks `how`, compares with the other ranks (THINWIRE_CHECK), decides chunk
 * and lanes, reserves memory (collective only if a larger shape than ever before). The caller fills
 * the rest. */
tw_status_t tw_request_create(tw_comm_t *comm, const tw_how_t *how, const tw_request_shape_t *shape,
                              bool plan, tw_request_t **op_p);

/* Bytes that hold the buffer of any operation whose algorithm sends no messages (`values`). */
size_t tw_request_values_bytes(const tw_comm_t *comm);

/* THINWIRE_CHECK: is every rank about to do this ("call", "plan", "start")? TW_OK, TW_ERR_MISMATCH.
 */
tw_status_t tw_request_compare(const tw_request_t *op, const char *what);

/* How the three forms of a call end: release on error; start and wait; start and hand out; hand
 * out. */
typedef enum tw_form { TW_BLOCKING, TW_NONBLOCKING, TW_PLAN } tw_form_t;
tw_status_t tw_request_finish(tw_request_t *op, tw_form_t form, tw_request_t **request_p);

/* TW_OK if values [first, first + count) can exist; else TW_ERR_RANGE. */
tw_status_t tw_interval_check(size_t first, size_t count);

/* Does the call say, on all ranks alike, that its buffers are device memory? Memory that is found
 * to be the device's does not count: ranks may differ in that. */
bool tw_how_on_device(const tw_how_t *how);

static inline const tw_codec_t *tw_how_codec(const tw_comm_t *comm, const tw_how_t *how)
{
    return how != NULL && how->codec != NULL ? how->codec : comm->fp32;
}

/* Movement takes no feedback: TW_ERR_INVALID_ARG (logged). */
tw_status_t tw_movement_check(const tw_comm_t *comm, const tw_how_t *how);

/* ---- for algorithms ------------------------------------------------------------------------ */

/* Post a message that completes stage `stage` of this lane's round; size 0 sends nothing. The tag
 * names the stage in which the receiver waits for it, which for sends is tag_stage. `values` is the
 * number of values in it, for the counters. `stage` is this one or a later one: earlier ones are
 * not looked at any more. Both ends know the size; several between two ranks in one stage match in
 * the order of posting; there is room for 2 P in a stage, each of a slot's bytes. `bytes` lies in
 * the lane's slots or is what tw_lane_codes() gave, since device memory is staged by slot. */
tw_status_t tw_lane_send(tw_request_t *op, tw_lane_t *lane, int stage, int tag_stage,
                         const void *bytes, size_t size, int peer, size_t values);
tw_status_t tw_lane_recv(tw_request_t *op, tw_lane_t *lane, int stage, void *bytes, size_t size,
                         int peer);

static inline uint8_t *tw_lane_slot(const tw_request_t *op, const tw_lane_t *lane, int slot)
{
    return lane->codes + (size_t)slot * op->slot_bytes;
}

/* Values of this lane's fragment of an interval of `length` values; 0 if it is shorter. */
static inline size_t tw_lane_fragment(const tw_request_t *op, const tw_lane_t *lane, size_t length)
{
    const size_t start = lane->round * op->chunk;

    return start >= length ? 0 : length - start < op->chunk ? length - start : op->chunk;
}

/* ---- algorithms in a node's memory: on the host, or in slots of the devices (op->device)
 * ------- */

/* Where a rank of our node has what it puts there for this lane's round. We write our own. */
uint8_t *tw_lane_room(const tw_request_t *op, const tw_lane_t *lane, int local);

/* What our room holds by the work of this step is there, as phase `phase`: said to the node's ranks
 * when it is. We have taken from the others all that we want. */
void tw_lane_raise(tw_request_t *op, tw_lane_t *lane, unsigned phase);
void tw_lane_done(tw_request_t *op, tw_lane_t *lane);

/* The ticket of this lane's round. */
static inline uint64_t tw_lane_ticket(const tw_request_t *op, const tw_lane_t *lane)
{
    return op->ticket + lane->round;
}

/* Where this lane's fragment of the interval that begins at value `first` of a buffer lies. */
static inline uint8_t *tw_lane_at(const tw_request_t *op, const tw_lane_t *lane, const void *buffer,
                                  size_t first)
{
    return (uint8_t *)(uintptr_t)buffer + (first + lane->round * op->chunk) * op->element;
}

/* Are codes the elements themselves, in host memory? */
static inline bool tw_op_as_is(const tw_request_t *op)
{
    return op->identity && op->device == NULL;
}

/* Where the codes of `values` lie, if these may be sent from, or received to, where they are:
 * there, if codes are the elements themselves; else in the slot. Encoding and decoding then do
 * nothing. */
static inline uint8_t *tw_lane_codes(const tw_request_t *op, const tw_lane_t *lane, int slot,
                                     uint8_t *values)
{
    return tw_op_as_is(op) ? values : tw_lane_slot(op, lane, slot);
}

/* Codec calls of an operation: timed, counted, with its threads. They cannot fail on arguments that
 * were checked when the operation was made. */
size_t tw_op_size(const tw_request_t *op, size_t n);
void   tw_op_encode(tw_request_t *op, const void *values, size_t n, void *codes);
void   tw_op_encode_feedback(tw_request_t *op, const void *values, size_t n, void *residual,
                             void *codes);
void   tw_op_decode(tw_request_t *op, const void *codes, size_t n, void *values);
/* values[i] = values[i] combined with decoded[i], by the reduction, in the type. */
void tw_op_decode_combine(tw_request_t *op, const tw_lane_t *lane, const void *codes, size_t n,
                          void *values);
/* values[i] = fl(values[i] / ranks), whatever the caller's floating-point mode. */
void tw_average(const tw_dtype_row_t *type, int ranks, size_t n, void *values);
/* Codes from one place of a lane to another; elements, from anywhere to anywhere. */
void tw_op_copy(tw_request_t *op, void *codes, const void *from, size_t bytes);
/* Elements: out[i] = a[i] combined with b[i], whatever the caller's floating-point mode. out may be
 * a, and is memory of this rank; a and b may lie in other ranks' rooms. */
void tw_op_combine(tw_request_t *op, const void *a, const void *b, size_t n, void *out);
/* The end of the reduction: values[i] = fl(values[i] / ranks) where it divides, whatever the
 * caller's floating-point mode. */
void tw_op_average(tw_request_t *op, size_t n, void *values);

#endif /* TW_TRANSPORT_ENGINE_REQUEST_H */
