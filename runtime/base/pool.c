/* SPDX-License-Identifier: BSD-3-Clause
 * base/pool.c - aligned buffers that are kept and reused.
 * Layout of a buffer: [ header, TW_POOL_ALIGN bytes | capacity bytes ], the caller sees the latter.
 */
#include "config.h"

#include <assert.h>
#include <stdlib.h>

#include "runtime/base/bytes.h"
#include "runtime/base/pool.h"

struct tw_pool_buf {
    struct tw_pool_buf *next; /* in the idle list */
    size_t              capacity;
    unsigned            size_class;
};

_Static_assert(sizeof(struct tw_pool_buf) <= TW_POOL_ALIGN, "header fits its room");

/* Class of the smallest capacity that holds `bytes`, and that capacity; 0 capacity: too large. */
static unsigned tw_pool_class(size_t bytes, size_t *capacity)
{
    unsigned power = 10; /* 1 KiB is the smallest capacity */
    unsigned quarter;
    size_t   step;

    if (bytes > SIZE_MAX / 4) {
        *capacity = 0;
        return 0;
    }
    while (((size_t)2 << power) <= bytes) {
        power++;
    }
    step = ((size_t)1 << power) / 4;
    for (quarter = 0; quarter < 4 && (4 + quarter) * step < bytes; quarter++) {
    }
    *capacity = (4 + quarter) * step;
    return (power - 10) * 4 + quarter;
}

void tw_pool_init(tw_pool_t *pool)
{
    memset(pool, 0, sizeof(*pool));
    pool->limit = UINT64_MAX;
    pthread_mutex_init(&pool->lock, NULL);
}

void tw_pool_fini(tw_pool_t *pool)
{
    assert(pool->in_use == 0);
    for (size_t i = 0; i < TW_POOL_CLASSES; i++) {
        struct tw_pool_buf *buf = pool->idle[i];

        while (buf != NULL) {
            struct tw_pool_buf *next = buf->next;

            free(buf);
            buf = next;
        }
    }
    pthread_mutex_destroy(&pool->lock);
}

static struct tw_pool_buf *tw_pool_allocate(tw_pool_t *pool, unsigned size_class, size_t capacity)
{
    struct tw_pool_buf *buf;

    if (capacity == 0 || TW_POOL_ALIGN + capacity > pool->limit - pool->bytes) {
        return NULL;
    }
    buf = aligned_alloc(TW_POOL_ALIGN, TW_POOL_ALIGN + capacity);
    if (buf != NULL) {
        buf->capacity   = capacity;
        buf->size_class = size_class;
        pool->allocations++;
        pool->bytes += TW_POOL_ALIGN + capacity;
    }
    return buf;
}

/* The smallest idle buffer that is large enough, or NULL. */
static struct tw_pool_buf *tw_pool_take_idle(tw_pool_t *pool, unsigned size_class)
{
    for (unsigned c = size_class; c < TW_POOL_CLASSES; c++) {
        struct tw_pool_buf *buf = pool->idle[c];

        if (buf != NULL) {
            pool->idle[c] = buf->next;
            return buf;
        }
    }
    return NULL;
}

tw_status_t tw_pool_get(tw_pool_t *pool, size_t bytes, void **buffer_p)
{
    size_t              capacity;
    const unsigned      size_class = tw_pool_class(bytes, &capacity);
    struct tw_pool_buf *buf;

    pthread_mutex_lock(&pool->lock);
    buf = capacity > 0 ? tw_pool_take_idle(pool, size_class) : NULL;
    if (buf == NULL) {
        buf = tw_pool_allocate(pool, size_class, capacity);
    }
    pool->in_use += buf != NULL;
    pthread_mutex_unlock(&pool->lock);
    if (buf == NULL) {
        return TW_ERR_NO_MEMORY;
    }
    *buffer_p = (uint8_t *)buf + TW_POOL_ALIGN;
    return TW_OK;
}

void tw_pool_put(tw_pool_t *pool, void *buffer)
{
    struct tw_pool_buf *buf;

    if (buffer == NULL) {
        return;
    }
    buf = (struct tw_pool_buf *)((uint8_t *)buffer - TW_POOL_ALIGN);
    pthread_mutex_lock(&pool->lock);
    buf->next                   = pool->idle[buf->size_class];
    pool->idle[buf->size_class] = buf;
    pool->in_use--;
    pthread_mutex_unlock(&pool->lock);
}

tw_status_t tw_pool_reserve(tw_pool_t *pool, size_t bytes)
{
    void             *buffer;
    const tw_status_t status = tw_pool_get(pool, bytes, &buffer);

    if (status == TW_OK) {
        tw_pool_put(pool, buffer);
    }
    return status;
}
