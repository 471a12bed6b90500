/* SPDX-License-Identifier: BSD-3-Clause
 * input/buffer.c - see buffer.h.
 */
#include "config.h"

#include <stdlib.h>

#include "train/input/buffer.h"

enum { ALIGNMENT = 64 };

static void *allocate(const tw_buffer_t *buffer, size_t bytes)
{
    return buffer->memory != NULL ? buffer->memory->allocate(bytes)
                                  : aligned_alloc(ALIGNMENT, bytes);
}

static void buffer_release(const tw_buffer_t *buffer)
{
    if (buffer->memory == NULL) {
        free(buffer->bytes);
    } else if (buffer->bytes != NULL) {
        buffer->memory->release(buffer->bytes);
    }
}

void *tw_buffer_need(tw_buffer_t *buffer, size_t n)
{
    size_t room = n + n / 4; /* images differ in size: grow seldom */
    void  *more;

    if (n <= buffer->room && buffer->bytes != NULL) {
        return buffer->bytes;
    }
    room = (room + 2 * ALIGNMENT) / ALIGNMENT * ALIGNMENT;
    if (room < n || (more = allocate(buffer, room)) == NULL) {
        return NULL;
    }
    buffer_release(buffer);
    buffer->bytes = more;
    buffer->room  = room - ALIGNMENT;
    buffer->grown++;
    return more;
}

void tw_buffer_destroy(tw_buffer_t *buffer)
{
    buffer_release(buffer);
    *buffer = (tw_buffer_t){.bytes = NULL};
}
