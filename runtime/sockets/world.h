/* SPDX-License-Identifier: BSD-3-Clause
 * sockets/world.h - processes that found each other through a store: ranks, connections, messages.
 *
 * A stream is a TCP connection, used in both directions. A rank sends to another over the first
 * stream that the two have; where both connect at a time, there are two, one for each direction.
 * All that travels is frames, the first of each stream a HELLO of who connects:
 *
 *     HELLO  rank, cookie         EAGER  a message of at most TW_EAGER bytes, which follow
 *     BYE    no frame follows     OFFER  a longer one, by its number at the sender
 *     LOST   a rank is gone       READY  the answer: by its number at the receiver
 *                                 DATA   its bytes, which follow, straight to where they belong
 *
 * The lists of a peer: posted receives; unexpected messages and offers; sends that were offered;
 * receives whose DATA is to come. Messages match by communicator and tag, in order: receives are
 * numbered, since some are from any rank.
 *
 * Locking: the functions of mpi.h hold world->lock, and nothing else takes it.
 */
#ifndef TW_SOCKETS_WORLD_H
#define TW_SOCKETS_WORLD_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "runtime/base/log.h"
#include "runtime/sockets/mpi.h"

#define TW_EAGER        ((size_t)256 << 10) /* bytes: a fragment of float32 (THINWIRE_CHUNK) */
#define TW_STAGE        4096                /* bytes read at a time that hold frames */
#define TW_COOKIE_BYTES 16

typedef enum tw_frame_kind {
    TW_HELLO = 1,
    TW_FRAME_EAGER,
    TW_FRAME_OFFER,
    TW_FRAME_READY,
    TW_FRAME_DATA,
    TW_FRAME_LOST,
    TW_FRAME_BYE
} tw_frame_kind_t;

/* In the byte order of the machine: ranks compare it before they connect (bootstrap.c). */
typedef struct tw_frame {
    uint32_t kind;
    int32_t  tag;     /* of a message; the rank of HELLO and LOST */
    uint64_t context; /* of the communicator */
    uint64_t size;    /* bytes of the message */
    union {
        struct {
            uint64_t sender, receiver; /* numbers of an offer, and of who takes it */
        };
        uint8_t cookie[TW_COOKIE_BYTES]; /* of HELLO */
    };
} tw_frame_t;

/* An error: a class of mpi.h or of these, what errno was, and the rank concerned. */
enum {
    TW_FAILED_LOST = MPI_ERR_OTHER + 1, /* its connection ended */
    TW_FAILED_GAVE_UP,                  /* its communicator is dead */
    TW_FAILED_LEFT,                     /* it has destroyed the communicator */
    TW_FAILED_UNREACHABLE,
    TW_FAILED_MEMORY,
    TW_FAILED_SYSTEM, /* here */
    TW_FAILED_TIME,
    TW_FAILED_FORKED
};
#define TW_FAILED(class, error, rank) ((class) | (error) << 4 | (rank) << 12)
#define TW_FAILED_CLASS(code)         ((code)&15)
#define TW_FAILED_ERRNO(code)         ((code) >> 4 & 255)
#define TW_FAILED_RANK(code)          ((code) >> 12)

typedef struct tw_world       tw_world_t;
typedef struct tw_tcp_message tw_tcp_message_t;

/* A message, or a collective: MPI_Request. */
struct tw_tcp_message {
    tw_tcp_message_t *next;
    tw_world_t       *world;
    tw_frame_t        frame;
    uint8_t          *data; /* the caller's, or its own */
    size_t            room; /* bytes there */
    size_t moved; /* bytes of frame and data that are sent; bytes of data that have come */
    int    error;
    bool   owned; /* data is released with it */
    bool   asked; /* the caller has it as a request; else it is released when done */
    bool   done;
    int    source; /* of a receive: in its group; MPI_ANY_SOURCE until it is known */
    struct tw_tcp_group *group;
    tw_tcp_message_t *taker; /* of an unexpected message that has not all come yet: the receive */
    /* Of a collective: go on; done is set at the end. */
    void (*advance)(tw_tcp_message_t *collective);
    void *schedule; /* released with it */
};

typedef struct tw_tcp_list {
    tw_tcp_message_t *first, *last;
} tw_tcp_list_t;

typedef struct tw_stream {
    struct tw_stream *next; /* among strangers, or those that are to be released */
    int               fd;   /* -1: it has ended */
    int               rank; /* -1: a stranger, who has not said HELLO */
    bool              connected, ending;
    uint64_t          since_ns; /* a stranger's arrival */
    uint64_t          matched;  /* the last poll in which a message completed its receive */
    uint64_t          held;     /* the poll since which a message waits for its receive; or 0 */
    bool              more;     /* it was not read to its end */
    tw_tcp_list_t     queue;    /* to be sent */
    tw_tcp_message_t *incoming; /* whose data is coming; NULL: a frame comes next */
    size_t            staged;   /* bytes at stage */
    uint8_t           stage[TW_STAGE];
} tw_stream_t;

typedef struct tw_peer {
    struct sockaddr_storage address;
    uint64_t                host;      /* a checksum of what identifies its machine */
    tw_stream_t            *stream[2]; /* by whom it was begun: this rank, the peer; or NULL */
    tw_stream_t            *out;       /* over which this rank sends; one of these, or NULL */
    bool                    left;      /* it has said BYE */
    tw_tcp_list_t           posted, unexpected, offered, expected;
} tw_peer_t;

