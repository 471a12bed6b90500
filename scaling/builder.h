/* SPDX-License-Identifier: BSD-3-Clause
 * scaling/builder.h - the items of a training step, one behind the other: computations, exchanges,
 * loops. Inside of training.h; but how lists grow is for the reading of a job file, too.
 */
#ifndef SCALING_BUILDER_H
#define SCALING_BUILDER_H

#include "scaling/workload.h"

typedef struct owners owners_t;

/* Loss and errors travel with the gradients. */
#define EXTRA 2.0

typedef struct builder {
    const training_t *t;
    workload_t       *work;
    size_t            item_room, exchange_room;
    int               failed;                 /* out of memory */
    int               ranks, per_node, lossy; /* per_node: of a full node */
    int       parts;  /* ranks that share split layers                                      */
    double    given;  /* examples of these, in the group that has most                      */
    double    rows;   /* examples of the busiest rank                             */
    double    rate;   /* of its trunk: by the seconds of the measurement          */
    double    all;    /* examples of all ranks                                    */
    double    each;   /* examples of a rank in the measurement                    */
    owners_t *owners; /* of weights; NULL: every rank updates all */
} builder_t;

/** Room for another element behind the n of a list. @return 0, or -1: no memory. */
int builder_grow(void **list, size_t n, size_t *room, size_t size);

void builder_time(builder_t *b, double seconds);
void builder_start(builder_t *b, size_t exchange);
void builder_wait(builder_t *b, size_t exchange);

/** Both. */
void builder_call(builder_t *b, size_t exchange);

/** What follows up to builder_close(), so many times. @return its place. */
size_t builder_open(builder_t *b, double times);
void   builder_close(builder_t *b, size_t begin);

/** A collective of floats; class "" where what is sent loses nothing. @return its number. */
size_t builder_exchange(builder_t *b, tw_operation_t operation, double count, const char *class,
                        const char *name);

#endif /* SCALING_BUILDER_H */
