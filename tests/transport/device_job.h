/* SPDX-License-Identifier: BSD-3-Clause
 * tests/transport/device_job.h - a job of tests/mpi whose buffers are memory of the stub device,
 * and communicators that use that device.
 */
#ifndef TW_TESTS_TRANSPORT_DEVICE_JOB_H
#define TW_TESTS_TRANSPORT_DEVICE_JOB_H

#include "runtime/transport/comm/comm.h"
#include "runtime/transport/device/device.h"
#include "tests/mpi/job.h"
#include "tests/transport/stub_device.h"
#include "tests/transport/stub_mpi.h"

typedef enum path { STAGED, DIRECT } path_t;

/* A communicator over MPI_COMM_WORLD under these settings, whose MPI takes the stub's memory
 * (DIRECT) or says that it does not. */
tw_comm_t *device_comm(path_t path, const char *const *settings, tw_context_t **ctx_p);

/* The end of it; all that the stub gave has been given back. */
void device_comm_done(tw_comm_t *comm, tw_context_t *ctx);

typedef struct device_job {
    t_job_t host;        /* input, and what must come out                        */
    t_job_t on;          /* what is called: host, with buffers on the device     */
    int     on_device;   /* 0: this rank's buffers are in host memory            */
    void   *send, *recv; /* with margins                                         */
} device_job_t;

/* stream: of the stub, or NULL. say: name the memory in how.exec; else it must be found out. */
void device_job_open(device_job_t *job, tw_comm_t *comm, const t_shape_t *shape, int on_device,
                     void *stream, int say, tw_feedback_t *feedback, t_model_feedback_t *model);
void device_job_fill(device_job_t *job, uint64_t round);
void device_job_check(device_job_t *job);
void device_job_close(device_job_t *job);

/* Of elements that a device encodes: not of 16 bits. */
void device_shape_random(t_shape_t *shape, uint64_t *random, size_t max);

/* The i-th of a collective's: counts, gaps, places and roots take turns. */
void device_shape(t_shape_t *shape, t_op_t kind, size_t i);

/* All of it once, blocking. */
void device_job_once(tw_comm_t *comm, const t_shape_t *shape, int on_device, void *stream, int say);

#endif /* TW_TESTS_TRANSPORT_DEVICE_JOB_H */
