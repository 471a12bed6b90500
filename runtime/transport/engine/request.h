/* SPDX-License-Identifier: BSD-3-Clause
 * transport/engine/request.h - the engine under every collective.
 *
 * An operation is cut into rounds: round c handles the c-th fragment (`chunk` values, a multiple of
 * the codec's block) of every transferred interval. Several rounds are in flight at once, each in a
 * lane with its own buffers and messages. A round passes the stages of its algorithm:
 *
 *     step(stage 0): encode, post receives and sends    -> all of stage 0's messages complete
 *     step(stage 1): decode, encode, post               -> all of stage 1's messages complete
 *     ...
 *     step(stage `stages`): last local work; the round is complete
 *
 * Algorithms that use the memory of a node (shm/segment.h) also wait for flags: a stage is complete
 * when its messages are complete and `ready` returns true. Each of their rounds, or only the first
 * one, has a ticket.
 *
 * Nothing blocks: the engine tests a lane's messages and calls the next step. Rounds start in order
 * and then run independently: a message's tag encodes operation, round and stage. Tags repeat after
 * TW_TAG_ROUNDS rounds and tag_cycle operations; a round or operation starts only after the one
 * with the same tags is complete.
 *
 * All data of an operation (this struct, arrays, lanes) lies in one buffer of the pool. Its size
 * depends only on values that are equal on all ranks.
 */
#ifndef TW_TRANSPORT_ENGINE_REQUEST_H
#define TW_TRANSPORT_ENGINE_REQUEST_H

#include <stdbool.h>

#include <thinwire/collective.h>

#include "runtime/codec/combine.h"
#include "runtime/policy/model.h"
#include "runtime/transport/comm/comm.h"
#include "runtime/transport/comm/endpoint.h"
#include "runtime/transport/device/device.h"
#include "runtime/transport/shm/layout.h"

#define TW_STAGES_MAX 5 /* stages with messages or flags */

/* Length of fragments in device memory, relative to host memory. The cost of a fragment's launches,
 * copies and events does not depend on its length: 70 us between two ranks that share an H100,
 * where fragments of 256 KiB of codes took 0.4 of the time of those of 64 KiB. */
#define TW_DEVICE_TIMES ((size_t)4)

struct tw_collective_call;

typedef struct tw_lane {
    size_t                 round;
    int                    stage;   /* stage whose messages are in flight */
    int                    awaited; /* the rank that `ready` returned last; -1: none    */
    bool                   busy;
    uint8_t               *codes;  /* slots of op->slot_bytes each  */
    uint8_t               *sum;    /* chunk values of the type of sums, if the algorithm reduces */
    uint8_t               *tile;   /* tw_codec_tile() values of it */
    struct tw_lane_device *device; /* codes and sum are device memory (staging.h); or NULL */
    tw_messages_t          messages[TW_STAGES_MAX];
} tw_lane_t;

typedef struct tw_algorithm_ops {
    const char *name;
    int  stages; /* 1 .. TW_STAGES_MAX, for any number of ranks; a stage may wait for nothing */
    bool values; /* transfers uncompressed values through memory, without messages      */
    /* Local work between stages; posts the messages of lane->stage if lane->stage < stages. */
    tw_status_t (*step)(tw_request_t *op, tw_lane_t *lane);
    /* Optional: are the conditions of lane->stage other than messages met? Else *peer_p is a rank
     * that it waits for. An algorithm with `ready` uses the memory of its node (tw_lane_room() and
     * related functions); the number of rounds is then equal on all ranks. */
    bool (*ready)(tw_request_t *op, tw_lane_t *lane, int *peer_p);
    bool one_ticket; /* only the first round uses it, so the number of rounds may differ; it counts
                        the bytes that pass through the memory itself */
    /* Its steps access elements or codes directly, not only through tw_op_ and tw_lane_. */
    bool host_only;
    /* Set op->rounds, arrays and, if sums are encoded, own_first and own_count: the interval of the
     * second residual (this rank's share where tw_reduction_encode_sum() is used). send and recv
     * are already set, and equal in place: a round may write only elements that it or an earlier
     * round has read in stage 0, or that no other round reads. Elements that are sent without a
     * copy are read until that stage is complete. */
    void (*fill)(tw_request_t *op, const struct tw_collective_call *call);
} tw_algorithm_ops_t;

