/* SPDX-License-Identifier: BSD-3-Clause
 * base/threads.h - how many threads a call may use.
 */
#ifndef TW_BASE_THREADS_H
#define TW_BASE_THREADS_H

/* Cores this process is bound to (affinity mask), at least 1. */
int tw_threads_bound(void);

/* A fair share of them: bound / local_ranks, at least 1. */
int tw_threads_share(int local_ranks);

/* 1 inside an OpenMP parallel region, where a codec call must stay serial. */
int tw_threads_nested(void);

#endif /* TW_BASE_THREADS_H */
