/* SPDX-License-Identifier: BSD-3-Clause
 * tests/interpose/pool.h - nonblocking jobs that are under way, completed in any order by every
 * call that completes requests.
 */
#ifndef TW_TESTS_INTERPOSE_POOL_H
#define TW_TESTS_INTERPOSE_POOL_H

#include "tests/interpose/job.h"

#define T_POOL 64 /* what a program or a sequence begins at most */

typedef struct t_pooled {
    t_job_t     job;
    MPI_Request request;
} t_pooled_t;

typedef struct t_pool {
    t_pooled_t *open[T_POOL];
    int         count;
} t_pool_t;

/* Starts the call; there must be room. */
void t_pool_begin(t_pool_t *pool, const t_place_t *place, const t_call_t *call);

/* One completing call on some of them, drawn from this rank's own numbers; checks what is done. */
void t_pool_some(t_pool_t *pool, uint64_t *own);

/* The same until nothing is open. */
void t_pool_drain(t_pool_t *pool, uint64_t *own);

#endif /* TW_TESTS_INTERPOSE_POOL_H */