/* The shape of an operation. Equal on all ranks except for values and extent, since it determines
 * memory and THINWIRE_CHECK compares it. */
typedef struct tw_request_shape {
    const tw_algorithm_ops_t *algorithm;
    const char               *operation; /* "allreduce"                                 */
    size_t                    count;     /* of the call; 0 where it may differ          */
    int                       root;      /* -1: none                                    */
    tw_reduction_t            reduction;
    size_t                    longest;    /* values of the longest transferred interval  */
    size_t                    fragment;   /* target bytes of codes in a message; 0: TW_FRAGMENT */
    size_t                    most;       /* most values in a fragment; 0: no limit         */
    int                       turns;      /* rounds for each of its fragments; 0: one    */
    int                       slots;      /* code buffers per lane                       */
    size_t                    slot_bytes; /* least bytes of a code buffer             */
    bool                      sum;        /* lanes need a buffer for sums                */
    bool                      partial;    /* sums of some ranks are sent, by tw_partial_codec() */
    int                       arrays;     /* size_t arrays of comm->size entries         */
    size_t                    room;       /* least bytes of the operation's buffer, so that a later
                                           operation of up to this size reuses it           */
    const void               *values[2];  /* this rank's send buffer and receive buffer; NULL:
                                            none, or in place                          */
    size_t                    extent[2];  /* elements in values[]                       */
} tw_request_shape_t;

#define TW_ARRAYS_MAX 4

struct tw_request {
    tw_comm_t                *comm;
    const tw_algorithm_ops_t *algorithm;
    const char               *operation;
    const tw_codec_t         *codec;
    const tw_codec_t         *added; /* of the codes that are added up, of the type of sums */
    tw_exec_t                 exec;
    int                  progress_threads; /* exec.threads for the communicator's progress thread */
    tw_memory_t          said;     /* declared in how.exec; exec.memory is the actual memory type */
    struct tw_op_device *device;   /* for buffers in device memory (staging.h), or NULL */
    struct tw_bounce    *bounce;   /* for callers' device memory copied to the host (bounce.h), or
                                      NULL */
    struct tw_device_event *after; /* event after the caller's work on the device, before which no
                                      round begins and the operation does not end; or NULL. Set
                                      before a start */
    tw_feedback_t          *feedback;
    unsigned                flags;
    bool                    plan;
    bool                    identity; /* codes are equal to the elements */
    bool        started; /* by the caller, to whom completion was not reported yet      */
    bool        running; /* in comm->running                                            */
    bool        held;    /* `after` is not known to be complete                         */
    tw_status_t status;

    const uint8_t *send; /* elements; NULL where the operation has none         */
    uint8_t       *recv;
    size_t         count; /* of the shape; allgather: sum of all blocks, not the call's count    */
    int            root;  /* -1: none                                            */
    const tw_reduction_row_t *reduction;
    size_t                   *array[TW_ARRAYS_MAX]; /* counts and displacements, in elements */
    size_t                    own_first, own_count; /* values of the sum that this rank encodes */

    tw_traffic_t traffic; /* of a start */

    size_t   element;    /* bytes                                           */
    size_t   chunk;      /* values per fragment, a multiple of the block       */
    size_t   slot_bytes; /* room for chunk encoded values                   */
    size_t   room;       /* bytes of the operation's buffer                 */
    size_t   rounds;     /* of this rank                                    */
    size_t   next_round; /* not yet started                                 */
    size_t   done_rounds;
    uint64_t sequence;
    int      carriers; /* hierarchical: ranks of a node that exchange with other nodes      */
    uint64_t ticket;   /* of the first round, if the algorithm has `ready`  */
    void    *copy;     /* of data sent in place, while the operation runs; or NULL */
    /* For MPI's own collectives, else NULL: is the MPI request of the lane complete? */
    bool (*poll)(tw_request_t *op, tw_lane_t *lane, tw_status_t *status_p);
    int           lanes;
    tw_lane_t     lane[TW_WINDOW_MAX];
    tw_request_t *next; /* in comm->running */
};

