/* SPDX-License-Identifier: BSD-3-Clause
 * model/job.h - a network as a job of scaling/: what its layers would take on a machine of which
 * only speeds are known.
 */
#ifndef TW_MODEL_JOB_H
#define TW_MODEL_JOB_H

#include "scaling/machine.h"
#include "train/model/network.h"

/** The layers of a network behind one that stands for its input; dropouts of the head are in no
 * layer. Seconds, batch and channels are 0.
 * @param [out] work  of one rank; release with workload_free()
 * @return 0, or -1 with the problem set: no memory. */
int tw_network_layers(const tw_network_t *net, workload_t *work, tw_problem_t *problem);

/** The same, with the seconds that the machine takes for a rank's examples: operations of
 * dense layers and convolutions at its speeds for these (a multiply-add is two; backward takes
 * twice as many, S4 footnote 4 counts the same way), and bytes of all layers at that of its memory,
 * whichever is longer.
 * @param batch     examples of a rank
 * @param [out] work  of one rank; release with workload_free()
 * @return 0, or -1 with the problem set: no memory, or a layer takes longer than a job may say. */
int tw_network_job(const tw_network_t *net, const speeds_t *machine, double batch, workload_t *work,
                   tw_problem_t *problem);

/* How a network is trained, for tw_network_memory(). */
typedef struct tw_network_memory {
    int    ranks;     /* among which the dense layers are divided; 1: they are not          */
    double rows;      /* examples of a rank, of which it computes what is before them       */
    double pass;      /* examples that go through divided dense layers at once              */
    int    residuals; /* the codec of gradients needs error feedback                        */
} tw_network_memory_t;

/** About the bytes that a rank keeps: parameters, gradients, optimizer state and residuals, of
 * which those of the dense layers may be divided; the images of a step, and the outputs of all
 * layers with their gradients. Not what libraries, messages and the loading of images take. */
double tw_network_memory(const tw_network_t *net, const tw_network_memory_t *how);

#endif /* TW_MODEL_JOB_H */
