/* SPDX-License-Identifier: BSD-3-Clause
 * simulation/posts.c - see posts.h. Posts lie in pieces that never move; what is not matched hangs
 * in a table of lists, each in the order of posting.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "simulation/posts.h"
#include "simulation/world.h"

enum { PIECE = 1 << 16, PIECES = 1 << 14 };

_Static_assert(sizeof(post_t) == 64, "a cache line");

typedef struct chain {
    uint32_t first, last;
} chain_t;

static post_t  *piece[PIECES];
static uint32_t posts, idle = POST_NONE; /* made; the first that is free */
static chain_t *table;
static uint64_t mask;

void posts_open(int ranks)
{
    uint64_t size = 1 << 12;

    while (size < 16 * (uint64_t)ranks * (uint64_t)ranks && size < 1 << 23) {
        size *= 2;
    }
    mask  = size - 1;
    table = malloc(size * sizeof(*table));
    if (table == NULL) {
        world_fail("out of memory");
    }
    memset(table, 0xff, size * sizeof(*table)); /* POST_NONE */
}

post_t *post_at(uint32_t index)
{
    return &piece[index / PIECE][index % PIECE];
}

uint32_t post_new(void)
{
    uint32_t index = idle;

    if (index != POST_NONE) {
        idle = post_at(index)->next;
    } else {
        index = posts++;
        if (index / PIECE >= PIECES) {
            world_fail("too many messages under way");
        }
        if (piece[index / PIECE] == NULL) {
            piece[index / PIECE] = aligned_alloc(64, PIECE * sizeof(post_t));
            if (piece[index / PIECE] == NULL) {
                world_fail("out of memory");
            }
        }
    }
    *post_at(index) = (post_t){.time = -1.0, .next = POST_NONE, .pair = POST_NONE};
    return index;
}

void post_free(uint32_t index)
{
    post_at(index)->next = idle;
    idle                 = index;
}

uint32_t post_match(int kind, uint32_t index, int from, int to, int tag)
{
    const uint64_t key   = (uint64_t)from << 46 ^ (uint64_t)to << 30 ^ (uint64_t)tag;
    chain_t       *chain = &table[key * UINT64_C(0x9e3779b97f4a7c15) >> 32 & mask];
    uint32_t       last  = POST_NONE;

    for (uint32_t at = chain->first; at != POST_NONE; at = post_at(at)->next) {
        post_t *post = post_at(at);

        if (post->key == key && post->kind != kind) {
            *(last != POST_NONE ? &post_at(last)->next : &chain->first) = post->next;
            chain->last = chain->last == at ? last : chain->last;
            post->next  = POST_NONE;
            return at;
        }
        last = at;
    }
    *(last != POST_NONE ? &post_at(last)->next : &chain->first) = index;
    chain->last                                                 = index;
    post_at(index)->key                                         = key;
    post_at(index)->kind                                        = kind;
    return POST_NONE;
}
