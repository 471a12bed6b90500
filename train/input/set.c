/* SPDX-License-Identifier: BSD-3-Clause
 * input/set.c - the pixels and labels of a set, see readers.h, and the labels of a part, see
 * source.h.
 */
#include "config.h"

#include <stdlib.h>

#include "train/input/readers.h"
#include "train/input/sources.h"

int tw_set_create(tw_set_t *set, size_t n, size_t pixels, tw_problem_t *problem)
{
    set->n      = n;
    set->pixels = malloc(n * pixels);
    set->labels = malloc(n * sizeof(*set->labels));
    if (set->pixels == NULL || set->labels == NULL) {
        tw_set_destroy(set);
        return tw_problem_set(problem, "out of memory for %zu images", n);
    }
    return 0;
}

void tw_set_destroy(tw_set_t *set)
{
    free(set->pixels);
    free(set->labels);
    *set = (tw_set_t){.n = 0};
}

int tw_source_part_create(tw_source_part_t *part, size_t n, tw_problem_t *problem)
{
    part->n      = n;
    part->labels = malloc((n > 0 ? n : 1) * sizeof(*part->labels));
    return part->labels != NULL ? 0 : tw_problem_set(problem, "out of memory for %zu labels", n);
}
