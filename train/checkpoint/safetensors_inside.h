/* SPDX-License-Identifier: BSD-3-Clause
 * train/checkpoint/safetensors_inside.h - the list of tensors that both ways go by.
 */
#ifndef TW_TRAIN_SAFETENSORS_INSIDE_H
#define TW_TRAIN_SAFETENSORS_INSIDE_H

#include "train/checkpoint/checkpoint_inside.h"
#include "train/checkpoint/safetensors.h"

enum { TW_DIMENSIONS = 4 };

/* One tensor of the file. */
typedef struct tw_exported {
    char              name[80];
    size_t            dimensions, shape[TW_DIMENSIONS], count;
    const tw_param_t *param; /* NULL: `state`, running statistics, which every rank has */
    float            *state;
    uint64_t          at; /* bytes from the beginning of the data */
} tw_exported_t;

/** The tensors of a network in the order of its layers, at their places in a file without gaps.
 * @return a list to be freed, or NULL with the problem set. */
tw_exported_t *tw_exported_list(const tw_training_t *t, size_t *count_p, tw_problem_t *problem);

/** tw_pieces_write() and tw_pieces_read() of the values of a tensor that is turned: to and from a
 * stream, on rank 0, with the layout of all others. Collective.
 * @return 0, or -1 on all ranks, with the problem set where it is. */
int tw_exported_write_turned(const tw_training_t *t, tw_pieces_t *pieces, const tw_param_t *p,
                             FILE *stream, tw_problem_t *problem);
int tw_exported_read_turned(const tw_training_t *t, tw_pieces_t *pieces, const tw_param_t *p,
                            FILE *stream, int *bad_p, tw_problem_t *problem);

/** A shape as "[20, 1, 5, 5]", truncated at size - 1 characters. */
void tw_exported_shape(const tw_exported_t *entry, char *text, size_t size);

/** Does this machine store numbers as the file does? @return 0, or -1 with the problem set. */
int tw_exported_order(const char *option, tw_problem_t *problem);

#endif /* TW_TRAIN_SAFETENSORS_INSIDE_H */
