/* SPDX-License-Identifier: BSD-3-Clause
 * topology/place.h - between the parts of placement: place.c (all of it), place_gpu.c
 * and place_units.c, place_cores.c.
 */
#ifndef TW_TOPOLOGY_PLACE_H
#define TW_TOPOLOGY_PLACE_H

#include "runtime/topology/node.h"

/* One rank while it is being placed. */
typedef struct tw_seat {
    const char    *visible;    /* its CUDA_VISIBLE_DEVICES; NULL: the node's                */
    const char    *devices;    /* what CUDA counts for it; NULL: not known                 */
    hwloc_bitmap_t set;        /* its binding; NULL: none                                  */
    int            gpu;        /* index, -1: none                                          */
    int            device;     /* as CUDA counts it for this rank; -1: none                */
    int            shares_gpu; /* with another rank                                     */
    tw_where_t     home;       /* of the GPU                                               */
    int            count;      /* cores                                                    */
    int           *cores;      /* in no order while being filled; of the cores' own array  */
} tw_seat_t;

/* A set of cores that is being given out. */
typedef struct tw_cores {
    int *list; /* indices, ascending */
    int  count;
} tw_cores_t;

/* GPUs: spread before they are shared, near to a binding. *units_p: how many, or parts of them, are
 * taken. */
tw_status_t tw_place_gpus(const tw_node_t *node, tw_seat_t *seats, int ranks, int *units_p);

/* What ranks take. */
typedef struct tw_unit {
    int         gpu;    /* its index, -1: not on the map                                  */
    const char *name;   /* as a rank wrote it, with the part of the GPU; NULL: all of it  */
    size_t      length; /* of the name                                                    */
    int         users;
    int         from, by; /* of a search: the unit before, and the rank that changes      */
} tw_unit_t;

/* A unit that a rank may take. */
typedef struct tw_option {
    int  unit, device;
    char far;
} tw_option_t;

/* Of one rank, in CUDA's order. */
typedef struct tw_options {
    tw_option_t *list;
    int          count;
    int          taken; /* -1: none */
} tw_options_t;

/* Ranks while they choose. */
typedef struct tw_allotment {
    const tw_node_t *node;
    tw_seat_t       *seats;
    int              ranks;
    tw_options_t    *options; /* by rank */
    tw_unit_t       *units;   /* the GPUs by index, then the others */
    int              count, room;
    int             *scratch; /* room for units, and more than GPUs */
} tw_allotment_t;

/* Fill options and units, which the caller frees, also on failure; units and scratch have room for
 * the GPUs before. */
tw_status_t tw_allotment_fill(tw_allotment_t *c);

/* Cores: near the GPU, inside the binding, without overlap while there are enough. users[c] becomes
 * the number of ranks that have core c. seats[].cores is allocated, also on failure: free() it. */
tw_status_t tw_place_cores(const tw_node_t *node, tw_seat_t *seats, int ranks, int *users);

/* The cores of one package to the ranks that stand in order[0..ranks-1]. */
tw_status_t tw_place_package(const tw_node_t *node, tw_seat_t *seats, const int *order, int ranks,
                             const tw_cores_t *pool);

/* Append a core to a seat; 0: no memory. */
int tw_seat_add(tw_seat_t *seat, int core);

#endif /* TW_TOPOLOGY_PLACE_H */
