/* SPDX-License-Identifier: BSD-3-Clause
 * interpose/choice.h - codecs in use, and how many bytes their codes take.
 */
#ifndef TW_INTERPOSE_CHOICE_H
#define TW_INTERPOSE_CHOICE_H

#include <thinwire/codec.h>

#include "interpose/state.h"
#include "interpose/mpi/types.h"
#include "runtime/policy/rules.h"

/* A codec in use: one object per spec and type, made once, kept until the end. */
typedef struct tw_choice {
    struct tw_choice *next;
    char              spec[TW_RULE_SPEC_MAX]; /* as the rule, the option or the ladder says it   */
    tw_kind_t         kind;   /* of the program's values                                         */
    tw_codec_t       *codec;  /* NULL: it has no form for this kind                              */
    tw_dtype_t        dtype;  /* of the values that are encoded                                  */
    bool              narrow; /* doubles that travel as floats (--double)                        */
    bool   automatic;         /* auto, abs: the transport decides                                */
    double absolute;          /* abs: its bound; else 0                                          */
    bool   exact;             /* lossless: fp32                                                  */
} tw_choice_t;

/** The choice for a spec and kind, made at first use. */
const tw_choice_t *tw_choice_get(const char *spec, tw_kind_t kind);

/** Is there such a codec, for floats or at least for doubles (int:24)? If not, `why` says it. */
tw_status_t tw_choice_check(const char *spec, char *why, size_t size);

/** The spec that an error contract goes to when this choice has broken it; "": elements as they
 * are. */
const char *tw_choice_finer(const tw_choice_t *choice);

/** That of a candidate of the report. Where it has no form for doubles, what --double would make of
 * them; only sizes are asked of it. Of floats it may have no form either: then it sends them as
 * they are. */
const tw_choice_t *tw_choice_candidate(int c, tw_kind_t kind);

/* Bytes of n values' codes, padded to a multiple of TW_UNIT; and the same as a count of units. */
size_t tw_choice_bytes(const tw_choice_t *choice, size_t n);

static inline int tw_choice_units(const tw_choice_t *choice, size_t n)
{
    return (int)(tw_choice_bytes(choice, n) / TW_UNIT);
}

/* Do the codes of all ranks, and once more this rank's, take no more than two messages, and so no
 * more bytes than a native sum moves? */
bool tw_choice_all_fit(const tw_choice_t *choice, size_t n, int ranks);

#endif /* TW_INTERPOSE_CHOICE_H */
