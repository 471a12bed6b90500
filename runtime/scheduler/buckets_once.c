/* SPDX-License-Identifier: BSD-3-Clause
 * scheduler/buckets_once.c - buckets created by another framework: started at once, and destroyed
 * after the wait.
 */
#include "config.h"

#include "runtime/base/clock.h"
#include "runtime/scheduler/buckets.h"

tw_status_t tw_buckets_start(tw_comm_t *comm, const tw_buckets_config_t *config,
                             const tw_bucket_tensor_t *tensors, size_t n, tw_buckets_t **buckets_p)
{
    tw_buckets_t *b;
    tw_status_t   status = tw_buckets_called(comm, tensors, n, buckets_p);

    if (status != TW_OK) {
        return status;
    }
    config = config != NULL ? config : &tw_buckets_usual;
    if (config->exec != NULL && config->exec->memory != TW_MEMORY_HOST) {
        TW_ERROR(tw_comm_log(comm), "tw_buckets_start: tensors must be in host memory");
        return TW_ERR_UNSUPPORTED;
    }
    status = tw_buckets_new(comm, config, tensors, n, true, &b);
    if (status == TW_OK) {
        status = tw_buckets_room(b);
    }
    for (size_t i = 0; i < n && status == TW_OK; i++) {
        status = tw_buckets_ready(b, i);
    }
    return tw_buckets_made(b, status, buckets_p);
}

tw_status_t tw_buckets_wait_for(tw_buckets_t **buckets_p, int milliseconds, int *done_p)
{
    const uint64_t start  = tw_clock_ns();
    tw_status_t    status = TW_OK;
    tw_buckets_t  *b;

    if (buckets_p == NULL || done_p == NULL || milliseconds < 0) {
        return TW_ERR_INVALID_ARG;
    }
    b       = *buckets_p;
    *done_p = 1;
    for (size_t k = 0; b != NULL && k < b->buckets && status == TW_OK && *done_p; k++) {
        const uint64_t spent = (tw_clock_ns() - start) / 1000000U;

        status = tw_bucket_await(
            b, k, spent < (uint64_t)milliseconds ? milliseconds - (int)spent : 0, done_p);
    }
    if (*done_p) {
        tw_buckets_destroy(b);
        *buckets_p = NULL;
    }
    return status;
}
