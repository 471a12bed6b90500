/* SPDX-License-Identifier: BSD-3-Clause
 * scaling/workload.h - what a program does in one step: computations, and collectives that are
 * started and waited for. Read from a file in the syntax of libconfig, thinwire-job(5).
 */
#ifndef SCALING_WORKLOAD_H
#define SCALING_WORKLOAD_H

#include <stddef.h>
#include <stdint.h>

#include <thinwire/facts.h>

enum { WORKLOAD_NAME = 64, WORKLOAD_ITEMS = 1000000, WORKLOAD_NESTED = 8, WORKLOAD_RANKS = 65536 };

/* A collective that is started once or again and again, by its name. */
typedef struct exchange {
    char name[WORKLOAD_NAME];
    char class[WORKLOAD_NAME]; /* "" or as in thinwire-train --codec: "grad"       */
    tw_operation_t operation;
    double         count;  /* of values, as tw_operation_t says                             */
    int            wide;   /* doubles                                                        */
    int            plain;  /* neither floats nor doubles: bytes / 4 values, never compressed */
    int            scales; /* count is by the examples of a rank                             */
} exchange_t;

typedef enum item_kind {
    ITEM_COMPUTE, /* seconds                                                                  */
    ITEM_FIXED,   /* seconds, whatever the examples of a rank                                 */
    ITEM_START,   /* exchange                                                                 */
    ITEM_WAIT,    /* exchange; not started: nothing                                           */
    ITEM_REPEAT,  /* items up to end, `times` times                                           */
    ITEM_END
} item_kind_t;

typedef struct item {
    item_kind_t kind;
    double      seconds;
    size_t      exchange;
    uint64_t    times;
    size_t      end; /* of ITEM_REPEAT: the index of its ITEM_END */
} item_t;

typedef struct workload {
    char        name[WORKLOAD_NAME];
    int         ranks; /* that it was measured on                                        */
    int         fixed; /* on no other number of ranks                                    */
    item_t     *item;
    size_t      items;
    exchange_t *exchange;
    size_t      exchanges;
} workload_t;

/** Read a file.
 * @param [out] why  one line, without the command's name, on failure.
 * @return 1, or 0 and nothing to release. */
int workload_read(workload_t *work, const char *path, char *why, size_t why_size);

void workload_free(workload_t *work);

#endif /* SCALING_WORKLOAD_H */