/* Create an operation: check `how`, compare the call with the other ranks (THINWIRE_CHECK), choose
 * chunk and lanes, reserve memory (collective only for a plan, or if more memory than ever before
 * is needed). The caller fills the rest. */
tw_status_t tw_request_create(tw_comm_t *comm, const tw_how_t *how, const tw_request_shape_t *shape,
                              bool plan, tw_request_t **op_p);

/* Upper bound on the buffer of any operation whose algorithm sends no messages (`values`). */
size_t tw_request_values_bytes(const tw_comm_t *comm);

/* THINWIRE_CHECK: do all ranks make the same "call", "plan" or "start"? TW_OK, TW_ERR_MISMATCH. */
tw_status_t tw_request_compare(const tw_request_t *op, const char *what);

/* Finish a call by its form: start and wait; start and return the request; return the plan. Release
 * the operation on error. */
typedef enum tw_form { TW_BLOCKING, TW_NONBLOCKING, TW_PLAN } tw_form_t;
tw_status_t tw_request_finish(tw_request_t *op, tw_form_t form, tw_request_t **request_p);

/* The codec of sums of some ranks that are sent on, to be added to others: that of the type of sums
 * with the elements' codes; where these are the elements, which would round such a sum, the one
 * that leaves sums as they are. NULL: there is none. */
static inline const tw_codec_t *tw_partial_codec(const tw_comm_t *comm, const tw_codec_t *codec)
{
    if (codec->wide == codec || !codec->lossless) {
        return codec->wide;
    }
    return codec->wide->dtype == comm->fp32->dtype ? comm->fp32 : NULL;
}

/* Does the call declare, equally on all ranks, device memory? The detected memory type does not
 * count, since it may differ between ranks. */
bool tw_how_on_device(const tw_how_t *how);

static inline const tw_codec_t *tw_how_codec(const tw_comm_t *comm, const tw_how_t *how)
{
    return how != NULL && how->codec != NULL ? how->codec : comm->fp32;
}

/* Collectives without reduction accept no feedback: TW_ERR_INVALID_ARG (logged). */
tw_status_t tw_movement_check(const tw_comm_t *comm, const tw_how_t *how);

/* Those with one accept no bytes that are no numbers: TW_ERR_UNSUPPORTED (logged). */
tw_status_t tw_numbers_check(const tw_comm_t *comm, const tw_how_t *how);

/* ---- for algorithms ------------------------------------------------------------------------ */

/* Post a message that stage `stage` of this lane's round waits for; size 0 sends nothing. The tag
 * encodes the stage in which the receiver waits for the message, which for sends is tag_stage.
 * `values` is the number of values in the message, for the counters. `stage` must be the current
 * stage or a later one. Both ranks know the size. Messages between two ranks in one stage match in
 * the order of posting. A stage has room for 2 P messages of a slot's size. `bytes` must lie in the
 * lane's slots or come from tw_lane_codes(), since device memory is staged by slot. */
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

/* Slot of a rank of this node for this lane's round. Each rank writes only its own slot. */
uint8_t *tw_lane_room(const tw_request_t *op, const tw_lane_t *lane, int local);

/* raise: when the work of this step is complete, signal `phase` of this rank's slot to the node.
 * done: when that work is complete, complete the ticket: this rank needs no other slot any more. */
void tw_lane_raise(tw_request_t *op, tw_lane_t *lane, unsigned phase);
void tw_lane_done(tw_request_t *op, tw_lane_t *lane);

/* The ticket of this lane's round. */
static inline uint64_t tw_lane_ticket(const tw_request_t *op, const tw_lane_t *lane)
{
    return op->ticket + lane->round;
}

