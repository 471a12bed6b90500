/* SPDX-License-Identifier: BSD-3-Clause
 * train/device.c - see device.h.
 */
#include "config.h"

#include <stdio.h>

#include "command/watch.h"
#include "train/device.h"

static int open_host(tw_backend_t **backend_p, const tw_device_wish_t *wish, tw_problem_t *problem)
{
    return tw_backend_host(backend_p, wish->kernels, (int)wish->options->threads, problem);
}

/* The library tells what is wrong with a number, and agrees on it. With auto all ranks have a
 * device, or none has, and *found is why. */
static int open_own(tw_backend_t **backend_p, const tw_device_wish_t *wish, tw_problem_t *found,
                    tw_problem_t *problem)
{
    const int wanted =
        wish->options->device == TW_BIND_AUTO ? TW_BIND_ALIKE : wish->options->device;
    tw_backend_cuda_config_t config = {.tf32 = wish->options->tf32, .fast = wish->options->fast};
    char                     why[TW_BIND_WHY];
    const tw_status_t        status =
        tw_comm_bind_device(wish->comm, wanted, &config.device, why, sizeof(why));

    if (status != TW_OK) {
        problem->fatal = tw_comm_status(wish->comm) != TW_OK;
        return tw_problem_set(problem, "%s", problem->fatal ? tw_status_text(status) : "");
    }
    return config.device < 0 ? tw_problem_set(found, "%s", why)
                             : tw_backend_cuda(backend_p, &config, found);
}

/* The first rank that has found something; -1: none has. */
static int first_without(const tw_device_wish_t *wish, const tw_problem_t *found)
{
    int rank, size, mine, first;

    MPI_Comm_rank(wish->parent, &rank);
    MPI_Comm_size(wish->parent, &size);
    mine = found->set ? rank : size;
    watch_begin("MPI_Allreduce");
    MPI_Allreduce(&mine, &first, 1, MPI_INT, MPI_MIN, wish->parent);
    watch_end();
    if (first == rank && wish->options->device == TW_BIND_AUTO) {
        fflush(stdout);
        fprintf(stderr,
                "thinwire-train: --device auto: %s; all ranks compute on their processors\n",
                found->text);
    }
    return first == size ? -1 : first;
}

int tw_device_open(tw_backend_t **backend_p, const tw_device_wish_t *wish, tw_problem_t *problem)
{
    tw_problem_t found = {0};

    if (wish->options->device == TW_BIND_NONE) {
        return open_host(backend_p, wish, problem);
    }
    if (open_own(backend_p, wish, &found, problem) != 0 && problem->set) {
        return -1; /* as on all ranks */
    }
    if (first_without(wish, &found) < 0) {
        return 0;
    }
    if (wish->options->device != TW_BIND_AUTO) {
        return found.set ? tw_problem_set(problem, "--device %.40s: %.500s",
                                          wish->options->device_text, found.text)
                         : 0; /* tw_agree() ends it for all */
    }
    tw_backend_destroy(*backend_p);
    *backend_p = NULL;
    return open_host(backend_p, wish, problem);
}
