/* SPDX-License-Identifier: BSD-3-Clause
 * simulation/posts.h - what is posted: sends, receives, and messages under way, which are matched
 * by their ends and tag, those of one tag in the order of posting.
 */
#ifndef SIMULATION_POSTS_H
#define SIMULATION_POSTS_H

#include <stdint.h>

#include "simulation/links.h"

#define POST_NONE UINT32_MAX

/* Requests that are waited for together. */
typedef struct post_batch {
    int    rank, count, unknown; /* requests; those whose end is not known yet */
    double last;
} post_batch_t;

/* A cache line. */
typedef struct post {
    double   time;       /* complete or arrived; below 0: not known */
    uint64_t key;        /* while it is not matched */
    uint32_t next, pair; /* pair: a message's receive, or none */
    int      kind;
    union {
        transfer_t transfer; /* of a message */
        struct {
            post_batch_t *batch;
            double        receive; /* seconds of work, once it is complete */
        };
    };
} post_t;

enum { POST_MESSAGE, POST_RECEIVE };

void     posts_open(int ranks);
uint32_t post_new(void);
post_t  *post_at(uint32_t index);
void     post_free(uint32_t index);

/** The oldest of the other kind with these ends and tag, or POST_NONE: then the given one is
 * kept. */
uint32_t post_match(int kind, uint32_t index, int from, int to, int tag);

#endif /* SIMULATION_POSTS_H */
