/* SPDX-License-Identifier: BSD-3-Clause
 * transport/comm/comm.h - what stands behind tw_comm_t.
 */
#ifndef TW_TRANSPORT_COMM_COMM_H
#define TW_TRANSPORT_COMM_COMM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <thinwire/codec.h>
#include <thinwire/comm.h>

#include "runtime/base/log.h"
#include "runtime/base/pool.h"
#include "runtime/policy/policy.h"
#include "runtime/transport/comm/settings.h"
#include "runtime/transport/comm/system.h"
#include "runtime/transport/comm/mpi_ops.h"

#define TW_TAG_ROUNDS                                                                              \
    16 /* rounds of an operation that have tags of their own; > the largest window */
#define TW_TAG_STAGES 8
#define TW_TAG_SYNC   0 /* of the library's own set-up messages; operations use larger ones */

#define TW_SYNC_SMALL 1024 /* bytes of a set-up message that passes through the communicator */

/* What a call adds to the counters when it starts (coll/traffic.h). */
typedef struct tw_traffic {
    uint64_t elements, memory; /* bytes */
} tw_traffic_t;

/* What the engine, which is above this folder, does for those that wait below it. */
typedef struct tw_engine_ops {
    /* Advance everything that runs on the communicator; *moved_p (if not NULL) says if something
     * did. */
    void (*progress)(tw_comm_t *comm, bool *moved_p);

    /* Advance everything once; give the core away where nothing moved; die after
     * THINWIRE_TIMEOUT. */
    void (*wait_some)(tw_comm_t *comm);

    /* Does an operation wait for a device before it calls MPI's own collective? Whoever calls
     * another one of the communicator's does so after that, as on ranks whose device was faster. */
    bool (*owes_mpi)(const tw_comm_t *comm);

    /* Bytes of an operation that moves values as they are, through the memory of a node. */
    size_t (*values_bytes)(const tw_comm_t *comm);

    /* Messages to and from other ranks that operations wait for. */
    int (*pending)(const tw_comm_t *comm);

    /* Does an operation wait for this rank's own device? */
    bool (*computes)(const tw_comm_t *comm);
} tw_engine_ops_t;

struct tw_comm {
    tw_context_t                 *ctx;
    tw_log_t                      log; /* the context's, with our rank */
    const tw_mpi_ops_t           *mpi;
    MPI_Comm                      comm;           /* our duplicate */
    const struct tw_endpoint_ops *endpoint;       /* how the messages of operations travel       */
    void                         *endpoint_state; /* its own                                      */
    const tw_engine_ops_t        *engine;
    const tw_system_ops_t        *system;
    struct tw_progress_thread *progress_thread;   /* the thread that moves messages, or NULL      */
    bool by_progress_thread;                      /* it does that right now                       */
    void (*thread_release)(struct tw_comm *comm); /* forgets that MPI_Finalize ends it; or NULL   */
    int                    thread_key;            /* for that                                   */
    int                    rank, size;
    int                    local_ranks; /* on this machine                            */
    int                    leader;      /* the lowest of them                         */
    struct tw_nodes       *nodes;       /* which ranks share a node (shm/layout.h)    */
    struct tw_segment     *node;        /* memory they share (shm/segment.h)          */
    struct tw_comm_device *device;      /* for calls with device memory (device/)     */
    tw_transport_config_t  config;
    tw_policy_config_t     policy;
    tw_exec_t              exec; /* default of tw_how_t.exec */
    tw_codec_t            *fp32; /* default of tw_how_t.codec */
    tw_pool_t              pool;
    tw_stats_t             stats;
    tw_status_t            status;       /* TW_OK, or what killed the communicator      */
    uint64_t               sequence;     /* operations started                          */
    uint64_t               tag_cycle;    /* operations after which tags repeat          */
    bool                   asynchronous; /* set around a call that must not synchronise: what would
                                          have to is TW_ERR_BUSY, on all ranks alike           */
    size_t                 reserved;     /* largest operation the ranks agreed to have memory for */
    size_t                 reserved_device; /* the same of calls that say device memory */
    struct tw_auto        *autos;         /* what is known for, and decided by, `auto` (auto/)   */
    bool                   blocking_only; /* no nonblocking call or plan was ever made         */
    bool                   patient;       /* no rank has THINWIRE_TIMEOUT; false until all know   */
    struct tw_comm_seat   *seat; /* where this rank is, once that was asked for (place.h) */
    void (*seat_release)(struct tw_comm_seat *seat);
    const int         *peers;       /* [size]: this rank, then the others in the order in which
                                          messages start; NULL: the order of ranks, from the next */
    char               network[64]; /* UCX_NET_DEVICES of this rank's place; "": all          */
    struct tw_request *running;     /* started and not complete, oldest first      */
    unsigned           ended;       /* operations that were; wraps around          */
    int                requests;    /* plans and requests that exist               */
    int                feedbacks;   /* feedback objects that exist                 */
    uint64_t           waited_ns;   /* looked in vain since something moved (timeout.c) */
    uint64_t           looked_ns;   /* the last of these looks; 0: none            */
    int     pending; /* messages, at the last eighth of the limit; -1: none of it passed */
    uint8_t small_in[TW_SYNC_SMALL], small_out[TW_SYNC_SMALL]; /* sync.h    */
};

