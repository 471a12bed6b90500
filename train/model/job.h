/* SPDX-License-Identifier: BSD-3-Clause
 * model/job.h - a network as a job of scaling/: estimated times of its layers on a machine with
 * given speeds.
 */
#ifndef TW_MODEL_JOB_H
#define TW_MODEL_JOB_H

#include "scaling/machine.h"
#include "train/model/network.h"

/** The layers of a network, after one for its input; dropouts of the head are in no layer. Seconds,
 * batch and channels are 0.
 * @param [out] work  of one rank; release with workload_free()
 * @return 0, or -1 with the problem set: no memory. */
int tw_network_layers(const tw_network_t *net, workload_t *work, tw_problem_t *problem);

/** The same, with the machine's seconds for a rank's examples: the maximum of the time of
 * operations of dense layers and convolutions (a multiply-add counts as two; backward takes twice
 * as many, as in S4 footnote 4), and the time of the memory traffic of all layers.
 * @param batch     examples of a rank
 * @param [out] work  of one rank; release with workload_free()
 * @return 0, or -1 with the problem set: no memory, or a layer's time exceeds a job's limit. */
int tw_network_job(const tw_network_t *net, const speeds_t *machine, double batch, workload_t *work,
                   tw_problem_t *problem);

/* How a network is trained, for tw_network_memory(). */
typedef struct tw_network_memory {
    int    ranks;     /* that divide the dense layers; 1: not divided                       */
    double rows;      /* examples of a rank in the layers before the dense ones             */
    double pass;      /* examples that pass divided dense layers at once                    */
    int    residuals; /* the codec of gradients needs error feedback                        */
    double owned;     /* of weights with owners, the part whose masters and optimizer state the
                         rank has; 0: they have none, and every rank updates all           */
} tw_network_memory_t;

/** Estimated bytes of a rank: parameters, gradients, optimizer state and residuals (those of dense
 * layers may be divided); the images of a step, and the outputs of all layers with their gradients.
 * Excludes memory of libraries, messages and the loading of images. */
double tw_network_memory(const tw_network_t *net, const tw_network_memory_t *how);

#endif /* TW_MODEL_JOB_H */
