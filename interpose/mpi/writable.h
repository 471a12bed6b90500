/* SPDX-License-Identifier: BSD-3-Clause
 * interpose/mpi/writable.h - may memory of the program be written, without writing to it?
 */
#ifndef TW_INTERPOSE_WRITABLE_H
#define TW_INTERPOSE_WRITABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "interpose/mpi/types.h"

/* May `count` items at `buffer` be written? Where the layout has holes, what lies in them counts
 * too, as far as it is mapped: a read-only page there makes it false. Changes no byte, not even
 * for a moment, and raises no signal. Asked anew each time: the program may have changed it. */
bool tw_writable(const tw_type_t *type, const void *buffer, size_t count);

#endif /* TW_INTERPOSE_WRITABLE_H */
