/* SPDX-License-Identifier: BSD-3-Clause
 * tests/mpi/job.h - one collective with its buffers, its input and the result it must give.
 *
 * A shape says what all ranks know; a job is this rank's part of it. Buffers have guard words and
 * the misalignment asked for; what a collective must not touch (send buffers, gaps between pieces,
 * the receive buffer of a reduce away from the root) is compared too.
 */
#ifndef TW_TESTS_MPI_JOB_H
#define TW_TESTS_MPI_JOB_H

#include "tests/mpi/harness.h"
#include "tests/mpi/model.h"

/* The same on all ranks of the communicator; zero-initialise it. */
typedef struct t_shape {
    t_op_t      kind;
    const char *spec; /* codec; NULL or "": how.codec is NULL */
    tw_dtype_t  dtype;
    size_t      count; /* bcast, allgather, alltoall, allreduce, reduce, reduce_scatter_block */
    size_t      counts[T_RANKS_MAX][T_RANKS_MAX]; /* [sender][receiver] of alltoallv; else [0]  */
    size_t      gap;      /* elements between the pieces of v-collectives; 0: displacements NULL */
    size_t      misalign; /* bytes, of both buffers                                           */
    int         in_place; /* where it is allowed                                              */
    int         root;
    tw_reduction_t reduction;
    tw_algorithm_t algorithm;
    unsigned       flags;
    uint64_t       seed;
    int            threads;    /* tw_exec_t.threads, if not 0 */
    int            node_ranks; /* THINWIRE_NODE_RANKS of the communicator */
} t_shape_t;

typedef struct t_job {
    t_shape_t           shape;
    tw_comm_t          *comm;
    int                 rank, size;
    tw_how_t            how;
    tw_exec_t           exec;
    size_t              element; /* bytes                                  */
    size_t              send_at[T_RANKS_MAX], send_n[T_RANKS_MAX];
    size_t              recv_at[T_RANKS_MAX], recv_n[T_RANKS_MAX];
    size_t              send_span, recv_span; /* elements of the buffers                */
    unsigned char      *send, *recv;          /* NULL where nothing is given            */
    unsigned char      *send_before, *want;   /* aligned copies; want is what recv must be */
    size_t              checked;              /* elements of recv that are defined      */
    int                 in_place;             /* on this rank                           */
    int                 hierarchical;
    int                 two_pass; /* of the reductions; of the grid too      */
    t_model_feedback_t *model_fb; /* or NULL                                */
} t_job_t;

/* Buffers and expected layout. With TW_ALGORITHM_AUTO, the library is asked (by a plan) what it
 * chooses. feedback and its model may be NULL. */
void t_job_open(t_job_t *job, tw_comm_t *comm, const t_shape_t *shape, tw_feedback_t *feedback,
                t_model_feedback_t *model);

/* Fresh input, drawn from shape.seed and round, and the result that it must give. */
void t_job_fill(t_job_t *job, uint64_t round);

typedef enum t_form { T_BLOCKING, T_NONBLOCKING, T_PLAN, T_FORMS } t_form_t;

/* The call; and what is left to do to complete it. */
tw_status_t t_job_issue(t_job_t *job, t_form_t form, tw_request_t **request_p);
void        t_job_finish(t_form_t form, tw_request_t **request_p);
tw_status_t t_job_run(t_job_t *job);                             /* blocking    */
tw_status_t t_job_start(t_job_t *job, tw_request_t **request_p); /* nonblocking */
tw_status_t t_job_plan(t_job_t *job, tw_request_t **plan_p);

/* Compare all buffers with what they must be. */
void t_job_check(const t_job_t *job);

/* Check the guard words and release. */
void t_job_close(t_job_t *job);

/* Filled, called and checked. */
void t_job_turn(t_job_t *job, t_form_t form, uint64_t round);

/* All of it once, blocking. */
void t_job_once(tw_comm_t *comm, const t_shape_t *shape);

/* Made into a plan and no more: the ranks agree on memory, and the node's is made. */
void t_job_agree(tw_comm_t *comm, const t_shape_t *shape);

/* What the model must know of an allreduce or reduce by TW_ALGORITHM_AUTO: by a plan of `called`,
 * which is job or differs in its buffers and how. */
void t_job_ask(t_job_t *job, t_job_t *called);

/* Many jobs: random ones, filled, but not called; waited for, in another order on each rank;
 * checked and closed. */
void t_jobs_open(t_job_t *jobs, int n, tw_comm_t *comm, uint64_t *random, size_t max);
void t_jobs_wait(t_job_t *jobs, int n, tw_request_t **requests);
void t_jobs_close(t_job_t *jobs, int n);

/* With every codec, the counts that matter for it. */
void t_jobs_edges(tw_comm_t *comm, t_shape_t shape);

/* The last rank does not come to an allreduce or, from it, a bcast, of this many elements: the
 * others say so, one of them names it, and the communicator is dead. The settings have a limit. */
void t_last_stays_away(const char *const *settings, const tw_how_t *how, size_t count, int bcast);

/* A shape drawn at random: any kind, codec, counts up to about max elements. */
void t_shape_random(t_shape_t *shape, uint64_t *random, int size, size_t max);

/* One of this kind, for the ranks of the world. */
void t_shape_drawn(t_shape_t *shape, t_op_t kind, uint64_t *random, size_t max);

/* t_note() what the shape is. */
void t_shape_note(const t_shape_t *shape);

#endif /* TW_TESTS_MPI_JOB_H */