/* Address of value `first` of a buffer. */
static inline uint8_t *tw_op_at(const tw_request_t *op, const void *buffer, size_t first)
{
    return (uint8_t *)(uintptr_t)buffer + first * op->element;
}

/* Address of this lane's fragment of the interval that begins at value `first` of a buffer. */
static inline uint8_t *tw_lane_at(const tw_request_t *op, const tw_lane_t *lane, const void *buffer,
                                  size_t first)
{
    return tw_op_at(op, buffer, first + lane->round * op->chunk);
}

/* Are codes equal to the elements, in host memory? */
static inline bool tw_op_as_is(const tw_request_t *op)
{
    return op->identity && op->device == NULL;
}

/* Address of the codes of `values`, which may be sent and received in place: `values` itself if
 * tw_op_as_is(), where encoding and decoding do nothing; else the slot. */
static inline uint8_t *tw_lane_codes(const tw_request_t *op, const tw_lane_t *lane, int slot,
                                     uint8_t *values)
{
    return tw_op_as_is(op) ? values : tw_lane_slot(op, lane, slot);
}

/* Codec calls of an operation: timed, counted, with its threads. They cannot fail, since the
 * arguments were checked when the operation was created. */
size_t tw_op_size(const tw_request_t *op, size_t n);
void   tw_op_encode(tw_request_t *op, const void *values, size_t n, void *codes);
void   tw_op_encode_feedback(tw_request_t *op, const void *values, size_t n, void *residual,
                             void *codes);
void   tw_op_decode(tw_request_t *op, const void *codes, size_t n, void *values);
/* Copy codes within a lane, or elements between any two buffers. */
void tw_op_copy(tw_request_t *op, void *codes, const void *from, size_t bytes);

/* ---- sums ------------------------------------------------------------------------------------
 *
 * Values are combined in the type of sums (tw_dtype_row_t.sum) and in no other: a sum is rounded to
 * an element once, at the end. Where that type is the elements' own, sums may lie in the result. */

static inline bool tw_op_widens(const tw_request_t *op)
{
    return op->codec->wide != op->codec;
}

/* Where to make a sum whose elements come to lie at `out`. */
static inline uint8_t *tw_op_sum(const tw_request_t *op, const tw_lane_t *lane, uint8_t *out)
{
    return tw_op_widens(op) ? lane->sum : out;
}

/* Bytes of n values whose codes are added up. */
size_t tw_op_added_size(const tw_request_t *op, size_t n);
/* sum = decoded. */
void tw_op_decode_sum(tw_request_t *op, const void *codes, size_t n, void *sum);
/* sum[i] = sum[i] combined with decoded[i], by the reduction. */
void tw_op_decode_combine(tw_request_t *op, const tw_lane_t *lane, const void *codes, size_t n,
                          void *sum);
/* sum = the elements of all terms combined, in order, independent of the caller's floating-point
 * mode. The sum may be the first term, and is memory of this rank; terms may lie in other ranks'
 * slots. */
void tw_op_combine(tw_request_t *op, const tw_terms_t *terms, size_t n, void *sum);
/* The same, to elements of the result, and for an average divided. */
void tw_op_combine_result(tw_request_t *op, const tw_terms_t *terms, size_t n, void *out);
/* Encode a sum that will be added to others, or the sum of all ranks. */
void tw_op_encode_added(tw_request_t *op, const void *sum, size_t n, void *residual, void *codes);
void tw_op_encode_sum(tw_request_t *op, const void *sum, size_t n, void *residual, void *codes);
/* End of the reduction: for an average, sum[i] = fl(sum[i] / ranks), independent of the caller's
 * floating-point mode; and elements of the result, where these are not the sum. */
void tw_op_average(tw_request_t *op, size_t n, void *sum);
void tw_op_sum_result(tw_request_t *op, void *sum, size_t n, void *out);
/* The result of a sum that was encoded. */
void tw_op_decode_result(tw_request_t *op, const tw_lane_t *lane, const void *codes, size_t n,
                         void *out);

#endif /* TW_TRANSPORT_ENGINE_REQUEST_H */
