/* SPDX-License-Identifier: BSD-3-Clause
 * tools/scale/simulation.h - steps played by the library's own code in simulated time, by a program
 * beside this one (simulation/).
 */
#ifndef TOOLS_SCALE_SIMULATION_H
#define TOOLS_SCALE_SIMULATION_H

#include "scaling/network.h"
#include "scaling/step.h"

/** step_time() by simulation, on more than one rank. how->facts are those of the network.
 * @return 0, or -1 with the problem set: what step_exchange() finds, no program or memory for it,
 *         or too many messages. */
int simulation_step(const workload_t *work, const step_case_t *how, const network_t *network,
                    step_time_t *time, tw_problem_t *problem);

#endif /* TOOLS_SCALE_SIMULATION_H */
