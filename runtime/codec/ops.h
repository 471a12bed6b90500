/* SPDX-License-Identifier: BSD-3-Clause
 * codec/ops.h - a codec inside: one constant table of functions per codec, one list of them.
 *
 * Adding a codec: its folder, one line in codecs.h, its files in sources.am. codec.c cuts long
 * vectors at block boundaries and hands the pieces to threads, so a kernel sees only part of a
 * vector.
 */
#ifndef TW_CODEC_OPS_H
#define TW_CODEC_OPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <thinwire/codec.h>

#include "runtime/base/dtype.h"
#include "runtime/codec/cuda/kind.h"
#include "runtime/codec/kernels.h"

#define TW_CODEC_SPEC_MAX 96 /* bytes of a full spec */

/* Where a parser says what was wrong; never overflows. */
typedef struct tw_spec_why {
    char  *text;
    size_t size;
} tw_spec_why_t;

void tw_why_set(const tw_spec_why_t *why, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* A spec by which others use the codec without being told to, of one element type. */
typedef enum tw_offer_to {
    TW_OFFER_AUTO   = 1, /* `auto` may choose it: a calibration measures it                   */
    TW_OFFER_REPORT = 2, /* the report of a run without codec says what it would send         */
    TW_OFFER_ADVICE = 4, /* ... and may advise it: needs no error feedback                    */
    TW_OFFER_FIRST  = 8, /* ... and advises it where it saves anything: the usual choice      */
    TW_OFFER_BLOCK  = 16 /* ... and advises it before that, saying so, where it saves more with no
                            larger error: which is absolute in a block, so small values vanish */
} tw_offer_to_t;

typedef struct tw_codec_offer {
    const char *spec;
    tw_dtype_t  dtype;
    unsigned    to; /* tw_offer_to_t */
} tw_codec_offer_t;

#define TW_TYPE(dtype) (1u << (dtype))

typedef struct tw_codec_ops {
    const char *name;  /* what a spec begins with                                       */
    const char *form;  /* accepted spec: "tree8[:block=N][,split=0.45|0.55]"            */
    const char *help;  /* one line                                                      */
    uint8_t     id;    /* docs/wire-format.md; compared between ranks, never reused      */
    size_t      state; /* bytes of codec->state, zeros at first: what option() reads; or 0 */

    /* TW_TYPE(TW_F32) | ...: of its elements; 0: float32 alone. Others are refused, but types whose
     * sums are of one of these (narrow.h). */
    unsigned types;

    /* One option of the spec: key "block", value "4096"; a bare word has value NULL.
     * TW_ERR_SPEC, with *why set, for what is not understood. NULL: there are none. */
    tw_status_t (*option)(tw_codec_t *codec, const char *key, const char *value,
                          const tw_spec_why_t *why);
    /* All options are read: check them, set block, bytes_per_value, bound, finer, cuda, table and
     * spec. The dtype is set, and one of `types`. Kernels are chosen afterwards. */
    tw_status_t (*finish)(tw_codec_t *codec, const tw_spec_why_t *why);

    size_t (*size)(const tw_codec_t *codec, size_t n); /* exact; n * 9 is known not to overflow */

    const tw_kernels_t *kernels[TW_CPU_LEVELS]; /* NULL: none; scalar there must be */

    /* Up to the first without a spec. */
    tw_codec_offer_t offers[12];
} tw_codec_ops_t;

/* bound (tw_codec_traits_t.max_error): the error that one encoding makes at most, in parts of the
 * largest magnitude of the value's block, which for codecs without blocks is the value itself; 0:
 * none, INFINITY: any. For finite values that are not subnormal; rounding in float32 may add 2^-22
 * of the maximum to what codecs with blocks have. tests/codec/test_numbers.c measures it.
 * finer: what an error contract goes to when the codec has broken it: the spec (static) of the next
 * one with a smaller error and more bytes, for the same elements. */
struct tw_codec {
    const tw_codec_ops_t *ops;
    tw_dtype_t            dtype;
    const tw_dtype_row_t *type;            /* of the elements                             */
    const tw_codec_t     *wide;            /* with the same codes, of the type of sums; itself where
                                              that is the elements' type                  */
    const tw_codec_t     *plain;           /* else: `wide` of elements as they are        */
    size_t                element;         /* its bytes                                   */
    size_t                block;           /* values per block, 1 if none                 */
    double                bytes_per_value; /* asymptotic                                  */
    double                bound;           /* see above; finish() must set it             */
    const char           *finer;           /* see above; NULL: none                       */
    tw_cuda_kind_t        cuda;            /* kernels for device memory; 0: none          */
    bool                  lossless;        /* decoding gives back every bit               */
    bool                  feedback;        /* wants error feedback                        */
    bool                  identity;        /* codes are the elements' own bytes           */
    tw_cpu_level_id_t     cpu;             /* kernels may go up to here                   */
    tw_cpu_level_id_t     isa;             /* of the kernels                              */
    const tw_kernels_t   *kernels;
    void                 *table;         /* levels of 8-bit types; freed with the codec */
    void                 *vectors;       /* of the kernels' prepare(); freed, too       */
    void                 *state;         /* the codec's own (ops->state); freed, too    */
    size_t                omp_threshold; /* bytes                                       */
    size_t                stream;        /* bytes, read and written, from which to stream */
    int                   threads;       /* default of tw_exec_t.threads                */
    char                  spec[TW_CODEC_SPEC_MAX];
};

extern const tw_codec_ops_t *const tw_codecs[]; /* NULL at the end */

/* In no list, as they have no kernels: what collectives replace by a codec. NULL at the end. */
extern const tw_codec_ops_t *const tw_codec_wishes[];
extern const tw_codec_ops_t        tw_codec_auto_ops, tw_codec_abs_ops;

/* For codecs without options: names the option and the accepted form. */
tw_status_t tw_codec_no_option(tw_codec_t *codec, const char *key, const char *value,
                               const tw_spec_why_t *why);

/* "block=N": a multiple of 64, 64 .. 1048576. */
tw_status_t tw_codec_option_block(tw_codec_t *codec, const char *value, const tw_spec_why_t *why);

#endif /* TW_CODEC_OPS_H */
