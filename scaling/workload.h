/* SPDX-License-Identifier: BSD-3-Clause
 * scaling/workload.h - what a program does in one step: computations, and collectives that are
 * started and waited for. Read from a file in the syntax of libconfig, thinwire-job(5).
 */
#ifndef SCALING_WORKLOAD_H
#define SCALING_WORKLOAD_H

#include <stddef.h>
#include <stdint.h>

#include <thinwire/facts.h>

#include "command/problem.h"

enum {
    WORKLOAD_NAME   = 64,
    WORKLOAD_ITEMS  = 1000000,
    WORKLOAD_NESTED = 8,
    WORKLOAD_RANKS  = 65536,
    NEIGHBOURS      = 64, /* of one rank */
    TRAINING_LAYERS = 4096
};

/* Of one computation. */
#define SECONDS_MOST 1e6
/* Bytes and operations a second. */
#define RATE_LEAST 1e3
#define RATE_MOST  1e21

/* Of the messages of a rank r: those to rank r + offset. */
typedef struct neighbour {
    int    offset;
    double part; /* of their bytes */
} neighbour_t;

/* A collective, or messages to neighbours, that is started once or again and again, by its name. */
typedef struct exchange {
    char name[WORKLOAD_NAME];
    char class[WORKLOAD_NAME]; /* "" or as in thinwire-train --codec: "grad"       */
    tw_operation_t operation;
    double         count;     /* of values, as tw_operation_t says                             */
    tw_dtype_t     dtype;     /* of the values                                                  */
    int            plain;     /* neither floats nor doubles: bytes / 4 values, never compressed */
    int            scales;    /* count is by the examples of a rank                             */
    double         part;      /* of the bytes that the busiest rank sends, those of a mean one  */
    int            turns;     /* another rank is the root each time: bytes of a mean rank       */
    int            native;    /* by MPI's own collective, where it is not compressed            */
    double         threshold; /* then: bytes of values that are compressed, at least          */
    int            first;     /* the first rank is the root each time                           */
    int            usual;     /* by what the library takes by itself, not the fastest     */
    int            ordered;   /* a sum in one order: hierarchical where that can serve         */
    const char    *codec;     /* of a training's weights: what they travel by; else NULL         */
    int            shares;    /* of owners: in whole lines of values, and blocks of `blocks` */
    const char    *blocks;    /* the codec by which a training's weights travel; NULL: fp32  */
    int            messages;  /* of a rank, to its neighbours; 0: it is a collective         */
    neighbour_t   *to;        /* neighbours of them                                        */
    int            neighbours;
    int            ranks;  /* that take part; 0: all                                         */
    int            stride; /* from one of them to the next                                   */
} exchange_t;

typedef enum item_kind {
    ITEM_COMPUTE, /* seconds                                                                  */
    ITEM_FIXED,   /* seconds, whatever the examples of a rank                                 */
    ITEM_IDLE,    /* seconds, whatever processors are shared or else at work                  */
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

/* A training is given by its layers instead of items: training.h. */
typedef struct training_layer {
    char   name[WORKLOAD_NAME];
    double weights, biases; /* values */
    double units;   /* of a dense layer; 0: it is none. inputs: training_inputs()              */
    double groups;  /* of its units and inputs, each connected to its own alone; 0: one        */
    int by_input;   /* split, it has all units of its part of the inputs, and outputs are added   */
    size_t network; /* for who made it: the layer's place in the network                        */
    double channels; /* whose statistics are exchanged                                       */
    char   copy[WORKLOAD_NAME]; /* the codec in which its weights travel from owners; "": fp32 */
    double forward,
        backward; /* seconds, of the examples of a rank in the measurement, all units      */
} training_layer_t;

/** Inputs of a dense layer. */
static inline double training_inputs(const training_layer_t *layer)
{
    return layer->weights * (layer->groups > 1.0 ? layer->groups : 1.0) / layer->units;
}

typedef struct training {
    double
        batch; /* examples of a step, of all ranks in the measurement                            */
    double
        bucket; /* bytes of gradients that travel together                                        */
    double
        update; /* seconds of updating all parameters                                             */
    double
        period;  /* passes from one update of split layers to the next; 0: one a step             */
    int owners;  /* of weights, a tw_weights_owners_t; 0: every rank updates all              */
    int norms;   /* of the weights are exchanged in each step                                 */
    int blocks;  /* weights of layers whose names are equal up to the last point travel together */
    int softmax; /* split layers exchange their largest outputs and the sums */
    size_t layers,
        dense; /* dense: the first of those that can be split; layers: there are none    */
    training_layer_t *layer;
} training_t;

typedef struct workload {
    char   name[WORKLOAD_NAME];
    int    ranks;      /* that it was measured on                                        */
    int    fixed;      /* on no other number of ranks                                    */
    double codec_rate; /* bytes of float32 a second that a rank encodes or decodes; 0: not told */
    double processor;  /* the part of one that each of these had; 0: a whole one         */
    training_t  training; /* layers: 0 where there are items                                */
    item_t     *item;
    size_t      items;
    exchange_t *exchange;
    size_t      exchanges;
} workload_t;

/** Read a file.
 * @param [out] problem  without the command's name, on failure.
 * @return 0, or -1 and nothing to release. */
int workload_read(workload_t *work, const char *path, tw_problem_t *problem);

void workload_free(workload_t *work);

#endif /* SCALING_WORKLOAD_H */
