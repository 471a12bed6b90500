/* SPDX-License-Identifier: BSD-3-Clause
 * base/pool.h - aligned buffers that are kept and reused.
 *
 * Buffers come in size classes of powers of two and four steps between them (1, 1.25, 1.5, 1.75),
 * so that at most a fifth is wasted. A returned buffer waits in the list of its class and serves
 * this size and smaller ones; a steady state therefore asks the system for nothing, which
 * `allocations` shows.
 *
 * Where no waiting buffer is large enough, the largest of them goes back before a new one is made.
 * So there are never more buffers than were in use at the same time, whatever sizes came by, and
 * the one that is reserved.
 */
#ifndef TW_BASE_POOL_H
#define TW_BASE_POOL_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include <thinwire/status.h>

#define TW_POOL_ALIGN   128 /* bytes: two cache lines, and every vector width */
#define TW_POOL_CLASSES 256

typedef struct tw_pool {
    pthread_mutex_t     lock;
    struct tw_pool_buf *idle[TW_POOL_CLASSES];
    uint64_t            allocations; /* times the system was asked              */
    uint64_t            bytes;       /* held now, idle or in use                */
    uint64_t            limit;       /* bytes it may hold; none at first        */
    uint64_t            in_use;      /* buffers that have not come back         */
    uint64_t            window;      /* see tw_pool_init()                      */
    uint64_t            gets;        /* in this window                          */
    unsigned            largest;     /* class asked for in it                   */
    size_t              reserved;    /* bytes, see tw_pool_reserve()            */
} tw_pool_t;

/* It keeps its buffers. With window > 0, to be set afterwards, those go back that were more than
 * twice too large for so many tw_pool_get() together: not where memory is agreed on between ranks.
 */
void tw_pool_init(tw_pool_t *pool);

/* Release every buffer; all must have come back. */
void tw_pool_fini(tw_pool_t *pool);

/* A buffer of at least `bytes` bytes (0 is allowed), aligned to TW_POOL_ALIGN, contents undefined.
 * TW_OK, TW_ERR_NO_MEMORY. Safe from any thread. */
tw_status_t tw_pool_get(tw_pool_t *pool, size_t bytes, void **buffer_p);

/* Give a buffer back; NULL is allowed. */
void tw_pool_put(tw_pool_t *pool, void *buffer);

/* Give idle buffers that are larger than `bytes` needs back to the system. */
void tw_pool_trim(tw_pool_t *pool, size_t bytes);

/* A buffer of `bytes` bytes, and of what was reserved before, is idle from now on: it makes way for
 * no other, and goes back only where more is reserved. So tw_pool_get(bytes) asks the system for
 * nothing while no other buffer of that size is in use. TW_OK, TW_ERR_NO_MEMORY. By one thread at a
 * time. */
tw_status_t tw_pool_reserve(tw_pool_t *pool, size_t bytes);

#endif /* TW_BASE_POOL_H */
