/* SPDX-License-Identifier: BSD-3-Clause
 * tests/scheduler/device.c - see device_cases.h.
 */
#include "config.h"

#include <stdlib.h>

#include "tests/scheduler/device_cases.h"

void *place_get(const place_t *place, size_t bytes)
{
    void *p = NULL;

    if (!place->device) {
        return t_malloc(bytes);
    }
    T_OK(stub_device.allocate(TW_DEVICE_MEMORY, bytes, &p));
    return p;
}

void place_put(const place_t *place, void *p)
{
    if (!place->device) {
        free(p);
    } else if (p != NULL) {
        stub_device.release(TW_DEVICE_MEMORY, p);
    }
}

void place_copy(const place_t *place, void *dst, const void *src, size_t bytes)
{
    if (place->device && bytes > 0) {
        T_OK(stub_device.copy(dst, src, bytes, place->stream));
    } else if (bytes > 0) {
        memcpy(dst, src, bytes);
    }
}

void place_divide(const place_t *place, float *values, size_t n, int divisor)
{
    if (place->device && n > 0) {
        T_OK(stub_device.divide(values, n, sizeof(*values), divisor, place->stream));
        return;
    }
    for (size_t i = 0; i < n; i++) {
        values[i] /= (float)divisor;
    }
}

void place_finish(const place_t *place)
{
    if (place->device) {
        T_OK(stub_device.finish(place->stream));
    }
}

const tw_exec_t *place_exec(const place_t *place, tw_exec_t *exec)
{
    *exec = (tw_exec_t){.memory = TW_MEMORY_CUDA, .stream = place->stream};
    return place->device ? exec : NULL;
}

void device_mood(int run)
{
    static const int moods[] = {1024, 300, 20};

    stub_diligence = moods[(run + t_rank) % 3];
}

tw_comm_t *device_logged(t_log_t *log, tw_context_t **ctx_p)
{
    tw_comm_t *comm = device_comm(STAGED, NULL, ctx_p);

    memset(log, 0, sizeof(*log));
    comm->log.fn  = t_log_take;
    comm->log.arg = log;
    return comm;
}

/* On a real device (tests/gpu/run) what needs no stub: results beside those of host memory. */
static const t_case_t cases[] = {
    {"buckets of device memory, staged", buckets_staged, 1},
    {"hybrid runs on device memory, staged", hybrid_staged, 1},
    {"statistics on device memory", statistics_on_device, 1},
    {"weights on device memory, staged", weights_staged, 1},
#ifndef TW_ON_GPU
    {"buckets of device memory, directly", buckets_direct, 1},
    {"buckets wait for nothing later", buckets_independent, 1},
    {"buckets of other memory than exec says", buckets_refused, 1},
    {"hybrid runs on device memory, directly", hybrid_direct, 1},
    {"hybrid runs on other memory than exec says", hybrid_refused, 1},
    {"statistics on other memory than exec says", statistics_refused, 1},
    {"weights on device memory, directly", weights_direct, 1},
    {"weights on other memory than exec says", weights_refused, 1},
    {"a device that fails", schedulers_fail, 2},
#endif
};

T_MAIN(cases)
