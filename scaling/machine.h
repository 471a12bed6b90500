/* SPDX-License-Identifier: BSD-3-Clause
 * scaling/machine.h - a machine as a few numbers, where nothing can be run on it:
 * thinwire-machine(5).
 */
#ifndef SCALING_MACHINE_H
#define SCALING_MACHINE_H

#include "scaling/network.h"
#include "scaling/workload.h"

typedef struct speeds {
    char      name[WORKLOAD_NAME];
    int       ranks, ranks_per_node;
    double    flops;             /* of a rank, a second, in dense layers      */
    double    convolution_flops; /* likewise, in convolutions                 */
    double    memory_rate;       /* bytes a second; 0: not counted            */
    double    memory;            /* bytes of a rank; 0: not known             */
    double    codec_rate;        /* bytes of float32 a second that a rank encodes or decodes; 0: as
                                    fast as this machine's codecs             */
    network_t network;
} speeds_t;

/** Read a file.
 * @return 0, or -1 with the problem set. */
int machine_read(speeds_t *machine, const char *path, tw_problem_t *problem);

#endif /* SCALING_MACHINE_H */