struct tw_world {
    tw_world_t     *next; /* of this process */
    pthread_mutex_t lock;
    tw_log_t        log;
    int             rank, size;
    int             groups; /* communicators that use it */
    int             epoll, listener;
    uint8_t         cookie[TW_COOKIE_BYTES];
    uint64_t        limit_ns; /* of blocking calls, without progress; 0: none */
    uint64_t        number;   /* of the last offer or receive of one */
    uint64_t        moved;    /* counts what came and went */
    uint64_t        seen;     /* moved, when it was asked last whether it is at rest */
    uint64_t        polls;    /* counts them */
    bool            held;     /* a stream may be, or have more */
    int             error;    /* what ended it: all calls return that */
    tw_peer_t      *peers;
    tw_tcp_list_t   wild; /* posted receives from any rank */
    tw_stream_t    *strangers, *ended;
    int             stranger_count;
    bool            warned;      /* of one */
    tw_tcp_list_t   collectives; /* under way */
};

/* MPI_Comm. */
typedef struct tw_tcp_group {
    tw_world_t *world;
    uint64_t    context;  /* equal on all ranks; + 1 for messages of collectives */
    uint64_t    children; /* communicators that were made of it */
    int         sequence; /* of its collectives, their tag */
    int         rank, size;
    int         ranks[]; /* in the world */
} tw_tcp_group_t;

/* ---- lists (match.c) ------------------------------------------------------------------------- */

tw_tcp_message_t *tw_tcp_new(tw_world_t *world, tw_frame_kind_t kind);
void              tw_tcp_free(tw_tcp_message_t *message);
void              tw_list_append(tw_tcp_list_t *list, tw_tcp_message_t *message);
/* Take the first that matches out of the list; NULL: none does. By communicator and tag, or by its
 * number. */
tw_tcp_message_t *tw_list_match(tw_tcp_list_t *list, const tw_frame_t *frame);
tw_tcp_message_t *tw_list_numbered(tw_tcp_list_t *list, uint64_t number);
tw_tcp_message_t *tw_list_pop(tw_tcp_list_t *list);

/* A frame EAGER or OFFER of a peer has come: the receive that takes it, or an unexpected message,
 * which is listed. NULL: no memory. */
tw_tcp_message_t *tw_match_arrival(tw_world_t *world, tw_peer_t *peer, const tw_frame_t *frame);
/* Have a receive take a message of `size` bytes: an error of it where there is no room. */
bool tw_match_fits(tw_tcp_message_t *receive, size_t size);
/* Where its data goes: to its receive, or else to memory of its own; false: there is none. */
bool tw_match_place(tw_tcp_message_t *message);
/* All data of a message has come. */
void tw_match_complete(tw_tcp_message_t *message);

/* ---- streams (stream.c, receive.c) ----------------------------------------------------------- */

/* Send to a rank, which is connected if need be; likewise only the latter, so that its death is
 * noticed. */
void tw_stream_send(tw_world_t *world, int rank, tw_tcp_message_t *message);
void tw_stream_reach(tw_world_t *world, int rank);
/* A receive takes an offer of a rank. */
void tw_stream_take(tw_world_t *world, int rank, tw_tcp_message_t *receive,
                    const tw_frame_t *offer);
/* See what has come, and send what can be sent. */
void tw_stream_poll(tw_world_t *world);
/* End all streams, with BYE or without. */
void tw_stream_close_all(tw_world_t *world, bool bye);
/* The world ends with an error; the other ranks are told which rank is lost. */
void tw_world_fail(tw_world_t *world, int error);

/* Of a connection; NULL: no memory, and it is closed. */
tw_stream_t *tw_stream_new(tw_world_t *world, int fd, int rank, bool connected);
/* Write what can be written. */
void tw_stream_flush(tw_world_t *world, tw_stream_t *s);
/* Its memory may be that of an event at hand, and is released by the next poll. */
void tw_stream_close(tw_world_t *world, tw_stream_t *s);

/* ---- worlds (world.c) ------------------------------------------------------------------------ */

/* A world without peers' addresses, which listens at *port_p. NULL: the error is logged. */
tw_world_t *tw_world_new(const tw_log_t *log, int rank, int size, int *port_p);
/* Leave it, with BYE unless this rank gives up. */
void tw_world_end(tw_world_t *world, bool bye);

/* Find the ranks through a store, under keys that begin with name, each call at most for `seconds`
 * (0: as long as the store waits), and make a communicator of all. See address.h for the address
 * that this rank publishes. */
struct tw_store;
tw_status_t tw_world_bootstrap(const tw_log_t *log, int rank, int size,
                               const struct tw_store *store, const char *name, const char *address,
                               const char *towards, double seconds, MPI_Comm *comm_p);

/* ---- messages (message.c) -------------------------------------------------------------------- */

size_t tw_mpi_extent(MPI_Datatype type); /* bytes of an element */

/* With the lock held: a message to or from a rank of the group; NULL: no memory. */
tw_tcp_message_t *tw_tcp_send(tw_tcp_group_t *group, const void *data, size_t size, int dest,
                              uint64_t context, int tag);
tw_tcp_message_t *tw_tcp_recv(tw_tcp_group_t *group, void *data, size_t size, int source,
                              uint64_t context, int tag);
/* See tw_mpi_comm_descriptor(). */
int tw_world_descriptor(tw_world_t *world);
/* Wait for a request. */
int tw_tcp_wait(MPI_Request *request);

/* ---- waiting (nap.c) ------------------------------------------------------------------------- */

/* What this thread waits for has moved, or a wait begins; and nothing has: give the core away, and
 * after a while sleep, until a connection wakes it or for a part of the time it has waited. Without
 * a descriptor it may wait for a node's memory, and sleeps for short. */
void tw_nap_moved(void);
void tw_nap(int descriptor);
/* Which connections this thread looks at: an epoll descriptor; -1: none. */
void tw_nap_at(int epoll);

#endif /* TW_SOCKETS_WORLD_H */
