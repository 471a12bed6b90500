/* SPDX-License-Identifier: BSD-3-Clause
 * tests/mpi/model.h - what the collectives must compute, in one process and in the plainest way.
 *
 * Written from the words of the public headers, not from the library's code: encode the inputs,
 * decode them, add in the order of ranks in the element type, encode the sum, decode it. Of the
 * library it calls only the codecs, whole vectors at once.
 */
#ifndef TW_TESTS_MPI_MODEL_H
#define TW_TESTS_MPI_MODEL_H

#include "runtime/base/reduction.h"
#include "tests/mpi/harness.h"

/* Of 16-bit floats everything is computed in float32: the codec of the same spec there, NULL for
 * elements as they are (and any other codec itself); x in float32, for which x is freed (of other
 * types x itself); and the result, each element rounded once (likewise). */
const tw_codec_t *t_model_codec(const tw_codec_t *codec);
void             *t_model_widened(tw_dtype_t dtype, void *x, size_t n);
void             *t_model_rounded(tw_dtype_t dtype, void *x, size_t n);

/* decode(encode(x)); codec NULL is fp32. */
void t_model_round_trip(const tw_codec_t *codec, tw_dtype_t dtype, const void *x, size_t n,
                        void *out);

/* The share of a rank: the vector's blocks are dealt out as evenly as possible, the first ranks
 * take one more. codec NULL: blocks of one element. */
void t_model_share(const tw_codec_t *codec, size_t count, int ranks, int rank, size_t *begin_p,
                   size_t *n_p);

/* Error feedback of all ranks. second holds the owners' residuals, each at its position. */
typedef struct t_model_feedback {
    tw_dtype_t dtype;
    int        ranks;
    size_t     count;
    void      *first[T_RANKS_MAX];
    void      *second;
    size_t     begin[T_RANKS_MAX], owned[T_RANKS_MAX];
} t_model_feedback_t;

void t_model_feedback_open(t_model_feedback_t *fb, tw_dtype_t dtype, int ranks, size_t count);
void t_model_feedback_close(t_model_feedback_t *fb);
void t_model_feedback_clear(t_model_feedback_t *fb);
/* What tw_feedback_read() gives on a rank. */
void t_model_feedback_read(const t_model_feedback_t *fb, int rank, void *out);

typedef struct t_model_sum {
    const tw_codec_t   *codec; /* NULL: fp32 */
    tw_dtype_t          dtype;
    int                 ranks;
    tw_reduction_t      reduction;
    t_model_feedback_t *fb; /* or NULL */
} t_model_sum_t;

/* allreduce (and reduce) of in[rank][count]. */
void t_model_allreduce(const t_model_sum_t *sum, const void *const *in, size_t count, int two_pass,
                       void *out);

/* The same by `hierarchical`, each node_ranks ranks being a node (0: all are one): nodes add in
 * rank order, their sums are encoded and added in the order of nodes, and encoded again. Share k N
 * + j of the K N shares of N nodes is encoded by number k of every node and owned by number k of
 * node j. */
void t_model_hierarchical(const t_model_sum_t *sum, const void *const *in, size_t count,
                          int node_ranks, void *out);

/* What the rank that owns elements begin .. begin + n - 1 gets from a reduce-scatter. Call it for
 * every rank's interval once, if there is feedback. */
void t_model_reduce_scatter(const t_model_sum_t *sum, const void *const *in, size_t begin, size_t n,
                            void *out);

/* The same by `hierarchical` for the interval of rank `owner`: nodes add in rank order, their sums
 * are encoded and added in the order of nodes. On a node of K ranks the residual is that of number
 * q % K, where q is the owner's number on its node. */
void t_model_scatter_hierarchical(const t_model_sum_t *sum, const void *const *in, int owner,
                                  size_t begin, size_t n, int node_ranks, void *out);

#endif /* TW_TESTS_MPI_MODEL_H */
