/* SPDX-License-Identifier: BSD-3-Clause
 * tests/interpose/policy.h - parts of the program policy: a call as its arguments describe it.
 *
 * Everything that is compared, and all talk between the ranks about it, goes through PMPI_, so that
 * the drop-in neither changes nor counts it.
 */
#ifndef TW_TESTS_INTERPOSE_POLICY_H
#define TW_TESTS_INTERPOSE_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mpi.h>

enum op {
    OP_ALLREDUCE,
    OP_BCAST,
    OP_REDUCE,
    OP_REDUCE_SCATTER,
    OP_REDUCE_SCATTER_BLOCK,
    OP_ALLGATHER,
    OP_ALLGATHERV,
    OP_ALLTOALL,
    OP_ALLTOALLV,
    OPS
};

extern const char *const op_names[OPS];

#define RANKS_MAX 8

/* What a word such as "iallgatherv,double,5000,halo" says. */
typedef struct call {
    enum op      op;
    bool         nonblocking;
    const char  *type_name;
    MPI_Datatype type;
    size_t       width;  /* bytes of one number                                              */
    int          values; /* numbers in an item                                               */
    bool         whole;  /* integers                                                         */
    int          count;  /* items: of the vector, of a block, of a share                     */
    const char  *comm_name;
    MPI_Comm     comm;
    int          times, root;
    bool         uneven; /* counts of the v-forms differ much                                */
    const char  *data;   /* see fill()                                                       */
} call_t;

/* A call and its buffers on this rank. */
typedef struct job {
    call_t call;
    int    rank, size;
    size_t send_items, recv_items;
    int    send_counts[RANKS_MAX], send_at[RANKS_MAX];
    int    recv_counts[RANKS_MAX], recv_at[RANKS_MAX];
    void  *send, *recv;
} job_t;

/* Read a word, whose text is cut up for it and must stay; false, with a line of why, if it is none.
 * comm_named() makes a communicator at its first use: ranks must meet words in the same order. */
bool     call_read(char *word, call_t *call);
MPI_Comm comm_named(const char *name);

void *allocate(size_t bytes); /* never NULL, filled with 0xa5 */

/* Numbers 0 to n - 1 of a rank. "normal": about normally distributed, of variance 1; "huge" and
 * "tiny": the same times 1e200, 1e-200 (doubles) or 1e30, 1e-30; "inf": one Inf in front. */
void fill(const call_t *call, int rank, size_t n, void *numbers);

void job_make(job_t *job, const call_t *call);
void job_free(job_t *job);
void job_issue(const job_t *job, bool plainly); /* into recv; plainly: by PMPI_ */

/* Call it, call it plainly, and say on rank 0 in one line how the results differ. */
void job_compare(const call_t *call);

/* policy_more.c: programs of their own, of the remaining arguments. */
int means(int argc, char **argv);
int memory(int argc, char **argv);
int threads(void);
int sites(void);
int leave(int argc, char **argv);
int no_collectives(void);
int in_place(int argc, char **argv);
int algorithms(void);
int every(void);                            /* policy_every.c */
int messages(void); /* policy_messages.c */ /* policy_every.c */
int roots(void);                            /* policy_roots.c */

#endif /* TW_TESTS_INTERPOSE_POLICY_H */
