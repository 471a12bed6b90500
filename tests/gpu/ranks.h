/* SPDX-License-Identifier: BSD-3-Clause
 * tests/gpu/ranks.h - what the parts of ranks share: the device, calls on either memory.
 */
#ifndef TW_TESTS_GPU_RANKS_H
#define TW_TESTS_GPU_RANKS_H

#include <thinwire/thinwire.h>

#include "runtime/codec/device.h"
#include "runtime/transport/device/device.h"
#ifdef TW_ON_STUB
#include "tests/transport/stub_device.h"
#include "tests/transport/stub_mpi.h"
#define DEVICE stub_device
#define MPI    stub_mpi() /* takes the stub's memory */
#define AWARE  1
#define SHARES stub_shares
#else
#define DEVICE tw_device_cuda
#define MPI    (&tw_mpi_default)
#define AWARE  TW_DEVICE_NOT_ASKED
#define SHARES 1 /* memory of devices with other processes */
#endif

typedef enum verb {
    TWO_PASS,
    DIRECT,
    AVERAGE,
    SCATTER,
    BCAST,
    ALLGATHER,
    ALLTOALL,
    VERBS, /* what follows is for communicators whose nodes have ranks */
    NODES = VERBS,
    NODE, /* an allreduce */
    ALL_VERBS
} verb_t;

extern const char *const verbs[ALL_VERBS];

typedef enum form { BLOCKING, NONBLOCKING, PLAN, FORMS } form_t;

typedef struct job {
    verb_t            verb;
    form_t            form;
    size_t            count; /* the call's */
    const tw_codec_t *codec;
    size_t            element; /* bytes */
    uint64_t          seed;
} job_t;

extern int        rank, size; /* of MPI_COMM_WORLD               */
extern tw_comm_t *comm;       /* since open_comm()               */
extern void      *stream;     /* of the device, not the default */

/* Unless all is well, say so and end all ranks. */
void must(tw_status_t status, const char *what);

/* A communicator under THINWIRE_DEVICE_PATH=path, so many ranks being a node. */
void open_comm(const char *path, int node_ranks);
void close_comm(void);

/* Memory with undefined contents, or an end; of the device: release it. Copies are put on a stream.
 */
void *host(size_t bytes);
void *device(size_t bytes);
void  copy(void *to, const void *from, size_t bytes, void *on);
void  finish(void *on);

/* Numbers of both signs and many magnitudes; element: 4 or 8. */
void fill(void *dst, size_t element, size_t n, uint64_t seed);

tw_codec_t *codec_of(const char *spec, tw_dtype_t dtype);

/* Elements of a rank's buffers. */
size_t sends(const job_t *job);
size_t receives(const job_t *job);

/* The call from start to end. exec and feedback may be NULL. */
void call(const job_t *job, const tw_exec_t *exec, tw_feedback_t *feedback, const void *send,
          void *recv);

/* The commands: how many checks failed, as TAP; a table. aware: MPI takes device memory. */
int  check(bool aware, bool quick);
void measure(bool aware);

#endif /* TW_TESTS_GPU_RANKS_H */
