/* SPDX-License-Identifier: BSD-3-Clause
 * policy/model.h - what a collective will cost, and what is cheapest: pure functions of the facts
 * of a communicator, which all ranks know to be equal.
 *
 * Every algorithm is a row of one table (model_cost.c): the operation that it carries out, its
 * name, and a function that says what the busiest rank does for a whole vector: steps that wait for
 * a link, messages, time of the links, time in the codec. The rest is common: the vector is cut
 * into fragments, between nodes the links carry one fragment while the codec works on another,
 * inside a node the core that copies is the one that encodes.
 *
 *     time = engine + f latencies L + rounds max(x, c) + min(x, c) - e
 *     x    = g link time / rounds, c = codec time / rounds + messages M
 *     e    = of encoding and of half the messages, what is done while the first ones travel
 *
 * (inside a node: x + c each).
 *
 * Where nodes take turns, each in rounds of its own, at most THINWIRE_WINDOW turns are under way,
 * and a turn takes f latencies L + its codec time + half the messages M, and x where it ends with
 * what it sends: the time is at least that of the turns that follow each other.
 *
 * The factors f and g are what was measured of that algorithm with fp32, of a short and of a long
 * vector, divided by what the formula says.
 *
 * Every rank decides by itself, so the arithmetic must give the same bits on all of them: sums,
 * products, quotients and floor(), in the floating-point mode of base/fpmode.h whatever the
 * caller's; no other function of libm (policy/power.h instead).
 */
#ifndef TW_POLICY_MODEL_H
#define TW_POLICY_MODEL_H

#include <stdbool.h>
#include <stddef.h>

#include <thinwire/facts.h>

/* How much faster than MPI's own collective something must be said to be, to be taken instead: what
 * the model errs by. Without factors it errs by more. */
#define TW_MODEL_MARGIN       0.80
#define TW_MODEL_MARGIN_QUICK 0.60
/* What a prediction of a lossy codec is multiplied with inside one node before it is compared: the
 * factors are measured with fp32, and there, where the codec is most of the time, the rest is wrong
 * by as much. */
#define TW_MODEL_DOUBT 1.6
/* How much faster than a more exact codec a less exact one must be. */
#define TW_MODEL_LESS_EXACT 0.95

/* Bytes of codes in a message, unless something says more: what Open MPI sends at once over TCP (64
 * KiB with its header; longer ones wait for an answer, by which 4 hosts at 1 Gbit/s lost a tenth of
 * the line, and a chain of 4 hosts an eighth), and long enough for full speed where several are
 * under way; along a chain shorter where many ranks wait for the first; and the default of
 * THINWIRE_CHUNK. */
#define TW_FRAGMENT    ((size_t)63 << 10)
#define TW_CHAIN_LEAST (TW_FRAGMENT / 16)
#define TW_CHUNK       ((size_t)256 << 10)

/* The default of THINWIRE_MESSAGE_COST: bytes that a link carries in the time of a message. */
#define TW_MESSAGE_COST ((size_t)2 << 10)

/* Most bytes of codes of an alltoall's block that travels with those of other ranks between two
 * nodes: longer ones cost more to pack than the message that is saved. */
#define TW_PAIR_MOST ((size_t)1 << 10)

/* Rounds of an operation that are under way, by THINWIRE_WINDOW, and the limit on the bytes of
 * elements, and of codes, of all of them, per direction: with many ranks fragments become smaller
 * than THINWIRE_CHUNK. */
#define TW_WINDOW_MAX  8
#define TW_LANE_BUDGET ((size_t)32 << 20)

/* Bytes of codes that the ranks of a node send to another in one message: of several at once each
 * would be longer than what it costs. */
#define TW_BUNDLE_MOST ((size_t)8 << 10)

