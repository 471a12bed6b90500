/* SPDX-License-Identifier: BSD-3-Clause
 * tests/gpu/standin/shared.h - memory between processes, for the stand-in of the runtime.
 */
#ifndef TW_TESTS_GPU_STANDIN_SHARED_H
#define TW_TESTS_GPU_STANDIN_SHARED_H

#include "tests/gpu/standin/core.h"

/* What a cudaIpcMemHandle_t holds. */
typedef struct standin_handle {
    int64_t  process, file, device;
    uint64_t bytes, lead, number;
} standin_handle_t;

/* Device memory of this process, for others. false: the system gives none. */
bool standin_share(standin_memory_t *memory, standin_handle_t *handle);

/* Another process's, for the current device. NULL: it is not there any more. */
standin_memory_t *standin_open_shared(const standin_handle_t *handle);

/* What was opened for the current device before, and is open once more now; NULL: nothing. */
standin_memory_t *standin_opened_before(const standin_handle_t *handle);

/* Once less; true: it is not open any more, and can be released. */
bool standin_closed(standin_memory_t *memory);

#endif /* TW_TESTS_GPU_STANDIN_SHARED_H */
