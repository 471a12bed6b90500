/* SPDX-License-Identifier: BSD-3-Clause
 * interpose/form.h - the parts of which compressed forms are made: vectors of plain values, codes
 * in units, byte collectives that run behind a request of the program.
 *
 * A form is a collective of MPI's on the program's own communicator whose elements are TW_UNIT
 * bytes of codes. One stage, no set-up: it synchronises exactly as much as the program's call did.
 */
#ifndef TW_INTERPOSE_FORM_H
#define TW_INTERPOSE_FORM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "interpose/call.h"
#include "interpose/pending.h"
#include "interpose/state.h"

/* `items` items of the program's to codes: packed where the layout has holes, narrowed where
 * doubles travel as floats. codes has tw_choice_bytes() bytes. */
void tw_form_encode(tw_call_t *call, const tw_choice_t *choice, const tw_type_t *type,
                    const void *buffer, size_t items, void *codes);

/* Codes to items, the way back. */
void tw_form_decode(tw_call_t *call, const tw_choice_t *choice, const tw_type_t *type,
                    const void *codes, void *buffer, size_t items);

/* The sum, in rank order, of `ranks` vectors of codes that lie `stride` bytes apart. */
void tw_form_decode_sum(tw_call_t *call, const tw_choice_t *choice, const tw_type_t *type,
                        const void *codes, size_t stride, int ranks, void *buffer, size_t items);

/* Items to consecutive values as they are, and back; an error of MPI's ends the job. */
void tw_form_pack(const tw_call_t *call, const tw_type_t *type, const void *buffer, size_t items,
                  void *vector);
void tw_form_unpack(const tw_call_t *call, const tw_type_t *type, const void *vector, size_t items,
                    void *buffer);

/* Doubles to floats and back, rounding to nearest whatever the caller's mode. */
void tw_form_narrow(const void *doubles, size_t n, float *floats);
void tw_form_widen(const float *floats, size_t n, void *doubles);

/* Values of a kind as MPI's basic type. */
MPI_Datatype tw_form_basic(tw_kind_t kind);

/* ---- nonblocking ----------------------------------------------------------------------------- */

/* A started byte collective: what finish() needs. `arrays` are copied int arrays that MPI reads
 * until completion. */
typedef struct tw_form_op {
    tw_pending_t       pending; /* first: what finish() gets                                */
    tw_call_t          call;
    const tw_choice_t *choice;
    tw_type_t          type;  /* of the receive side                                      */
    void              *recv;  /* the program's receive buffer                             */
    size_t             items; /* per block                                                */
    int                ranks;
    bool               root; /* bcast: this rank is the root                                */
    MPI_Datatype       held; /* a duplicate of a derived type, which the program may free    */
    void              *codes_in, *codes_out; /* pool                                        */
    void              *extra; /* of the form, malloc                                      */
} tw_form_op_t;

tw_form_op_t *tw_form_op_make(const tw_call_t *call, const tw_choice_t *choice,
                              const tw_type_t *type, void *recv, size_t items);

/* After MPI's nonblocking call: on success the program's request is ours to finish, and the call is
 * counted; else everything is released. Returns result. */
int tw_form_op_started(tw_form_op_t *op, int result, MPI_Request *request,
                       void (*finish)(tw_pending_t *));

/* The end of a finish(): count the time, release. */
void tw_form_op_done(tw_form_op_t *op, uint64_t start_ns);

#endif /* TW_INTERPOSE_FORM_H */
