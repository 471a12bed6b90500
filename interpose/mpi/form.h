/* SPDX-License-Identifier: BSD-3-Clause
 * interpose/mpi/form.h - the program's items to codes and back: through values without holes where
 * the layout has holes, through floats where doubles travel as such.
 */
#ifndef TW_INTERPOSE_FORM_H
#define TW_INTERPOSE_FORM_H

#include <stddef.h>

#include "interpose/call.h"

/* `items` items of the program's to codes: packed where the layout has holes or they are a
 * device's, narrowed where doubles travel as floats. codes has tw_choice_bytes() bytes. */
void tw_form_encode(tw_call_t *call, const tw_choice_t *choice, const tw_type_t *type,
                    const void *buffer, size_t items, void *codes);

/* Codes to items, the way back. */
void tw_form_decode(tw_call_t *call, const tw_choice_t *choice, const tw_type_t *type,
                    const void *codes, void *buffer, size_t items);

/* What the call's reduction makes, in rank order, of `ranks` vectors of codes that lie `stride`
 * bytes apart. */
void tw_form_decode_sum(tw_call_t *call, const tw_choice_t *choice, const tw_type_t *type,
                        const void *codes, size_t stride, int ranks, void *buffer, size_t items);

/* Items to consecutive values as they are, and back; an error of MPI's ends the job. */
void tw_form_pack(const tw_call_t *call, const tw_type_t *type, const void *buffer, size_t items,
                  void *vector);
void tw_form_unpack(const tw_call_t *call, const tw_type_t *type, const void *vector, size_t items,
                    void *buffer);

/* The values of items in host memory: where they lie, or packed in *copy_p, a buffer to be put
 * back; else NULL. */
const void *tw_form_values(const tw_call_t *call, const tw_type_t *type, const void *buffer,
                           size_t items, void **copy_p);

/* Doubles to floats and back, rounding to nearest whatever the caller's mode. */
void tw_form_narrow(const void *doubles, size_t n, float *floats);
void tw_form_widen(const float *floats, size_t n, void *doubles);

#endif /* TW_INTERPOSE_FORM_H */
