/* SPDX-License-Identifier: BSD-3-Clause
 * thinwire/facts.h - measured speeds of a communicator: links, codecs, and MPI's own collectives.
 * tw_comm_calibrate() (thinwire/model.h) measures them. The model uses them to predict times and to
 * choose for the codec `auto`.
 *
 * Times are in seconds, rates in bytes per second in one direction; links are assumed to carry both
 * directions at once. The struct holds no pointers: it may be copied, and edited to describe
 * another machine, from known or assumed numbers. No function here needs MPI.
 */
#ifndef THINWIRE_FACTS_H
#define THINWIRE_FACTS_H

#include <stddef.h>

#include <thinwire/codec.h>
#include <thinwire/declare.h>
#include <thinwire/status.h>

TW_BEGIN_DECLS

/* Operations of the model, with the values that `count` counts. reduce_scatter_block counts as
 * reduce_scatter, and the v-forms as the operations without v. */
typedef enum tw_operation {
    TW_OPERATION_ALLREDUCE      = 0, /* the vector */
    TW_OPERATION_REDUCE         = 1, /* the vector */
    TW_OPERATION_REDUCE_SCATTER = 2, /* the whole vector */
    TW_OPERATION_BCAST          = 3, /* the vector */
    TW_OPERATION_ALLGATHER      = 4, /* one rank's block */
    TW_OPERATION_ALLTOALL       = 5  /* the values that one rank sends to one */
} tw_operation_t;

#define TW_OPERATIONS 6

/* A class of links: between ranks of a node, or between nodes. All 0 if there are none. */
typedef struct tw_link_facts {
    double latency;   /* of a short message, one way */
    double bandwidth; /* of one pair of ranks */
    double shared;    /* out of one rank (inside a node) or one node (between nodes), and at the
                         same time into it, during an all-to-all exchange */
    double message;   /* time of each further message during an all-to-all exchange */
} tw_link_facts_t;

#define TW_FACTS_SPEC 40 /* bytes of a codec spec, with its NUL */

/* A codec that `auto` may choose; times while all ranks use it at once. */
typedef struct tw_codec_facts {
    char       spec[TW_FACTS_SPEC];
    tw_dtype_t dtype;
    double     bytes;                      /* per value */
    size_t     block;                      /* values */
    double     max_error;                  /* as tw_codec_traits_t.max_error */
    int        feedback;                   /* only with error feedback */
    double     encode, decode, decode_add; /* seconds per value */
    double     call;                       /* seconds per call */
} tw_codec_facts_t;

#define TW_LADDER_STEPS 16

/* Times at increasing sizes; bytes are those of `count` values. Interpolated between sizes. */
typedef struct tw_ladder {
    int    steps;
    double bytes[TW_LADDER_STEPS], seconds[TW_LADDER_STEPS];
} tw_ladder_t;

#define TW_FACTS_CODECS  32
#define TW_FACTS_FACTORS 32

typedef struct tw_facts {
    int ranks, nodes, local_ranks; /* local: most ranks on a node */
    int long_form; /* 1: measured for 1 s or longer, as by `thinwire calibrate`; 0: shorter */
    tw_link_facts_t  inside, between;
    double           engine;                /* fixed seconds of each operation of the library */
    tw_ladder_t      native[TW_OPERATIONS]; /* MPI's own collectives, float32 */
    int              codecs;
    tw_codec_facts_t codec[TW_FACTS_CODECS];
    /* Measured divided by predicted time of each algorithm of the library, in the order of
     * tw_model_describe(), with fp32: [0] of its steps, from a short vector; [1] of its bytes on
     * the links, from a long vector; 1 if not measured. factor_bytes: encoded bytes of these
     * vectors. */
    double factor[TW_FACTS_FACTORS][2], factor_bytes[TW_FACTS_FACTORS][2];
    double processor; /* part of a core that a rank has while all ranks compute; 0: unknown,
                         used as 1 */
    double moving;    /* core seconds per byte that a rank sends to or receives from another
                         node */
} tw_facts_t;

/** Read a file written by tw_comm_calibration_save() or `thinwire calibrate`, on any machine.
 * @param [out] facts  set only on TW_OK.
 * @param [out] why    on an error what is wrong with the file, in a few words; truncated to
 *                     why_size, which must be above 0.
 * @return TW_OK, TW_ERR_IO, TW_ERR_NO_MEMORY, TW_ERR_INVALID_ARG. */
tw_status_t tw_facts_load(const char *path, tw_facts_t *facts, char *why, size_t why_size);

/** The entry of a codec in facts, by its spec as tw_codec_spec() returns it; NULL: none. */
const tw_codec_facts_t *tw_facts_codec(const tw_facts_t *facts, const char *spec, tw_dtype_t dtype);

/* Predicted cost of a collective. */
typedef struct tw_prediction {
    const char *algorithm; /* as returned by tw_request_algorithm() */
    double      seconds;
    double      codec;      /* seconds of the busiest core in the codec; overlaps the time of links
                               between nodes */
    double      bytes_sent; /* by the busiest rank */
    double      bytes_root; /* bcast, reduce: by the root */
    double      bytes_others;     /* bcast, reduce: by the busiest other rank */
    double      bytes_turns;      /* by each rank on average, if all ranks are the root in turn */
    double      bytes_network[2]; /* by all ranks of the first node to other nodes, and by those of
                                     the second: the first has the longer shares */
    double      bytes_network_turns[2]; /* bcast, reduce: on average, if all ranks are the root in
                                           turn */
    double      messages;               /* of all ranks together, approximately */
    double moving; /* core seconds of the busiest rank in sending and receiving, besides codec */
} tw_prediction_t;

/** Predict a collective on ranks with these facts, without a communicator. Local. Settings have
 * their defaults.
 * @param [in]  count       see tw_operation_t.
 * @param [in]  spec, dtype one of the facts' codecs.
 * @param [in]  algorithm   one of the library's algorithms; "mpi": MPI's own collective on
 *                          unencoded values (spec is ignored, but not NULL), from facts.native,
 *                          which holds for the ranks and nodes that were measured, whatever
 *                          facts.ranks and facts.nodes are; "usual": what the library takes where
 *                          nothing names one; NULL: the fastest of the algorithms
 *                          that the codec `auto` considers on such ranks.
 * @param [out] prediction  set only on TW_OK. With "mpi" bytes_sent is the least that an algorithm
 *                          of the library would send.
 * @return TW_OK, TW_ERR_INVALID_ARG (also for facts with numbers out of range), TW_ERR_UNSUPPORTED
 *         (no such codec or algorithm, the algorithm does not support the operation, or
 *         facts.native has no steps). */
tw_status_t tw_facts_predict(const tw_facts_t *facts, tw_operation_t operation, double count,
                             const char *spec, tw_dtype_t dtype, const char *algorithm,
                             tw_prediction_t *prediction);

/** The same, by what the library takes where nothing names an algorithm, of shares that ranks own,
 * in whole units of values, as equal as these allow, the first ones longer (tw_weights_owned(),
 * thinwire/weights.h): a reduce-scatter to the owners, or an allgather from them.
 * @param [in] operation  TW_OPERATION_REDUCE_SCATTER or TW_OPERATION_ALLGATHER.
 * @param [in] count      values of all shares together, of an allgather, too.
 * @param [in] unit       values; 0: 1. */
tw_status_t tw_facts_predict_shares(const tw_facts_t *facts, tw_operation_t operation, double count,
                                    size_t unit, const char *spec, tw_dtype_t dtype,
                                    tw_prediction_t *prediction);

TW_END_DECLS

#endif /* THINWIRE_FACTS_H */
