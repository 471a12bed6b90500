/* SPDX-License-Identifier: BSD-3-Clause
 * transport/comm/comm.h - the definition of tw_comm_t.
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
#include "runtime/transport/comm/agree.h"
#include "runtime/transport/comm/settings.h"
#include "runtime/transport/comm/system.h"
#include "runtime/transport/comm/mpi_ops.h"

#define TW_TAG_ROUNDS                                                                              \
    16 /* rounds of an operation with distinct tags; must be more than the largest window */
#define TW_TAG_STAGES 8
#define TW_TAG_SYNC   0 /* tag of the library's set-up messages; operations use larger tags */

#define TW_SYNC_SMALL 1024 /* most bytes of a set-up message in small_in and small_out */

/* The amounts that a call adds to the counters when it starts (coll/traffic.h). */
typedef struct tw_traffic {
    uint64_t elements, memory; /* bytes */
} tw_traffic_t;

/* Functions of the engine, the layer above, for code in this folder that waits. */
typedef struct tw_engine_ops {
    /* Advance all operations of the communicator. *moved_p (if not NULL): did one advance? */
    void (*progress)(tw_comm_t *comm, bool *moved_p);

    /* Advance all operations once; yield the core if none advanced; kill the communicator after
     * THINWIRE_TIMEOUT. */
    void (*wait_some)(tw_comm_t *comm);

    /* Does an operation wait for a device before it calls MPI's own collective? Other MPI
     * collectives on the communicator must then wait for that call, so that their order is equal on
     * all ranks. */
    bool (*owes_mpi)(const tw_comm_t *comm);

    /* Bytes of an operation that moves uncompressed values through a node's shared memory. */
    size_t (*values_bytes)(const tw_comm_t *comm);

    /* Number of messages to and from other ranks that operations wait for. */
    int (*pending)(const tw_comm_t *comm);

    /* What to sleep on until an operation moves, after progress() that moved none
     * (base/descriptor.h). NONE, too, while one waits for something else than messages. */
    int (*descriptor)(tw_comm_t *comm);

    /* Does an operation wait for this rank's own device? */
    bool (*computes)(const tw_comm_t *comm);
} tw_engine_ops_t;

struct tw_comm {
    tw_context_t                 *ctx;
    tw_log_t                      log; /* the context's, with this rank */
    const tw_mpi_ops_t           *mpi;
    MPI_Comm                      comm;           /* the library's duplicate */
    const struct tw_endpoint_ops *endpoint;       /* transport of the operations' messages       */
    void                         *endpoint_state; /* state of the endpoint                        */
    const tw_engine_ops_t        *engine;
    const tw_system_ops_t        *system;
    struct tw_progress_thread *progress_thread;   /* progress thread, or NULL                     */
    bool by_progress_thread;                      /* the progress thread makes progress now       */
    void (*thread_release)(struct tw_comm *comm); /* removes its hook in MPI_Finalize; or NULL    */
    int                    thread_key;            /* MPI attribute key of that hook             */
    int                    rank, size;
    int                    local_ranks; /* ranks on this machine                      */
    int                    leader;      /* lowest rank on this machine                */
    struct tw_nodes       *nodes;       /* which ranks share a node (shm/layout.h)    */
    struct tw_segment     *node;        /* shared memory of the node (shm/segment.h)  */
    struct tw_comm_device *device;      /* for calls with device memory (device/)     */
    tw_transport_config_t  config;
    tw_policy_config_t     policy;
    tw_exec_t              exec; /* default of tw_how_t.exec */
    tw_codec_t            *fp32; /* default of tw_how_t.codec */
    tw_pool_t              pool;
    tw_stats_t             stats;
    tw_status_t            status;       /* TW_OK, or the error that killed it          */
    uint64_t               sequence;     /* operations started                          */
    uint64_t               tag_cycle;    /* operations after which tags repeat          */
    int                    tag_messages; /* the first tag of messages of the caller     */
    bool                   asynchronous; /* the current call must not synchronise: a step that
                                          must fails with TW_ERR_BUSY, on all ranks            */
    size_t                 reserved;     /* bytes that all ranks have agreed to have in the pool */
    size_t                 reserved_device; /* the same for calls that declare device memory */
    struct tw_auto        *autos;         /* facts and decisions of `auto` (auto/)               */
    bool                   blocking_only; /* no nonblocking call or plan was ever made         */
    bool                   patient;       /* no rank sets THINWIRE_TIMEOUT; false until agreed    */
    struct tw_comm_seat   *seat; /* place of this rank (place.h); NULL until needed       */
    void (*seat_release)(struct tw_comm_seat *seat);
    const int         *peers;       /* [size]: this rank, then the others in the order in which
                                          messages start; NULL: rank + 1, rank + 2, ... mod size  */
    char               network[64]; /* UCX_NET_DEVICES of this rank's place; "": all          */
    struct tw_request *running;     /* started and not complete, oldest first      */
    unsigned           ended;       /* operations that ended; wraps around         */
    int                requests;    /* plans and requests that exist               */
    int                feedbacks;   /* feedback objects that exist                 */
    uint64_t           waited_ns;   /* counted time without progress (timeout.c)   */
    uint64_t           looked_ns;   /* time of the last poll in it; 0: none        */
    int     pending; /* pending messages at the last eighth of the limit; -1: none has passed */
    uint8_t small_in[TW_SYNC_SMALL], small_out[TW_SYNC_SMALL]; /* sync.h    */
};

