/* SPDX-License-Identifier: BSD-3-Clause
 * tests/scheduler/device_cases.h - the parts of the program device.mpi: schedulers on device
 * memory, with a stub for a device (tests/transport) or with the stand-in (tests/gpu/standin). Work
 * is done late, in an order drawn by lot, so that what does not wait for the right thing has bytes
 * that are not there yet. Results must be those of the same object on host memory, bit for bit.
 */
#ifndef TW_TESTS_SCHEDULER_DEVICE_CASES_H
#define TW_TESTS_SCHEDULER_DEVICE_CASES_H

#include <string.h>

#include "runtime/transport/device/device.h"
#include "tests/transport/device_job.h"

/* Memory that a rank computes in, and the stream for that: of the device, or of the host. */
typedef struct place {
    bool  device;
    void *stream;
} place_t;

void *place_get(const place_t *place, size_t bytes); /* junk */
void  place_put(const place_t *place, void *p);      /* once all work is done; NULL is allowed */

/* Between memory of the place and of the host, or within the place: done later, on a device; so
 * `src` is not changed, and dst not looked at, before place_finish(). */
void place_copy(const place_t *place, void *dst, const void *src, size_t bytes);
void place_divide(const place_t *place, float *values, size_t n, int divisor);
void place_finish(const place_t *place);

/* What config.exec points to: *exec, filled in, or NULL. */
const tw_exec_t *place_exec(const place_t *place, tw_exec_t *exec);

/* Of the run-th run, this rank's: how eagerly the device works. */
void device_mood(int run);

/* A communicator whose lines go to a log, which is empty at first. */
tw_comm_t *device_logged(t_log_t *log, tw_context_t **ctx_p);

#define SAYS(log, line) T_CHECK(strstr((log).text, (line)) != NULL, "the log says: %s", (log).text)

void buckets_staged(void);
void buckets_direct(void);
void buckets_independent(void);
void buckets_refused(void);
void hybrid_staged(void);
void hybrid_direct(void);
void hybrid_refused(void);
void statistics_on_device(void);
void statistics_refused(void);
void weights_staged(void);
void weights_direct(void);
void weights_refused(void);

/* The last case: the device is broken then, and what was under way is left. */
void schedulers_fail(void);

#endif /* TW_TESTS_SCHEDULER_DEVICE_CASES_H */
