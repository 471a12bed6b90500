/* SPDX-License-Identifier: BSD-3-Clause
 * interpose/mpi/form.c - see form.h.
 */
#include "config.h"

#include <string.h>

#include "interpose/mpi/form.h"
#include "runtime/base/clock.h"
#include "runtime/base/fpmode.h"
#include "runtime/codec/combine.h"

/* ---- double to float and back, whatever the caller's rounding -------------------------------- */

void tw_form_narrow(const void *doubles, size_t n, float *floats)
{
    const tw_fpmode_t mode = tw_fpmode_enter();

    for (size_t i = 0; i < n; i++) {
        double x;

        memcpy(&x, (const char *)doubles + i * sizeof(x), sizeof(x));
        floats[i] = (float)x;
    }
    tw_fpmode_leave(mode);
}

void tw_form_widen(const float *floats, size_t n, void *doubles)
{
    const tw_fpmode_t mode = tw_fpmode_enter();

    for (size_t i = 0; i < n; i++) {
        const double x = floats[i];

        memcpy((char *)doubles + i * sizeof(x), &x, sizeof(x));
    }
    tw_fpmode_leave(mode);
}

/* ---- vectors --------------------------------------------------------------------------------- */

void tw_form_pack(const tw_call_t *call, const tw_type_t *type, const void *buffer, size_t items,
                  void *vector)
{
    if (!tw_type_pack(type, buffer, items, vector)) {
        tw_give_up(call->comm->handle, "MPI_Pack failed on a type that it took before");
    }
}

void tw_form_unpack(const tw_call_t *call, const tw_type_t *type, const void *vector, size_t items,
                    void *buffer)
{
    if (!tw_type_unpack(type, vector, items, buffer)) {
        tw_give_up(call->comm->handle, "MPI_Unpack failed on a type that it took before");
    }
}

const void *tw_form_values(const tw_call_t *call, const tw_type_t *type, const void *buffer,
                           size_t items, void **copy_p)
{
    *copy_p = NULL;
    if (tw_type_at_hand(type) || items * type->size == 0) {
        return buffer;
    }
    *copy_p = tw_buffer_get(call->comm->handle, items * type->size);
    tw_form_pack(call, type, buffer, items, *copy_p);
    return *copy_p;
}

void tw_form_encode(tw_call_t *call, const tw_choice_t *choice, const tw_type_t *type,
                    const void *buffer, size_t items, void *codes)
{
    const uint64_t start = tw_clock_ns();
    const size_t   n     = items * type->values;
    void          *packed, *narrow = NULL;
    size_t         bytes = 0;

    buffer = tw_form_values(call, type, buffer, items, &packed);
    if (choice->narrow) {
        narrow = tw_buffer_get(call->comm->handle, n * sizeof(float));
        tw_form_narrow(buffer, n, narrow);
        buffer = narrow;
    }
    tw_codec_encode(choice->codec, &tw_state.exec, buffer, n, codes);
    tw_codec_size(choice->codec, n, &bytes);
    memset((char *)codes + bytes, 0, tw_choice_bytes(choice, n) - bytes);
    tw_buffer_put(packed);
    tw_buffer_put(narrow);
    call->encode_ns += tw_clock_ns() - start;
}

/* Where decoded values go first, and from there into the program's buffer. */
typedef struct tw_landing {
    void *values; /* in the codec's type */
    void *packed, *narrow;
} tw_landing_t;

static tw_landing_t tw_landing_make(const tw_call_t *call, const tw_choice_t *choice,
                                    const tw_type_t *type, void *buffer, size_t items)
{
    tw_landing_t landing = {.values = buffer};

    if (!tw_type_at_hand(type)) {
        landing.packed = tw_buffer_get(call->comm->handle, items * type->size);
        landing.values = landing.packed;
    }
    if (choice->narrow) {
        landing.narrow = tw_buffer_get(call->comm->handle, items * type->values * sizeof(float));
        landing.values = landing.narrow;
    }
    return landing;
}

static void tw_landing_leave(const tw_call_t *call, const tw_landing_t *landing,
                             const tw_type_t *type, void *buffer, size_t items)
{
    if (landing->narrow != NULL) {
        tw_form_widen(landing->narrow, items * type->values,
                      landing->packed != NULL ? landing->packed : buffer);
    }
    if (landing->packed != NULL && items > 0) {
        tw_form_unpack(call, type, landing->packed, items, buffer);
    }
    tw_buffer_put(landing->packed);
    tw_buffer_put(landing->narrow);
}

void tw_form_decode(tw_call_t *call, const tw_choice_t *choice, const tw_type_t *type,
                    const void *codes, void *buffer, size_t items)
{
    tw_form_decode_sum(call, choice, type, codes, 0, 1, buffer, items);
}

void tw_form_decode_sum(tw_call_t *call, const tw_choice_t *choice, const tw_type_t *type,
                        const void *codes, size_t stride, int ranks, void *buffer, size_t items)
{
    const uint64_t start   = tw_clock_ns();
    const size_t   n       = items * type->values;
    tw_landing_t   landing = tw_landing_make(call, choice, type, buffer, items);

    const tw_reduction_row_t *reduction = tw_reduction_row((int)call->reduction);
    const tw_codec_t         *codec     = ranks > 1 ? choice->codec->wide : choice->codec;
    const size_t              tile      = ranks > 1 ? tw_codec_tile(codec, reduction) : 0;
    void *const tiled = tile > 0 ? tw_buffer_get(call->comm->handle, tile * codec->element) : NULL;
    void *const wide  = codec != choice->codec
                            ? tw_buffer_get(call->comm->handle, n * codec->element)
                            : NULL; /* sums of 16-bit values */
    void *const sum   = wide != NULL ? wide : landing.values;

    tw_codec_decode(codec, &tw_state.exec, codes, n, sum);
    for (int r = 1; r < ranks; r++) {
        tw_codec_decode_combine(codec, &tw_state.exec, reduction,
                                (const char *)codes + (size_t)r * stride, n, tiled, sum);
    }
    if (wide != NULL) {
        tw_codec_encode(choice->codec->plain, &tw_state.exec, wide, n, landing.values);
    }
    tw_buffer_put(tiled);
    tw_buffer_put(wide);
    tw_landing_leave(call, &landing, type, buffer, items);
    call->decode_ns += tw_clock_ns() - start;
}
