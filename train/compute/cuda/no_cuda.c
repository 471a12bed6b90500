/* SPDX-License-Identifier: BSD-3-Clause
 * cuda/no_cuda.c - replaces the CUDA backend in builds without CUDA or cuDNN.
 */
#include "config.h"

#include "train/compute/backend.h"

int tw_backend_cuda(tw_backend_t **backend_p, const tw_backend_cuda_config_t *config,
                    tw_problem_t *problem)
{
    (void)config;
    *backend_p = NULL;
#ifdef HAVE_CUDA
    return tw_problem_machine(problem, "thinwire-train was built without cuDNN");
#else
    return tw_problem_machine(problem, "thinwire-train was built without CUDA");
#endif
}
