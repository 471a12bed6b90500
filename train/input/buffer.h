/* SPDX-License-Identifier: BSD-3-Clause
 * input/buffer.h - memory that is kept and only grows, so that a pipeline that runs allocates
 * nothing.
 */
#ifndef TW_INPUT_BUFFER_H
#define TW_INPUT_BUFFER_H

#include <stddef.h>
#include <stdint.h>

/* Where bytes come from that are not any: page-locked ones, which a device copies by itself. */
typedef struct tw_buffer_memory {
    void *(*allocate)(size_t bytes); /* aligned to 64 bytes; NULL: there are none */
    void (*release)(void *bytes);
} tw_buffer_memory_t;

typedef struct tw_buffer {
    void    *bytes; /* aligned to 64 bytes                     */
    size_t   room;  /* bytes of it; beyond it 64 more may be read and written by vector loops */
    uint64_t grown; /* how often it was allocated: a counter for reports and tests            */
    const tw_buffer_memory_t *memory; /* NULL: any */
} tw_buffer_t;

/** Have room for n bytes; what was there is lost when it grows. A zeroed buffer is empty.
 * @return the bytes; NULL without memory, and the buffer as it was. */
void *tw_buffer_need(tw_buffer_t *buffer, size_t n);

/** Release it; a zeroed one is allowed. */
void tw_buffer_destroy(tw_buffer_t *buffer);

#endif /* TW_INPUT_BUFFER_H */
