/* SPDX-License-Identifier: BSD-3-Clause
 * topology/place.h - between the parts of placement: place.c (all of it), place_gpu.c,
 * place_cores.c.
 */
#ifndef TW_TOPOLOGY_PLACE_H
#define TW_TOPOLOGY_PLACE_H

#include "runtime/topology/node.h"

/* One rank while it is being placed. */
typedef struct tw_seat {
    const char    *visible; /* its CUDA_VISIBLE_DEVICES; NULL: the node's                */
    hwloc_bitmap_t set;     /* its binding; NULL: none                                  */
    int            gpu;     /* index, -1: none                                          */
    int            device;  /* as CUDA counts it for this rank                          */
    tw_where_t     home;    /* of the GPU                                               */
    int            count;   /* cores                                                    */
    int           *cores;   /* in no order while being filled; of the cores' own array  */
} tw_seat_t;

/* A set of cores that is being given out. */
typedef struct tw_cores {
    int *list; /* indices, ascending */
    int  count;
} tw_cores_t;

/* GPUs: spread before they are shared, near to a binding. */
tw_status_t tw_place_gpus(const tw_node_t *node, tw_seat_t *seats, int ranks);

/* Cores: near the GPU, inside the binding, without overlap while there are enough. users[c] becomes
 * the number of ranks that have core c. seats[].cores is allocated, also on failure: free() it. */
tw_status_t tw_place_cores(const tw_node_t *node, tw_seat_t *seats, int ranks, int *users);

/* The cores of one package to the ranks that stand in order[0..ranks-1]. */
tw_status_t tw_place_package(const tw_node_t *node, tw_seat_t *seats, const int *order, int ranks,
                             const tw_cores_t *pool);

/* Append a core to a seat; 0: no memory. */
int tw_seat_add(tw_seat_t *seat, int core);

#endif /* TW_TOPOLOGY_PLACE_H */
