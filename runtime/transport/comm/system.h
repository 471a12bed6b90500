/* SPDX-License-Identifier: BSD-3-Clause
 * transport/comm/system.h - table of the transport's operations on values and system calls. The
 * simulation of many ranks in one process replaces it.
 */
#ifndef TW_TRANSPORT_COMM_SYSTEM_H
#define TW_TRANSPORT_COMM_SYSTEM_H

#include <stddef.h>

#include "runtime/base/dtype.h"
#include "runtime/base/reduction.h"

typedef struct tw_system_ops {
    /* Yield the core; what to sleep on: base/descriptor.h. */
    void (*yield)(int descriptor);

    /* Called when a message or a round is complete, or a wait begins; may be NULL. */
    void (*moved)(void);

    /* Copy values or codes in host memory; no overlap. */
    void (*copy)(void *to, const void *from, size_t bytes);

    /* tw_combine(). */
    void (*combine)(const tw_dtype_row_t *type, const tw_reduction_row_t *reduction, const void *a,
                    const void *b, size_t n, void *out);

    /* Set the size of a shared memory file to `bytes` and allocate its pages. 0 or an error
     * number. */
    int (*reserve)(int file, size_t bytes);

    /* Map the whole file, shared, for reading and writing; NULL with errno. Unmap by munmap(). */
    void *(*map)(int file, size_t bytes);
} tw_system_ops_t;

extern const tw_system_ops_t tw_system;

#endif /* TW_TRANSPORT_COMM_SYSTEM_H */
