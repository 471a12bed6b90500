/* SPDX-License-Identifier: BSD-3-Clause
 * model/job.h - a network as a job of scaling/: what its layers would take on a machine of which only
 * speeds are known.
 */
#ifndef TW_MODEL_JOB_H
#define TW_MODEL_JOB_H

#include "scaling/machine.h"
#include "train/model/network.h"

/** The layers of a network behind one that stands for its input; dropouts of the head are in no layer.
 * Seconds, batch and channels are 0.
 * @param [out] work  of one rank; release with workload_free()
 * @return 0, or -1 with the problem set: no memory. */
int tw_network_layers(const tw_network_t *net, workload_t *work, tw_problem_t *problem);

/** The same, with the seconds that the machine takes for a rank's examples: operations of
 * dense layers and convolutions at its speeds for these (a multiply-add is two; backward takes twice as
 * many, S4 footnote 4 counts the same way), and bytes of all layers at that of its memory, whichever is
 * longer.
 * @param batch     examples of a rank
 * @param [out] work  of one rank; release with workload_free()
 * @return 0, or -1 with the problem set: no memory. */
int tw_network_job(const tw_network_t *net, const speeds_t *machine, double batch, workload_t *work,
                   tw_problem_t *problem);

/** Bytes that a rank keeps: parameters, gradients and optimizer state, of which those of the dense layers
 * may be divided, and the outputs of all layers with their gradients.
 * @param rows  examples of a rank; a pass through split layers has as many */
double tw_network_memory(const tw_network_t *net, int split, int ranks, double rows);

#endif /* TW_MODEL_JOB_H */