static inline void tw_comm_count(tw_comm_t *comm, const tw_traffic_t *traffic)
{
    comm->stats.bytes_elements += traffic->elements;
    comm->stats.bytes_memory += traffic->memory;
}

/* Count bytes that this rank sends, to a rank of its node or of another one. */
static inline void tw_comm_count_sent(tw_comm_t *comm, uint64_t bytes, bool in_node)
{
    comm->stats.bytes_sent += bytes;
    *(in_node ? &comm->stats.bytes_memory : &comm->stats.bytes_network) += bytes;
}

/* The i-th rank to send to, and to receive from; i = 1 .. size-1. To send to, i = size is the rank
 * itself. */
static inline int tw_comm_peer(const tw_comm_t *comm, int i)
{
    return comm->peers != NULL ? comm->peers[i % comm->size] : (comm->rank + i) % comm->size;
}

static inline int tw_comm_source(const tw_comm_t *comm, int i)
{
    return comm->peers != NULL ? comm->peers[i] : (comm->rank + comm->size - i) % comm->size;
}

/* Reset the timeout: progress was made, or a wait begins. */
void tw_comm_moved(tw_comm_t *comm);

/* A poll has made no progress: has THINWIRE_TIMEOUT passed without progress, counting only time in
 * which this process polled? All waits of the transport share this clock. */
bool tw_comm_timed_out(tw_comm_t *comm);

/* Convert the result of an MPI call to a status; log a failure and kill the communicator. */
tw_status_t tw_comm_mpi(tw_comm_t *comm, int mpi_result, const char *call);

/* Collective: reserve memory for operations of `bytes` bytes; TW_OK on all ranks or on none. bytes
 * and `said` are equal on all ranks. `mine`: the status of this rank's device and its memory of
 * other kinds. If the ranks have agreed on as many bytes for calls with the same `said` before,
 * there is no communication, and a failure in `mine` kills the communicator, since the other ranks
 * continue. */
tw_status_t tw_comm_reserve(tw_comm_t *comm, tw_memory_t said, tw_status_t mine, size_t bytes);

/* Copy the data that a rank in place sends to a buffer of the pool. Other ranks do not know that
 * this rank is in place and continue, so failure to allocate kills the communicator. */
tw_status_t tw_comm_copy_in_place(tw_comm_t *comm, const void *from, size_t bytes, void **copy_p);

/* The facts that THINWIRE_CHECK compares. */
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

/* Collective if THINWIRE_CHECK is on: are the facts equal on all ranks? TW_OK or TW_ERR_MISMATCH
 * (logged). */
tw_status_t tw_comm_compare_call(tw_comm_t *comm, const tw_call_facts_t *facts);

/* Collective: compare version, byte order and wire settings; TW_OK or TW_ERR_MISMATCH (logged). */
tw_status_t tw_comm_compare_wire(tw_comm_t *comm);

#endif /* TW_TRANSPORT_COMM_COMM_H */
