/* SPDX-License-Identifier: BSD-3-Clause
 * thinwire/facts.h - what is known about the speed of a communicator: links, codecs, and MPI's own
 * collectives. Measured by tw_comm_calibrate() (thinwire/model.h), read by the model that predicts
 * times and decides what the codec `auto` does.
 *
 * Times are seconds, rates bytes per second of what travels in one direction; links are taken to
 * carry both directions at once. The struct holds no pointers: it may be copied and changed, to
 * what a machine that is not at hand is known or thought to have. Nothing here needs MPI.
 */
#ifndef THINWIRE_FACTS_H
#define THINWIRE_FACTS_H

#include <stddef.h>

#include <thinwire/codec.h>
#include <thinwire/declare.h>
#include <thinwire/status.h>

TW_BEGIN_DECLS

/* Operations as the model knows them. reduce_scatter_block goes with reduce_scatter, the v-forms
 * with theirs. */
typedef enum tw_operation {
    TW_OPERATION_ALLREDUCE      = 0, /* count: of the vector                        */
    TW_OPERATION_REDUCE         = 1, /* of the vector                               */
    TW_OPERATION_REDUCE_SCATTER = 2, /* of the whole vector                         */
    TW_OPERATION_BCAST          = 3, /* of the vector                               */
    TW_OPERATION_ALLGATHER      = 4, /* of one rank's block                         */
    TW_OPERATION_ALLTOALL       = 5  /* of what one rank sends to one               */
} tw_operation_t;

#define TW_OPERATIONS 6

/* A class of links: between ranks of a node, or between nodes. All 0 where there are none. */
typedef struct tw_link_facts {
    double latency;   /* of a short message, one way                                              */
    double bandwidth; /* of one pair of ranks                                                     */
    double shared;    /* out of, and at the same time into, one rank (inside a node) or one node
                         (between nodes) while all exchange with all                              */
    double message;   /* time of each further message while all exchange with all                 */
} tw_link_facts_t;

#define TW_FACTS_SPEC 40 /* bytes of a codec's spec, with its NUL */

/* A codec that `auto` may choose, as fast as it is while all ranks use it at once. */
typedef struct tw_codec_facts {
    char       spec[TW_FACTS_SPEC];
    tw_dtype_t dtype;
    double     bytes;     /* per value                                               */
    size_t     block;     /* values                                                  */
    double     max_error; /* as tw_codec_traits_t.max_error                          */
    int        feedback;  /* only with error feedback                                */
    double     encode, decode, decode_add; /* seconds per value                       */
    double     call; /* seconds per call                                        */
} tw_codec_facts_t;

#define TW_LADDER_STEPS 16

/* Times at growing sizes; bytes are those of `count` values. In between, interpolated. */
typedef struct tw_ladder {
    int    steps;
    double bytes[TW_LADDER_STEPS], seconds[TW_LADDER_STEPS];
} tw_ladder_t;

#define TW_FACTS_CODECS  16
#define TW_FACTS_FACTORS 32

typedef struct tw_facts {
    int              ranks, nodes, local_ranks; /* local: the most on a node           */
    int              long_form; /* 1: measured by `thinwire calibrate`, 0: in passing  */
    tw_link_facts_t  inside, between;
    double           engine; /* seconds that any operation of the library's own takes  */
    tw_ladder_t      native[TW_OPERATIONS]; /* MPI's own collectives, float32           */
    int              codecs;
    tw_codec_facts_t codec[TW_FACTS_CODECS];
    /* Measured by predicted time of each algorithm of the library, in the order of
     * tw_model_algorithm(), with fp32: of its steps, by a short vector ([0]), and of its bytes on
     * the links, by a long one ([1]); 1 where it was not measured. factor_bytes are the encoded
     * bytes at which. */
    double factor[TW_FACTS_FACTORS][2], factor_bytes[TW_FACTS_FACTORS][2];
    double processor; /* the part of one that a rank has while all compute; 0: unknown, as 1     */
    double moving;    /* a processor's seconds of each byte that a rank sends to another node or
                         receives from there                                                 */
} tw_facts_t;

/** Read the facts of a file that tw_comm_calibration_save() or `thinwire calibrate` wrote, wherever
 * that was.
 * @param [out] facts  set only on TW_OK.
 * @param [out] why    else what is wrong with the file, in a few words; cut to why_size.
 * @return TW_OK, TW_ERR_IO, TW_ERR_NO_MEMORY, TW_ERR_INVALID_ARG. */
tw_status_t tw_facts_load(const char *path, tw_facts_t *facts, char *why, size_t why_size);

/** The row of a codec, by its spec as tw_codec_spec() has it; NULL: the facts have none. In
 * facts. */
const tw_codec_facts_t *tw_facts_codec(const tw_facts_t *facts, const char *spec, tw_dtype_t dtype);

/* What a collective is predicted to take. */
typedef struct tw_prediction {
    const char *algorithm; /* as tw_request_algorithm() names it                        */
    double      seconds;
    double      codec;        /* of the busiest core in the codec; beside the links' time where
                               these are between nodes                                  */
    double      bytes_sent;   /* by the busiest rank                                      */
    double      bytes_root;   /* of a bcast or reduce: by its root                        */
    double      bytes_others; /* and by the busiest of the others                       */
    double      bytes_turns;  /* by each rank, where all are the root in turn           */
    double      messages;     /* of all ranks together, about                           */
    double      moving;       /* of its processor in sending and receiving, beside codec  */
} tw_prediction_t;

/** What a collective takes on ranks with such facts, without a communicator. Local. Settings are
 * the defaults.
 * @param [in]  count       as tw_operation_t says.
 * @param [in]  spec, dtype one of the facts' codecs.
 * @param [in]  algorithm   of the library's own; "mpi": MPI's own collective on the values as they
 *                          are (spec is not looked at), by facts.native, which are of the ranks and
 *                          nodes that were measured, whatever those of the facts; NULL: the fastest
 *                          of the library's that the codec `auto` considers on such ranks.
 * @param [out] prediction  set only on TW_OK. With "mpi" bytes_sent is the least that an algorithm
 *                          of the library's would send.
 * @return TW_OK, TW_ERR_INVALID_ARG (also for facts with numbers out of range), TW_ERR_UNSUPPORTED
 *         (no such codec or algorithm, it cannot serve, or facts.native has no step). */
tw_status_t tw_facts_predict(const tw_facts_t *facts, tw_operation_t operation, double count,
                             const char *spec, tw_dtype_t dtype, const char *algorithm,
                             tw_prediction_t *prediction);

TW_END_DECLS

#endif /* THINWIRE_FACTS_H */
