/* SPDX-License-Identifier: BSD-3-Clause
 * tests/train/on_backend.h - memory of the backend that a test is compiled for (backend_here.h):
 * what the host reads and writes goes through copies.
 */
#ifndef TW_TESTS_ON_BACKEND_H
#define TW_TESTS_ON_BACKEND_H

#include "tests/train/backend_here.h"

#ifdef TW_ON_STANDIN
enum { ON_DEVICE = 1 };
#else
enum { ON_DEVICE = 0 };
#endif

static inline void on_backend_must(int status, const tw_problem_t *problem)
{
    if (status != 0) {
        fprintf(stderr, "%s\n", problem->text);
        abort();
    }
}

/* That of backend_here(), with these kernels (NULL: the best) and threads; to be destroyed after
 * all that is in its memory. */
static inline tw_backend_t *on_backend(const tw_compute_kernels_t *kernels, int threads)
{
    tw_problem_t  problem = {.set = 0};
    tw_backend_t *backend;

    on_backend_must(
        backend_here(&backend, kernels != NULL ? kernels : best_kernels(), threads, &problem),
        &problem);
    return backend;
}

static inline void on_backend_put(tw_backend_t *backend, void *to, const void *host, size_t bytes)
{
    tw_problem_t problem = {.set = 0};

    on_backend_must(tw_backend_put(backend, to, host, bytes, &problem), &problem);
}

static inline void on_backend_get(tw_backend_t *backend, void *host, const void *from, size_t bytes)
{
    tw_problem_t problem = {.set = 0};

    on_backend_must(tw_backend_get(backend, host, from, bytes, &problem), &problem);
}

/* New memory of the backend, with a copy of these bytes in it unless host is NULL. */
static inline void *on_backend_copy(tw_backend_t *backend, const void *host, size_t bytes)
{
    tw_problem_t problem = {.set = 0};
    void        *p;

    on_backend_must(tw_backend_allocate(backend, bytes, &p, &problem), &problem);
    if (host != NULL) {
        on_backend_put(backend, p, host, bytes);
    }
    return p;
}

#endif /* TW_TESTS_ON_BACKEND_H */
