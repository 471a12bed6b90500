/* SPDX-License-Identifier: BSD-3-Clause
 * train/step/fault.c - see fault.h. Each rank has its own examples and units, so the result is the
 * minimum over the ranks.
 */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "command/watch.h"
#include "train/step/fault.h"

/* Places in the network: 0 for the input, layer l is at l + 1; one more than there are layers where
 * nothing is found. */
static uint64_t place_of(const tw_network_t *net, const char *name)
{
    uint64_t l = 0;

    if (name != NULL && strcmp(name, "input") == 0) {
        return 0;
    }
    while (l < net->layers && (name == NULL || strcmp(name, net->layer[l].name) != 0)) {
        l++;
    }
    return l + 1;
}

static uint64_t first_place(tw_training_t *t, const tw_trunk_pass_t *pass, size_t rows)
{
    const char *name = tw_trunk_first_nonfinite(t->trunk, pass);
    uint64_t    mine, first = 0;

    mine = place_of(&t->network, name != NULL ? name : tw_head_first_nonfinite(t->head, rows));
    watch_begin("MPI_Allreduce");
    MPI_Allreduce(&mine, &first, 1, MPI_UINT64_T, MPI_MIN, t->comm);
    watch_end();
    return first;
}

int tw_fault_report(tw_training_t *t, const tw_trunk_pass_t *pass, size_t rows,
                    tw_problem_t *problem)
{
    const uint64_t place = first_place(t, pass, rows);
    char           where[96];

    if (place == 0) {
        snprintf(where, sizeof(where), "the input");
    } else if (place > t->network.layers) { /* in a pass through the dense layers before the last */
        snprintf(where, sizeof(where), "a dense layer");
    } else {
        snprintf(where, sizeof(where), "layer %s", t->network.layer[place - 1].name);
    }
    return tw_problem_set(
        problem,
        "the loss is not finite in epoch %" PRIu64 ", step %" PRIu64
        ", and the first output that is not is that of %s; a smaller --lr may help",
        t->epochs + 1, t->step % t->steps + 1, where);
}
