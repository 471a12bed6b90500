/* SPDX-License-Identifier: BSD-3-Clause
 * tests/interpose/aware.c - a tool that makes an MPI library take the device memory of the stand-in
 * for CUDA (tests/gpu/standin): preloaded after the drop-in, it gives MPI the place where the bytes
 * really are. What is then still to be done on the device is missing from what MPI sends, as with
 * MPI libraries that take device memory. It says so (MPIX_Query_cuda_support) where TW_AWARE is
 * set. At the end of the process:
 *
 *     = MPI got 12 buffers in device memory
 */
#include "config.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <mpi.h>

#define EXPORT __attribute__((visibility("default")))

static int seen;

/* Where the bytes at p are. The stand-in may be loaded at any time. */
static void *real(const void *p)
{
    static void *(*where)(const void *);
    static int (*ask)(void *, int, unsigned long long);
    void    *library = where == NULL ? dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD) : NULL;
    unsigned type    = 0;

    if (library != NULL) {
        *(void **)&ask   = dlsym(library, "cuPointerGetAttribute");
        *(void **)&where = dlsym(library, "standin_real");
    }
    if (where == NULL) {
        return (void *)p;
    }
    if (p != NULL && ask(&type, 2, (unsigned long long)(uintptr_t)p) == 0 && type == 2) {
        __atomic_fetch_add(&seen, 1, __ATOMIC_RELAXED);
    }
    return where(p);
}

__attribute__((destructor)) static void say(void)
{
    int initialized = 0;

    PMPI_Initialized(&initialized);
    if (initialized) {
        fprintf(stderr, "= MPI got %d buffers in device memory\n", seen);
    }
}

EXPORT int MPIX_Query_cuda_support(void);
EXPORT int MPIX_Query_cuda_support(void)
{
    return getenv("TW_AWARE") != NULL;
}

/* clang-format off */
#define L(...) __VA_ARGS__
#define FORM(name, parameters, arguments)                                                          \
    EXPORT int MPI_##name(parameters);                                                             \
    EXPORT int MPI_##name(parameters) { return PMPI_##name(arguments); }

/* X(name, its nonblocking form, parameters, arguments), with N for counts and D for
 * displacements. */
#define COLLECTIVES(X, N, D)                                                                                                      \
    X(Bcast, Ibcast, L(void *b, N n, MPI_Datatype t, int root, MPI_Comm c), L(real(b), n, t, root, c))                            \
    X(Allreduce, Iallreduce, L(const void *s, void *r, N n, MPI_Datatype t, MPI_Op o, MPI_Comm c),                                \
      L(real(s), real(r), n, t, o, c))                                                                                            \
    X(Reduce, Ireduce, L(const void *s, void *r, N n, MPI_Datatype t, MPI_Op o, int root, MPI_Comm c),                            \
      L(real(s), real(r), n, t, o, root, c))                                                                                      \
    X(Reduce_scatter, Ireduce_scatter, L(const void *s, void *r, const N n[], MPI_Datatype t, MPI_Op o, MPI_Comm c),              \
      L(real(s), real(r), n, t, o, c))                                                                                            \
    X(Reduce_scatter_block, Ireduce_scatter_block, L(const void *s, void *r, N n, MPI_Datatype t, MPI_Op o, MPI_Comm c),          \
      L(real(s), real(r), n, t, o, c))                                                                                            \
    X(Allgather, Iallgather, L(const void *s, N sn, MPI_Datatype st, void *r, N rn, MPI_Datatype rt, MPI_Comm c),                 \
      L(real(s), sn, st, real(r), rn, rt, c))                                                                                     \
    X(Allgatherv, Iallgatherv, L(const void *s, N sn, MPI_Datatype st, void *r, const N rn[], const D rd[], MPI_Datatype rt,      \
      MPI_Comm c), L(real(s), sn, st, real(r), rn, rd, rt, c))                                                                    \
    X(Alltoall, Ialltoall, L(const void *s, N sn, MPI_Datatype st, void *r, N rn, MPI_Datatype rt, MPI_Comm c),                   \
      L(real(s), sn, st, real(r), rn, rt, c))                                                                                     \
    X(Alltoallv, Ialltoallv, L(const void *s, const N sn[], const D sd[], MPI_Datatype st, void *r, const N rn[], const D rd[],   \
      MPI_Datatype rt, MPI_Comm c), L(real(s), sn, sd, st, real(r), rn, rd, rt, c))

#define BOTH(name, nonblocking, parameters, arguments)                                                                            \
    FORM(name, L(parameters), L(arguments))                                                                                       \
    FORM(nonblocking, L(parameters, MPI_Request *q), L(arguments, q))
COLLECTIVES(BOTH, int, int)

#if MPI_VERSION >= 4
#define LARGE(name, nonblocking, parameters, arguments)                                                                           \
    FORM(name##_c, L(parameters), L(arguments))                                                                                   \
    FORM(nonblocking##_c, L(parameters, MPI_Request *q), L(arguments, q))
#define PERSISTENT(name, nonblocking, parameters, arguments)                                                                      \
    FORM(name##_init, L(parameters, MPI_Info i, MPI_Request *q), L(arguments, i, q))
COLLECTIVES(LARGE, MPI_Count, MPI_Aint)
COLLECTIVES(PERSISTENT, int, int)
#endif

/* What the drop-in calls besides. */
FORM(Gather, L(const void *s, int sn, MPI_Datatype st, void *r, int rn, MPI_Datatype rt, int root, MPI_Comm c),
     L(real(s), sn, st, real(r), rn, rt, root, c))
FORM(Igather, L(const void *s, int sn, MPI_Datatype st, void *r, int rn, MPI_Datatype rt, int root, MPI_Comm c, MPI_Request *q),
     L(real(s), sn, st, real(r), rn, rt, root, c, q))
FORM(Isend, L(const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c, MPI_Request *q), L(real(b), n, t, to, tag, c, q))
FORM(Irecv, L(void *b, int n, MPI_Datatype t, int from, int tag, MPI_Comm c, MPI_Request *q), L(real(b), n, t, from, tag, c, q))
FORM(Pack, L(const void *b, int n, MPI_Datatype t, void *o, int on, int *at, MPI_Comm c), L(real(b), n, t, real(o), on, at, c))
FORM(Unpack, L(const void *b, int bn, int *at, void *o, int n, MPI_Datatype t, MPI_Comm c), L(real(b), bn, at, real(o), n, t, c))
FORM(Sendrecv, L(const void *s, int sn, MPI_Datatype st, int to, int stag, void *r, int rn, MPI_Datatype rt, int from, int rtag,
     MPI_Comm c, MPI_Status *status), L(real(s), sn, st, to, stag, real(r), rn, rt, from, rtag, c, status))
/* clang-format on */
