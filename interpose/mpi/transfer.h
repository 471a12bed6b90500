/* SPDX-License-Identifier: BSD-3-Clause
 * interpose/mpi/transfer.h - one compressed call: what a rank sends and receives, block by block,
 * and one collective of MPI's that moves the codes.
 *
 * Made by a handler, filled with blocks, and run: encode all that is sent, move, decode all that is
 * received; a verified call is compared with the exact result, a nonblocking one is finished when
 * its request is complete. On the program's own communicator, in one stage and without set-up: it
 * synchronises exactly as much as the program's call.
 */
#ifndef TW_INTERPOSE_TRANSFER_H
#define TW_INTERPOSE_TRANSFER_H

#include <stdbool.h>
#include <stddef.h>

#include "interpose/call.h"
#include "interpose/mpi/pending.h"

/* Items that travel together. */
typedef struct tw_block {
    const tw_choice_t *choice; /* NULL: they travel as they are                   */
    size_t             items;
    MPI_Aint           first;     /* item, in the program's buffer                   */
    size_t             bytes, at; /* of what travels, and where it lies in the codes */
} tw_block_t;

/* What a rank sends, or what it receives. */
typedef struct tw_side {
    tw_type_t   type;
    void       *buffer; /* the program's                                           */
    int         count;  /* of blocks                                               */
    int         terms;  /* codes, one after another, of which a block is the sum: 1 */
    tw_block_t *block;
    int        *lengths, *at; /* of all codes, in units: what MPI wants to know          */
    size_t      total;        /* bytes of all codes                                      */
    char       *codes;        /* what MPI gets                                           */
    char *made; /* the same in device memory, where they are made and read; NULL: in `codes` */
} tw_side_t;

typedef struct tw_transfer tw_transfer_t;

/* What tells collectives apart. */
typedef struct tw_manner {
    /* MPI's collective on the codes of both sides; blocking where request is NULL. */
    int (*move)(const tw_transfer_t *x, MPI_Request *request);
    /* The program's collective, from host memory into `exact`, of a verified call that reduces.
     * NULL: blocks are only moved, and so are the exact ones. */
    int (*exact)(const tw_transfer_t *x, const void *input, void *exact);
    /* After decoding: what is done with what was sent. NULL: nothing. */
    void (*sent)(tw_transfer_t *x);
    bool alone; /* one rank has the result, and notes its error; else all reduce theirs      */
    bool mixed; /* ranks may differ in what is encoded, not in the type that MPI gets: bytes   */
} tw_manner_t;

struct tw_transfer {
    tw_pending_t       pending; /* first: what finishing gets                                */
    const tw_manner_t *manner;
    tw_call_t         *call;
    tw_call_t          kept; /* nonblocking: the call, which outlives its handler         */
    tw_side_t          send, recv;
    int                root;
    const void        *arguments; /* for exact(): the program's                                */
    size_t             unit;      /* bytes that MPI counts as one                              */
    MPI_Datatype       unit_type; /* ours to free where it is neither a byte nor TW_UNIT       */
    MPI_Datatype       held;      /* a duplicate of a derived type, which the program may free */
};

/* With room for so many blocks. */
tw_transfer_t *tw_transfer_make(tw_call_t *call, const tw_manner_t *manner, int sends,
                                int receives);

/* One that was not run. */
void tw_transfer_free(tw_transfer_t *x);

/* Where a side has its items, and of which type. */
void tw_side_set(tw_side_t *side, const tw_type_t *type, const void *buffer);

/* The next block of a side that is set. */
void tw_side_add(tw_side_t *side, const tw_choice_t *choice, size_t items, MPI_Aint first);

/* Codes to items; they may be those of another side. */
void tw_side_decode(tw_call_t *call, const tw_side_t *side);

/* A vector of `items` items, of which a rank that receives has the sum over all ranks. */
tw_transfer_t *tw_transfer_sum(tw_call_t *call, const tw_manner_t *manner, const void *input,
                               void *output, size_t items, bool receives);

/* Carry out the call, for which call->sent is known, count it, and free x. */
int tw_transfer_run(tw_transfer_t *x, MPI_Request *request);

/* The move() of forms in which each rank has something else for each. */
int tw_transfer_pairs(const tw_transfer_t *x, MPI_Request *request);

#endif /* TW_INTERPOSE_TRANSFER_H */
