/* SPDX-License-Identifier: BSD-3-Clause
 * train/checkpoint/safetensors_turned.c - tensors that are stored [input][unit], in a file
 * [unit][input] as all others: rank 0 has one of them whole while it is turned.
 */
#include "config.h"

#include <stdlib.h>

#include "train/checkpoint/safetensors_inside.h"
#include "train/compute/product.h"

/* Whether all ranks, of which rank 0 alone may have failed, can go on. */
static int agreed(const tw_training_t *t, int failed, tw_problem_t *problem)
{
    if (failed) {
        tw_problem_set(problem, "out of memory for a whole tensor");
    }
    return tw_checkpoint_agreed(t, problem);
}

int tw_exported_write_turned(const tw_training_t *t, tw_pieces_t *pieces, const tw_param_t *p,
                             FILE *stream, tw_problem_t *problem)
{
    const size_t n      = p->units_all * p->per_unit;
    char        *data   = NULL;
    size_t       bytes  = 0;
    FILE        *memory = t->rank == 0 ? open_memstream(&data, &bytes) : NULL;
    float       *turned = t->rank == 0 ? malloc(n * sizeof(*turned)) : NULL;
    const int    failed = t->rank == 0 && (memory == NULL || turned == NULL);
    int          status = agreed(t, failed, problem);

    if (status == 0) {
        status = tw_pieces_write(pieces, t, p, 0, memory, problem);
    }
    if (memory != NULL && (fclose(memory) != 0 || (status == 0 && bytes != n * sizeof(*turned)))) {
        status = tw_problem_set(problem, "out of memory for a whole tensor");
    } else if (memory != NULL && turned != NULL && status == 0) {
        tw_transpose(turned, (const float *)(const void *)data, p->units_all, p->per_unit, 1);
        fwrite(turned, sizeof(*turned), n, stream);
    }
    free(data);
    free(turned);
    return tw_checkpoint_agreed(t, problem) == 0 ? status : -1;
}

int tw_exported_read_turned(const tw_training_t *t, tw_pieces_t *pieces, const tw_param_t *p,
                            FILE *stream, int *bad_p, tw_problem_t *problem)
{
    const size_t n      = p->units_all * p->per_unit;
    float       *whole  = t->rank == 0 ? malloc(n * sizeof(*whole)) : NULL;
    float       *turned = t->rank == 0 ? malloc(n * sizeof(*turned)) : NULL;
    FILE        *memory = turned != NULL ? fmemopen(turned, n * sizeof(*turned), "rb") : NULL;
    const int    failed = t->rank == 0 && (whole == NULL || memory == NULL);
    const int    status = agreed(t, failed, problem);

    if (status == 0 && t->rank == 0) {
        *bad_p |= fread(whole, sizeof(*whole), n, stream) != n;
        tw_transpose(turned, whole, p->per_unit, p->units_all, 1);
    }
    if (status == 0) {
        tw_pieces_read(pieces, t, p, 0, memory, bad_p, problem);
    }
    if (memory != NULL) {
        fclose(memory);
    }
    free(whole);
    free(turned);
    return status;
}