static inline void tw_comm_count(tw_comm_t *comm, const tw_traffic_t *traffic)
{
    comm->stats.bytes_elements += traffic->elements;
    comm->stats.bytes_memory += traffic->memory;
}

/* Bytes that leave this rank, for ranks of its node or others. */
static inline void tw_comm_count_sent(tw_comm_t *comm, uint64_t bytes, bool in_node)
{
    comm->stats.bytes_sent += bytes;
    *(in_node ? &comm->stats.bytes_memory : &comm->stats.bytes_network) += bytes;
}

/* The i-th rank to send to, and to receive from; i = 1 .. size-1; the size-th is the rank
 * itself. */
static inline int tw_comm_peer(const tw_comm_t *comm, int i)
{
    return comm->peers != NULL ? comm->peers[i % comm->size] : (comm->rank + i) % comm->size;
}

static inline int tw_comm_source(const tw_comm_t *comm, int i)
{
    return comm->peers != NULL ? comm->peers[i] : (comm->rank + comm->size - i) % comm->size;
}

/* Something moved just now, or a wait begins. */
void tw_comm_moved(tw_comm_t *comm);

/* A look has found nothing that moved: has that gone on for THINWIRE_TIMEOUT, as far as this
 * process looked? The one clock of all waits of the transport. */
bool tw_comm_timed_out(tw_comm_t *comm);

/* TW_OK, TW_ERR_INVALID_ARG for NULL, TW_ERR_DEAD. */
tw_status_t tw_comm_check(const tw_comm_t *comm);

/* Turn the result of an MPI call into a status; on failure log it and kill the communicator. */
tw_status_t tw_comm_mpi(tw_comm_t *comm, int mpi_result, const char *call);

/* Collective: every rank gets the worst (smallest) of all ranks' statuses. */
tw_status_t tw_comm_agree(tw_comm_t *comm, tw_status_t mine);

/* Collective: all ranks have memory for operations of `bytes`, or none is told TW_OK. bytes is
 * equal on all ranks, and so is what their calls say of memory. `mine`: what this rank has already
 * found out about a device, and memory of other kinds. When that shape was agreed before, for calls
 * that say the same, there is no communication, and a failure of `mine` kills the communicator:
 * others go on. */
tw_status_t tw_comm_reserve(tw_comm_t *comm, tw_memory_t said, tw_status_t mine, size_t bytes);

/* Collective: a buffer of the pool on every rank, or on none; give it back with tw_pool_put().
 * None, too, where `mine` of a rank is a failure. */
tw_status_t tw_comm_agreed_get(tw_comm_t *comm, size_t bytes, void **buffer_p);
tw_status_t tw_comm_agreed_get_if(tw_comm_t *comm, tw_status_t mine, size_t bytes, void **buffer_p);

/* A copy, from the pool, of what a rank in place sends, for an algorithm that must find it
 * elsewhere: only this rank knows that it is in place. Without memory the communicator is dead, as
 * the others go on. */
tw_status_t tw_comm_copy_in_place(tw_comm_t *comm, const void *from, size_t bytes, void **copy_p);

/* What THINWIRE_CHECK compares. */
typedef struct tw_call_facts {
    const char *what;      /* "call", "plan", "start"                     */
    const char *operation; /* "allreduce"                                 */
    const char *algorithm; /* "two_pass"                                  */
    const char *codec;     /* full spec                                   */
    size_t      element;   /* bytes                                       */
    uint64_t    count;     /* 0 where it may differ                       */
    int         root;      /* -1: none                                    */
    const char *reduction; /* its name; NULL: "sum"                       */
    int         memory;    /* tw_memory_t of how.exec                     */
    unsigned    flags;
} tw_call_facts_t;

/* Collective if THINWIRE_CHECK is on: do all ranks do the same? TW_OK or TW_ERR_MISMATCH (logged).
 */
tw_status_t tw_comm_compare_call(tw_comm_t *comm, const tw_call_facts_t *facts);

/* Collective: compare version, byte order and wire settings; TW_OK or TW_ERR_MISMATCH (logged). */
tw_status_t tw_comm_compare_wire(tw_comm_t *comm);

#endif /* TW_TRANSPORT_COMM_COMM_H */
