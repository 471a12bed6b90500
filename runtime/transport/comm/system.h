/* SPDX-License-Identifier: BSD-3-Clause
 * transport/comm/system.h - what the transport does with values and with the system, as a table:
 * a simulation of many ranks in one process puts its own in place of it.
 */
#ifndef TW_TRANSPORT_COMM_SYSTEM_H
#define TW_TRANSPORT_COMM_SYSTEM_H

#include <stddef.h>

#include "runtime/base/dtype.h"
#include "runtime/base/reduction.h"

typedef struct tw_system_ops {
    /* Give the core to others. */
    void (*yield)(void);

    /* A message or a round has been completed, or a wait begins; NULL: nobody is told. */
    void (*moved)(void);

    /* Values, or codes of them, from one place in host memory to another; no overlap. */
    void (*copy)(void *to, const void *from, size_t bytes);

    /* As tw_combine(). */
    void (*combine)(const tw_dtype_row_t *type, const tw_reduction_row_t *reduction, const void *a,
                    const void *b, size_t n, void *out);

    /* Make a file of shared memory `bytes` long, with its pages. 0 or an error number. */
    int (*reserve)(int file, size_t bytes);

    /* Map all of it to be read and written, shared; NULL with errno. munmap() ends it. */
    void *(*map)(int file, size_t bytes);
} tw_system_ops_t;

extern const tw_system_ops_t tw_system;

#endif /* TW_TRANSPORT_COMM_SYSTEM_H */