typedef struct tw_model_query {
    const tw_facts_t       *facts;
    const tw_codec_facts_t *codec;
    double                  count;    /* as tw_operation_t says         */
    size_t                  chunk;    /* most bytes of elements in a fragment (THINWIRE_CHUNK) */
    size_t                  fragment; /* wanted bytes of codes in a fragment                  */
    double unit;  /* of shares that the caller cuts: values that stay together; 0: 1 */
    double whole; /* of an allgather of such shares: values of all; count is that of the first */
} tw_model_query_t;

typedef struct tw_model_cost {
    double longest;    /* values of the interval that is cut into fragments            */
    double latencies;  /* steps, each of which waits for a link; infinite: it cannot serve */
    double messages;   /* of the busiest rank, beyond one, for one fragment            */
    double calls;      /* of the codec, for one fragment                               */
    double transfer;   /* seconds of the busiest link                               */
    double codec;      /* seconds of the busiest core in the codec                  */
    double drain;      /* fragments that still travel when the first rank is done      */
    size_t fragment;   /* bytes of codes in one that it takes by itself; 0: TW_FRAGMENT */
    double cycle;      /* rounds for each fragment, in which nodes take turns; 0: one           */
    bool   waits;      /* rounds wait until nodes had their turns                     */
    double turn;       /* then: seconds of a turn in the codec, of all fragments       */
    bool   replies;    /* and a turn takes the link's time, too                        */
    double early;      /* of codec, what is sent on while the rest of a fragment is encoded     */
    double slots;      /* buffers of codes for each round under way                    */
    double sent;       /* encoded vectors that the busiest rank sends                  */
    double network[2]; /* and those that leave the first node, and the second             */
    double root;       /* with a root: those that it sends                             */
    double others;     /* and those of the busiest other rank                          */
    double turns;      /* of each rank, where all are the root in turn                 */
    double network_turns[2]; /* and those that leave these nodes                        */
} tw_model_cost_t;

typedef struct tw_model_algorithm {
    tw_operation_t operation;
    const char    *name;
    void (*cost)(const tw_model_query_t *query, tw_model_cost_t *cost);
    /* NULL, or: is it considered on such ranks without its being named? */
    bool (*considered)(const tw_facts_t *facts);
} tw_model_algorithm_t;

/* The index-th algorithm, or NULL after the last. The order is that of tw_facts_t.factor. */
const tw_model_algorithm_t *tw_model_algorithm(int index);

/* Is it considered where nothing names an algorithm? */
bool tw_model_considered(int algorithm, const tw_facts_t *facts);

/* Its index, or -1. */
int tw_model_find(tw_operation_t operation, const char *name);

extern const char *const tw_model_operations[TW_OPERATIONS]; /* "allreduce", ... */

/* Predicted seconds of an algorithm of the table; infinite where it cannot serve. In the caller's
 * floating-point mode, as the functions below, but for tw_model_decide(). */
double tw_model_predict(int algorithm, const tw_model_query_t *query);

/* The fastest algorithm of an operation, or the named one, with the fragment that it takes by
 * itself. query->fragment is written. @return TW_OK, TW_ERR_UNSUPPORTED: none can serve. */
tw_status_t tw_model_prediction(tw_operation_t operation, const char *algorithm,
                                tw_model_query_t *query, tw_prediction_t *prediction);

/* The cost function's own numbers of an algorithm of the table. */
tw_model_cost_t tw_model_cost(int algorithm, const tw_model_query_t *query);

/* Predicted seconds of MPI's own collective: between the measured sizes on a line in the logarithms
 * of both, beyond the last with the growth of the last two; infinite where nothing was measured. */
double tw_model_native(const tw_facts_t *facts, tw_operation_t operation, double bytes);

/* Time in which every rank sends `bytes` to every other, by the bandwidths alone. */
double tw_model_exchange(const tw_facts_t *facts, double bytes);

/* Seconds of the busiest rank's processor in sending and receiving: as many bytes in as out. */
double tw_model_moving(const tw_facts_t *facts, double bytes_sent);

