/* SPDX-License-Identifier: BSD-3-Clause
 * simulation/setup.h - the collectives of setting up a communicator: among all ranks, or those of a
 * node. They take no time, and are complete when the last rank has come.
 */
#ifndef SIMULATION_SETUP_H
#define SIMULATION_SETUP_H

#include <stddef.h>

#include "simulation/world.h"

typedef enum setup_kind {
    SETUP_GATHER,
    SETUP_BCAST,
    SETUP_INT,
    SETUP_UINT64,
    SETUP_DOUBLE
} setup_kind_t;

/* What a rank brings. sign: below 0 the least, above 0 the greatest, 0 the sum. */
typedef struct setup_part {
    setup_kind_t kind;
    int          sign;
    const void  *in;
    void        *out;
    size_t       bytes;
} setup_part_t;

void setup_open(const script_t *script);

MPI_Comm setup_comm(int node);
int      setup_is_node(MPI_Comm comm);
int      setup_size(int node, int rank);

/** A rank takes part in its next one; the last calls done() with what all came with. */
void setup_join(const setup_part_t *part, int node, int rank, uint32_t post,
                void (*done)(const uint32_t *posts, int count));

#endif /* SIMULATION_SETUP_H */
