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

#define TW_POOL_DOUBLE 4 /* classes from a capacity to its double */

_Static_assert(sizeof(struct tw_pool_buf) <= TW_POOL_ALIGN, "header fits its room");

/* Nobody has more. */
#define TW_POOL_MOST (SIZE_MAX / 4)

/* Class of the smallest capacity that holds `bytes`, at most TW_POOL_MOST, and that capacity. */
static unsigned tw_pool_class(size_t bytes, size_t *capacity)
{
    unsigned power = 10; /* 1 KiB is the smallest capacity */
    unsigned quarter;
    size_t   step;

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

    if (TW_POOL_ALIGN + capacity > pool->limit - pool->bytes) {
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

static void tw_pool_free_idle(tw_pool_t *pool, unsigned size_class)
{
    struct tw_pool_buf *buf = pool->idle[size_class];

    pool->idle[size_class] = buf->next;
    pool->bytes -= TW_POOL_ALIGN + buf->capacity;
    free(buf);
}

/* Would what is reserved still be idle without the largest buffer that is, which is of this
 * class? */
static bool tw_pool_can_spare(const tw_pool_t *pool, unsigned largest)
{
    size_t         capacity;
    const unsigned reserved = tw_pool_class(pool->reserved, &capacity);

    if (pool->reserved == 0 || largest < reserved || pool->idle[largest]->next != NULL) {
        return true;
    }
    for (unsigned c = reserved; c < largest; c++) {
        if (pool->idle[c] != NULL) {
            return true;
        }
    }
    return false;
}

/* Every idle buffer of a class beyond `size_class`. */
static void tw_pool_free_beyond(tw_pool_t *pool, unsigned size_class)
{
    for (unsigned c = TW_POOL_CLASSES; --c > size_class;) {
        while (pool->idle[c] != NULL && tw_pool_can_spare(pool, c)) {
            tw_pool_free_idle(pool, c);
        }
    }
}

/* No idle buffer will do: the largest makes way for the one that is to be made. */
static void tw_pool_make_way(tw_pool_t *pool, unsigned size_class)
{
    for (unsigned c = size_class; c-- > 0;) {
        if (pool->idle[c] != NULL) {
            if (tw_pool_can_spare(pool, c)) {
                tw_pool_free_idle(pool, c);
            }
            return;
        }
    }
}

/* Before a buffer is taken, while those of the last call are idle. */
static void tw_pool_shrink(tw_pool_t *pool, unsigned size_class)
{
    if (pool->gets == pool->window) {
        tw_pool_free_beyond(pool, pool->largest + TW_POOL_DOUBLE);
        pool->gets    = 0;
        pool->largest = 0;
    }
    pool->gets++;
    pool->largest = size_class > pool->largest ? size_class : pool->largest;
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
    struct tw_pool_buf *buf;
    unsigned            size_class;
    size_t              capacity;

    if (bytes > TW_POOL_MOST) {
        return TW_ERR_NO_MEMORY;
    }
    size_class = tw_pool_class(bytes, &capacity);
    pthread_mutex_lock(&pool->lock);
    if (pool->window > 0) {
        tw_pool_shrink(pool, size_class);
    }
    buf = tw_pool_take_idle(pool, size_class);
    if (buf == NULL) {
        tw_pool_make_way(pool, size_class);
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

void tw_pool_trim(tw_pool_t *pool, size_t bytes)
{
    size_t         capacity;
    const unsigned size_class =
        tw_pool_class(bytes < TW_POOL_MOST ? bytes : TW_POOL_MOST, &capacity);

    pthread_mutex_lock(&pool->lock);
    tw_pool_free_beyond(pool, size_class);
    pthread_mutex_unlock(&pool->lock);
}

tw_status_t tw_pool_reserve(tw_pool_t *pool, size_t bytes)
{
    const size_t before = pool->reserved;
    void        *buffer = NULL;
    tw_status_t  status;

    pool->reserved = 0; /* what was reserved may make way for more */
    status         = tw_pool_get(pool, bytes, &buffer);
    tw_pool_put(pool, buffer);
    if (status == TW_OK) {
        pool->reserved = bytes > before ? bytes : before;
    } else if (before > 0 && tw_pool_get(pool, before, &buffer) == TW_OK) {
        tw_pool_put(pool, buffer);
        pool->reserved = before;
    }
    return status;
}