/* The part of a processor that a rank has while all compute. */
double tw_model_processor(const tw_facts_t *facts);

/* The link that a message between two neighbours in rank order takes at worst. */
const tw_link_facts_t *tw_model_link(const tw_facts_t *facts);

/* ---- decisions ------------------------------------------------------------------------------ */

typedef struct tw_model_wish {
    tw_operation_t operation;
    double         count;
    tw_dtype_t     dtype;
    double         max_error; /* of one encoding                                       */
    bool           feedback;  /* an error-feedback object is used                      */
    bool           native;    /* MPI's own collective may be taken                     */
    const char    *algorithm; /* the only one of the library's own, or NULL: any       */
    size_t         chunk;     /* THINWIRE_CHUNK                                        */
} tw_model_wish_t;

typedef struct tw_model_candidate {
    int    codec;     /* index in the facts; -1: MPI's own collective */
    int    algorithm; /* index in the table; -1 with it               */
    size_t fragment;  /* bytes of codes; 0 with it                    */
    double seconds;
} tw_model_candidate_t;

#define TW_MODEL_CANDIDATES (1 + TW_FACTS_CODECS * 8)

/* Chooses. list (TW_MODEL_CANDIDATES entries, or NULL) gets the best fragment of each pair of codec
 * and algorithm, MPI's own first if it was measured; *count_p its length. Where no codec of the
 * type is known and MPI's own is not allowed, algorithm and codec are -1 and seconds is infinite.
 */
tw_model_candidate_t tw_model_decide(const tw_facts_t *facts, const tw_model_wish_t *wish,
                                     tw_model_candidate_t *list, int *count_p);

/* The rules of a choice beside the predicted times: how much of MPI's time something may take to be
 * taken, and what the time of a codec is multiplied with before it is compared. */
double tw_model_margin(const tw_facts_t *facts);
double tw_model_doubt(const tw_facts_t *facts, const tw_codec_facts_t *codec);

/* Counts are decided by classes, four to a power of two (every count below 8 is its own); the class
 * of a count, and the least count of a class. */
#define TW_MODEL_CLASSES 256
int    tw_model_class(size_t count);
size_t tw_model_class_count(int class_index);

/* ---- facts as text -------------------------------------------------------------------------- */

/* Most processor's seconds of a byte. */
#define TW_FACTS_MOVING 1e-3

#define TW_FACTS_KEY 4096               /* bytes of a key with its NUL */
#define TW_FACTS_MAX ((size_t)64 << 10) /* bytes of the text           */

/* Where facts were measured; what differs makes them stale. Single lines without line breaks. */
typedef struct tw_facts_key {
    char version[32];         /* of the library                                      */
    char hosts[TW_FACTS_KEY]; /* "node0*4 node1*4": of the ranks, in their order     */
    char fabric[512];         /* the MPI library and what it was told of transports  */
    char codecs[64];          /* instruction set and threads                         */
} tw_facts_key_t;

/* The file as text, checksum included. @return its length, or 0 if size is too small (64 KiB are
 * enough). */
size_t tw_facts_write(const tw_facts_t *facts, const tw_facts_key_t *key, char *text, size_t size);

/* Read it. Any bytes may come: *facts and *key are set only if all is well.
 * @param [out] why  else what is wrong, in a few words without a full stop.
 * @return whether all is well. */
bool tw_facts_read(const char *text, size_t length, tw_facts_t *facts, tw_facts_key_t *key,
                   char *why, size_t why_size);

/* Are facts with key `found` good for `here`? Else a few words in why. */
bool tw_facts_fit(const tw_facts_key_t *found, const tw_facts_key_t *here, char *why,
                  size_t why_size);

/* Numbers that the model can work with: finite, in range. */
bool tw_facts_valid(const tw_facts_t *facts);

#endif /* TW_POLICY_MODEL_H */
